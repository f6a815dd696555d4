//! Damage in a database file: found by `verify`, `move`, `backup` and a running server, and never
//! certified.

use crate::cluster;
use crate::support;

use std::path::Path;
use std::sync::Arc;

use cluster::Cluster;
use serde_json::{Value, json};
use sluice_store::conformance::filling;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{Record, Store};
use support::{Server, http, run, submission, submit, text};

const WORD: &str = "hummingbird";

async fn put(path: &Path, records: impl Iterator<Item = Record>) {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path, Options::default()).unwrap());
    store.import_records(records.collect()).await.unwrap();
    store.close().await;
}

/// Changes one letter of the text in the file, as a failing disk would.
fn flip(path: &Path, word: &str) {
    let mut bytes = std::fs::read(path).unwrap();
    let places: Vec<usize> = bytes
        .windows(word.len())
        .enumerate()
        .filter_map(|(at, window)| (window == word.as_bytes()).then_some(at))
        .collect();
    assert!(!places.is_empty(), "{word} is not in the file");
    for at in places {
        bytes[at] ^= 1;
    }
    std::fs::write(path, bytes).unwrap();
}

struct Demo {
    token: String,
    api_key: String,
    flow: String,
    version: String,
    /// The response with the word.
    id: String,
}

/// Three responses on a server, which is stopped.
async fn with_responses(server: Server) -> Demo {
    let (api_key, version) = (server.id("pk_"), server.id("fv_"));
    let (token, flow) = (server.token().unwrap(), server.id("fl_"));
    let mut ids = Vec::new();
    for why in ["first", WORD, "third"] {
        let url = server.submit_url(&api_key);
        let id = submit(&http(), &url, why, &submission(&version, why)).await;
        ids.push(id.expect("it is stored"));
    }
    assert_eq!(server.stop(), Some(0));
    Demo { token, api_key, flow, version, id: ids.swap_remove(1) }
}

