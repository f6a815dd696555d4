//! `sluice user` against a running server: somebody is added, listed, changed, sent a new link, and disabled.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;
use std::process::Output;

use support::{Server, sluice, text};

fn user(server: &Server, folder: &Path, token: &str, arguments: &[&str]) -> Output {
    let mut command = sluice();
    command.current_dir(folder).arg("user").args(arguments);
    command.env("SLUICE_SERVER", &server.base).env("SLUICE_TOKEN", token);
    command.output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_added_changed_and_disabled() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let token = server.token().unwrap();
    let run = |arguments: &[&str]| user(&server, folder.path(), &token, arguments);
    let printed = |arguments: &[&str]| {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let refused = |arguments: &[&str], why: &str| {
        let output = run(arguments);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(why), "{said}");
    };
    assert_eq!(printed(&["list"]), "");
    let added = printed(&["add", "ann@mail.example", "--name", "Ann", "--role", "owner"]);
    let (line, link) = added.trim_end().split_once('\n').unwrap();
    assert!(line.ends_with("  ann@mail.example  owner  Ann"), "{line}");
    assert!(link.starts_with(&format!("{}/console/welcome#", server.base)), "{link}");
    let ann = line.split("  ").next().unwrap().to_owned();
    refused(&["add", "ANN@mail.example", "--role", "viewer"], "already");

    let (_, apps) = server.admin(&token, "/apps").await;
    let app = apps["items"][0]["appId"].as_str().unwrap();
    let added = printed(&["add", "bob@mail.example", "--role", "viewer", "--app", app]);
    let bob = added.split("  ").next().unwrap().to_owned();
    let set = printed(&["set", &bob, "--role", "editor", "--app", app, "--name", "Bob"]);
    assert_eq!(set, format!("{bob}  bob@mail.example  editor:{app}  Bob\n"));
    assert!(printed(&["set", &bob, "--role", "none", "--app", app]).contains("  no role  "));
    assert!(printed(&["disable", &bob]).ends_with("  disabled\n"));
    refused(&["reset", &bob], "disabled");
    assert!(!printed(&["disable", &bob, "--undo"]).contains("disabled"));
    assert!(printed(&["reset", &bob]).contains("/console/welcome#"));
    refused(&["disable", &ann], "last owner");
    let list = printed(&["list"]);
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(!list.contains("welcome#"));
    let usage = run(&["set", &bob]);
    assert_eq!(usage.status.code(), Some(2), "{}", text(&usage.stderr));
}
