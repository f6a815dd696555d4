//! The partitions of responses in PostgreSQL: where rows are stored, found and dropped.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

#[expect(dead_code, unused_imports, reason = "other tests use the rest")]
mod support;

use std::time::{Duration, Instant};

use sluice_flow::id::FlowId;
use sluice_flow::time::Timestamp;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{
    At, Change, CompactionCursor, CountsQuery, Order, Outcome, Record, ResponseQuery, Write,
};
use support::Cluster;
use support::rows::{app_row, key, now, response};

/// How often to create another server if one does not start, as when its port was taken.
const STARTS: usize = 3;

/// A server on a separate port.
fn start() -> Cluster {
    for _ in 1..STARTS {
        let cluster = Cluster::new(&[]);
        if std::panic::catch_unwind(|| cluster.control(&["start"])).is_ok() {
            return cluster;
        }
    }
    Cluster::start(&[])
}

async fn open(cluster: &Cluster, database: &str) -> PgStore {
    PgStore::connect(&cluster.url(database), Options::default()).await.unwrap()
}

async fn put_app(store: &PgStore) {
    let rows = vec![Write::App(app_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
}

/// Milliseconds since the epoch, in the middle of months.
const MARCH_2025: i64 = 1_741_996_800_000;
const FAR_AHEAD: i64 = 7_258_118_400_000;

#[tokio::test(flavor = "multi_thread")]
async fn responses_are_in_the_partition_of_their_month() {
    let cluster = start();
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    let sent = [now(), MARCH_2025, FAR_AHEAD].into_iter().zip(1..);
    let sent: Vec<_> = sent.map(|(millis, number)| response(millis, number, 1)).collect();
    assert_eq!(store.commit(sent.clone()).await.unwrap(), [Outcome::Stored; 3]);
    for response in &sent {
        let found = store.find_response(response.row.response_id).await.unwrap();
        assert_eq!(found.as_ref(), Some(&response.row));
    }
    let places = "SELECT tableoid::regclass::text FROM responses ORDER BY response_id";
    let month = "SELECT to_char(now() AT TIME ZONE 'UTC', '\"responses_\"YYYY_MM')";
    let month = cluster.sql(&database, month).await.remove(0);
    let lie_in = cluster.sql(&database, places).await;
    assert_eq!(lie_in, ["responses_default", &month, "responses_default"]);
    let ahead = "SELECT count(*) FROM pg_tables WHERE tablename ~ '^responses_[0-9]{4}_'";
    let ahead: u32 = cluster.sql(&database, ahead).await[0].parse().unwrap();
    assert!(ahead >= 3, "{ahead} partitions were made ahead");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_months_are_dropped_with_their_keys_and_counts() {
    let cluster = start();
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    let month = 31 * 24 * 60 * 60 * 1000;
    let old = [MARCH_2025, MARCH_2025 + month].into_iter().zip(1..);
    let old: Vec<_> = old.map(|(millis, number)| response(millis, number, 1).row).collect();
    let records = old.iter().zip(1..).map(|(row, number)| Record::Response {
        row: row.clone(),
        idempotency_key: Some(key(number)),
    });
    store.import_records(records.collect()).await.unwrap();
    while !store.compact_counts(CompactionCursor::default(), 100).await.unwrap().is_done() {}
    let days = async || {
        let app = app_row().app_id;
        let counts = store
            .read_counts(app, FlowId::from_uuid(app.uuid()), &CountsQuery::default())
            .await
            .unwrap();
        counts.daily.iter().map(|(_, day, _)| *day).collect::<Vec<_>>()
    };
    assert_eq!(days().await, [0, 1].map(|at: usize| old[at].response_id.made_at().day()));
    let before = Timestamp::from_millis(MARCH_2025 + month);
    assert_eq!(store.drop_partitions_before(before).await.unwrap(), 1);
    assert_eq!(store.find_response(old[0].response_id).await.unwrap(), None);
    assert!(store.find_response(old[1].response_id).await.unwrap().is_some());
    for (number, left) in [(1, false), (2, true)] {
        let found = store.find_by_idempotency_key(app_row().app_id, &key(number)).await.unwrap();
        assert_eq!(found.is_some(), left, "{number}");
    }
    assert_eq!(
        days().await,
        [old[1].response_id.made_at().day()],
        "the counts of the month were kept"
    );
    assert_eq!(store.drop_partitions_before(before).await.unwrap(), 0);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_scans_only_the_index_of_its_months() {
    let cluster = start();
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    let other = MARCH_2025 + 31 * 24 * 60 * 60 * 1000;
    for millis in [MARCH_2025, other] {
        let rows = (0..4_000).map(|number| response(millis, number, 1).row);
        let records = rows.map(|row| Record::Response { row, idempotency_key: None });
        store.import_records(records.collect()).await.unwrap();
    }
    store.close().await;
    cluster.sql(&database, "ANALYZE").await;
    // The statistics of a session are complete at the latest when it has ended.
    let scans = "SELECT relname || ' ' || (seq_scan > 0) || ' ' || (idx_scan > 0) \
         FROM pg_stat_user_tables WHERE relname ~ '^responses_2025_0' ORDER BY 1";
    cluster.sql(&database, "SELECT pg_stat_reset()").await;
    let store = open(&cluster, &database).await;
    let app = app_row().app_id;
    for order in [Order::Asc, Order::Desc] {
        let query = ResponseQuery {
            from: Some(Timestamp::from_millis(MARCH_2025)),
            to: Some(Timestamp::from_millis(MARCH_2025 + 1)),
            order,
            scan_limit: 1_000,
            ..ResponseQuery::new(app, FlowId::from_uuid(app.uuid()), 10)
        };
        assert_eq!(store.list_responses(&query).await.unwrap().rows.len(), 10);
    }
    store.close().await;
    let expected = ["responses_2025_03 false true", "responses_2025_04 false false"];
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let reported = cluster.sql(&database, scans).await;
        if reported == expected {
            break;
        }
        assert!(Instant::now() < deadline, "{reported:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_that_has_begun_in_the_default_partition_stays_there() {
    let cluster = start();
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    let month = 31 * 24 * 60 * 60 * 1000;
    let begun = response(MARCH_2025, 1, 1);
    assert_eq!(store.commit(vec![begun]).await.unwrap(), [Outcome::Stored]);
    let records = [(MARCH_2025, 2), (MARCH_2025 + month, 3)].map(|(millis, number)| {
        let row = response(millis, number, 1).row;
        Record::Response { row, idempotency_key: Some(key(number)) }
    });
    store.import_records(records.into()).await.unwrap();
    let places = "SELECT tableoid::regclass::text FROM responses ORDER BY response_id";
    let expected = ["responses_default", "responses_default", "responses_2025_04"];
    assert_eq!(cluster.sql(&database, places).await, expected);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_later_response_outlives_an_older_response() {
    let cluster = start();
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    let (old, later) = (response(MARCH_2025, 1, 1).row, response(now(), 2, 1).row);
    let record = Record::Response { row: old, idempotency_key: Some(key(1)) };
    store.import_records(vec![record]).await.unwrap();
    let id = later.response_id.uuid();
    cluster.sql(&database, &format!("UPDATE idempotency SET response_id = '{id}'")).await;
    let before = Timestamp::from_millis(now());
    assert_eq!(store.drop_partitions_before(before).await.unwrap(), 1);
    let found = store.find_by_idempotency_key(app_row().app_id, &key(1)).await.unwrap();
    assert_eq!(found.map(|(id, _)| id), Some(later.response_id));
    store.close().await;
}
