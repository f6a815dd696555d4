//! What an author does with commands: check, push, publish, watch; including mistakes.

use crate::cluster::Port;
use crate::support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use support::author::Author;
use support::{Server, assert_complains, http, run, sluice, submit, text};

const FLOW: &str = "title: Lunch\nquestions:\n- {id: nps, type: nps, prompt: How was it?}\n";
const FAULTY: &str = "title: 2026\nquestions:\n- {id: nps, type: npx, prompt: How was it?}\n";

fn write(folder: &Path, name: &str, content: &str) {
    std::fs::write(folder.join(name), content).unwrap();
}

fn check(folder: &Path, files: &[&str], code: i32, lines: &[&str]) {
    let output = run(folder, &[&["flow", "check"], files].concat());
    let output_text = text(&output.stdout);
    assert_eq!(output.status.code(), Some(code), "{output_text}");
    assert_eq!(output_text.lines().count(), lines.len(), "{output_text}");
    for (line, expected) in output_text.lines().zip(lines) {
        assert!(line.starts_with(expected), "{line:?} does not start with {expected:?}");
    }
}

#[test]
fn a_check_names_every_fault_of_every_file() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good.yaml", FLOW);
    write(folder.path(), "good.json", r#"{"title":"t","questions":[]}"#);
    write(folder.path(), "bad.yaml", FAULTY);
    write(folder.path(), "broken.json", "{\"title\": ");
    check(folder.path(), &["good.yaml"], 0, &["1 file checked, no faults"]);
    check(
        folder.path(),
        &["good.yaml", "bad.yaml", "broken.json"],
        3,
        &[
            "bad.yaml: /title: must be a text (YAML reads this as a number",
            "bad.yaml: /questions/0/type: unknown type; did you mean nps?",
            "broken.json: is not JSON: ",
            "3 files checked: 3 faults in 2 files",
        ],
    );
    let missing = run(folder.path(), &["flow", "check", "absent.yaml"]);
    assert_complains(&missing, 1, &["absent.yaml", "JSON or YAML"]);
}

