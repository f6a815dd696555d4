//! The skip index of PostgreSQL beside an import, and with a server whose clock was set back: no
//! list misses a response.

use crate::postgres::{open, until};
use crate::support;

use std::sync::Arc;

use sluice_flow::time::Timestamp;
use sluice_store::postgres::PgStore;
use sluice_store::roles::*;
use sluice_store::{
    At, Change, CompactionCursor, NewResponse, Order, Outcome, Record, ResponseQuery, ResponseRow,
    Write,
};
use support::Cluster;
use support::rows::{app_row, flow_row, now, response};
use tokio::task::JoinHandle;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
/// The time of the first responses; each is a millisecond after the one before.
const START: i64 = 1_763_172_000_000;
/// When all of them are old enough for a block, and the first block may be filled.
const LATER: i64 = START + 2 * HOUR;

/// Two blocks of responses; one in the first of them has a tag.
const FILL: &str = "INSERT INTO responses (app_id, flow_id, flow_version_id, response_id, digest, \
     admitted, identity_verified, answers, tags) SELECT app_id, app_id, app_id, \
     (lpad(to_hex(1763172000000 + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, \
     gen_random_uuid(), false, false, '{}', CASE WHEN n = 500 THEN '{\"rare\":\"yes\"}' END \
     FROM apps, generate_series(1, 2048) AS n; \
     INSERT INTO count_scans (app_id, flow_id, unindexed) SELECT app_id, app_id, 2048 FROM apps";

/// A server on which nothing else writes: an open transaction holds the skip index back.
fn start() -> Cluster {
    Cluster::start(&["autovacuum=off"])
}