#[tokio::test]
async fn a_sound_store_is_sound_online_and_offline() {
    let folder = tempfile::tempdir().unwrap();
    with_responses(Server::start(folder.path())).await;
    let server = Server::start(folder.path());
    for _ in 0..2 {
        let output = run(folder.path(), &["verify"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let line = text(&output.stdout);
        assert!(line.contains("3 responses among them: sound"), "{line}");
    }
    assert_eq!(server.stop(), Some(0));
    let output = run(folder.path(), &["verify"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let gone = run(folder.path(), &["verify", "--data", "gone"]);
    assert_eq!(gone.status.code(), Some(2), "{}", text(&gone.stderr));
    assert!(!folder.path().join("gone").exists());
}

#[tokio::test]
async fn a_flipped_letter_is_found_and_never_certified() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let Demo { id, flow, .. } = with_responses(Server::start(here)).await;
    flip(&here.join("sluice-data/sluice.db"), WORD);
    let found = run(here, &["verify"]);
    assert_eq!(found.status.code(), Some(1), "{}", text(&found.stderr));
    let line = format!("damaged: responses {flow} {id}: the content does not match its digest\n");
    assert_eq!(text(&found.stdout), line);
    let summary = text(&found.stderr);
    assert!(
        summary.contains("1 place is damaged") && summary.contains("sluice restore"),
        "{summary}"
    );
    let arguments = ["move", "--from", "sqlite:sluice-data/sluice.db", "--to", "sqlite:to.db"];
    for arguments in [&arguments[..], &["backup", "x.gz"]] {
        let refused = run(here, arguments);
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
        assert!(text(&refused.stderr).contains(&id), "{}", text(&refused.stderr));
    }
    assert!(!here.join("x.gz").exists() && !here.join("x.gz.partial").exists());
}

/// The export is cut off, and from then on nothing is acknowledged.
#[tokio::test]
async fn a_server_that_finds_damage_stops_acknowledging() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let demo = with_responses(Server::start(here)).await;
    let Demo { id, flow, token, version, api_key } = demo;
    flip(&here.join("sluice-data/sluice.db"), WORD);
    let server = Server::start(here);
    let status = async |path: &str| {
        http().get(format!("{}{path}", server.base)).send().await.unwrap().status().as_u16()
    };
    assert_eq!(status("/readyz").await, 200);
    let url = format!("{}/api/admin/v1/flows/{flow}/export?format=jsonl", server.base);
    let export = http().get(url).bearer_auth(&token).send().await.unwrap();
    assert!(export.bytes().await.is_err(), "the download must be cut off");
    assert_eq!((status("/readyz").await, status("/healthz").await), (503, 200));
    let log = std::fs::read_to_string(here.join("server.log")).unwrap();
    for part in ["ERROR", &id, "sluice verify", "sluice restore"] {
        assert!(log.contains(part), "{part} is not in {log}");
    }
    let (listed, _) = server.admin(&token, &format!("/flows/{flow}/responses")).await;
    assert_eq!(listed, 200, "reads continue");
    let reply = http()
        .post(server.submit_url(&api_key))
        .json(&submission(&version, "fourth"))
        .send()
        .await
        .unwrap();
    assert_eq!(reply.status(), 503);
    assert_eq!(server.stop(), Some(0));
    assert!(here.join("sluice-data/sluice.db.damaged").exists());
    let refused = run(here, &["verify"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
    comes_back(here, &[], &Demo { id, flow, token, version, api_key }, || {}).await;
    assert!(!here.join("sluice-data/sluice.db.damaged").exists());
}

/// A restart does not forget the damage. The way out for a single response is to delete it, and to
/// verify the store; `before_verify` is called before that.
async fn comes_back(here: &Path, store: &[&str], demo: &Demo, before_verify: impl FnOnce()) {
    let start = || Server::start_with(here, "127.0.0.1:0", |command| command.args(store));
    let server = start();
    let ready = async |server: &Server| {
        http().get(format!("{}/readyz", server.base)).send().await.unwrap().status().as_u16()
    };
    assert_eq!(ready(&server).await, 503);
    let log = std::fs::read_to_string(here.join("server.log")).unwrap();
    for part in ["ERROR", "found in this database before", &demo.id, "sluice verify"] {
        assert!(log.contains(part), "{part} is not in {log}");
    }
    let url = server.submit_url(&demo.api_key);
    let (http, body) = (http(), submission(&demo.version, "x"));
    assert_eq!(submit(&http, &url, "k", &body).await, None);
    let url = format!("{}/api/admin/v1/responses/{}", server.base, demo.id);
    let deleted = http.delete(url).bearer_auth(&demo.token).send().await.unwrap();
    assert_eq!(deleted.status(), 204);
    assert_eq!(server.stop(), Some(0));
    // Repaired, but not verified yet.
    let server = start();
    assert_eq!(ready(&server).await, 503);
    assert_eq!(server.stop(), Some(0));
    before_verify();
    let output = run(here, &[&["verify"], store].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stderr).contains("is removed"), "{}", text(&output.stderr));
    let server = start();
    assert_eq!(ready(&server).await, 200);
    assert!(submit(&http, &server.submit_url(&demo.api_key), "k", &body).await.is_some());
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test]
async fn a_restart_does_not_forget_damage_in_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let cluster = Cluster::start(&[]);
    let name = cluster.create_database();
    let url = cluster.url(&name);
    let store = ["--store", &url];
    let start = || Server::start_with(here, "127.0.0.1:0", |command| command.args(store));
    let demo = with_responses(start()).await;
    let change = format!("UPDATE responses SET answers = replace(answers, '{WORD}', 'x')");
    cluster.psql(&name, &change);
    let server = start();
    let export = format!("{}/api/admin/v1/flows/{}/export?format=jsonl", server.base, demo.flow);
    let export = http().get(export).bearer_auth(&demo.token).send().await.unwrap();
    assert!(export.bytes().await.is_err(), "the download must be cut off");
    // The end of the server waits until the mark is written.
    assert_eq!(server.stop(), Some(0));
    comes_back(here, &store, &demo, || {
        // Without a check of the indexes, the mark stays.
        let output = run(here, &["verify", "--store", &url]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        assert!(text(&output.stderr).contains("stays"), "{}", text(&output.stderr));
        let last = text(&output.stdout);
        assert!(last.trim_end().ends_with("sound; the mark of damage stays"), "{last}");
        cluster.psql(&name, "CREATE EXTENSION amcheck");
    })
    .await;
}

/// The name of a flow of the kind `message`.
const NAME: &str = "kingfisher";

/// A newer release may have written it: what needs that flow fails, and everything else goes on.
async fn starts_around_a_flow_of_an_unknown_kind(
    here: &Path,
    store: &[&str],
    change_kind: impl FnOnce(),
) {
    let start = || Server::start_with(here, "127.0.0.1:0", |command| command.args(store));
    let server = start();
    let apps = server.admin(&server.token().unwrap(), "/apps").await.1;
    let app = apps["items"][0]["appId"].as_str().unwrap();
    let url = format!("{}/api/admin/v1/apps/{app}/flows", server.base);
    let new = json!({"name": NAME, "kind": "message"});
    let request = http().post(url).bearer_auth(server.token().unwrap()).json(&new);
    let made = request.send().await.unwrap().bytes().await.unwrap();
    let made: Value = serde_json::from_slice(&made).unwrap();
    let unknown = made["flowId"].as_str().unwrap();
    let Demo { token, api_key, flow, version, .. } = with_responses(server).await;
    change_kind();

    let server = start();
    let ready = http().get(format!("{}/readyz", server.base)).send().await.unwrap();
    assert_eq!(ready.status(), 200, "it is no damage");
    let (status, problem) = server.admin(&token, &format!("/flows/{unknown}")).await;
    assert_eq!((status, &problem["code"]), (500, &json!("store_corrupt")));
    let log = std::fs::read_to_string(here.join("server.log")).unwrap();
    for part in ["ERROR", unknown, "which this build does not know"] {
        assert!(log.contains(part), "{part} is not in {log}");
    }
    assert_eq!(server.admin(&token, &format!("/flows/{flow}")).await.0, 200);
    let (http, body) = (http(), submission(&version, "x"));
    assert!(submit(&http, &server.submit_url(&api_key), "k", &body).await.is_some());
    assert_eq!(server.stop(), Some(0));
    let found = run(here, &[&["verify"], store].concat());
    assert_eq!(found.status.code(), Some(1), "{}", text(&found.stderr));
    assert!(text(&found.stdout).contains(unknown), "{}", text(&found.stdout));
}

#[tokio::test]
async fn a_flow_of_an_unknown_kind_does_not_keep_a_server_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    starts_around_a_flow_of_an_unknown_kind(here, &[], || {
        // The two columns are beside each other in the file; the first letter of the kind changes.
        flip(&here.join("sluice-data/sluice.db"), &format!("message{NAME}"));
    })
    .await;
}

#[tokio::test]
async fn nor_does_it_in_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(&[]);
    let name = cluster.create_database();
    let url = cluster.url(&name);
    starts_around_a_flow_of_an_unknown_kind(folder.path(), &["--store", &url], || {
        let change = format!("UPDATE flows SET kind = 'puzzle' WHERE name = '{NAME}'");
        cluster.psql(&name, &change);
    })
    .await;
}

/// What SQLite notices when it opens the file is refused at the start.
#[tokio::test]
async fn a_file_that_is_cut_off_or_overwritten_does_not_start() {
    const PAGE: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    put(&here.join("a/sluice.db"), filling::records(500)).await;
    let whole = std::fs::read(here.join("a/sluice.db")).unwrap();
    let mut no_header = whole.clone();
    no_header[..PAGE].fill(0);
    let mut no_schema = whole.clone();
    // The cells of the first page, after its header.
    no_schema[100..PAGE].fill(0xA7);
    for (name, bytes) in [
        ("cut", &whole[..whole.len() / 2]),
        ("short", &whole[..whole.len() - PAGE]),
        ("header", &no_header),
        ("schema", &no_schema),
    ] {
        std::fs::create_dir(here.join(name)).unwrap();
        let path = here.join(name).join("sluice.db");
        std::fs::write(&path, bytes).unwrap();
        for command in ["serve", "verify"] {
            let refused = run(here, &[command, "--data", name]);
            let complaint = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(1), "{name}, {command}: {complaint}");
            let file = format!("{name}/sluice.db");
            assert!(complaint.contains(&file) && complaint.contains("damaged"), "{complaint}");
            assert!(complaint.contains("backup"), "{complaint}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name} is unchanged");
    }
}

#[tokio::test]
async fn zeroed_and_random_pages_are_found() {
    const PAGE: usize = 4096;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    put(&here.join("a/sluice.db"), filling::records(4_000)).await;
    let whole = std::fs::read(here.join("a/sluice.db")).unwrap();
    let pages = whole.len() / PAGE;
    assert!(pages > 200, "{pages}");
    let mut number = 0;
    for filler in [0, 0xA7] {
        for page in (3..pages).step_by(pages / 12) {
            let mut damaged = whole.clone();
            damaged[page * PAGE..(page + 1) * PAGE].fill(filler);
            number += 1;
            let data = format!("d{number}");
            std::fs::create_dir(here.join(&data)).unwrap();
            std::fs::write(here.join(&data).join("sluice.db"), damaged).unwrap();
            let output = run(here, &["verify", "--data", &data]);
            let printed = text(&output.stdout) + &text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "page {page} of {pages}: {printed}");
            std::fs::remove_dir_all(here.join(&data)).unwrap();
        }
    }
}

