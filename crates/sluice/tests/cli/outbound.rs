//! A restored backup and a moved database send nothing until the operator says so.

use crate::support;

use std::path::Path;
use std::process::Output;

use support::{Server, run, sluice, text};

/// Runs a command against a server.
fn asked(folder: &Path, server: &Server, token: &str, arguments: &[&str]) -> Output {
    let mut command = sluice();
    command.current_dir(folder).args(arguments).args(["--server", &server.base]);
    command.env("SLUICE_TOKEN", token).output().unwrap()
}

fn assert_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[tokio::test]
async fn a_restored_and_a_moved_store_are_held_until_they_are_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let server = Server::start_with(here, "127.0.0.1:0", |command| command.args(["--data", "a"]));
    let token = server.token().unwrap();
    let status = asked(here, &server, &token, &["outbound", "status"]);
    assert_done(&status);
    assert!(text(&status.stdout).starts_with("e-mails and webhooks are sent"));
    assert_done(&run(here, &["backup", "full.gz", "--data", "a"]));
    assert_eq!(server.stop(), Some(0));

    let restored = run(here, &["restore", "full.gz", "--data", "b"]);
    assert_done(&restored);
    let moved = run(here, &["move", "--from", "sqlite:a/sluice.db", "--to", "sqlite:c/sluice.db"]);
    std::fs::copy(here.join("a/master.key"), here.join("c/master.key")).unwrap();
    std::fs::copy(here.join("a/master.key"), here.join("b/master.key")).unwrap();
    assert_done(&moved);
    for (printed, data, how) in [(restored, "b", "--drop-waiting"), (moved, "c", "--send-waiting")]
    {
        let note = text(&printed.stderr);
        assert!(note.contains("e-mails and webhooks are held: 0 e-mails due"), "{note}");
        assert!(note.contains("sluice outbound resume --drop-waiting"), "{note}");
        let server =
            Server::start_with(here, "127.0.0.1:0", |command| command.args(["--data", data]));
        let status = text(&asked(here, &server, &token, &["outbound", "status"]).stdout);
        assert!(status.starts_with("held since "), "{status}");
        let undecided = asked(here, &server, &token, &["outbound", "resume"]);
        assert_eq!(undecided.status.code(), Some(2));
        assert_done(&asked(here, &server, &token, &["outbound", "resume", how]));
        let (code, state) = server.admin(&token, "/outbound").await;
        assert_eq!((code, &state["heldAt"]), (200, &serde_json::Value::Null));
        assert_eq!(server.stop(), Some(0));
        // The server writes the note after the banner, so it is surely there at the end.
        let log = std::fs::read_to_string(here.join("server.log")).unwrap();
        assert!(log.contains("e-mails and webhooks are held"), "{log}");
    }
    // A server can be started so that it sends nothing, whatever the store says.
    let server = Server::start_with(here, "127.0.0.1:0", |command| {
        command.args(["--data", "a", "--hold-outbound"])
    });
    let status = text(&asked(here, &server, &token, &["outbound", "status"]).stdout);
    assert!(status.starts_with("held by --hold-outbound"), "{status}");
    assert_eq!(server.stop(), Some(0));
}