#[test]
fn a_check_reads_stdin() {
    let mut child = sluice()
        .args(["flow", "check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(FAULTY.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stdout).starts_with("-: /title: "));
}

/// The word after a label, or the first word with this prefix.
fn word(text: &str, start: &str) -> String {
    text.split_whitespace().find(|word| word.starts_with(start)).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_pushes_publishes_and_pushes_again() {
    let author = Author::new();
    write(author.folder.path(), "lunch.yaml", FLOW);
    write(author.folder.path(), "faulty.yaml", FAULTY);
    // The demo's app is the only one, so it does not have to be named.
    let pushed = author.done(&["flow", "push", "lunch.yaml"]);
    let (flow, draft) = (word(&pushed, "fl_"), word(&pushed, "fv_"));
    assert!(author.done(&["flow", "list"]).contains("draft       Lunch"));
    let published = author.done(&["flow", "publish", &flow]);
    assert!(published.starts_with("published version 1 of Lunch at 2"), "{published}");
    assert_eq!(word(&published, "fv_"), draft, "a draft keeps its id when it is published");
    assert_eq!(published.lines().count(), 2, "there is no previous version: {published}");
    let again = author.done(&["flow", "push", "lunch.yaml", "--flow", &flow, "--publish"]);
    assert!(again.contains("published version 2 of Lunch"), "{again}");
    assert!(again.contains(&format!("version 1 ({draft}) accepts responses until ")), "{again}");
    assert!(author.done(&["flow", "list"]).contains("version 2   Lunch"));
    let nothing = author.run(&["flow", "publish", &flow]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(text(&nothing.stderr).contains("no draft"), "{nothing:?}");
    let faulty = author.run(&["flow", "push", "faulty.yaml", "--flow", &flow, "--publish"]);
    assert_eq!(faulty.status.code(), Some(3));
    let output_text = text(&faulty.stdout);
    assert!(output_text.contains("faulty.yaml: /questions/0/type: "), "{output_text}");
    assert!(output_text.contains("in quotes, \"2026\""), "{output_text}");
    let refused = author.run(&["flow", "publish", &flow]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(author.done(&["flow", "list"]).contains("version 2   Lunch"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_creates_a_flow_prints_how_to_change_it_later() {
    let author = Author::new();
    write(author.folder.path(), "lunch.yaml", FLOW);
    let first = author.run(&["flow", "push", "lunch.yaml"]);
    let flow = word(&text(&first.stdout), "fl_");
    let hint = format!("sluice flow push lunch.yaml --flow {flow}");
    assert!(text(&first.stderr).contains(&hint), "{first:?}");
    let second = author.run(&["flow", "push", "lunch.yaml", "--publish"]);
    let other = word(&text(&second.stdout), "fl_");
    assert_ne!(other, flow, "every push without --flow creates a flow");
    assert!(text(&second.stderr).contains(&format!("--flow {other}")), "{second:?}");
    let changed = author.run(&["flow", "push", "lunch.yaml", "--flow", &flow]);
    assert!(!text(&changed.stderr).contains("--flow"), "{changed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_and_tokens_are_created_and_with_several_apps_one_must_be_chosen() {
    let author = Author::new();
    write(author.folder.path(), "lunch.yaml", FLOW);
    let made = author.done(&["app", "create", "Web shop"]);
    let app = word(&made, "app_");
    assert!(made.contains("pk_") && made.contains("\"Web shop\""), "{made}");
    assert_eq!(author.done(&["app", "list"]).lines().count(), 2);
    let several = author.run(&["flow", "push", "lunch.yaml"]);
    assert_eq!(several.status.code(), Some(2));
    assert!(text(&several.stderr).contains(&format!("--app {app}")), "{several:?}");
    let form = author.done(&["flow", "push", "lunch.yaml", "--app", &app, "--kind", "form"]);
    assert!(author.done(&["flow", "list", "--app", &app]).contains(&word(&form, "fl_")));
    let token = author.done(&["token", "create", "--name", "r", "--scope", "read", "--app", &app]);
    let token = token.trim();
    assert_eq!(author.done(&["app", "list", "--token", token]).lines().count(), 1);
    let forbidden = author.run(&["flow", "push", "lunch.yaml", "--token", token]);
    assert_complains(&forbidden, 1, &["lacks the scope \"write\"", "token create"]);
}

#[test]
fn a_command_that_cannot_reach_its_server_prints_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let flow = "fl_0000000000000000000000";
    let nobody = ["flow", "list", "--server", "http://127.0.0.1:1", "--token", "t"];
    assert_complains(&run(folder.path(), &nobody), 1, &["no server answers", "sluice serve"]);
    let tail = ["responses", "tail", flow, "--server", "http://127.0.0.1:1", "--token", "t"];
    assert_complains(&run(folder.path(), &tail), 1, &["no server answers", "sluice serve"]);
    let all = [&tail[..], &["--since", "all"]].concat();
    assert_complains(&run(folder.path(), &all), 1, &["no server answers", "sluice serve"]);
    assert_complains(&run(folder.path(), &["app", "list"]), 2, &["token", "SLUICE_TOKEN"]);
    let odd = ["app", "list", "--server", "localhost", "--token", "t"];
    assert_complains(&run(folder.path(), &odd), 2, &["address", "--server"]);
    let author = Author::new();
    let unknown = author.run(&["flow", "publish", flow]);
    assert_complains(&unknown, 1, &["no such flow", "sluice flow list"]);
    let invalid = author.run(&["app", "list", "--token", "wrong"]);
    assert_complains(&invalid, 1, &["token", "SLUICE_ADMIN_TOKEN"]);
}

#[test]
fn a_system_without_root_certificates_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let asked = |server: &str| {
        let mut command = sluice();
        command.current_dir(folder.path()).args(["app", "list", "--token", "t"]);
        command.args(["--server", server]);
        command.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", folder.path());
        command.output().unwrap()
    };
    assert_complains(&asked("https://127.0.0.1:1"), 1, &["HTTP client", "ca-certificates"]);
    // A server on this machine without TLS needs none.
    let refused = asked("http://127.0.0.1:1");
    assert_eq!(refused.status.code(), Some(1));
    assert!(!text(&refused.stderr).contains("ca-certificates"), "{}", text(&refused.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_prints_each_response_once_and_survives_a_restart() {
    // Nobody else gets the port while the server is gone.
    let port = Port::reserve();
    let listen = format!("127.0.0.1:{}", port.number);
    let mut author = Author::with(|folder| Server::start_with(folder, &listen, |command| command));
    let (key, flow, version) =
        (author.server.id("pk_"), author.server.id("fl_"), author.server.id("fv_"));
    let url = author.server.submit_url(&key);
    let send = async |count: usize| {
        let body = support::submission(&version, &format!("reason {count}"));
        submit(&http(), &url, &format!("k{count}"), &body).await.unwrap()
    };
    let mut ids = vec![send(0).await, send(1).await];
    let tail = ["responses", "tail", &flow, "--since", "all", "--limit", "4", "--interval", "0.1"];
    let mut child =
        author.command(&tail).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut notes = BufReader::new(child.stderr.take().unwrap());
    for id in &ids {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(id) && line.contains("why=\"reason "), "{line}");
    }
    ids.push(send(2).await);
    assert!(lines.next().unwrap().unwrap().contains(&ids[2]));
    let address = author.server.base.strip_prefix("http://").unwrap().to_owned();
    author.server.kill();
    // The server starts again after the command has noticed that it was gone.
    let mut output_text = String::new();
    while !output_text.contains("reconnecting") {
        assert_ne!(notes.read_line(&mut output_text).unwrap(), 0, "{output_text}");
    }
    author.server = Server::start_with(author.folder.path(), &address, |command| command);
    let last = send(3).await;
    assert!(lines.next().unwrap().unwrap().contains(&last));
    assert!(lines.next().is_none(), "it should stop after four");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    notes.read_to_string(&mut output_text).unwrap();
    assert!(
        output_text.contains("reconnecting") && output_text.contains("connected again"),
        "{output_text}"
    );
    assert_eq!(output_text.matches("waiting for responses").count(), 1, "{output_text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_starts_from_now_by_default_and_ends_on_an_interrupt() {
    let author = Author::new();
    let (key, flow, version) =
        (author.server.id("pk_"), author.server.id("fl_"), author.server.id("fv_"));
    let url = author.server.submit_url(&key);
    let old = submit(&http(), &url, "old", &support::submission(&version, "old")).await.unwrap();
    let since_all = author.done(&[
        "responses",
        "tail",
        &flow,
        "--since",
        "2020-01-01T00:00:00Z",
        "--limit",
        "1",
    ]);
    assert!(since_all.contains(&old), "{since_all}");
    let tail = ["responses", "tail", &flow, "--format", "json", "--interval", "0.1"];
    let mut child = author.command(&tail).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // A test cannot see when a tail has found its start, so new responses are sent until one is
    // printed.
    let submitting = tokio::spawn(async move {
        for count in 0.. {
            let body = support::submission(&version, "new");
            submit(&http(), &url, &format!("new{count}"), &body).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    });
    let line = tokio::task::spawn_blocking(move || lines.next().unwrap().unwrap()).await.unwrap();
    submitting.abort();
    let response: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(response["answers"]["why"], "new", "{line}");
    assert_ne!(response["responseId"], old.as_str());
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn types_are_written_for_a_file() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "lunch.yaml", FLOW);
    let of_file = run(folder.path(), &["types", "lunch.yaml", "--name", "team lunch"]);
    assert_eq!(of_file.status.code(), Some(0));
    let module = text(&of_file.stdout);
    assert!(module.contains("export type TeamLunchAnswers = {"), "{module}");
    assert!(module.contains("  nps?: \"0\" | \"1\" |"), "{module}");
    assert!(!module.contains("FlowId"), "{module}");

    write(folder.path(), "bad.yaml", FAULTY);
    let faulty = run(folder.path(), &["types", "bad.yaml"]);
    assert_eq!(faulty.status.code(), Some(3));
    assert_complains(&run(folder.path(), &["types", "absent.yaml"]), 1, &["absent.yaml", "fl_…"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn types_of_a_published_flow_have_its_id() {
    let author = Author::new();
    write(author.folder.path(), "lunch.yaml", FLOW);
    let flow = word(&author.done(&["flow", "push", "lunch.yaml"]), "fl_");
    assert_complains(&author.run(&["types", &flow]), 1, &["no published version", "flow publish"]);
    author.done(&["flow", "publish", &flow]);
    let module = author.done(&["types", &flow]);
    assert!(
        module.starts_with(&format!("// Answers to \"Lunch\" ({flow}), version 1.")),
        "{module}"
    );
    let id = format!("export const lunchFlow = \"{flow}\" as FlowId<LunchAnswers>;");
    assert!(module.contains(&id), "{module}");
}
