//! The log of events on PostgreSQL, where transactions become visible in any order: a reader stops
//! before one that is still in progress.

use crate::support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::id::{EventId, ResponseId};
use sluice_flow::time::Timestamp;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{At, Change, LogEntry, LogQuery, NewResponse, Order, Outcome, Write};
use support::Cluster;
use support::rows::{app_row, flow_row, key, now, response};
use tokio_postgres::NoTls;
use uuid::Uuid;

/// Longer than the horizon is behind the present.
const PAST_HORIZON: Duration = Duration::from_millis(2_500);
const WAIT_MAX: Duration = Duration::from_secs(90);

struct Log {
    store: Arc<PgStore>,
    cluster: Cluster,
    database: String,
}

impl Log {
    async fn open() -> Self {
        let cluster = Cluster::start(&[]);
        let database = cluster.database().await;
        let options = Options { commit_deadline: Duration::from_secs(60), ..Options::default() };
        let store = PgStore::connect(&cluster.url(&database), options).await.unwrap();
        let rows = vec![Write::App(app_row()), Write::Flow(flow_row())];
        store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
        Self { store: Arc::new(store), cluster, database }
    }

    /// The responses after a position, and where to continue.
    async fn read(&self, after: EventId) -> (Vec<ResponseId>, EventId) {
        let query = LogQuery {
            app_id: app_row().app_id,
            flow_id: None,
            responses: true,
            after,
            before: None,
            order: Order::Asc,
            now: Timestamp::from_millis(now()),
            limit: 100,
            bytes_max: usize::MAX,
        };
        let page = self.store.read_log(&query).await.unwrap();
        let response = |entry: &LogEntry| match entry {
            LogEntry::Response(row) => Some(row.response_id),
            LogEntry::Event(row) => row.late_response(),
        };
        (page.entries.iter().filter_map(response).collect(), page.next)
    }

    async fn is_stored(&self, response: ResponseId) -> bool {
        self.store.find_response(response).await.unwrap().is_some()
    }

    /// What a reader that knows no horizon gets: the last id that is visible now.
    async fn newest_visible(&self) -> ResponseId {
        let sql = "SELECT response_id::text FROM responses ORDER BY response_id DESC LIMIT 1";
        let newest = self.cluster.sql(&self.database, sql).await.remove(0);
        ResponseId::from_uuid(newest.parse::<Uuid>().unwrap())
    }
}

fn start() -> EventId {
    EventId::from_uuid(Uuid::nil())
}

/// Without a key, it waits for nothing.
fn unkeyed(response: NewResponse) -> NewResponse {
    NewResponse { idempotency_key: None, ..response }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_waits_for_a_commit_that_is_delayed() {
    let log = Log::open().await;
    let (held, driver) =
        tokio_postgres::connect(&log.cluster.url(&log.database), NoTls).await.unwrap();
    tokio::spawn(driver);
    // Another transaction has the key of the first commit, until it is known whether it ends.
    let (app, taken) = (app_row().app_id.uuid(), Uuid::from_bytes(key(1)));
    let take = format!("BEGIN; INSERT INTO idempotency VALUES ('{app}', '{taken}', '{app}')");
    held.batch_execute(&take).await.unwrap();

    // The first commit has its id and its transaction, and cannot end.
    let slow = response(now(), 1, 1);
    let first = slow.row.response_id;
    let store = Arc::clone(&log.store);
    let commit = tokio::spawn(async move { store.commit(vec![slow]).await });
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let begun = Instant::now();
    while log.cluster.sql(&log.database, waiting).await[0] == "0" {
        assert!(begun.elapsed() < WAIT_MAX, "the commit does not wait");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Another one with a later id ends.
    let quick = unkeyed(response(now() + 1, 2, 1));
    let second = quick.row.response_id;
    assert_eq!(log.store.commit(vec![quick]).await.unwrap(), [Outcome::Stored]);
    assert!(first < second && !log.is_stored(first).await && log.is_stored(second).await);

    // The control: a cursor at what is visible steps over the first one.
    let naive = log.newest_visible().await;
    assert_eq!(naive, second);

    tokio::time::sleep(PAST_HORIZON).await;
    let (seen, cursor) = log.read(start()).await;
    assert_eq!(seen, [], "the reader went past a transaction in progress");
    assert!(cursor.uuid() < first.uuid());

    held.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(commit.await.unwrap().unwrap(), [Outcome::Stored]);
    assert!(first < naive, "the naive cursor has missed it");
    let (mut seen, mut after) = (Vec::new(), cursor);
    let begun = Instant::now();
    while seen.len() < 2 {
        assert!(begun.elapsed() < WAIT_MAX, "{seen:?}");
        let (more, next) = log.read(after).await;
        seen.extend(more);
        after = next;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(seen, [first, second]);
    log.store.close().await;
}

/// A transaction of another app, or one that only reads, does not hold the log.
#[tokio::test(flavor = "multi_thread")]
async fn other_transactions_do_not_hold_the_log() {
    let log = Log::open().await;
    let (reader, driver) =
        tokio_postgres::connect(&log.cluster.url(&log.database), NoTls).await.unwrap();
    tokio::spawn(driver);
    reader
        .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM responses; SELECT pg_advisory_xact_lock(7)")
        .await
        .unwrap();
    let sent = response(now(), 1, 1);
    let id = sent.row.response_id;
    assert_eq!(log.store.commit(vec![sent]).await.unwrap(), [Outcome::Stored]);
    let begun = Instant::now();
    while log.read(start()).await.0 != [id] {
        assert!(begun.elapsed() < WAIT_MAX);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    log.store.close().await;
}

/// An id that waited longer than the horizon for its transaction is announced again.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_older_than_the_horizon_is_announced_again() {
    let log = Log::open().await;
    let fresh = response(now(), 1, 1);
    assert_eq!(log.store.commit(vec![fresh]).await.unwrap(), [Outcome::Stored]);
    let announced = "SELECT count(*) FROM events";
    assert_eq!(log.cluster.sql(&log.database, announced).await, ["0"], "a second row");
    let old = response(now() - 5_000, 2, 1);
    let id = old.row.response_id;
    let (_, cursor) = log.read(start()).await;
    assert_eq!(log.store.commit(vec![old]).await.unwrap(), [Outcome::Stored]);
    assert_eq!(log.cluster.sql(&log.database, announced).await, ["1"]);
    let (mut seen, mut after, begun) = (Vec::new(), cursor, Instant::now());
    while !seen.contains(&id) {
        assert!(begun.elapsed() < WAIT_MAX, "{seen:?}");
        let (more, next) = log.read(after).await;
        seen.extend(more);
        after = next;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    log.store.close().await;
}
