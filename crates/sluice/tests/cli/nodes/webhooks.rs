//! Webhooks of two nodes on one PostgreSQL: when the node that delivers is killed under load, the
//! other one continues, and every acknowledged response is delivered.

use std::collections::BTreeSet;
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
    let stored = Arc::new(Mutex::new(BTreeSet::new()));
    let load = async |round: usize, urls: Vec<String>| {
        let clients = (0..CLIENTS).map(|client| {
            let (urls, version, stored) = (urls.clone(), version.clone(), Arc::clone(&stored));
            tokio::spawn(async move {
                let http = http();
                for turn in 0..EACH / CLIENTS {
                    let key = format!("{round}-{client}-{turn}");
                    let url = &urls[turn % urls.len()];
                    let id = submit(&http, url, &key, &submission(&version, &key)).await;
                    stored.lock().unwrap().extend(id);
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
    };
    // One of the nodes has the lease: both are killed in turn while responses are stored.
    let half = async |all: usize| {
        while stored.lock().unwrap().len() < all - EACH / 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::join!(load(0, urls.clone()), async {
        half(EACH).await;
        site.nodes[0].server.kill();
    });
    site.nodes.push(node(&database));
    let so_far = stored.lock().unwrap().len();
    let others = vec![urls[1].clone(), site.nodes[2].server.submit_url(&key)];
    tokio::join!(load(1, others), async {
        half(so_far + EACH).await;
        site.nodes[1].server.kill();
    });
    let third = site.nodes[2].server.submit_url(&key);
    load(2, vec![third]).await;

    let stored = stored.lock().unwrap().clone();
    assert!(stored.len() >= EACH, "{} responses were acknowledged", stored.len());
    let begun = Instant::now();
    let delivered = || -> BTreeSet<String> {
        let got = got.lock().unwrap();
        let id = |body: &Value| body["data"]["response"]["responseId"].as_str().unwrap().to_owned();
        got.iter().map(id).collect()
    };
    while !stored.iter().all(|id| delivered().contains(id)) {
        let missing = stored.difference(&delivered()).count();
        assert!(begun.elapsed() < DELIVERED_MAX, "{missing} of {} are missing", stored.len());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let rows = site.nodes[2].server.stored(TOKEN, &site.nodes[2].server_flow().await, None).await;
    for id in delivered() {
        assert!(rows.contains_key(&id), "{id} was delivered and is not stored");
    }
    println!("{} stored, {} requests", stored.len(), got.lock().unwrap().len());
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
