//! Starting: the first time, again, and every way in which it can fail.

use crate::support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{Server, assert_complains, http, run, sluice, text};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_prints_three_calls_that_work_when_pasted() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let replies = paste(&server.banner()).await;
    let (flow, version) = (server.id("fl_"), server.id("fv_"));
    let [resolved, snapshot, submitted] = replies.as_slice() else { panic!("{replies:?}") };
    assert_eq!((&resolved["flowId"], &resolved["status"]), (&flow.into(), &"open".into()));
    assert_eq!(resolved["flowVersionId"], version.as_str());
    assert_eq!(snapshot["flowVersionId"], version.as_str());
    assert_eq!(snapshot["locales"], serde_json::json!(["en", "de"]));
    let data = &submitted["result"]["data"];
    assert_eq!(data["success"], true, "{submitted}");
    let again = paste(&server.banner()).await;
    assert_eq!(again[2]["result"]["data"]["responseId"], data["responseId"]);
    let token = server.token().unwrap();
    let (status, apps) = server.admin(&token, "/apps").await;
    assert_eq!((status, &apps["items"][0]["name"]), (200, &"Demo".into()));
    let log = std::fs::read_to_string(folder.path().join("server.log")).unwrap();
    assert!(!log.contains(&token) && !log.contains(&server.id("pk_")), "{log}");
    assert_eq!(server.stop(), Some(0));
}

/// Runs the calls that a banner shows in a shell, as a reader would.
async fn paste(banner: &str) -> Vec<Value> {
    let text = banner.replace("\\\n", " ");
    let calls: Vec<&str> = text.lines().filter(|line| line.starts_with("curl ")).collect();
    let mut replies = Vec::new();
    for call in calls {
        let has_curl = Command::new("curl").arg("--version").output().is_ok();
        let body = if has_curl {
            let output = Command::new("sh").args(["-c", call]).output().unwrap();
            assert!(output.status.success(), "{call}: {output:?}");
            output.stdout
        } else {
            by_hand(call).await
        };
        replies.push(serde_json::from_slice(&body).unwrap());
    }
    replies
}

/// The same without curl, for the kinds of calls in a banner.
async fn by_hand(call: &str) -> Vec<u8> {
    let url = call.split([' ', '\'']).find(|word| word.starts_with("http://")).unwrap();
    let request = match call.split("-d '").nth(1) {
        None => http().get(url),
        Some(body) => http()
            .post(url)
            .header("content-type", "application/json")
            .body(body.trim_end_matches('\'').to_owned()),
    };
    request.send().await.unwrap().bytes().await.unwrap().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_start_finds_everything_and_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let first = Server::start(folder.path());
    let (token, key, flow) = (first.token().unwrap(), first.id("pk_"), first.id("fl_"));
    assert_eq!(first.stop(), Some(0));
    let second = Server::start(folder.path());
    let banner = second.banner();
    assert!(second.token().is_none() && !banner.contains("curl"), "{banner}");
    assert!(banner.contains("/docs") && banner.contains("sluice app list"), "{banner}");
    let (status, apps) = second.admin(&token, "/apps").await;
    assert_eq!((status, apps["items"].as_array().unwrap().len()), (200, 1));
    let url = format!("{}/api/v1/{key}/flows/{flow}", second.base);
    assert_eq!(http().get(url).send().await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_demo_there_is_a_token_and_no_app() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Server::start_with(folder.path(), "127.0.0.1:0", |command| command.arg("--no-demo"));
    let (status, apps) = server.admin(&server.token().unwrap(), "/apps").await;
    assert_eq!((status, &apps["items"]), (200, &serde_json::json!([])));
    assert!(!server.banner().contains("curl"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_token_from_the_environment_is_valid_while_it_is_set_and_never_stored() {
    const TOKEN: &str = "an-admin-token-of-32-characters!";
    let folder = tempfile::tempdir().unwrap();
    let with_token = || {
        Server::start_with(folder.path(), "127.0.0.1:0", |it| it.env("SLUICE_ADMIN_TOKEN", TOKEN))
    };
    for _ in 0..2 {
        let server = with_token();
        assert!(server.token().is_none(), "{}", server.banner());
        assert_eq!(server.admin(TOKEN, "/tokens").await.1["items"], serde_json::json!([]));
        assert_eq!(server.stop(), Some(0));
    }
    // Without it, an operator must still be able to get a token.
    let server = Server::start(folder.path());
    assert_eq!(server.admin(TOKEN, "/apps").await.0, 401);
    assert_eq!(server.admin(&server.token().unwrap(), "/apps").await.0, 200);
    for file in std::fs::read_dir(folder.path().join("sluice-data")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes()));
    }
}

#[test]
fn a_failed_start_prints_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let free = "127.0.0.1:0";
    std::fs::write(folder.path().join("file"), "x").unwrap();
    std::fs::write(
        folder.path().join("other.db"),
        "this is no database, but long enough".repeat(9),
    )
    .unwrap();
    std::fs::write(folder.path().join("typo.toml"), "lisen = \"127.0.0.1:0\"\n").unwrap();
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["serve", "--listen", &address], 1, &[&address, "taken", "--listen"]),
        (&["serve", "--listen", "192.0.2.1:0"], 1, &["not an address of this machine", "0.0.0.0"]),
        (&["serve", "--listen", "8080"], 2, &["ADDRESS:PORT", "127.0.0.1:8080"]),
        (&["serve", "--listen", free, "--data", "file/below"], 1, &["file/below", "--data"]),
        (&["serve", "--listen", free, "--store", "sqlite:other.db"], 1, &["other.db", "backup"]),
        (
            &["serve", "--listen", free, "--store", "postgres://u:secret@127.0.0.1:1/d"],
            1,
            &["cannot reach PostgreSQL at 127.0.0.1:1", "check"],
        ),
        (
            &["serve", "--store", "mysql://u:secret@h/d"],
            2,
            &["not recognised", "sqlite:", "postgres:"],
        ),
        (&["serve", "--config", "typo.toml"], 2, &["\"lisen\"", "did you mean listen?"]),
        (&["serve", "--config", "absent.toml"], 2, &["absent.toml", "--config"]),
        (&["serve", "--listen", free, "--log", "a=b=c"], 2, &["log filter", "info"]),
        (&["serve", "--body-limit", "1"], 2, &["body-limit", "1024"]),
    ];
    for (arguments, code, parts) in cases {
        let output = run(folder.path(), arguments);
        assert_complains(&output, *code, parts);
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(!text(&output.stderr).contains("secret"));
    }
    let short = sluice().env("SLUICE_ADMIN_TOKEN", "too-short").current_dir(folder.path()).output();
    assert_complains(
        &short.unwrap(),
        2,
        &["SLUICE_ADMIN_TOKEN", "too short", "32", "openssl rand"],
    );
}

