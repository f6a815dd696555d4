//! Webhooks of two nodes on one PostgreSQL: when the node that delivers is killed under load, the
//! other one continues, and every acknowledged response is delivered. The same check must fail
//! without the outbox: with only what a node could send that keeps its events in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::support::{http, submission, submit};
use super::{Node, Site, TOKEN};

const CLIENTS: usize = 4;
/// Acknowledged responses before and after the kill.
const EACH: usize = 150;
/// A lease of the killed node, and the deliveries after it.
const DELIVERED_MAX: Duration = Duration::from_secs(120);
const MASTER_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

type Bodies = Arc<Mutex<Vec<Value>>>;

/// A receiver that accepts everything, and what it got.
async fn receiver() -> (String, Bodies) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let got = Bodies::default();
    let bodies = Arc::clone(&got);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(receive(stream, Arc::clone(&bodies)));
        }
    });
    (url, got)
}

async fn receive(stream: TcpStream, got: Bodies) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(number) = line.strip_prefix("content-length:") {
                length = number.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        got.lock().unwrap().push(serde_json::from_slice(&body).ok()?);
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.ok()?;
    }
}

/// Where a node's events come from, for the check.
#[derive(Clone, Copy)]
enum Outbox {
    /// The position in the store: another node continues.
    InStore,
    /// None: a node knows only what it accepted, until it is killed.
    Missing,
}

/// What happened: who acknowledged which response, and how many requests had arrived when a node was
/// killed.
#[derive(Default)]
struct Record {
    stored: BTreeMap<String, String>,
    killed: BTreeMap<String, usize>,
}

impl Record {
    /// The acknowledged responses that were not delivered.
    fn missing(&self, got: &[Value], outbox: Outbox) -> BTreeSet<String> {
        let got = ids(got);
        let counted = |node: &str| match outbox {
            Outbox::InStore => &got[..],
            Outbox::Missing => &got[..self.killed.get(node).copied().unwrap_or(got.len())],
        };
        let is_missing = |(id, node): &(&String, &String)| !counted(node).contains(id);
        self.stored.iter().filter(is_missing).map(|(id, _)| id.clone()).collect()
    }
}

/// The responses of these requests, in order.
fn ids(got: &[Value]) -> Vec<String> {
    let id = |body: &Value| body["data"]["response"]["responseId"].as_str().unwrap().to_owned();
    got.iter().map(id).collect()
}

/// Waits until every acknowledged response was delivered, and shows that the check would fail without
/// the outbox; returns how many would be lost then.
async fn all_delivered(record: &Record, got: &Bodies) -> usize {
    let begun = Instant::now();
    loop {
        let missing = record.missing(&got.lock().unwrap(), Outbox::InStore).len();
        if missing == 0 {
            break;
        }
        let stored = record.stored.len();
        assert!(begun.elapsed() < DELIVERED_MAX, "{missing} of {stored} are missing");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let lost = record.missing(&got.lock().unwrap(), Outbox::Missing).len();
    assert!(lost > 0, "the check passes without the outbox too, so it shows nothing");
    lost
}

fn node(url: &str) -> Node {
    let arguments = ["--store", url, "--webhooks-allow", "127.0.0.0/8", "--webhooks-allow-http"];
    Node::start_by(|command| command.args(arguments).env("SLUICE_MASTER_KEY", MASTER_KEY))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_node_loses_no_delivery_and_the_other_continues() {
    let mut site = Site::empty();
    let database = site.url();
    site.nodes.extend([node(&database), node(&database)]);
    let first = &site.nodes[0].server;
    let (key, version) = (first.id("pk_"), first.id("fv_"));
    let apps = site.nodes[0].list("/apps").await;
    let app = apps[0]["appId"].as_str().unwrap().to_owned();
    let (url, got) = receiver().await;
    let new = json!({"url": url, "types": ["response.created"]});
    let path = format!("/apps/{app}/endpoints");
    let endpoint = site.nodes[0].admin(Method::POST, &path, Some(&new)).await;
    assert_eq!(endpoint["state"], "active");

    let urls: Vec<String> = site.nodes.iter().map(|node| node.server.submit_url(&key)).collect();
    let record = Arc::new(Mutex::new(Record::default()));
    let kill = |node: &mut Node| {
        node.server.kill();
        let arrived = got.lock().unwrap().len();
        record.lock().unwrap().killed.insert(node.server.submit_url(&key), arrived);
    };
    let load = async |round: usize, urls: Vec<String>| {
        let clients = (0..CLIENTS).map(|client| {
            let (urls, version, record) = (urls.clone(), version.clone(), Arc::clone(&record));
            tokio::spawn(async move {
                let http = http();
                for turn in 0..EACH / CLIENTS {
                    let key = format!("{round}-{client}-{turn}");
                    let url = &urls[turn % urls.len()];
                    let id = submit(&http, url, &key, &submission(&version, &key)).await;
                    record.lock().unwrap().stored.extend(id.map(|id| (id, url.clone())));
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
    };
    // One of the nodes has the lease: both are killed in turn while responses are stored.
    let half = async |all: usize| {
        while record.lock().unwrap().stored.len() < all - EACH / 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::join!(load(0, urls.clone()), async {
        half(EACH).await;
        kill(&mut site.nodes[0]);
    });
    site.nodes.push(node(&database));
    let so_far = record.lock().unwrap().stored.len();
    let others = vec![urls[1].clone(), site.nodes[2].server.submit_url(&key)];
    tokio::join!(load(1, others), async {
        half(so_far + EACH).await;
        kill(&mut site.nodes[1]);
    });
    let third = site.nodes[2].server.submit_url(&key);
    load(2, vec![third]).await;

    let record = std::mem::take(&mut *record.lock().unwrap());
    let stored = record.stored.len();
    assert!(stored >= EACH, "{stored} responses were acknowledged");
    let lost = all_delivered(&record, &got).await;
    let delivered: BTreeSet<String> = ids(&got.lock().unwrap()).into_iter().collect();
    let rows = site.nodes[2].server.stored(TOKEN, &site.nodes[2].server_flow().await, None).await;
    for id in delivered {
        assert!(rows.contains_key(&id), "{id} was delivered and is not stored");
    }
    let requests = got.lock().unwrap().len();
    println!("{stored} stored, {requests} requests; without the outbox {lost} would be lost");
}

impl Node {
    /// The demo's flow.
    async fn server_flow(&self) -> String {
        let apps = self.list("/apps").await;
        let app = apps[0]["appId"].as_str().unwrap();
        let flows = self.list(&format!("/apps/{app}/flows")).await;
        flows[0]["flowId"].as_str().unwrap().to_owned()
    }
}
