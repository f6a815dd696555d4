//! Two nodes on one PostgreSQL that publish to NATS: one of them at a time. When it is killed under
//! load, the other one continues, and the stream has every event once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::nats_server::Nats;
use super::support::{http, submission, submit};
use super::{Node, Site};

const CLIENTS: usize = 4;
/// Acknowledged responses before each kill.
const EACH: usize = 100;
/// Leases of the killed nodes, and what they left.
const PUBLISHED_MAX: Duration = Duration::from_secs(120);

fn node(store: &str, nats: &str) -> Node {
    Node::start_with(store, &["--nats-url", nats])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_node_loses_no_event_and_the_other_publishes_on() {
    let of_nats = tempfile::tempdir().unwrap();
    let nats = Nats::start(of_nats.path(), "");
    let mut site = Site::empty();
    let store = site.url();
    site.nodes.extend([node(&store, &nats.url()), node(&store, &nats.url())]);
    let first = &site.nodes[0].server;
    let (key, version) = (first.id("pk_"), first.id("fv_"));
    let stored = Arc::new(Mutex::new(BTreeSet::new()));
    // One of the two publishes: both are killed in turn while responses are stored.
    for round in 0..2 {
        let urls: Vec<String> =
            site.nodes[round..].iter().map(|node| node.server.submit_url(&key)).collect();
        let clients = (0..CLIENTS).map(|client| {
            let (urls, version, stored) = (urls.clone(), version.clone(), Arc::clone(&stored));
            tokio::spawn(async move {
                let http = http();
                for turn in 0..EACH {
                    let key = format!("{round}-{client}-{turn}");
                    let url = &urls[turn % urls.len()];
                    let id = submit(&http, url, &key, &submission(&version, &key)).await;
                    stored.lock().unwrap().extend(id);
                }
            })
        });
        let (clients, before) = (clients.collect::<Vec<_>>(), stored.lock().unwrap().len());
        while stored.lock().unwrap().len() < before + EACH {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        site.nodes[round].server.kill();
        for client in clients {
            client.await.unwrap();
        }
        site.nodes.push(node(&store, &nats.url()));
    }
    let stored = stored.lock().unwrap().clone();
    let begun = Instant::now();
    let messages = loop {
        let messages = nats.client().messages("SLUICE");
        let got: BTreeSet<&str> = messages
            .iter()
            .filter_map(|it| it.body["data"]["response"]["responseId"].as_str())
            .collect();
        let missing = stored.iter().filter(|id| !got.contains(id.as_str())).count();
        if missing == 0 {
            break messages;
        }
        assert!(begun.elapsed() < PUBLISHED_MAX, "{missing} of {} are missing", stored.len());
        tokio::time::sleep(Duration::from_millis(300)).await;
    };
    let ids: BTreeSet<&str> = messages.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids.len(), messages.len(), "an event is in the stream twice");
    assert!(stored.len() >= 2 * EACH);
    println!(
        "{} stored, {} messages, all after {:?}",
        stored.len(),
        messages.len(),
        begun.elapsed()
    );
}