#[test]
fn a_damaged_database_is_named_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Server::start(folder.path()).stop(), Some(0));
    let path = folder.path().join("sluice-data/sluice.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..64].fill(0xA5);
    std::fs::write(&path, &bytes).unwrap();
    let output = run(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_complains(&output, 1, &["sluice.db", "damaged", "backup"]);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_setting_comes_from_flag_then_environment_then_file_then_default() {
    let check = |flag: bool, env: bool, file: bool, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        if file {
            let toml = "listen = \"192.0.2.1:1\"\ndata = \"from-file\"\nno-demo = true\n";
            std::fs::write(folder.path().join("sluice.toml"), toml).unwrap();
        }
        let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| {
            if flag {
                command.args(["--data", "from-flag"]);
            }
            if env {
                command.env("SLUICE_DATA", "from-env").env("SLUICE_LISTEN", "192.0.2.1:2");
            }
            command
        });
        assert_eq!(server.banner().contains("curl"), !file, "only the file sets no-demo");
        drop(server);
        for name in ["from-flag", "from-env", "from-file", "sluice-data"] {
            let there = folder.path().join(name).join("sluice.db").exists();
            assert_eq!(there, name == expected, "{name} where {expected} is right");
        }
    };
    check(true, true, true, "from-flag");
    check(false, true, true, "from-env");
    check(false, false, true, "from-file");
    check(false, false, false, "sluice-data");
}

#[test]
fn a_named_configuration_file_is_read_from_any_path() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("my.toml");
    let data = elsewhere.path().join("data");
    std::fs::write(&file, format!("data = {:?}\n", data.to_str().unwrap())).unwrap();
    let by_flag = |path: &Path| path.to_str().unwrap().to_owned();
    drop(Server::start_with(folder.path(), "127.0.0.1:0", |command| {
        command.args(["--config", &by_flag(&file)])
    }));
    assert!(data.join("sluice.db").exists());
}

#[test]
fn every_command_has_examples_in_its_help() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["--help"][..],
        &["serve", "--help"],
        &["flow", "check", "--help"],
        &["flow", "push", "--help"],
        &["flow", "publish", "--help"],
        &["flow", "list", "--help"],
        &["responses", "tail", "--help"],
        &["app", "create", "--help"],
        &["token", "create", "--help"],
    ] {
        let output = sluice().env("SLUICE_TOKEN", "hidden-secret").args(command).output().unwrap();
        let help = text(&output.stdout);
        assert!(output.status.success() && help.contains("Example"), "{command:?}: {help}");
        assert!(!help.contains("hidden-secret"), "{help}");
    }
    assert!(text(&run(folder.path(), &["--help"]).stdout).contains("Exit codes:"));
}
