//! The partitions of responses in PostgreSQL: where rows are stored, found and dropped.

use crate::support;

use std::time::{Duration, Instant};

use sluice_flow::id::{AppId, AuditId, FlowId};
use sluice_flow::time::Timestamp;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{
    AppRow, At, AuditRow, Change, CompactionCursor, ExpiredMonth, FlowRow, Order, Outcome, Record,
    ResponseQuery, ResponseRow, Write,
};
use support::Cluster;
use support::rows::{app_row, flow_row, key, now, response};

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
const MONTH: i64 = 31 * 24 * 60 * 60 * 1000;

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

/// One of several apps, with a flow.
fn app(number: u8, retention_days: Option<u32>) -> [Write; 2] {
    let mut id = app_row().app_id.uuid().into_bytes();
    id[15] = number;
    let app_id = AppId::from_uuid(uuid::Uuid::from_bytes(id));
    let app = AppRow { app_id, retention_days, ..app_row() };
    let flow_id = FlowId::from_uuid(app_id.uuid());
    [Write::App(app), Write::Flow(FlowRow { app_id, flow_id, ..flow_row() })]
}

/// A response to the flow of one of these apps.
fn of_app(number: u8, millis: i64, at: u32) -> ResponseRow {
    let [Write::App(AppRow { app_id, .. }), _] = app(number, None) else { unreachable!() };
    let flow_id = FlowId::from_uuid(app_id.uuid());
    ResponseRow { app_id, flow_id, ..response(millis, at, 1).row }
}

fn audit_row(row: &ResponseRow) -> AuditRow {
    AuditRow {
        audit_id: AuditId::from_uuid(row.response_id.uuid()),
        app_id: Some(row.app_id),
        actor: "test".to_owned(),
        action: "retention.enforced".to_owned(),
        subject: String::new(),
        detail: "{}".to_owned(),
    }
}

/// Two apps with responses in March and April 2025; the first response of each month is of the
/// first app.
struct Months {
    cluster: Cluster,
    database: String,
    store: PgStore,
    rows: Vec<ResponseRow>,
}

impl Months {
    async fn with(second_retention: Option<u32>) -> Self {
        let cluster = start();
        let database = cluster.database().await;
        let store = open(&cluster, &database).await;
        let rows = [(1, MARCH_2025), (1, MARCH_2025), (2, MARCH_2025), (1, MARCH_2025 + MONTH)];
        let rows: Vec<_> =
            rows.into_iter().zip(1..).map(|((app, at), n)| of_app(app, at, n)).collect();
        let months = Self { cluster, database, store, rows };
        months.put([app(1, Some(30)), app(2, second_retention)].concat()).await;
        let records = months.rows.iter().zip(1..).map(|(row, number)| Record::Response {
            row: row.clone(),
            idempotency_key: Some(key(number)),
        });
        months.store.import_records(records.collect()).await.unwrap();
        let compact = async || {
            months.store.compact_counts(CompactionCursor::default(), 100).await.unwrap().is_done()
        };
        while !compact().await {}
        let blocks = "INSERT INTO response_blocks (app_id, flow_id, first_id, last_id, since, filter) \
             SELECT app_id, flow_id, response_id, response_id, 0, '\\x00' FROM responses";
        months.run(blocks).await;
        months
    }

    async fn put(&self, rows: Vec<Write>) {
        self.store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    }

    async fn run(&self, sql: &str) {
        self.cluster.client(&self.database).await.batch_execute(sql).await.unwrap();
    }

    async fn value(&self, sql: &str) -> String {
        self.cluster.sql(&self.database, sql).await.remove(0)
    }

    /// As in two hours: a block that has become longer is filled some minutes later.
    async fn build_skip_index(&self) {
        for hour in 0..2 {
            let (mut cursor, at) = (None, Timestamp::from_millis(now() + hour * 3_600_000));
            while let Some(next) = self.store.build_skip_index(cursor, at).await.unwrap().next {
                cursor = next;
            }
        }
    }

    async fn expired(&self) -> Vec<ExpiredMonth> {
        self.store.list_expired_months(Timestamp::from_millis(now())).await.unwrap()
    }