async fn with_flow(cluster: &Cluster, database: &str) -> PgStore {
    let store = open(cluster, database).await;
    let rows = vec![Write::App(app_row()), Write::Flow(flow_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    store
}

/// One call; returns how many blocks it added or filled.
async fn build(store: &PgStore, millis: i64) -> u64 {
    store.build_skip_index(None, Timestamp::from_millis(millis)).await.unwrap().made
}

/// The number of responses with the tag: in lists of both orders, and as they are counted.
async fn found(store: &PgStore) -> [usize; 3] {
    let all = ResponseQuery::new(app_row().app_id, flow_row().flow_id, 50);
    let tagged = ResponseQuery { tags: vec![("rare".to_owned(), "yes".to_owned())], ..all };
    let [ascending, descending] = [Order::Asc, Order::Desc].map(|order| {
        let mut query = ResponseQuery { order, ..tagged.clone() };
        async move {
            let mut listed = 0;
            loop {
                let page = store.list_responses(&query).await.unwrap();
                listed += page.rows.len();
                query.after = page.next;
                if page.next.is_none() {
                    return listed;
                }
            }
        }
    });
    let (mut query, mut counted) = (tagged, 0);
    loop {
        let part = store.count_responses(&query).await.unwrap();
        counted += part.responses as usize;
        query.after = part.next;
        if part.next.is_none() {
            return [ascending.await, descending.await, counted];
        }
    }
}

/// A flow of which the first block is built, without a filter yet, and the second one is due.
struct HalfBuilt {
    cluster: Cluster,
    database: String,
    store: Arc<PgStore>,
}

impl HalfBuilt {
    async fn new() -> Self {
        let cluster = start();
        let database = cluster.database().await;
        let store = Arc::new(with_flow(&cluster, &database).await);
        cluster.client(&database).await.batch_execute(FILL).await.unwrap();
        // The first 1,024 responses are ten minutes old.
        assert_eq!(build(&store, START + 1_025 + 10 * MINUTE).await, 1);
        Self { cluster, database, store }
    }

    /// Fills the first block and adds the second one, in another task.
    fn build(&self) -> JoinHandle<u64> {
        let store = Arc::clone(&self.store);
        tokio::spawn(async move { build(&store, LATER).await })
    }

    /// Waits until this many sessions of the store wait for a lock.
    async fn until_wait(&self, sessions: &str) {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
             AND application_name = 'sluice'";
        let waits = async || self.cluster.sql(&self.database, waiting).await == [sessions];
        until("sessions wait for a lock", async || waits().await.then_some(())).await;
    }

    /// Checks that the response with the tag is found, now and when both blocks are built again.
    async fn check(self) {
        assert_eq!(found(&self.store).await, [1; 3]);
        for millis in [LATER, LATER + HOUR] {
            build(&self.store, millis).await;
            assert_eq!(found(&self.store).await, [1; 3]);
        }
        let filled = "SELECT count(*) FROM response_blocks WHERE filter IS NOT NULL";
        assert_eq!(self.cluster.sql(&self.database, filled).await, ["2"]);
        self.store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_during_a_build_leaves_no_gap_between_blocks() {
    let flow = HalfBuilt::new().await;
    // The build waits for the transaction that adds the same block.
    let other = flow.cluster.client(&flow.database).await;
    let add = "BEGIN; INSERT INTO response_blocks (app_id, flow_id, first_id, last_id, since) \
         SELECT app_id, flow_id, response_id, response_id, 0 FROM responses \
         ORDER BY response_id DESC LIMIT 1";
    other.batch_execute(add).await.unwrap();
    let building = flow.build();
    flow.until_wait("1").await;
    let importing = tokio::spawn({
        let store = Arc::clone(&flow.store);
        let row = response(START + MINUTE, 9, 1).row;
        let record = Record::Response { row, idempotency_key: None };
        async move { store.import_records(vec![record]).await }
    });
    flow.until_wait("2").await;
    other.batch_execute("ROLLBACK").await.unwrap();
    building.await.unwrap();
    importing.await.unwrap().unwrap();
    flow.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_began_before_an_import_leaves_no_gap_between_blocks() {
    let flow = HalfBuilt::new().await;
    // What an import locks. The build can read the blocks, but not write them.
    let other = flow.cluster.client(&flow.database).await;
    let lock =
        "BEGIN; SELECT FROM count_scans FOR UPDATE; LOCK TABLE response_blocks IN SHARE MODE";
    other.batch_execute(lock).await.unwrap();
    let building = flow.build();
    flow.until_wait("1").await;
    let forget = "DELETE FROM response_blocks; \
         UPDATE count_scans SET unindexed = unindexed + 1024; COMMIT";
    other.batch_execute(forget).await.unwrap();
    building.await.unwrap();
    flow.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_holds_no_block_while_it_waits_for_an_import() {
    let flow = HalfBuilt::new().await;
    // An import has changed the row that a build locks, and deletes the blocks last.
    let other = flow.cluster.client(&flow.database).await;
    other.batch_execute("BEGIN; UPDATE count_scans SET passed = flow_id").await.unwrap();
    let building = flow.build();
    flow.until_wait("1").await;
    let forget = "DELETE FROM response_blocks; \
         UPDATE count_scans SET passed = NULL, unindexed = unindexed + 1024; COMMIT";
    other.batch_execute(forget).await.expect("no deadlock");
    building.await.unwrap();
    flow.check().await;
}

/// As after a clock was set back: everything that is stored until it has caught up is in one block.
#[tokio::test(flavor = "multi_thread")]
async fn a_block_of_very_many_responses_gets_a_filter_that_excludes_nothing() {
    let cluster = start();
    let database = cluster.database().await;
    let store = with_flow(&cluster, &database).await;
    let fill = format!(
        "{}; UPDATE count_scans SET unindexed = 0; INSERT INTO response_blocks \
         (app_id, flow_id, first_id, last_id, since) SELECT app_id, app_id, \
         '00000000-0000-0000-0000-000000000000', max(response_id::text)::uuid, 0 \
         FROM responses GROUP BY app_id",
        FILL.replace("2048)", "17000)")
    );
    cluster.client(&database).await.batch_execute(&fill).await.unwrap();
    assert_eq!(build(&store, LATER).await, 1);
    let bytes = "SELECT octet_length(filter) FROM response_blocks";
    assert_eq!(cluster.sql(&database, bytes).await, ["0"]);
    assert_eq!(found(&store).await, [1; 3]);
    store.close().await;
}

/// One flow ended, and then another one began. The server must not walk through the blocks of one
/// to find those of the other.
#[tokio::test(flavor = "multi_thread")]
async fn the_blocks_of_a_flow_are_found_without_those_of_others() {
    let cluster = start();
    let database = cluster.database().await;
    with_flow(&cluster, &database).await.close().await;
    let fill = "INSERT INTO response_blocks (app_id, flow_id, first_id, last_id, since, filter) \
         SELECT app_id, CASE WHEN n <= 3000 THEN app_id ELSE gen.other END, \
         lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n), 32, '0')::uuid, 1, \
         decode(repeat('00', 1500), 'hex') \
         FROM apps, (SELECT gen_random_uuid() AS other) AS gen, generate_series(1, 6000) AS n; \
         VACUUM ANALYZE response_blocks";
    for statement in fill.split("; ") {
        cluster.client(&database).await.batch_execute(statement).await.unwrap();
    }
    let app = app_row().app_id.uuid();
    for order in ["", "DESC"] {
        let plan = format!(
            "EXPLAIN SELECT first_id, last_id FROM response_blocks \
             WHERE app_id = '{app}' AND flow_id = '{app}' ORDER BY last_id {order} LIMIT 1"
        );
        let plan = cluster.sql(&database, &plan).await.join("\n");
        assert!(plan.contains("response_blocks_pkey"), "{plan}");
    }
    let newest = "EXPLAIN SELECT last_id FROM response_blocks WHERE since >= 0 \
         ORDER BY last_id DESC LIMIT 1";
    let plan = cluster.sql(&database, newest).await.join("\n");
    assert!(plan.contains("response_blocks_newest"), "{plan}");
}

/// A clock that a test sets. In its schema it precedes the system's.
const CLOCK: &str = "CREATE TABLE clock (ahead interval NOT NULL); \
     INSERT INTO clock VALUES ('2 hours'); \
     CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS \
     'SELECT pg_catalog.clock_timestamp() + (SELECT ahead FROM public.clock)'";

#[tokio::test(flavor = "multi_thread")]
async fn a_response_stored_after_the_servers_clock_was_set_back_is_listed() {
    let cluster = start();
    let database = cluster.database().await;
    with_flow(&cluster, &database).await.close().await;
    cluster.client(&database).await.batch_execute(CLOCK).await.unwrap();
    let path = format!("ALTER DATABASE {database} SET search_path = public, pg_catalog");
    cluster.sql(&database, &path).await;
    let store = open(&cluster, &database).await;
    let ahead = store.time().await.unwrap().unwrap().as_millis() - now();
    assert!(ahead > HOUR, "the clock is {ahead} ms ahead");

    // By that clock these are an hour old, and the block of the first 1,024 is filled.
    let sent = (0..1_100).map(|number| response(now() + HOUR, number, 1));
    let outcomes = store.commit(sent.collect()).await.unwrap();
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Stored));
    while !store.compact_counts(CompactionCursor::default(), 5_000).await.unwrap().is_done() {}
    assert_eq!(build(&store, now() + 2 * HOUR).await, 1);
    assert_eq!(build(&store, now() + 3 * HOUR).await, 1);
    assert_eq!(found(&store).await, [0; 3]);

    cluster.sql(&database, "UPDATE clock SET ahead = '0'").await;
    // A node that runs since before, and one that is started now.
    let started = open(&cluster, &database).await;
    for (stored, node) in (1..).zip([&store, &started]) {
        let sent = response(now(), 2_000 + stored, 1);
        let row = ResponseRow { tags: Some(r#"{"rare":"yes"}"#.to_owned()), ..sent.row };
        let sent = NewResponse { row, ..sent };
        assert_eq!(node.commit(vec![sent]).await.unwrap(), [Outcome::Stored]);
        assert_eq!(found(node).await, [stored as usize; 3], "the filter is cleared");
        assert_eq!(build(&store, now() + 4 * HOUR).await, 1);
        assert_eq!(found(node).await, [stored as usize; 3], "it is filled again");
    }
    for node in [store, started] {
        node.close().await;
    }
}
