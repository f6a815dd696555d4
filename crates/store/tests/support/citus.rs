//! A database on a Citus cluster that the environment names: created for one test, its workers
//! behind proxies that can delay the second part of a commit, or cut a worker off.

#![expect(clippy::print_stderr, reason = "a skipped test says why")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::{Client, Config, NoTls};

/// The URL of a database on the coordinator, as a superuser. Its workers must be registered, and
/// reachable without TLS (`citus.node_conninfo = 'sslmode=disable'`).
const VARIABLE: &str = "SLUICE_TEST_CITUS";
const LAYOUT: &str = include_str!("../../src/postgres/citus/layout.sql");

pub(crate) struct CitusDatabase {
    config: Config,
    /// A database of each node that stays, through which the one of the test is created.
    nodes: Vec<Config>,
    pub(crate) proxies: Vec<Proxy>,
}

impl CitusDatabase {
    /// An empty database without tables. `None`, with a line that explains it, if the environment
    /// names no cluster.
    pub(crate) async fn create(name: &str) -> Option<Self> {
        let Ok(url) = std::env::var(VARIABLE) else {
            eprintln!("skipped: set {VARIABLE} to the URL of a database on a Citus coordinator");
            return None;
        };
        let given: Config = url.parse().unwrap();
        let client = connect(&given).await;
        let nodes = "SELECT nodename, nodeport FROM pg_dist_node WHERE groupid <> 0 ORDER BY 2";
        let workers = client.query(nodes, &[]).await.unwrap();
        assert!(workers.len() >= 2, "the cluster has {} workers", workers.len());
        let (mut proxies, mut nodes) = (Vec::new(), vec![given.clone()]);
        for worker in &workers {
            let (host, port): (String, i32) = (worker.get(0), worker.get(1));
            let mut config = Config::new();
            config.host(&host).port(port.try_into().unwrap());
            nodes.push(
                config.user(given.get_user().unwrap()).dbname(given.get_dbname().unwrap()).clone(),
            );
            proxies.push(Proxy::to(format!("{host}:{port}")).await);
        }
        for node in &nodes {
            make_database(node, name).await;
        }
        let mut config = given;
        config.dbname(name);
        let client = connect(&config).await;
        let (host, port) = place(&config);
        let here = format!("SELECT citus_set_coordinator_host('{host}', {port})");
        client.batch_execute(&here).await.unwrap();
        for proxy in &proxies {
            let add = format!("SELECT citus_add_node('127.0.0.1', {})", proxy.port);
            client.batch_execute(&add).await.unwrap();
        }
        Some(Self { config, nodes, proxies })
    }

    /// Places the tables, over fewer shards than in production.
    pub(crate) async fn place_tables(&self) {
        let layout = LAYOUT.replace("shard_count => 64", "shard_count => 8");
        let client = self.client().await;
        // One transaction each, as psql runs them.
        for statement in layout.split_inclusive(";\n") {
            client.batch_execute(statement).await.unwrap();
        }
    }

    pub(crate) fn url(&self) -> String {
        let (host, port) = place(&self.config);
        let (user, name) = (self.config.get_user().unwrap(), self.config.get_dbname().unwrap());
        format!("postgres://{user}@{host}:{port}/{name}?sslmode=disable")
    }

    pub(crate) async fn client(&self) -> Client {
        connect(&self.config).await
    }

    /// A session on a worker.
    pub(crate) async fn worker(&self, number: usize) -> Client {
        let mut config = self.nodes[number + 1].clone();
        connect(config.dbname(self.config.get_dbname().unwrap())).await
    }

    /// Drops the database on every node: Citus would continue to look for its proxies.
    pub(crate) async fn remove(self) {
        let name = self.config.get_dbname().unwrap().to_owned();
        for node in self.nodes {
            drop_database(&node, &name).await;
        }
    }

    /// The statements so far that were sent to more than one shard.
    pub(crate) async fn fanned_out(&self) -> i64 {
        let sql = "SELECT query_execution_multi_shard FROM citus_stat_counters \
             WHERE name = current_database()";
        let rows = self.client().await.query(sql, &[]).await.unwrap();
        rows.first().map_or(0, |row| row.get(0))
    }
}

fn place(config: &Config) -> (String, u16) {
    let host = match &config.get_hosts()[0] {
        tokio_postgres::config::Host::Tcp(host) => host.clone(),
        tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
    };
    (host, config.get_ports()[0])
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn make_database(node: &Config, name: &str) {
    drop_database(node, name).await;
    let make = format!("CREATE DATABASE {name}");
    connect(node).await.batch_execute(&make).await.unwrap();
    let extension = "CREATE EXTENSION citus";
    connect(node.clone().dbname(name)).await.batch_execute(extension).await.unwrap();
}

async fn drop_database(node: &Config, name: &str) {
    let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    connect(node).await.batch_execute(&drop).await.unwrap();
}

/// Between the coordinator and one worker.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    control: Arc<Control>,
}

#[derive(Default)]
struct Control {
    /// Milliseconds before a COMMIT PREPARED is passed on.
    delay: AtomicU64,
    /// Even: open. Every cut and every repair adds one.
    cuts: AtomicU64,
    /// How many packets prepared a two-phase commit.
    prepared: AtomicU64,
}

impl Control {
    fn is_cut(&self) -> bool {
        self.cuts.load(Ordering::SeqCst) % 2 == 1
    }
}

impl Proxy {
    async fn to(worker: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let control = Arc::new(Control::default());
        let shared = Arc::clone(&control);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if shared.is_cut() {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&worker).await else { continue };
                tokio::spawn(pass_on(client, server, Arc::clone(&shared)));
            }
        });
        Self { port, control }
    }

    /// Delays the second part of every two-phase commit.
    pub(crate) fn delay_commits(&self, delay: Duration) {
        self.control.delay.store(delay.as_millis().try_into().unwrap(), Ordering::SeqCst);
    }

    /// The two-phase commits so far in which the worker takes part.
    pub(crate) fn prepared(&self) -> u64 {
        self.control.prepared.load(Ordering::SeqCst)
    }

    /// Ends all connections and refuses new ones, as if the worker were down.
    pub(crate) fn cut(&self) {
        assert!(!self.control.is_cut());
        self.control.cuts.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn repair(&self) {
        assert!(self.control.is_cut());
        self.control.cuts.fetch_add(1, Ordering::SeqCst);
    }
}

async fn pass_on(client: TcpStream, server: TcpStream, control: Arc<Control>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = async { tokio::io::copy(&mut from_server, &mut to_client).await };
    let requests = async {
        let mut packet = vec![0; 65536];
        while let Ok(bytes @ 1..) = from_client.read(&mut packet).await {
            let has = |text: &[u8]| packet[..bytes].windows(text.len()).any(|part| part == text);
            if has(b"PREPARE TRANSACTION") {
                control.prepared.fetch_add(1, Ordering::SeqCst);
            }
            if has(b"COMMIT PREPARED") {
                let delay = control.delay.load(Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(delay)).await;
            }
            if to_server.write_all(&packet[..bytes]).await.is_err() {
                return;
            }
        }
    };
    let cut = async {
        let before = control.cuts.load(Ordering::SeqCst);
        while control.cuts.load(Ordering::SeqCst) == before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // Whichever ends first closes both sides.
    tokio::select! {
        _ = answers => {}
        () = requests => {}
        () = cut => {}
    }
}
