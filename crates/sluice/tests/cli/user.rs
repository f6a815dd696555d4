//! `sluice user` against a running server: a user is added, listed, changed, sent a new link, and
//! disabled.

use crate::support;

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
        let output_text = text(&output.stderr);
        assert!(output.status.code() == Some(1) && output_text.contains(why), "{output_text}");
    };
    assert_eq!(printed(&["list"]), "");
    let added =
        printed(&["add", "ann@mail.example", "--name", "Ann", "--role", "owner", "--instance"]);
    let (line, link) = added.trim_end().split_once('\n').unwrap();
    assert!(line.ends_with("  ann@mail.example  owner  Ann"), "{line}");
    assert!(link.starts_with(&format!("{}/console/welcome#", server.base)), "{link}");
    let ann = line.split("  ").next().unwrap().to_owned();
    refused(&["add", "ANN@mail.example", "--role", "viewer", "--instance"], "already");

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
    let unscoped = ["add", "eve@mail.example", "--role", "owner"];
    for usage in [&["set", &bob][..], &["set", &bob, "--role", "owner"], &unscoped] {
        let usage = run(usage);
        assert_eq!(usage.status.code(), Some(2), "{}", text(&usage.stderr));
    }
    assert!(printed(&["set", &bob, "--role", "viewer", "--instance"]).contains("  viewer  "));
    assert!(printed(&["reset-second-factor", &bob]).contains("bob@mail.example"));
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_authentication_is_logged_with_account_and_address_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let token = server.token().unwrap();
    let added = text(
        &user(
            &server,
            folder.path(),
            &token,
            &["add", "ann@mail.example", "--role", "owner", "--instance"],
        )
        .stdout,
    );
    let ann = added.split("  ").next().unwrap().to_owned();
    assert_eq!(server.admin("a-guessed-token", "/apps").await.0, 401);
    let (_, made) = server.admin(&token, "/tokens").await;
    assert!(made["items"].is_array(), "{made}");
    let http = support::client_builder().build().unwrap();
    for email in ["ann@mail.example", "nobody@mail.example"] {
        let request = http.post(format!("{}/console/sign-in", server.base));
        let request =
            request.header("origin", &server.base).header("sec-fetch-site", "same-origin");
        let form = format!("email={email}&password=a-guessed-password");
        let reply = request.body(form).send().await.unwrap();
        assert_eq!(reply.status().as_u16(), 422);
    }
    let log = std::fs::read_to_string(folder.path().join("server.log")).unwrap();
    let line = |what: &str| {
        log.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {log}"))
    };
    let refused = line("authentication failed: invalid token");
    assert!(
        refused.contains("127.0.0.1") && refused.contains("GET /api/admin/v1/apps"),
        "{refused}"
    );
    assert!(line(&ann).contains("127.0.0.1"), "{log}");
    assert!(line("unknown account").contains("127.0.0.1"), "{log}");
    for secret in ["a-guessed-token", "a-guessed-password", "mail.example"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}
