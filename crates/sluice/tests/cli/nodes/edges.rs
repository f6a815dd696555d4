//! A change on one node and its effect on the others: never inconsistent, and in force within a
//! second.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use sluice_flow::lifecycle::{FlowTimes, VersionTimes, accepting};
use sluice_flow::time::Timestamp;
use tokio::sync::watch;

use super::support::{http, submission};
use super::{Demo, Node, Site, count, grace, p99};

/// Clients per node that submit without a pause.
const CLIENTS: usize = 2;
/// A change is in force everywhere after a second; a busy machine gets ten.
pub(super) const IN_FORCE_MAX: Duration = Duration::from_secs(10);
/// Far longer, so that a failure reports how long it took.
const PATIENCE: Duration = Duration::from_secs(60);
/// Changes of windows and keys to try, half of them with the notifications cut off.
const CHANGES: usize = 10;

/// The versions that clients submit to: the current one, and the draft that is published next.
type Edge = [String; 2];

#[derive(Default)]
struct Tally {
    stored: HashSet<String>,
    refused: usize,
    /// Neither stored nor refused.
    failed: Vec<String>,
}

/// One node publishes without a grace window; both accept submissions to the old and the new
/// version. Every stored response must have been valid at its recorded time.
#[tokio::test(flavor = "multi_thread")]
async fn publishes_against_submissions_on_two_nodes_store_only_what_a_replay_allows() {
    let publishes = count("SLUICE_PUBLISHES", 40);
    let (site, demo) = Site::start(2);
    let (one, two) = (&site.nodes[0], &site.nodes[1]);
    one.set(&demo, grace(0)).await;
    let definition = one.definition(&demo).await;
    let (edge, at_edge) = watch::channel([demo.version.clone(), demo.version.clone()]);
    let ended = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS * 2)
        .map(|client| {
            let url = site.nodes[client % 2].server.submit_url(&demo.api_key);
            tokio::spawn(submit_at_the_edge(url, at_edge.clone(), Arc::clone(&ended)))
        })
        .collect();
    let mut current = demo.version.clone();
    let mut times = Vec::new();
    for _ in 0..publishes {
        let draft = format!("/flows/{}/draft", demo.flow);
        let draft = one.admin(Method::PUT, &draft, Some(&definition)).await;
        let next = draft["flowVersionId"].as_str().unwrap().to_owned();
        edge.send_replace([current, next.clone()]);
        one.admin(Method::POST, &format!("/flows/{}/publish", demo.flow), None).await;
        times.push(until_resolved(two, &demo, |flow| flow["flowVersionId"] == next).await);
        current = next;
    }
    ended.store(true, Ordering::Relaxed);
    let mut all = Tally::default();
    for client in clients {
        let tally = client.await.unwrap();
        all.stored.extend(tally.stored);
        all.refused += tally.refused;
        all.failed.extend(tally.failed);
    }
    let p99 = p99("from the reply to a publish to its effect on the other node", times);
    println!("{publishes} publishes, {} stored, {} refused", all.stored.len(), all.refused);
    assert_eq!(all.failed, Vec::<String>::new(), "neither stored nor refused");
    assert!(
        all.stored.len() > publishes && all.refused > publishes,
        "too few submissions around the publishes"
    );
    assert!(p99 < IN_FORCE_MAX, "p99 {p99:?}");
    replay(two, &demo, &all.stored, publishes + 1).await;
}

async fn submit_at_the_edge(
    url: String,
    edge: watch::Receiver<Edge>,
    ended: Arc<AtomicBool>,
) -> Tally {
    let http = http();
    let mut tally = Tally::default();
    for turn in 0.. {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        let version = edge.borrow()[turn % 2].clone();
        let sent = http.post(&url).json(&submission(&version, "edge")).send().await.unwrap();
        let status = sent.status();
        let body = sent.text().await.unwrap();
        // By the clock of this node, the version is published in a moment.
        if status == 503 && body.contains("opens now") {
            continue;
        }
        let data = serde_json::from_str::<Value>(&body).unwrap()["result"]["data"].take();
        match (data["success"].as_bool(), data["responseId"].as_str()) {
            (Some(true), Some(id)) => drop(tally.stored.insert(id.to_owned())),
            (Some(false), _) => tally.refused += 1,
            _ => tally.failed.push(format!("{status}: {body}")),
        }
    }
    tally
}

