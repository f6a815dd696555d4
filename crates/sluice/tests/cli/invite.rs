//! `sluice invite` against a running server: invites one person and a file of people, lists and
//! revokes.

use crate::support;

use std::path::Path;
use std::process::Output;

use serde_json::json;
use support::{Server, http, sluice, submission, text};

/// Runs `invite` against the server.
fn invite(server: &Server, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = sluice();
    command.current_dir(folder).arg("invite").args(arguments);
    command.env("SLUICE_SERVER", &server.base).env("SLUICE_TOKEN", server.token().unwrap());
    command.output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_invited_from_a_file_and_answer_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| {
        command.args(["--public-url", "https://ask.example/"])
    });
    let (flow, key, version) = (server.id("fl_"), server.id("pk_"), server.id("fv_"));
    let run = |arguments: &[&str]| invite(&server, folder.path(), arguments);

    let one = run(&["add", &flow, "--email", "ada@mail.example"]);
    assert_eq!(one.status.code(), Some(0), "{}", text(&one.stderr));
    let output_text = text(&one.stdout);
    let (id, link) = output_text.trim().split_once("  ").unwrap();
    assert_eq!(link, format!("https://ask.example/f/{flow}?flowAssignmentId={id}"));

    let people = folder.path().join("people.csv");
    std::fs::write(&people, "email,userId\nbob@mail.example,2\nnobody,3\nBOB@mail.example,4\n")
        .unwrap();
    let import = |more: &[&str]| run(&[&["import", &flow, "people.csv", "--out"], more].concat());
    let twice = import(&["links.csv"]);
    assert_eq!(twice.status.code(), Some(3));
    assert!(text(&twice.stdout).starts_with("people.csv:4: is on an earlier line"), "{twice:?}");
    // More than one part, with the fault in the second.
    let mut file = "userId,email\n".to_owned();
    (0..2_500).for_each(|number| file.push_str(&format!("{number},\n")));
    std::fs::write(&people, format!("{file},nobody\n9999,ada@mail.example\n")).unwrap();
    let faulty = import(&["links.csv"]);
    assert_eq!(faulty.status.code(), Some(3), "{}", text(&faulty.stderr));
    let printed: Vec<String> = text(&faulty.stdout).lines().map(str::to_owned).collect();
    assert_eq!(printed.len(), 2, "{printed:?}");
    assert!(
        printed[0].starts_with("people.csv:2502: email must be an e-mail address"),
        "{printed:?}"
    );
    assert!(printed[1].starts_with("people.csv:2503: has an open invitation"), "{printed:?}");
    assert!(!folder.path().join("links.csv").exists(), "no one must be invited");

    std::fs::write(&people, &file).unwrap();
    let done = import(&["links.csv"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout), "2500 invited, 0 skipped; the links are in links.csv\n");
    let links = std::fs::read_to_string(folder.path().join("links.csv")).unwrap();
    let lines: Vec<&str> = links.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2_501, "userId,email,expiresAt,flowAssignmentId,link"));
    assert!(lines[2_500].starts_with("2499,,,fa_"), "{}", lines[2_500]);
    let again = import(&["links.csv", "--skip-invited"]);
    assert_eq!(again.status.code(), Some(1), "a file of links must not be overwritten");
    let again = import(&["more.csv", "--skip-invited"]);
    assert!(text(&again.stdout).starts_with("0 invited, 2500 skipped"), "{again:?}");

    let mut body = submission(&version, "quick");
    body["flowAssignmentId"] = json!(id);
    for (number, success) in [(1, true), (2, false)] {
        let key_of = format!("attempt {number}");
        let stored = support::submit(&http(), &server.submit_url(&key), &key_of, &body).await;
        assert_eq!(stored.is_some(), success, "attempt {number}");
    }
    let other = lines[1].split(',').nth(3).unwrap();
    assert_eq!(run(&["revoke", other]).status.code(), Some(0));
    let listed = run(&["list", &flow, "--state", "completed"]);
    assert_eq!(text(&listed.stdout), format!("{id}  completed  ada@mail.example  {link}\n"));
    let counts = "2499 sent, 0 opened, 1 completed, 0 expired, 1 revoked\n";
    assert_eq!(text(&listed.stderr), counts);
    assert_eq!(server.stop(), Some(0));
}
