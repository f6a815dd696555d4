//! Commands for scripts: keys and tokens, lists as JSON, profiles, completions and manual pages.

use crate::support;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;
use support::author::Author;
use support::{assert_complains, run, sluice, text};

impl Author {
    /// The app of the demo.
    fn app(&self) -> String {
        self.done(&["app", "list"]).split(' ').next().unwrap().to_owned()
    }
}

fn json_lines(printed: &str) -> Vec<Value> {
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_tokens_are_created_listed_and_revoked() {
    let author = Author::new();
    let (app, first) = (author.app(), author.server.id("pk_"));
    let second = author.done(&["key", "create"]).trim().to_owned();
    let listed = author.done(&["key", "list", "--app", &app]);
    assert_eq!(listed, format!("{first}  {app}\n{second}  {app}\n"));
    author.done(&["key", "revoke", &first]);
    assert_eq!(author.done(&["key", "list"]), format!("{second}  {app}\n"));
    let again = author.run(&["key", "revoke", &first]);
    assert_complains(&again, 1, &["no active key", "key list"]);
    let last = author.run(&["key", "revoke", &second]);
    assert!(text(&last.stderr).contains("no active key; create one"), "{last:?}");

    let create = ["token", "create", "--name", "build step", "--scope", "read,export"];
    let secret = author.done(&create).trim().to_owned();
    let listed = author.done(&["token", "list"]);
    let line = listed.lines().find(|line| line.ends_with("\"build step\"")).unwrap();
    assert!(line.contains("  read,export  all-apps  active  "), "{line}");
    assert!(!listed.contains(&secret), "a list has no secrets: {listed}");
    let id = line.split(' ').next().unwrap();
    author.done(&["app", "list", "--token", &secret]);
    author.done(&["token", "revoke", id]);
    assert_eq!(author.run(&["app", "list", "--token", &secret]).status.code(), Some(1));
    assert!(author.done(&["token", "list"]).contains("  revoked 2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_is_also_json() {
    let author = Author::new();
    let (app, flow) = (author.app(), author.server.id("fl_"));
    author.done(&["identity", "add", &app]);
    author.done(&["user", "add", "ann@example.com", "--role", "owner", "--instance"]);
    author.done(&["invite", "add", &flow, "--user-id", "4711"]);
    for (list, field) in [
        (&["app", "list"][..], "appId"),
        (&["flow", "list"], "flowId"),
        (&["key", "list"], "apiKey"),
        (&["token", "list"], "tokenId"),
        (&["user", "list"], "userId"),
        (&["identity", "list", &app], "kid"),
        (&["invite", "list", &flow], "flowAssignmentId"),
        (&["flow", "versions", &flow], "flowVersionId"),
        (&["identity", "counts", &app], "identityVerification"),
    ] {
        let items = json_lines(&author.done(&[list, &["--json"]].concat()));
        assert!(!items.is_empty(), "{list:?}");
        assert!(items.iter().all(|item| item[field].is_string()), "{list:?}: {items:?}");
    }
    assert!(json_lines(&author.done(&["respondent", "list", &app, "--json"])).is_empty());
    let status = json_lines(&author.done(&["outbound", "status", "--json"]));
    assert_eq!((status.len(), &status[0]["heldHere"]), (1, &Value::Bool(false)), "{status:?}");
}

fn write_profiles(home: &Path, content: &str, mode: u32) {
    let folder = home.join("sluice");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.toml");
    std::fs::write(&file, content).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_names_the_server_and_its_token() {
    let author = Author::new();
    let second = author.done(&["app", "create", "Second"]);
    let second = second.split_whitespace().next().unwrap();
    let home = tempfile::tempdir().unwrap();
    let profiles = format!(
        "default = \"here\"\n[profiles.here]\nserver = \"{}\"\ntoken = \"{}\"\napp = \"{second}\"\n\
         [profiles.gone]\nserver = \"http://127.0.0.1:1\"\ntoken = \"t\"\n",
        author.server.base, author.token
    );
    let run = |arguments: &[&str]| {
        let mut command = sluice();
        command.current_dir(home.path()).env("XDG_CONFIG_HOME", home.path()).args(arguments);
        command.output().unwrap()
    };
    write_profiles(home.path(), &profiles, 0o600);
    let listed = run(&["app", "list"]);
    assert_eq!(text(&listed.stdout).lines().count(), 2, "{listed:?}");
    assert_complains(
        &run(&["app", "list", "--profile", "gone"]),
        1,
        &["no server answers", "--server"],
    );
    let unknown = run(&["app", "list", "--profile", "other"]);
    assert_complains(&unknown, 2, &["no profile \"other\"", "gone, here"]);
    // The app of the profile, although there are two.
    std::fs::write(
        home.path().join("a.yaml"),
        "flow: {key: a}\ntitle: A\ndescription: a\nquestions: []\n",
    )
    .unwrap();
    let applied = run(&["flow", "apply", "a.yaml"]);
    assert!(applied.status.success(), "{applied:?}");
    assert!(text(&run(&["flow", "list", "--app", second]).stdout).contains("key=a"));
    // Its token goes to no other server.
    let elsewhere = run(&["app", "list", "--server", "http://127.0.0.1:1"]);
    assert_complains(&elsewhere, 2, &["token is needed", "SLUICE_TOKEN"]);

    write_profiles(home.path(), &profiles, 0o640);
    assert_complains(&run(&["app", "list"]), 2, &["(mode 640)", "chmod 600"]);
    write_profiles(home.path(), "[profiles.here]\nserver = \"x\"\ntoken = sluice_secret\n", 0o600);
    let broken = run(&["app", "list"]);
    assert_complains(&broken, 2, &["config.toml line 3", "docs/running.md"]);
    assert!(!text(&broken.stderr).contains("sluice_secret"), "{broken:?}");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, part) in [
        ("bash", "complete -F _sluice"),
        ("zsh", "#compdef sluice"),
        ("fish", "complete -c sluice"),
    ] {
        let output = run(folder.path(), &["completions", shell]);
        let script = text(&output.stdout);
        assert!(script.contains(part) && script.contains("apply"), "{shell}: {script}");
    }
    // Bash accepts the script and completes with it.
    let script = run(folder.path(), &["completions", "bash"]).stdout;
    std::fs::write(folder.path().join("sluice.bash"), script).unwrap();
    let complete = "source ./sluice.bash; COMP_WORDS=(sluice flow app); COMP_CWORD=2; \
                    _sluice sluice app flow; echo \"${COMPREPLY[@]}\"";
    let output = std::process::Command::new("bash")
        .args(["-c", complete])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout).trim(), "apply", "{output:?}");

    assert_eq!(run(folder.path(), &["man", "pages"]).status.code(), Some(0));
    let mut pages: Vec<String> = std::fs::read_dir(folder.path().join("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    for page in ["sluice.1", "sluice-serve.1", "sluice-flow-apply.1", "sluice-token-revoke.1"] {
        assert!(pages.iter().any(|it| it == page), "{page} is not in {pages:?}");
    }
    let page = std::fs::read_to_string(folder.path().join("pages/sluice-flow-apply.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("overwrite"), "{page}");
    // As the help has it, also in the list of arguments.
    let value = "<\\fIFILE\\fR>";
    let dotted = format!("{value}...");
    assert_eq!(page.matches(&dotted).count(), 2, "{page}");
    assert_eq!(page.matches(value).count(), 2, "{page}");
    let page = std::fs::read_to_string(folder.path().join("pages/sluice-flow-push.1")).unwrap();
    assert!(page.contains(value) && !page.contains(&dotted), "{page}");
}