/// Evaluates every stored row again, using only the recorded times.
async fn replay(node: &Node, demo: &Demo, acknowledged: &HashSet<String>, versions: usize) {
    let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    let time = |value: &Value, name: &str| -> Option<Timestamp> {
        text(value, name).map(|text| text.parse().unwrap())
    };
    let mut lives = HashMap::new();
    for version in node.list(&format!("/flows/{}/versions", demo.flow)).await {
        let times = VersionTimes {
            published_at: time(&version, "publishedAt"),
            superseded_at: time(&version, "supersededAt"),
            grace_ends_at: time(&version, "graceEndsAt"),
            retired_at: time(&version, "retiredAt"),
        };
        assert_eq!(times.superseded_at, times.grace_ends_at, "there must be no grace window");
        lives.insert(text(&version, "flowVersionId").unwrap(), times);
    }
    assert_eq!(lives.len(), versions);
    let mut stored = HashSet::new();
    for response in node.list(&format!("/flows/{}/responses", demo.flow)).await {
        let times = &lives[&text(&response, "flowVersionId").unwrap()];
        let received_at = time(&response, "receivedAt").unwrap();
        let state = accepting(times, &FlowTimes::default(), received_at);
        assert!(state.accepts(), "{response} against {times:?}");
        stored.insert(text(&response, "responseId").unwrap());
    }
    assert_eq!(stored, *acknowledged, "stored and acknowledged responses must be the same");
}

/// Polls until resolving the demo's flow returns this, and returns how long that took.
async fn until_resolved(node: &Node, demo: &Demo, is_so: impl Fn(&Value) -> bool) -> Duration {
    let http = http();
    let begin = Instant::now();
    loop {
        let (status, flow) = node.get(&http, &demo.api_key, &format!("flows/{}", demo.flow)).await;
        if status == 200 && is_so(&flow) {
            return begin.elapsed();
        }
        assert!(begin.elapsed() < PATIENCE, "no effect: {status} {flow}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Closes the connections that receive notifications, as a network fault would.
pub(super) fn cut_announcements(site: &Site) {
    // Both are connected again some time after the last cut.
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    let begin = Instant::now();
    while site.cluster.psql(&site.database, listening) != ["2"] {
        assert!(begin.elapsed() < PATIENCE, "each node must have one listening connection");
    }
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    assert_eq!(
        site.cluster.psql(&site.database, cut),
        ["t", "t"],
        "each node must have one listening connection"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_and_a_revoked_key_are_in_force_on_the_other_node_within_a_second() {
    let (site, demo) = Site::start(2);
    let (one, two) = (&site.nodes[0], &site.nodes[1]);
    let http = http();
    let mut times = Vec::new();
    let apps = one.admin(Method::GET, "/apps", None).await;
    let keys = format!("/apps/{}/keys", apps["items"][0]["appId"].as_str().unwrap());
    for change in 0..CHANGES {
        // First waits until the notifications are connected again.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let closes = change % 2 == 0;
        let (ends_at, status) = match closes {
            true => (json!("2020-01-01T00:00:00Z"), "closed"),
            false => (Value::Null, "open"),
        };
        let made = one.admin(Method::POST, &keys, None).await;
        let key = made["apiKey"].as_str().unwrap().to_owned();
        let path = format!("flows/{}", demo.flow);
        until(async || two.get(&http, &key, &path).await.0 == 200).await;
        if change >= CHANGES / 2 {
            cut_announcements(&site);
        }
        one.set(&demo, json!({"liveWindow": {"startsAt": null, "endsAt": ends_at}})).await;
        times.push(until_resolved(two, &demo, |flow| flow["status"] == status).await);
        let reply = http
            .post(two.server.submit_url(&demo.api_key))
            .json(&submission(&demo.version, "window"));
        let reply: Value = reply.send().await.unwrap().json().await.unwrap();
        assert_eq!(reply["result"]["data"]["success"], !closes, "{reply}");

        one.admin(Method::DELETE, &format!("{keys}/{key}"), None).await;
        times.push(until(async || two.get(&http, &key, &path).await.0 == 401).await);
    }
    let worst = *times.iter().max().unwrap();
    p99("from the reply to a change of window or key to its effect on the other node", times);
    assert!(worst < IN_FORCE_MAX, "{worst:?}");
}

/// Polls until a condition holds, and returns how long that took.
pub(super) async fn until(is_so: impl AsyncFn() -> bool) -> Duration {
    let begin = Instant::now();
    while !is_so().await {
        assert!(begin.elapsed() < PATIENCE, "no effect");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    begin.elapsed()
}
