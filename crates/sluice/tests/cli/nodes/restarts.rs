//! PostgreSQL restarts under load, as after a crash: every acknowledged response is stored once.
//!
//! Every answer contains its idempotency key, so that a key stored twice shows as two rows. If a
//! client does not know an outcome, it retries with the same key on the other node.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::support::{http, submission, submit};
use super::{Demo, Site, TOKEN, count, p99};

const CLIENTS: usize = 6;
/// Load before each restart.
const LOAD: Duration = Duration::from_millis(700);
/// Time from a server that answers again to the next acknowledgement on each node.
const RECOVERED_MAX: Duration = Duration::from_secs(30);
/// Pause between two attempts of a client.
const PAUSE: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_restarts_under_load_loses_nothing_acknowledged() {
    let restarts = count("SLUICE_RESTARTS", 3);
    let (mut site, demo) = Site::start(2);
    let urls: [String; 2] = [0, 1].map(|node| site.nodes[node].server.submit_url(&demo.api_key));
    let ended = Arc::new(AtomicBool::new(false));
    let retried = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let load = Load {
                client,
                urls: urls.clone(),
                version: demo.version.clone(),
                ended: Arc::clone(&ended),
                retried: Arc::clone(&retried),
            };
            tokio::spawn(load.run())
        })
        .collect();
    let (mut outages, mut recoveries) = (Vec::new(), Vec::new());
    for round in 0..restarts {
        tokio::time::sleep(LOAD).await;
        let stopped = Instant::now();
        site.cluster.control(&["stop", "-m", "immediate"]);
        site.cluster.control(&["start"]);
        let started = Instant::now();
        until_stored(&urls, &demo, round).await;
        outages.push(stopped.elapsed());
        recoveries.push(started.elapsed());
    }
    ended.store(true, Ordering::Relaxed);
    let mut all = HashMap::new();
    for client in clients {
        all.extend(client.await.unwrap());
    }
    for node in &mut site.nodes {
        assert!(node.server.is_running());
    }
    let worst = *recoveries.iter().max().unwrap();
    p99("from the stop of PostgreSQL to an acknowledgement on both nodes", outages);
    p99("from its start to an acknowledgement on both nodes", recoveries);
    let retried = retried.load(Ordering::Relaxed);
    println!("{restarts} restarts, {} submissions, {retried} settled by a retry", all.len());
    assert!(worst < RECOVERED_MAX, "{worst:?}");
    assert!(retried > 0 && all.len() > restarts * CLIENTS, "too little load for a meaningful test");

    let stored = site.nodes[0].server.stored(TOKEN, &demo.flow, None).await;
    for (key, id) in &all {
        let answers = stored.get(id).unwrap_or_else(|| panic!("{id} ({key}) is gone"));
        assert_eq!(*answers, submission("", key)["answers"], "{key}");
    }
    let probes = restarts * urls.len();
    assert_eq!(stored.len(), all.len() + probes, "there must be one row per key");
}

struct Load {
    client: usize,
    urls: [String; 2],
    version: String,
    ended: Arc<AtomicBool>,
    retried: Arc<AtomicUsize>,
}

impl Load {
    /// Submits until `ended` is set; returns every key with the acknowledged id.
    async fn run(self) -> HashMap<String, String> {
        let http = http();
        let mut known = HashMap::new();
        for turn in 0.. {
            if self.ended.load(Ordering::Relaxed) {
                break;
            }
            let key = format!("{}-{turn}", self.client);
            let body = submission(&self.version, &key);
            let mut tries = 0;
            let id = loop {
                let url = &self.urls[(self.client + tries) % self.urls.len()];
                match submit(&http, url, &key, &body).await {
                    Some(id) => break id,
                    None => tries += 1,
                }
                tokio::time::sleep(PAUSE).await;
            };
            self.retried.fetch_add(usize::from(tries > 0), Ordering::Relaxed);
            known.insert(key, id);
        }
        known
    }
}

/// Waits until each node acknowledges a submission.
async fn until_stored(urls: &[String; 2], demo: &Demo, round: usize) {
    let http = http();
    for (node, url) in urls.iter().enumerate() {
        let key = format!("probe-{round}-{node}");
        while submit(&http, url, &key, &submission(&demo.version, &key)).await.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}
