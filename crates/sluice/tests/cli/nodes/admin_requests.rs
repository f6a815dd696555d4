//! Requests with an `Idempotency-Key` on two nodes: each has one effect, also when it is sent to
//! both at once, and when a node is killed while it carries some out.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::support::http;
use super::{Node, Site, TOKEN};

/// Requests, and attempts of each on each node.
const REQUESTS: usize = 20;
const ATTEMPTS: usize = 4;
/// Longer than a claim of a node that is gone stays in force.
const SETTLED_MAX: Duration = Duration::from_secs(90);

/// Creates an app with this name; the name is the key, too. No reply if the node is gone.
async fn create(http: &reqwest::Client, base: &str, name: &str) -> Option<(StatusCode, Value)> {
    let request = http
        .post(format!("{base}/api/admin/v1/apps"))
        .bearer_auth(TOKEN)
        .header("idempotency-key", name)
        .json(&json!({"name": name}));
    let reply = request.send().await.ok()?;
    let status = reply.status();
    Some((status, reply.json().await.ok()?))
}

/// Repeats a request until it is no longer in progress.
async fn settled(base: &str, name: &str) -> (StatusCode, Value) {
    let (http, begin) = (http(), Instant::now());
    loop {
        let (status, body) = create(&http, base, name).await.expect("a reply");
        if body["code"] != "request_in_progress" {
            return (status, body);
        }
        assert!(begin.elapsed() < SETTLED_MAX, "{name} is in progress for too long");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The ids of the apps by name.
async fn apps(node: &Node) -> HashMap<String, Vec<String>> {
    let mut apps: HashMap<String, Vec<String>> = HashMap::new();
    for app in node.list("/apps").await {
        let of = |name: &str| app[name].as_str().unwrap().to_owned();
        apps.entry(of("name")).or_default().push(of("appId"));
    }
    apps
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_two_nodes_get_at_once_is_carried_out_once() {
    let (site, _) = Site::start(2);
    let bases = [0, 1].map(|node| site.nodes[node].server.base.clone());
    for number in 0..REQUESTS {
        let name = format!("Request {number}");
        let attempts: Vec<_> = (0..ATTEMPTS * 2)
            .map(|attempt| {
                let (base, name) = (bases[attempt % 2].clone(), name.clone());
                tokio::spawn(async move { settled(&base, &name).await })
            })
            .collect();
        let mut ids = Vec::new();
        for attempt in attempts {
            let (status, body) = attempt.await.unwrap();
            assert_eq!(status, StatusCode::CREATED, "{body}");
            ids.push(body["appId"].as_str().unwrap().to_owned());
        }
        ids.dedup();
        assert_eq!(apps(&site.nodes[0]).await[&name], ids, "one app, and one reply for all");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_killed_node_have_one_effect() {
    let (mut site, _) = Site::start(2);
    let base = site.nodes[1].server.base.clone();
    let clients: Vec<_> = (0..6)
        .map(|client| {
            let base = base.clone();
            tokio::spawn(async move {
                let (http, mut sent) = (http(), Vec::new());
                for number in 0.. {
                    let name = format!("App {client}-{number}");
                    let reply = create(&http, &base, &name).await;
                    let is_gone = reply.is_none();
                    sent.push((name, reply));
                    if is_gone {
                        break;
                    }
                }
                sent
            })
        })
        .collect();
    // Killed under load, once there is some.
    let first = &site.nodes[0];
    while apps(first).await.len() < 20 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    site.nodes[1].server.kill();
    let (mut sent, mut unknown) = (Vec::new(), 0);
    for client in clients {
        sent.extend(client.await.unwrap());
    }
    let first = &site.nodes[0];
    for (name, reply) in &sent {
        let (status, body) = settled(&first.server.base, name).await;
        match reply {
            Some((before, reply)) => assert_eq!((before, reply), (&status, &body), "{name}"),
            None => unknown += 1,
        }
        if status != StatusCode::CREATED {
            assert_eq!((status, &body["code"]), (StatusCode::CONFLICT, &json!("reply_lost")));
        }
    }
    assert!(unknown > 0, "no request was under way when the node was killed");
    let stored = apps(first).await;
    for (name, _) in &sent {
        assert_eq!(stored[name].len(), 1, "{name}");
    }
    println!("{} requests, {unknown} without a reply, each carried out once", sent.len());
}
