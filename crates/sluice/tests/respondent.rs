//! `sluice respondent` against a running server: somebody who was only invited is found by the address.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use support::{Server, assert_complains, sluice, text};

/// Runs a command against the server.
fn run(server: &Server, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = sluice();
    command.current_dir(folder).args(arguments);
    command.env("SLUICE_SERVER", &server.base).env("SLUICE_TOKEN", server.token().unwrap());
    command.output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_was_only_invited_is_exported_and_erased() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let run = |arguments: &[&str]| run(&server, folder.path(), arguments);
    let added = run(&["invite", "add", &server.id("fl_"), "--email", "Ada@mail.example"]);
    assert_eq!(added.status.code(), Some(0), "{}", text(&added.stderr));
    let (_, apps) = server.admin(&server.token().unwrap(), "/apps").await;
    let app = apps["items"][0]["appId"].as_str().unwrap();
    let who = ["--app", app, "--email", "ada@mail.example"];
    let of =
        |command: &str, more: &[&str]| run(&[&["respondent", command], &who[..], more].concat());

    assert_complains(&of("show", &[]), 1, &["nobody in this app", "only invited has no profile"]);
    let exported = of("export", &[]);
    assert_eq!(exported.status.code(), Some(0), "{}", text(&exported.stderr));
    let exported: Value = serde_json::from_slice(&exported.stdout).unwrap();
    assert_eq!(exported["respondent"], Value::Null);
    assert_eq!(exported["invitations"][0]["identities"][0]["value"], "Ada@mail.example");
    let erased = of("erase", &["--answers", "keep"]);
    assert_eq!(erased.status.code(), Some(0), "{}", text(&erased.stderr));
    assert_eq!(text(&erased.stdout), "no profile  0 responses  1 invitations\n");
    assert_complains(&of("erase", &["--answers", "keep"]), 1, &["respondent"]);
}
