//! What a dry run of `flow apply` and a `flow diff` report: both the same, with exit codes that
//! have one meaning each.

use crate::support;

use std::process::{Command, Output};

use serde_json::json;
use support::{Server, sluice, text};

const LUNCH: &str = "\
flow: { key: lunch }
title: Lunch
questions: [{ id: why, type: longText, prompt: Why? }]
";

struct Author {
    folder: tempfile::TempDir,
    server: Server,
    token: String,
}

impl Author {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::on_test_store(folder.path());
        let token = server.token().unwrap();
        Self { folder, server, token }
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.folder.path().join(name), content).unwrap();
    }

    /// Without a token.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = sluice();
        command.current_dir(self.folder.path()).args(arguments);
        command.env("SLUICE_SERVER", &self.server.base);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).env("SLUICE_TOKEN", &self.token).output().unwrap()
    }

    #[track_caller]
    fn ends(&self, code: i32, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        output
    }

    /// What both commands print, which must be the same.
    #[track_caller]
    fn compared(&self, code: i32, files: &[&str]) -> (String, String) {
        let diff = self.ends(code, &[&["flow", "diff"], files].concat());
        let dry_run = self.ends(code, &[&["flow", "apply", "--dry-run"], files].concat());
        assert_eq!(diff, dry_run);
        (text(&diff.stdout), text(&diff.stderr))
    }

    /// Saves a draft in the flow with this key, as an author in the console does.
    async fn put_draft(&self, key: &str, prompt: &str) {
        let listed = text(&self.ends(0, &["flow", "list"]).stdout);
        let line = listed.lines().find(|line| line.ends_with(&format!("key={key}"))).unwrap();
        let id = line.split(' ').next().unwrap();
        let url = format!("{}/api/admin/v1/flows/{id}/draft", self.server.base);
        let questions = json!([{"id": "why", "type": "longText", "prompt": prompt}]);
        let draft = json!({"title": "Lunch", "questions": questions});
        let saved = self.server.http.put(url).bearer_auth(&self.token).json(&draft).send();
        assert!(saved.await.unwrap().status().is_success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_code_2_means_only_that_something_would_change() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.compared(2, &["lunch.yaml"]);
    for command in [&["flow", "diff"][..], &["flow", "apply", "--dry-run"], &["flow", "apply"]] {
        let fails = |output: Output, part: &str| {
            assert_eq!(output.status.code(), Some(1), "{command:?}: {output:?}");
            assert!(output.stdout.is_empty(), "{output:?}");
            assert!(text(&output.stderr).contains(part), "{part:?}: {output:?}");
        };
        let with = |more: &[&'static str]| [command, more].concat();
        let tokenless = author.command(&with(&["lunch.yaml"])).output().unwrap();
        fails(tokenless, "an admin token is needed");
        fails(author.run(&with(&["lunch.yaml", "--profile", "absent"])), "profile");
        fails(author.run(&with(&["lunch.yaml", "--server", "nowhere"])), "server's address");
        fails(author.run(&with(&["lunch.yaml", "--app", "Lunch"])), "invalid value");
        fails(author.run(&with(&["lunch.yaml", "--wrong"])), "--wrong");
        fails(author.run(command), "FILE");
        assert_eq!(author.run(&with(&["--help"])).status.code(), Some(0));
    }
    author.ends(0, &["app", "create", "Second"]);
    for command in [&["flow", "diff"][..], &["flow", "apply", "--dry-run"], &["flow", "apply"]] {
        let output = author.ends(1, &[command, &["lunch.yaml"]].concat());
        assert!(text(&output.stderr).contains("there are several apps"), "{output:?}");
    }
    // Other commands keep 2 for an invalid command line.
    author.ends(2, &["flow", "list", "--wrong"]);
    let tokenless = author.command(&["flow", "list"]).output().unwrap();
    assert_eq!(tokenless.status.code(), Some(2), "{tokenless:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_is_a_dry_run_also_beside_a_draft_of_someone_else() {
    let author = Author::new();
    author.write("lunch.yaml", LUNCH);
    author.write("visit.yaml", &LUNCH.replace("lunch", "visit"));
    author.ends(0, &["flow", "apply", "lunch.yaml", "visit.yaml"]);
    let (same, _) = author.compared(0, &["lunch.yaml"]);
    assert!(same.ends_with("1 file: 0 would change, 1 unchanged\n"), "{same}");

    author.put_draft("lunch", "Why not?").await;
    // The published version is as in the file: the draft is in nobody's way.
    let (_, notes) = author.compared(0, &["lunch.yaml"]);
    assert!(notes.contains("a draft with other changes, which stays"), "{notes}");

    author.write("lunch.yaml", &LUNCH.replace("Why?", "Why so?"));
    author.write("visit.yaml", &LUNCH.replace("lunch", "visit").replace("Why?", "Why so?"));
    let (difference, conflict) = author.compared(1, &["lunch.yaml", "visit.yaml"]);
    let change = "  “Why?” now reads “Why so?”\n";
    assert_eq!(
        difference,
        format!(
            "lunch.yaml: lunch: 1 change\n{change}visit.yaml: visit: 1 change\n{change}\
             2 files: 1 would change, 0 unchanged, 1 stopped by a draft\n"
        )
    );
    for part in ["lunch.yaml: the flow has a draft", "“Why not?”", "--overwrite-draft"] {
        assert!(conflict.contains(part), "{part:?} is not in {conflict}");
    }
    let applied = author.ends(1, &["flow", "apply", "lunch.yaml", "visit.yaml"]);
    assert_eq!(text(&applied.stderr), conflict, "an apply stops for the same reason");
    assert!(applied.stdout.is_empty(), "before it changes anything: {applied:?}");
    let (replaced, _) = author.compared(2, &["lunch.yaml", "visit.yaml", "--overwrite-draft"]);
    assert!(replaced.ends_with("2 files: 2 would change, 0 unchanged\n"), "{replaced}");
}
