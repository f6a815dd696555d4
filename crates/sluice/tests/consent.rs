//! With `collection_only`, who answered is found nowhere: database files, log of the database, log of
//! the server at its most talkative level, lists of the admin API, metrics.
//!
//! Words that occur nowhere else stand in the identities, in the token and in the headers, and the client
//! calls from an address that nobody else has. The same words sent with `admitted` are found, so that the
//! search is known to search.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "../../store/tests/support/cluster.rs"]
mod cluster;
mod support;

use std::net::IpAddr;
use std::path::Path;

use cluster::Cluster;
use serde_json::{Value, json};
use support::Server;

const USER: &str = "canary-user-8Kd3";
const EMAIL: &str = "canary-8kd3@mail.example";
const TRAIT: &str = "canary-trait-8Kd3";
const BEARER: &str = "canary-bearer-8Kd3";
const FORWARDED: &str = "198.51.100.213";
const ADDRESS: &str = "127.93.71.57";
const ANSWER: &str = "found-answer-8Kd3";
const TRACES: [&str; 6] = [USER, EMAIL, TRAIT, BEARER, FORWARDED, ADDRESS];

#[tokio::test(flavor = "multi_thread")]
async fn collection_only_leaves_no_trace_of_a_person() {
    let folder = tempfile::tempdir().unwrap();
    check(folder.path(), None, &[folder.path()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn collection_only_leaves_no_trace_of_a_person_over_postgresql() {
    let cluster = Cluster::start(&[]);
    let database = cluster.create_database();
    let folder = tempfile::tempdir().unwrap();
    let data = cluster.data();
    check(folder.path(), Some(&cluster.url(&database)), &[folder.path(), &data]).await;
    assert_eq!(cluster.psql(&database, "SELECT count(*) FROM responses"), ["3"]);
}

async fn check(folder: &Path, store: Option<&str>, searched: &[&Path]) {
    let server = Server::start_with(folder, "127.0.0.1:0", |command| {
        command.args(["--log", "trace"]).args(store.map(|store| format!("--store={store}")))
    });
    let source: IpAddr = ADDRESS.parse().unwrap();
    let http = reqwest::Client::builder().no_proxy().local_address(source).build().unwrap();
    let url = server.submit_url(&server.id("pk_"));
    let version = server.id("fv_");
    // A first submission, its retry, and another body under the same key.
    for (why, replayed) in [(ANSWER, Some(false)), (ANSWER, Some(true)), ("other", None)] {
        let body = submission(&version, "collection_only", why);
        let data = submit(&http, &url, &body, "key-1").await;
        assert_eq!(data["success"], replayed.is_some(), "{data}");
    }
    let refused = json!({"flowVersionId": version, "identities": [{"type": USER, "value": EMAIL}]});
    assert_eq!(submit(&http, &url, &refused, "key-2").await["success"], false);
    let plain = submission(&version, "collection_only", "plain");
    assert_eq!(submit(&http, &url, &plain, "key-3").await["success"], true);

    let token = server.token().unwrap();
    let (_, list) = server.admin(&token, &format!("/flows/{}/responses", server.id("fl_"))).await;
    assert!(list.to_string().contains(ANSWER), "{list}");
    let (_, apps) = server.admin(&token, "/apps").await;
    let app = apps["items"][0]["appId"].as_str().unwrap();
    let (status, people) = server.admin(&token, &format!("/respondents?appId={app}")).await;
    assert_eq!((status, &people["items"]), (200, &json!([])));
    let (_, audit) = server.admin(&token, "/audit").await;
    let metrics = http.get(format!("{}/metrics", server.base)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.contains("outcome=\"stored\"} 2"), "{metrics}");
    let log = std::fs::read_to_string(folder.join("server.log")).unwrap();
    assert!(log.contains(": exchange "), "the requests are not logged: {log}");
    for trace in TRACES {
        for shown in [&list.to_string(), &audit.to_string(), &metrics, &log] {
            assert!(!shown.contains(trace), "{trace} in {shown}");
        }
        assert_eq!(holding(searched, trace), Vec::<String>::new(), "{trace}");
    }
    assert_ne!(holding(searched, ANSWER), Vec::<String>::new(), "the search finds nothing at all");

    // The same, admitted: what is kept then is found, and the rest is not.
    let admitted = submission(&version, "admitted", "admitted");
    assert_eq!(submit(&http, &url, &admitted, "key-4").await["success"], true);
    for (trace, is_kept) in TRACES.into_iter().zip([true, true, true, false, false, false]) {
        assert_eq!(!holding(searched, trace).is_empty(), is_kept, "{trace}");
    }
    let log = std::fs::read_to_string(folder.join("server.log")).unwrap();
    assert!(TRACES.iter().all(|trace| !log.contains(trace)), "{log}");
    assert_eq!(server.stop(), Some(0));
}

fn submission(version: &str, admission: &str, why: &str) -> Value {
    json!({
        "flowVersionId": version, "flowVersionPayloadGeneration": "4",
        "respondentAnalyticsAdmission": admission,
        "answers": {"nps": "3", "why": why},
        "identities": [
            {"type": "userId", "value": USER}, {"type": "traits.email", "value": EMAIL},
            {"type": "traits.name", "value": TRAIT},
        ],
    })
}

async fn submit(http: &reqwest::Client, url: &str, body: &Value, key: &str) -> Value {
    let request = http.post(url).header("content-type", "application/json");
    let request = request.header("idempotency-key", key).header("x-forwarded-for", FORWARDED);
    let request = request.header("forwarded", format!("for={FORWARDED}")).bearer_auth(BEARER);
    let reply = request.body(body.to_string()).send().await.unwrap();
    let reply: Value = serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap();
    reply["result"]["data"].clone()
}

/// The files below these folders that hold the word; the server's own log is searched apart.
fn holding(folders: &[&Path], word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(holding(&[&path], word));
                continue;
            }
            let bytes = std::fs::read(&path).unwrap_or_default();
            if bytes.windows(word.len()).any(|window| window == word.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}
