//! How a store over PostgreSQL starts: within its deadlines, whenever the server falls silent;
//! skipping a host that never answers; and, if opened for reading, without writing a byte.

#![expect(clippy::panic, reason = "tests fail by panicking")]

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sluice_store::postgres::{ConnectError, Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{At, Change, Record, StoreError, Write};
use support::rows::app_row;
use support::{Cluster, USER};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The deadlines of these tests: short, but enough for a busy machine.
fn short() -> Options {
    let second = Duration::from_secs(1);
    Options { connect_deadline: second, statement_deadline: second, ..Options::default() }
}

/// A start takes a few of these deadlines at most. Without them it would never end, so this allows
/// for a busy machine.
const START_MAX: Duration = Duration::from_secs(30);

/// A proxy to a server that forwards this many packets from the server in total, and then no more
/// on any connection; it still accepts everything sent to the server.
async fn wire(server: String, packets: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let left = Arc::new(AtomicUsize::new(packets));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&server).await.unwrap();
            tokio::spawn(hand_on(client, server, Arc::clone(&left)));
        }
    });
    address
}

async fn hand_on(client: TcpStream, server: TcpStream, left: Arc<AtomicUsize>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut packet = vec![0; 65536];
    while let Ok(bytes @ 1..) = from_server.read(&mut packet).await {
        let takes_one = |left: usize| left.checked_sub(1);
        if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, takes_one).is_err() {
            // The connection stays open, and silent.
            std::future::pending::<()>().await;
        }
        to_client.write_all(&packet[..bytes]).await.unwrap();
    }
}

/// Host and port of a server.
fn place(cluster: &Cluster) -> String {
    cluster.url("x").split(['@', '/']).nth(3).unwrap().to_owned()
}

fn url(hosts: &str, database: &str) -> String {
    format!("postgres://{USER}@{hosts}/{database}?sslmode=disable")
}

/// How a start ended.
#[derive(Debug, PartialEq, Eq)]
enum Start {
    /// The server was given up before there was a session.
    Unreachable,
    /// It was given up later.
    Silent,
    /// The store opened, and then a read failed.
    Unreadable,
    Done,
}

/// Starts over a proxy that falls silent after this many packets.
async fn start(server: String, database: String, packets: usize) -> Start {
    let through = url(&wire(server, packets).await, &database);
    let began = Instant::now();
    let how = async {
        match PgStore::connect(&through, short()).await {
            Err(ConnectError::Unreachable { .. }) => Start::Unreachable,
            Err(ConnectError::Silent { .. }) => Start::Silent,
            Err(other) => panic!("{packets} packets: {other:?}"),
            // Partitions are best effort; after them the pool's deadlines apply.
            Ok(store) => match store.list_tokens().await {
                Ok(_) => Start::Done,
                Err(StoreError::Failed(_)) => Start::Unreadable,
                Err(other) => panic!("{packets} packets: {other:?}"),
            },
        }
    };
    let how = tokio::time::timeout(START_MAX, how).await;
    how.unwrap_or_else(|_| panic!("still running after {:?}, {packets} packets", began.elapsed()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_ends_in_time_whenever_the_server_falls_silent() {
    const AT_ONCE: usize = 6;
    const STEP: usize = 4;
    let cluster = Cluster::start(&[]);
    let mut seen = Vec::new();
    for round in 0.. {
        let mut starts = Vec::new();
        for number in 0..AT_ONCE {
            let (server, database) = (place(&cluster), cluster.database().await);
            let packets = (round * AT_ONCE + number) * STEP;
            starts.push(tokio::spawn(start(server, database, packets)));
        }
        for start in starts {
            seen.push(start.await.unwrap());
        }
        if seen.last() == Some(&Start::Done) {
            break;
        }
    }
    for how in [Start::Unreachable, Start::Silent, Start::Unreadable] {
        assert!(seen.contains(&how), "no start ended as {how:?}: {seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_host_costs_its_deadline_once_and_not_with_every_connection() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    // The operating system accepts the connection, but nothing ever answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hosts = format!("{},{}", silent.local_addr().unwrap(), place(&cluster));
    let options = Options { connect_deadline: Duration::from_secs(2), ..Options::default() };
    let store = PgStore::connect(&url(&hosts, &database), options).await.unwrap();
    let store = Arc::new(store);
    // Each of these needs a separate connection.
    let reads: Vec<_> = (0..8)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.list_tokens().await })
        })
        .collect();
    for read in reads {
        read.await.unwrap().unwrap();
    }
    tokio::time::timeout(START_MAX, store.changed()).await.expect("the store does not listen");
    // Every connection attempt waits in its queue.
    silent.set_nonblocking(true).unwrap();
    let tries = std::iter::from_fn(|| silent.accept().ok()).count();
    assert_eq!(tries, 1, "the silent host was tried again");
    store.close().await;
}

/// The tables of a database, and their rows.
async fn content(cluster: &Cluster, database: &str) -> Vec<String> {
    let tables = "SELECT relname || ' ' || relkind::text || ' ' || pg_relation_size(oid) FROM pg_class \
         WHERE relnamespace = 'public'::regnamespace ORDER BY 1";
    cluster.sql(database, tables).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_opened_for_reading_writes_nothing() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let url = cluster.url(&database);
    let read = || PgStore::connect_to_read(&url, Options::default());

    let error = read().await.expect_err("an empty database was opened");
    assert!(matches!(error, ConnectError::NoSchema { .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("database {database}")), "{error}");
    assert_eq!(content(&cluster, &database).await, [""; 0], "something was created");

    let store = PgStore::connect(&url, Options::default()).await.unwrap();
    let rows = vec![Write::App(app_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    store.close().await;
    cluster.sql(&database, "SELECT 1").await;
    let before = content(&cluster, &database).await;
    let store = read().await.unwrap();
    let records = store.export_records(None, 10).await.unwrap();
    assert!(matches!(&records[..], [Record::App(app)] if app.row == app_row()), "{records:?}");
    let rows = vec![Write::App(app_row())];
    let written = store.apply(At::Instance, Change::new(|| rows)).await;
    assert!(matches!(written, Err(StoreError::Failed(_))), "{written:?}");
    store.close().await;
    assert_eq!(content(&cluster, &database).await, before);

    // As a binary with one migration fewer would have left it.
    let newest = "DELETE FROM schema_history WHERE version = \
         (SELECT max(version) FROM schema_history)";
    cluster.sql(&database, newest).await;
    let left = cluster.sql(&database, "SELECT version FROM schema_history").await;
    let error = read().await.expect_err("an older schema");
    match left.is_empty() {
        true => assert!(matches!(error, ConnectError::NoSchema { .. }), "{error:?}"),
        false => assert!(matches!(error, ConnectError::OlderSchema { .. }), "{error:?}"),
    }
    assert_eq!(cluster.sql(&database, "SELECT version FROM schema_history").await, left);
}
