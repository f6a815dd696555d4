//! Limits on the number of responses, with submissions to several nodes at once.

use std::collections::HashSet;

use reqwest::Method;
use serde_json::{Value, json};

use super::support::{http, submission};
use super::{Demo, Node, Site};

const SUBMISSIONS: usize = 200;
const LIMIT: usize = 73;
const QUOTA: usize = 31;

/// The reply to a client.
enum Reply {
    Stored(String),
    Refused(String),
}

async fn submit(url: String, key: String, body: Value) -> Reply {
    // A busy machine may close a connection before the request has arrived: the same key is sent
    // again.
    let sent = loop {
        let request = http().post(&url).header("idempotency-key", &key).json(&body);
        if let Ok(sent) = request.send().await {
            break sent;
        }
    };
    let status = sent.status();
    let text = sent.text().await.unwrap();
    let data = serde_json::from_str::<Value>(&text).unwrap()["result"]["data"].take();
    match (data["responseId"].as_str(), data["errors"]["issues"][0]["code"].as_str()) {
        (Some(id), None) => Reply::Stored(id.to_owned()),
        (None, Some(code)) => Reply::Refused(code.to_owned()),
        _ => panic!("neither stored nor refused: {status}: {text}"),
    }
}

/// Submits to all nodes at once; every second response is a detractor's.
async fn storm(nodes: &[Node], demo: &Demo) -> (HashSet<String>, Vec<String>) {
    let calls: Vec<_> = (0..SUBMISSIONS)
        .map(|number| {
            let url = nodes[number % nodes.len()].server.submit_url(&demo.api_key);
            let mut body = submission(&demo.version, "storm");
            body["answers"]["nps"] = json!(if number / 2 % 2 == 0 { "3" } else { "9" });
            tokio::spawn(submit(url, format!("storm-{number}"), body))
        })
        .collect();
    let (mut stored, mut refused) = (HashSet::new(), Vec::new());
    for call in calls {
        match call.await.unwrap() {
            Reply::Stored(id) => assert!(stored.insert(id), "two clients got one id"),
            Reply::Refused(code) => refused.push(code),
        }
    }
    (stored, refused)
}

async fn counted(node: &Node, demo: &Demo) -> Value {
    let path = format!("/flows/{}", demo.flow);
    node.admin(Method::GET, &path, None).await["counted"].take()
}

async fn listed(node: &Node, demo: &Demo) -> Vec<Value> {
    node.list(&format!("/flows/{}/responses", demo.flow)).await
}

fn ids(responses: &[Value]) -> HashSet<String> {
    responses.iter().map(|it| it["responseId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_never_store_one_response_too_many() {
    let (site, demo) = Site::start(2);
    let (one, two) = (&site.nodes[0], &site.nodes[1]);
    one.set(&demo, json!({"closeAfter": LIMIT})).await;
    let (stored, refused) = storm(&site.nodes, &demo).await;
    assert_eq!((stored.len(), refused.len()), (LIMIT, SUBMISSIONS - LIMIT));
    assert!(refused.iter().all(|code| code == "no_longer_accepting"), "{refused:?}");
    // None was lost, and both nodes know that the flow is closed.
    assert_eq!(ids(&listed(two, &demo).await), stored);
    assert_eq!(counted(two, &demo).await["responses"], LIMIT);
    for node in [one, two] {
        let path = format!("flows/{}", demo.flow);
        let mut status = Value::Null;
        for _ in 0..1_200 {
            status = node.get(&http(), &demo.api_key, &path).await.1["status"].take();
            if status == "closed" {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(status, "closed");
    }
    // The same submissions again: the stored ones get their ids, the others are refused again.
    let (again, refused) = storm(&site.nodes, &demo).await;
    assert_eq!(again, stored);
    assert_eq!(refused.len(), SUBMISSIONS - LIMIT);
    assert_eq!(listed(one, &demo).await.len(), LIMIT);
}

/// The same on the embedded store.
#[tokio::test(flavor = "multi_thread")]
async fn one_server_never_stores_one_response_too_many() {
    let node = Node::start_by(|command| command);
    let (api_key, flow, version) =
        (node.server.id("pk_"), node.server.id("fl_"), node.server.id("fv_"));
    let demo = Demo { api_key, flow, version };
    let when = json!({"question": "nps", "lessThan": 7});
    let quotas = json!([{"id": "low", "when": when, "limit": QUOTA}]);
    node.set(&demo, json!({"closeAfter": LIMIT, "quotas": quotas})).await;
    let nodes = [node];
    let (stored, refused) = storm(&nodes, &demo).await;
    assert_eq!((stored.len(), refused.len()), (LIMIT, SUBMISSIONS - LIMIT));
    let responses = listed(&nodes[0], &demo).await;
    assert_eq!(ids(&responses), stored);
    let low = responses.iter().filter(|it| it["answers"]["nps"] == "3").count();
    assert!(low <= QUOTA, "{low}");
    let expected = json!({"responses": LIMIT, "quotas": {"low": low}});
    assert_eq!(counted(&nodes[0], &demo).await, expected);
    assert_eq!(storm(&nodes, &demo).await.0, stored);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_never_exceed_a_quota() {
    let (site, demo) = Site::start(2);
    let (one, two) = (&site.nodes[0], &site.nodes[1]);
    let when = json!({"question": "nps", "lessThan": 7});
    one.set(&demo, json!({"quotas": [{"id": "low", "when": when, "limit": QUOTA}]})).await;
    let (stored, refused) = storm(&site.nodes, &demo).await;
    let others = SUBMISSIONS / 2;
    assert_eq!((stored.len(), refused.len()), (others + QUOTA, SUBMISSIONS - others - QUOTA));
    assert!(refused.iter().all(|code| code == "quota_full"), "{refused:?}");
    let responses = listed(two, &demo).await;
    assert_eq!(ids(&responses), stored);
    let low = responses.iter().filter(|it| it["answers"]["nps"] == "3").count();
    assert_eq!(low, QUOTA);
    let expected = json!({"responses": others + QUOTA, "quotas": {"low": QUOTA}});
    assert_eq!(counted(one, &demo).await, expected);
}

/// A limit is set on one node while the other stores responses: each is counted once.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_set_under_load_counts_every_response_once() {
    let (site, demo) = Site::start(2);
    let nodes = &site.nodes;
    let setting = async {
        for limit in [1_000, 500, 1_000] {
            nodes[1].set(&demo, json!({"closeAfter": null})).await;
            nodes[1].set(&demo, json!({"closeAfter": limit})).await;
        }
    };
    let ((stored, refused), ()) = tokio::join!(storm(nodes, &demo), setting);
    assert_eq!((stored.len(), refused.len()), (SUBMISSIONS, 0));
    assert_eq!(counted(&nodes[0], &demo).await["responses"], SUBMISSIONS);
}