    async fn drop_month(&self, month: &ExpiredMonth) -> Option<u64> {
        let audit = vec![audit_row(&self.rows[0])];
        let now = Timestamp::from_millis(now());
        self.store.drop_month(month.clone(), now, audit).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_is_dropped_when_no_app_keeps_it() {
    let months = Months::with(None).await;
    // A key of an app without responses in the month.
    let other = format!(
        "INSERT INTO idempotency SELECT '{}', gen_random_uuid(), response_id FROM responses LIMIT 1",
        uuid::Uuid::max()
    );
    months.run(&other).await;
    let expired = months.expired().await;
    assert_eq!(expired.len(), 1, "the second app keeps the first month");
    assert_eq!(expired[0].apps, [months.rows[0].app_id]);
    assert!(expired[0].from.as_millis() > MARCH_2025);
    months.put(app(2, Some(60)).to_vec()).await;
    let expired = months.expired().await;
    assert_eq!(expired.len(), 2);
    assert_eq!(expired[0].apps, [months.rows[0].app_id, months.rows[2].app_id]);
    // Used by another transaction for too long.
    let reader = months.cluster.client(&months.database).await;
    reader.batch_execute("BEGIN; SELECT FROM responses").await.unwrap();
    assert_eq!(months.drop_month(&expired[0]).await, None);
    assert_eq!(months.value("SELECT count(*) FROM idempotency").await, "5");
    reader.batch_execute("COMMIT").await.unwrap();
    assert_eq!(months.drop_month(&expired[0]).await, Some(3));
    assert_eq!(months.drop_month(&expired[0]).await, None, "it is gone");
    for (sql, left) in [
        ("SELECT count(*) FROM responses", "1"),
        ("SELECT count(*) FROM idempotency", "2"),
        ("SELECT count(*) FROM response_blocks WHERE filter IS NOT NULL", "1"),
        ("SELECT count(*) FROM counts WHERE segment = ''", "1"),
        ("SELECT count(*) FROM audit", "1"),
        ("SELECT count(*) FROM pg_class WHERE relname ~ 'responses_2025_03'", "0"),
    ] {
        assert_eq!(months.value(sql).await, left, "{sql}");
    }
    // Of the blocks without responses only the last one of a flow is left, and without a gap.
    let blocks = "SELECT count(*) FROM response_blocks";
    assert_eq!(months.value(blocks).await, "4");
    months.build_skip_index().await;
    assert_eq!(months.value(blocks).await, "2");
    let longer = "SELECT count(*) FROM response_blocks WHERE first_id < last_id";
    assert_eq!(months.value(longer).await, "1", "the first app's covers those that are gone");
    // An app that keeps its responses again prevents the rest.
    let expired = months.expired().await;
    months.put(app(1, None).to_vec()).await;
    assert_eq!(months.drop_month(&expired[0]).await, None);
    assert_eq!(months.value("SELECT count(*) FROM responses").await, "1");
    months.store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_drop_of_a_month_is_finished_by_the_next_run() {
    let months = Months::with(Some(60)).await;
    // As after a crash between the two steps.
    let detach = "ALTER TABLE responses DETACH PARTITION responses_2025_03; \
         ALTER TABLE responses_2025_03 RENAME TO expired_responses_2025_03";
    months.run(detach).await;
    let app = months.rows[0].app_id;
    let found = months.store.find_by_idempotency_key(app, &key(1)).await.unwrap();
    assert!(found.is_some(), "a key stays in use until the drop is finished");
    let checked = months.store.check_pages().await.unwrap();
    assert_eq!(checked.damaged, [""; 0], "such a store is sound");
    // The month has a partition again, as after an import.
    let again = of_app(1, MARCH_2025 + 1, 9);
    let record = Record::Response { row: again.clone(), idempotency_key: Some(key(9)) };
    months.store.import_records(vec![record]).await.unwrap();
    let expired = months.expired().await;
    assert_eq!(expired.len(), 3);
    assert_eq!(months.drop_month(&expired[0]).await, Some(3));
    for (number, is_left) in [(1, false), (2, false), (9, true)] {
        let found = months.store.find_by_idempotency_key(app, &key(number)).await.unwrap();
        assert_eq!(found.is_some(), is_left, "{number}");
    }
    assert_eq!(months.value("SELECT count(*) FROM audit").await, "0", "written by the first step");
    let found = months.store.find_response(again.response_id).await.unwrap();
    assert_eq!(found, Some(again), "only the detached table is dropped");
    assert_eq!(months.expired().await.len(), 2);
    months.store.close().await;
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
    let deadline = Instant::now() + Duration::from_secs(90);
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
    let months = Months::with(Some(60)).await;
    let later = response(now(), 2, 1).row.response_id;
    let sql = format!(
        "UPDATE idempotency SET response_id = '{}' WHERE response_id = '{}'",
        later.uuid(),
        months.rows[0].response_id.uuid()
    );
    months.run(&sql).await;
    assert_eq!(months.drop_month(&months.expired().await[0]).await, Some(3));
    let app = months.rows[0].app_id;
    let found = months.store.find_by_idempotency_key(app, &key(1)).await.unwrap();
    assert_eq!(found.map(|(id, _)| id), Some(later));
    months.store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_with_responses_of_other_months_is_not_dropped() {
    let months = Months::with(Some(60)).await;
    // As an operator could have made it; and a table that only resembles one.
    let quarter = "ALTER TABLE responses DETACH PARTITION responses_2025_04; \
         DROP TABLE responses_2025_04; CREATE TABLE responses_2025_04 PARTITION OF responses \
         FOR VALUES FROM ('0195eea5-d400-0000-0000-000000000000') \
         TO ('01980000-0000-0000-0000-000000000000'); \
         CREATE TABLE expired_responses_2025_99 (); CREATE TABLE backup_20261116_174900 ()";
    months.run(quarter).await;
    let march = months.expired().await;
    assert_eq!(march.len(), 2, "an empty one may be dropped");
    let record =
        Record::Response { row: of_app(1, MARCH_2025 + 2 * MONTH, 9), idempotency_key: None };
    months.store.import_records(vec![record]).await.unwrap();
    assert_eq!(months.expired().await, march[..1]);
    assert_eq!(months.drop_month(&march[1]).await, None);
    assert_eq!(months.value("SELECT count(*) FROM responses").await, "4");
    months.store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_month_that_has_ended_is_dropped() {
    let months = Months::with(None).await;
    months
        .run("DELETE FROM responses WHERE response_id >= '01960000-0000-0000-0000-000000000000'")
        .await;
    let expired = months.expired().await;
    assert_eq!((expired.len(), expired[0].apps.len()), (1, 0));
    assert_eq!(months.drop_month(&expired[0]).await, Some(0));
    assert!(months.expired().await.is_empty());
    months.store.close().await;
}
