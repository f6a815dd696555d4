//! `sluice recount` beside a server that receives submissions: nothing is counted twice, and
//! changes made directly in the database are counted.

use crate::cluster;
use crate::support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cluster::Cluster;
use support::{Server, assert_complains, http, run, submission, submit, text};

/// Number of recounts under load.
const ROUNDS: usize = 5;

async fn counted(server: &Server, token: &str, flow: &str) -> u64 {
    let (status, summary) = server.admin(token, &format!("/flows/{flow}/summary")).await;
    assert_eq!(status, 200, "{summary}");
    summary["responses"].as_u64().unwrap()
}

fn recount(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, &[&["recount"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Two clients submit during recounts; `meddle` then deletes some responses directly in the
/// database.
async fn check(store: Option<&str>, meddle: impl FnOnce(&str) -> usize) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| match store {
        Some(url) => command.args(["--store", url]),
        None => command,
    });
    let (token, flow, version) = (server.token().unwrap(), server.id("fl_"), server.id("fv_"));
    let url = server.submit_url(&server.id("pk_"));
    let ended = Arc::new(AtomicBool::new(false));
    let stored = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..2)
        .map(|client| {
            let (url, version, ended) = (url.clone(), version.clone(), Arc::clone(&ended));
            let stored = Arc::clone(&stored);
            tokio::spawn(async move {
                let (http, mut sent) = (http(), 0);
                while !ended.load(Ordering::Relaxed) {
                    let key = format!("{client}-{sent}");
                    let body = submission(&version, &key);
                    submit(&http, &url, &key, &body).await.expect("the server must respond");
                    sent += 1;
                    stored.fetch_add(1, Ordering::Relaxed);
                }
                sent
            })
        })
        .collect();
    let of_store: Vec<&str> = store.map(|url| ["--store", url]).into_iter().flatten().collect();
    let mut rounds = 0;
    // On a busy machine it takes more rounds until enough responses were stored during a recount.
    while rounds < ROUNDS || stored.load(Ordering::Relaxed) <= ROUNDS {
        rounds += 1;
        let arguments = [of_store.as_slice(), &["--flow", &flow]].concat();
        let (folder, arguments) = (folder.path().to_owned(), arguments.join(" "));
        let printed = tokio::task::spawn_blocking(move || {
            recount(&folder, &arguments.split(' ').collect::<Vec<_>>())
        });
        assert!(printed.await.unwrap().ends_with(" of 1 flow counted\n"));
    }
    ended.store(true, Ordering::Relaxed);
    let mut sent = 0;
    for client in clients {
        sent += client.await.unwrap();
    }
    assert_eq!(counted(&server, &token, &flow).await, sent as u64);
    let left = sent - meddle(&flow);
    assert!(recount(folder.path(), &of_store).starts_with(&format!("{left} responses of ")));
    assert_eq!(counted(&server, &token, &flow).await, left as u64);
    let unknown = [&["recount"], of_store.as_slice(), &["--flow", "fl_01KA2VgdPrWYDVgYy3wLpC"]];
    let unknown = run(folder.path(), &unknown.concat());
    assert_complains(&unknown, 1, &["there is no such flow"]);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_missing_database_is_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["recount", "--data", "elsewhere"]);
    assert_complains(&output, 1, &["there is no database"]);
    assert!(!folder.path().join("elsewhere").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recount_beside_a_server_on_sqlite_misses_nothing() {
    check(None, |_| 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recount_beside_a_server_on_postgresql_misses_nothing_and_fixes_wrong_counts() {
    let cluster = Cluster::start(&[]);
    let database = cluster.create_database();
    check(Some(&cluster.url(&database)), |_| {
        // As an old node without counts does: stores without counting, and deletes without updating
        // the counts.
        let sql = "UPDATE responses SET counted = false WHERE response_id IN \
             (SELECT response_id FROM responses ORDER BY response_id LIMIT 3)";
        cluster.psql(&database, sql);
        let sql = "DELETE FROM responses WHERE response_id IN \
             (SELECT response_id FROM responses ORDER BY response_id DESC LIMIT 2) RETURNING 1";
        cluster.psql(&database, sql).len()
    })
    .await;
}
