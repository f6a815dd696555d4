//! The database is unavailable: published flows are still served, and submissions are refused.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;

use super::support::{http, submission, submit};
use super::{Demo, Node, Site};

/// How long the database is unavailable: longer than any cache lives.
const AWAY: Duration = Duration::from_secs(4);
const ROUNDS_LEAST: usize = 3;
/// How long recovery may take once the database is back.
const RECOVERED_MAX: Duration = Duration::from_secs(30);
/// No reply may take much longer than the database takes to refuse.
const REPLY_MAX: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn published_flows_are_served_while_the_database_is_away_and_all_recovers() {
    let (mut site, demo) = Site::start(2);
    let http = http();
    let mut served = Vec::new();
    for node in &site.nodes {
        served.push(reads(&http, node, &demo).await);
        submit_once(&http, node, &demo, "before").await.expect("stored");
    }
    site.cluster.control(&["stop", "-m", "immediate"]);
    let begin = Instant::now();
    let (mut rounds, mut slowest) = (0, Duration::ZERO);
    // Some rounds, however long they take here.
    while begin.elapsed() < AWAY || rounds <= ROUNDS_LEAST {
        for (node, served) in site.nodes.iter().zip(&served) {
            assert_eq!(reads(&http, node, &demo).await, *served, "from memory, as before");
            let asked = Instant::now();
            assert_refused(&http, node, &demo).await;
            slowest = slowest.max(asked.elapsed());
            assert_eq!(node.health(&http, "/healthz").await, 200);
            assert_eq!(node.health(&http, "/readyz").await, 503);
        }
        rounds += 1;
    }
    println!("away for {:?}: {rounds} rounds, slowest 503 after {slowest:?}", begin.elapsed());
    assert!(rounds > ROUNDS_LEAST && slowest < REPLY_MAX);
    for node in &mut site.nodes {
        assert!(node.server.is_running(), "the server must wait for the database and not exit");
    }

    site.cluster.control(&["start"]);
    let begin = Instant::now();
    for node in &site.nodes {
        while submit_once(&http, node, &demo, "after").await.is_none() {
            assert!(begin.elapsed() < RECOVERED_MAX, "no submission is stored");
        }
        while node.health(&http, "/readyz").await != 200 {
            assert!(begin.elapsed() < RECOVERED_MAX, "not ready");
        }
    }
    println!("recovered after {:?}", begin.elapsed());
    // The change feed is followed again, too.
    let path = format!("/flow_versions/{}/republish", demo.version);
    let version = site.nodes[0].admin(Method::POST, &path, None).await["flowVersionId"].take();
    let published = Instant::now();
    while reads(&http, &site.nodes[1], &demo).await[0]["flowVersionId"] != version {
        assert!(published.elapsed() < Duration::from_secs(60), "the publish is not seen");
    }
}

/// The resolve and the snapshot, both of which must be served.
async fn reads(http: &reqwest::Client, node: &Node, demo: &Demo) -> [Value; 2] {
    let (flow, version) = (&demo.flow, &demo.version);
    let resolve = node.get(http, &demo.api_key, &format!("flows/{flow}")).await;
    let snapshot = format!("flow_versions/{version}?payload=4");
    let snapshot = node.get(http, &demo.api_key, &snapshot).await;
    assert_eq!((resolve.0, snapshot.0), (200, 200), "{} {}", resolve.1, snapshot.1);
    [resolve.1, snapshot.1]
}

async fn submit_once(
    http: &reqwest::Client,
    node: &Node,
    demo: &Demo,
    key: &str,
) -> Option<String> {
    let url = node.server.submit_url(&demo.api_key);
    submit(http, &url, key, &submission(&demo.version, "outage")).await
}

/// A tRPC error with a time to retry after.
async fn assert_refused(http: &reqwest::Client, node: &Node, demo: &Demo) {
    let request = http.post(node.server.submit_url(&demo.api_key));
    let reply = request.json(&submission(&demo.version, "never")).send().await.unwrap();
    assert_eq!(reply.status(), 503);
    let after: u32 = reply.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&after), "{after}");
    let error = reply.json::<Value>().await.unwrap()["error"].take();
    assert_eq!(error["data"]["code"], "SERVICE_UNAVAILABLE", "{error}");
    assert_eq!(error["data"]["httpStatus"], 503);
    assert_eq!(error["data"]["path"], "response.submit");
}
