//! Several real servers on one real PostgreSQL: consistency between them, outages of the database,
//! and upgrades of its schema.
//!
//! `SLUICE_PUBLISHES` and `SLUICE_RESTARTS` set the length of the long runs; every figure is
//! printed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a panic fails the test, and measurements are printed"
)]

mod admin_requests;
mod clocks;
mod closing;
use crate::cluster;
mod edges;
mod first;
use crate::identity;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "nats")]
use crate::nats::server as nats_server;
mod outage;
mod restarts;
mod revocation;
mod silence;
use crate::support;
mod tuning;
mod upgrade;

use std::process::Command;
use std::time::Duration;

use cluster::Cluster;
use reqwest::Method;
use serde_json::{Value, json};
use support::Server;
use tempfile::TempDir;

/// The admin token of every node.
const TOKEN: &str = "a-token-that-every-node-was-given";

/// A PostgreSQL cluster, one database in it, and nodes that use it.
struct Site {
    nodes: Vec<Node>,
    database: String,
    // Dropped last, so that the nodes stop before their database.
    cluster: Cluster,
}

struct Node {
    server: Server,
    _folder: TempDir,
}

/// The demo that the first node created.
#[derive(Clone)]
struct Demo {
    api_key: String,
    flow: String,
    version: String,
}

impl Site {
    /// Starts the nodes one after the other: the first creates the demo.
    fn start(nodes: usize) -> (Self, Demo) {
        let mut site = Self::empty();
        let url = site.url();
        site.nodes.extend((0..nodes).map(|_| Node::start(&url)));
        let first = &site.nodes[0].server;
        let demo =
            Demo { api_key: first.id("pk_"), flow: first.id("fl_"), version: first.id("fv_") };
        (site, demo)
    }

    fn empty() -> Self {
        let cluster = Cluster::start(&[]);
        let database = cluster.create_database();
        Self { nodes: Vec::new(), database, cluster }
    }

    fn url(&self) -> String {
        self.cluster.url(&self.database)
    }
}

impl Node {
    fn start(url: &str) -> Self {
        Self::start_with(url, &[])
    }

    fn start_with(url: &str, arguments: &[&str]) -> Self {
        Self::start_by(|command| command.args(["--store", url]).args(arguments))
    }

    fn start_by(prepare: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start_with(folder.path(), "127.0.0.1:0", |command| {
            prepare(command).env("SLUICE_ADMIN_TOKEN", TOKEN)
        });
        Self { server, _folder: folder }
    }

    /// A call of the admin API that must succeed.
    async fn admin(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let url = format!("{}/api/admin/v1{path}", self.server.base);
        let mut request = support::http().request(method, url).bearer_auth(TOKEN);
        if let Some(body) = body {
            request = request.json(body);
        }
        let reply = request.send().await.unwrap();
        let status = reply.status();
        let body = reply.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status}: {body}");
        serde_json::from_str(&body).unwrap_or(Value::Null)
    }

    /// All items of a list.
    async fn list(&self, path: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut after = String::new();
        loop {
            let page = format!("{path}?limit=1000{after}");
            let mut page = self.admin(Method::GET, &page, None).await;
            let Value::Array(more) = page["items"].take() else { panic!("no items: {page}") };
            items.extend(more);
            let Some(next) = page["next"].as_str() else { return items };
            after = format!("&after={next}");
        }
    }

    /// The definition that the demo published.
    async fn definition(&self, demo: &Demo) -> Value {
        let path = format!("/flow_versions/{}", demo.version);
        self.admin(Method::GET, &path, None).await["definition"].take()
    }

    /// A GET of the public API, with the path after the key.
    async fn get(&self, http: &reqwest::Client, api_key: &str, path: &str) -> (u16, Value) {
        let url = format!("{}/api/v1/{api_key}/{path}", self.server.base);
        let reply = http.get(url).send().await.unwrap();
        let status = reply.status().as_u16();
        (status, serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap_or(Value::Null))
    }

    /// The reply of `/healthz` or `/readyz`.
    async fn health(&self, http: &reqwest::Client, path: &str) -> u16 {
        let reply = http.get(format!("{}{path}", self.server.base)).send().await;
        reply.unwrap().status().as_u16()
    }

    async fn set(&self, demo: &Demo, patch: Value) {
        self.admin(Method::PATCH, &format!("/flows/{}", demo.flow), Some(&patch)).await;
    }
}

fn grace(seconds: u32) -> Value {
    json!({"graceWindowSeconds": seconds})
}

/// A count that the environment may raise.
fn count(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().expect("a count"))
}

/// Prints the spread of some times, and returns the 99th percentile.
fn p99(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let at = |percent: usize| times[((times.len() - 1) * percent).div_ceil(100)];
    let worst = times[times.len() - 1];
    println!("{what}: n={}, p50 {:?}, p99 {:?}, max {worst:?}", times.len(), at(50), at(99));
    at(99)
}