#[tokio::test]
async fn wrong_counts_and_a_changed_answer_are_found_in_postgresql() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let cluster = Cluster::start(&[]);
    let name = cluster.create_database();
    let url = cluster.url(&name);
    let server = Server::start_with(here, "127.0.0.1:0", |command| command.args(["--store", &url]));
    let Demo { flow, version, id, .. } = with_responses(server).await;
    let verify = || run(here, &["verify", "--store", &url]);
    assert_eq!(verify().status.code(), Some(0), "{}", text(&verify().stdout));
    cluster.psql(&name, "CREATE EXTENSION amcheck");
    let output = verify();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(!text(&output.stderr).contains("amcheck"), "{}", text(&output.stderr));
    let change = format!("UPDATE responses SET answers = replace(answers, '{WORD}', 'x')");
    cluster.psql(&name, &change);
    let output = verify();
    assert_eq!(output.status.code(), Some(1));
    let line = format!("damaged: responses {flow} {id}: ");
    assert!(text(&output.stdout).starts_with(&line), "{}", text(&output.stdout));
    cluster.psql(&name, "DELETE FROM responses WHERE answers LIKE '%third%'");
    let output = verify();
    let printed = text(&output.stdout);
    assert!(printed.contains(&format!("damaged: counts {flow}: {version} on ")), "{printed}");
    assert!(printed.contains("3 responses are counted, 2 stored"), "{printed}");
}
