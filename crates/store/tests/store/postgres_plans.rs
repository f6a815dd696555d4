//! What PostgreSQL reads for a call: never more than the rows that it returns or changes, however
//! large the tables are beside them.
//!
//! The server counts the index entries and rows that it reads. Every call is made more often than
//! the server plans a statement for its parameters, so that plans for any parameters count as well.

use crate::support;

use std::time::{Duration, Instant};

use sluice_flow::id::{EventId, FlowId, FlowVersionId};
use sluice_flow::time::Timestamp;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{
    At, Change, CompactionCursor, FlowQuery, FlowRow, LogQuery, NewResponse, Order, Outcome, Page,
    Record, ResponseQuery, ResponseRow, Write,
};
use support::Cluster;
use support::rows::{app_row, flow_row, response};

/// The server plans a statement for its parameters five times, and then decides.
const CALLS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(90);

async fn open(cluster: &Cluster, database: &str) -> PgStore {
    PgStore::connect(&cluster.url(database), Options::default()).await.unwrap()
}

/// A store with one app and one flow.
async fn with_flow(cluster: &Cluster, database: &str) -> PgStore {
    let store = open(cluster, database).await;
    let rows = vec![Write::App(app_row()), Write::Flow(flow_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    store
}

/// The entries and rows of some tables that a store with an empty history reads while it works.
async fn rows_read(
    cluster: &Cluster,
    database: &str,
    tables: &str,
    work: impl AsyncFnOnce(&PgStore),
) -> usize {
    let read = format!(
        "SELECT (SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes \
         WHERE relname LIKE '{tables}') + (SELECT coalesce(sum(seq_tup_read), 0)::bigint \
         FROM pg_stat_user_tables WHERE relname LIKE '{tables}')"
    );
    measured(cluster, database, &read, work).await
}

/// The same in pages of indexes: entries that a scan reads and rejects are in no other statistics.
async fn index_pages_read(
    cluster: &Cluster,
    database: &str,
    tables: &str,
    work: impl AsyncFnOnce(&PgStore),
) -> usize {
    let read = format!(
        "SELECT coalesce(sum(idx_blks_read + idx_blks_hit), 0)::bigint \
         FROM pg_statio_user_indexes WHERE relname LIKE '{tables}'"
    );
    measured(cluster, database, &read, work).await
}

async fn measured(
    cluster: &Cluster,
    database: &str,
    read: &str,
    work: impl AsyncFnOnce(&PgStore),
) -> usize {
    let store = open(cluster, database).await;
    cluster.sql(database, "SELECT count(pg_stat_reset()) FROM (SELECT 1) AS once").await;
    work(&store).await;
    store.close().await;
    // The statistics of a session are complete at the latest when it has ended.
    let ended = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sluice' \
         AND datname = current_database()";
    let deadline = Instant::now() + PATIENCE;
    while cluster.sql(database, ended).await != ["0"] {
        assert!(Instant::now() < deadline, "the sessions of a closed store have not ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    cluster.sql(database, read).await[0].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn compacting_reads_only_the_deltas_that_it_folds() {
    const WAITING: usize = 50_000;
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = with_flow(&cluster, &database).await;
    assert_eq!(store.commit(vec![response(1, 1, 1)]).await.unwrap(), [Outcome::Stored]);
    store.close().await;
    // As many deltas as after a long pause, of one flow and of many others.
    let wait = format!(
        "INSERT INTO count_deltas SELECT app_id, flow_id, false, gen_random_uuid(), \
         flow_version_id, day, responses, body FROM count_deltas, generate_series(1, {WAITING}); \
         INSERT INTO count_deltas SELECT app_id, gen_random_uuid(), false, gen_random_uuid(), \
         flow_version_id, day, responses, body FROM (SELECT * FROM count_deltas LIMIT 1) AS one, \
         generate_series(1, 150)"
    );
    cluster.client(&database).await.batch_execute(&wait).await.unwrap();
    for analyzed in [false, true] {
        if analyzed {
            cluster.sql(&database, "ANALYZE count_deltas").await;
        }
        let mut folded = 0;
        let reported = rows_read(&cluster, &database, "count_deltas", async |store| {
            let part = store.compact_counts(CompactionCursor::default(), 10).await.unwrap();
            folded = part.folded as usize;
        })
        .await;
        assert!(folded >= 100, "only {folded}");
        // To find the flows, to find the deltas, and to take them.
        assert!(reported <= 4 * folded, "{reported} read to fold {folded}, analyzed: {analyzed}");
        let locked = "SELECT count(*) FROM count_deltas WHERE xmax <> 0";
        assert_eq!(cluster.sql(&database, locked).await, ["0"], "left locked");
    }
}

/// A page of the log must not read every flow again.
#[tokio::test(flavor = "multi_thread")]
async fn catching_up_with_the_log_of_many_flows_reads_a_few_rows_for_each() {
    const FLOWS: usize = 600;
    const EACH: usize = 20;
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = with_flow(&cluster, &database).await;
    let flow = |number: usize| FlowId::from_uuid(uuid(1 + number as u128));
    let flows = (0..FLOWS).map(|number| FlowRow { flow_id: flow(number), ..flow_row() });
    let flows: Vec<Write> = flows.map(Write::Flow).collect();
    store.apply(At::Instance, Change::new(|| flows)).await.unwrap();
    let row = |number: usize| {
        let NewResponse { row, .. } = response(1_000 + number as i64, number as u32, 1);
        let row = ResponseRow { flow_id: flow(number % FLOWS), ..row };
        Record::Response { row, idempotency_key: None }
    };
    for first in (0..FLOWS * EACH).step_by(1_000) {
        let rows = (first..first + 1_000).map(row).collect();
        store.import_records(rows).await.unwrap();
    }
    store.close().await;
    let mut found = 0;
    let read = rows_read(&cluster, &database, "responses%", async |store| {
        let mut query = LogQuery {
            app_id: app_row().app_id,
            flow_id: None,
            responses: true,
            after: EventId::from_uuid(uuid::Uuid::nil()),
            before: None,
            order: Order::Asc,
            now: Timestamp::from_millis(support::rows::now()),
            limit: 100,
            bytes_max: usize::MAX,
        };
        loop {
            let page = store.read_log(&query).await.unwrap();
            found += page.entries.len();
            query.after = page.next;
            if !page.has_more {
                break;
            }
        }
    })
    .await;
    assert_eq!(found, FLOWS * EACH);
    assert!(read <= 25 * found, "{read} rows read for {found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_current_version_is_found_by_index_beside_many_others() {
    const VERSIONS: usize = 20_000;
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = with_flow(&cluster, &database).await;
    store.close().await;
    // The last version but one is current in the first half of the flows; no version is in the
    // rest.
    let publish = format!(
        "INSERT INTO flows (app_id, flow_id, kind, name, created_at) SELECT app_id, \
         ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'survey', 'F', 1 \
         FROM apps, generate_series(1, 20) AS n; \
         INSERT INTO versions SELECT app_id, flow_id, gen_random_uuid(), n, 1, \
         CASE WHEN n < {VERSIONS} - 1 THEN 2 END, NULL, CASE WHEN n >= {VERSIONS} - 1 \
         AND (n > {VERSIONS} - 1 OR flow_id > '00000000-0000-7000-8000-000000000010') THEN 3 END, \
         1, 1, '{{}}' FROM flows, generate_series(1, {VERSIONS}) AS n \
         WHERE n > {VERSIONS} - 50 OR flow_id = '00000000-0000-7000-8000-000000000001' \
         OR flow_id = '00000000-0000-7000-8000-000000000020'; \
         INSERT INTO id_directory SELECT flow_id, app_id FROM flows ON CONFLICT DO NOTHING; \
         INSERT INTO id_directory SELECT flow_version_id, app_id FROM versions ON CONFLICT DO NOTHING"
    );
    cluster.client(&database).await.batch_execute(&publish).await.unwrap();
    let flow = |number: u128| FlowId::from_uuid(uuid(number));
    let first = "SELECT flow_version_id FROM versions WHERE flow_id = \
         '00000000-0000-7000-8000-000000000001' AND number = 1";
    let first: uuid::Uuid = cluster.sql(&database, first).await[0].parse().unwrap();
    for analyzed in [false, true] {
        if analyzed {
            cluster.sql(&database, "ANALYZE").await;
        }
        let reported = rows_read(&cluster, &database, "versions", async |store| {
            for _ in 0..CALLS {
                let found = store.find_flow(flow(1)).await.unwrap().unwrap();
                assert_eq!(found.current.unwrap().number as usize, VERSIONS - 1);
                assert_eq!(store.find_flow(flow(0x20)).await.unwrap().unwrap().current, None);
                let version = FlowVersionId::from_uuid(first);
                let found = store.find_version(version).await.unwrap().unwrap();
                assert!(found.current.is_some());
                let page = Page { after: None, limit: 100 };
                let all = FlowQuery::all(app_row().app_id, page);
                let listed = store.list_flows(&all).await.unwrap();
                assert_eq!(listed.iter().filter(|it| it.current.is_some()).count(), 10);
            }
        })
        .await;
        // A few entries for each of the 24 flows in a round.
        assert!(reported <= CALLS * 24 * 5, "{reported} rows of versions, analyzed: {analyzed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_flow_beside_a_giant_one_is_read_by_its_own_rows() {
    const GIANT: usize = 60_000;
    const SMALL: usize = 20;
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    with_flow(&cluster, &database).await.close().await;
    // The small flow has two versions, and one response in every three thousand. Its last block
    // spans nearly all ids.
    let fill = format!(
        "INSERT INTO flows (app_id, flow_id, kind, name, created_at) \
         SELECT app_id, '{small}', 'survey', 'F', 1 FROM apps; \
         INSERT INTO responses (app_id, flow_id, flow_version_id, response_id, digest, admitted, \
         identity_verified, answers) SELECT app_id, \
         CASE WHEN n % {every} = 7 THEN '{small}'::uuid ELSE app_id END, \
         ('00000000-0000-7000-8000-00000000000' || n / {every} % 2)::uuid, \
         (lpad(to_hex(1763172000000 + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, \
         gen_random_uuid(), false, false, '{{}}' FROM apps, generate_series(1, {GIANT}) AS n; \
         INSERT INTO response_blocks (app_id, flow_id, first_id, last_id, since) SELECT app_id, \
         flow_id, '{nil}', max(response_id::text)::uuid, 0 FROM responses \
         WHERE flow_id = '{small}' GROUP BY app_id, flow_id",
        small = uuid(0xf2),
        every = GIANT / SMALL,
        nil = uuid::Uuid::nil(),
    );
    cluster.client(&database).await.batch_execute(&fill).await.unwrap();
    let query = ResponseQuery {
        flow_id: FlowId::from_uuid(uuid(0xf2)),
        version: Some(FlowVersionId::from_uuid(uuid(1))),
        ..every_response()
    };
    let now = Timestamp::from_millis(support::rows::now());
    for analyzed in [false, true] {
        if analyzed {
            // The planner then assumes that any flow is a giant one.
            cluster.sql(&database, "ANALYZE").await;
        }
        let reported = rows_read(&cluster, &database, "responses%", async |store| {
            for _ in 0..CALLS {
                assert_eq!(listed(store, query.clone()).await.0, SMALL / 2);
                let open = ResponseQuery { version: None, order: Order::Asc, ..query.clone() };
                assert_eq!(listed(store, open.clone()).await.0, SMALL);
                assert_eq!(counted(store, open).await, SMALL);
                let newest = store.newest_responses(query.app_id, &[query.flow_id]).await.unwrap();
                assert_eq!(newest.len(), 1);
                assert_eq!(store.recount(query.app_id, query.flow_id).await.unwrap(), SMALL as u64);
                store.build_skip_index(None, now).await.unwrap();
            }
        })
        .await;
        let most = CALLS * SMALL * 10;
        assert!(reported <= most, "{reported} rows of responses, analyzed: {analyzed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rare_value_in_scattered_blocks_takes_few_statements_for_each() {
    const BLOCKS: usize = 41;
    let cluster = Cluster::start(&["autovacuum=off"]);
    let database = cluster.database().await;
    let store = with_flow(&cluster, &database).await;
    // Every other block has the tag once.
    fill_blocks(&cluster, &database, BLOCKS, "n % 2048 = 500").await;
    build_blocks(&cluster, &database, store, BLOCKS).await;
    let tags = vec![("rare".to_owned(), "yes".to_owned())];
    let mut query = ResponseQuery { tags, ..every_response() };
    let transactions =
        "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
    for order in [Order::Asc, Order::Desc] {
        let store = open(&cluster, &database).await;
        cluster.sql(&database, "SELECT count(pg_stat_reset()) FROM (SELECT 1) AS once").await;
        query.order = order;
        let (found, pages) = listed(&store, query.clone()).await;
        store.close().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let made: usize = cluster.sql(&database, transactions).await[0].parse().unwrap();
        assert_eq!(found, BLOCKS / 2 + 1);
        // Some are the server's own. With a search from block to block, there were five for a row.
        assert!(
            made <= 3 * found + 12 * pages,
            "{made} statements for {found} rows, {pages} pages"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_with_many_matches_are_read_to_their_end() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = with_flow(&cluster, &database).await;
    // All of the first three blocks match, none of the fourth, all of the fifth.
    fill_blocks(&cluster, &database, 5, "n <= 3 * 1024 OR n > 4 * 1024").await;
    build_blocks(&cluster, &database, store, 5).await;
    let store = open(&cluster, &database).await;
    let tags = vec![("rare".to_owned(), "yes".to_owned())];
    let mut query = ResponseQuery { tags, limit: 1_500, ..every_response() };
    assert_eq!(counted(&store, query.clone()).await, 4 * 1024);
    for order in [Order::Asc, Order::Desc] {
        query.order = order;
        assert_eq!(listed(&store, query.clone()).await.0, 4 * 1024, "{order:?}");
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_pass_are_read_a_few_times_not_once_for_each_statement_of_their_slice() {
    const ROWS: usize = 40 * 1024;
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    with_flow(&cluster, &database).await.close().await;
    fill_blocks(&cluster, &database, ROWS / 1024, "true").await;
    cluster.sql(&database, "ANALYZE").await;
    let query = ResponseQuery {
        tags: vec![("rare".to_owned(), "yes".to_owned())],
        limit: 1_000,
        ..every_response()
    };
    for order in [Order::Asc, Order::Desc] {
        let query = ResponseQuery { order, ..query.clone() };
        let list = rows_read(&cluster, &database, "responses%", async |store| {
            assert_eq!(listed(store, query).await.0, ROWS);
        });
        let list = list.await;
        // With slices of 10,000 it was 22 times as many, and 11 times for a count.
        assert!(list <= 4 * ROWS, "a list of {ROWS} read {list} rows, {order:?}");
    }
    let count = rows_read(&cluster, &database, "responses%", async |store| {
        assert_eq!(counted(store, query).await, ROWS);
    });
    let count = count.await;
    assert!(count <= 4 * ROWS, "a count of {ROWS} read {count} rows");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_after_a_block_or_a_span_of_time_are_not_read() {
    const BLOCKS: usize = 60;
    const ROWS: usize = BLOCKS * 1024;
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    with_flow(&cluster, &database).await.close().await;
    fill_blocks(&cluster, &database, BLOCKS, "n % 2048 = 500").await;
    cluster.sql(&database, "ANALYZE").await;
    let built = index_pages_read(&cluster, &database, "responses%", build).await;
    // With reads to the end of the flow, there were 16,000.
    assert!(built <= 3_000, "{built} pages to build {BLOCKS} blocks");
    let tags = vec![("rare".to_owned(), "yes".to_owned())];
    for order in [Order::Asc, Order::Desc] {
        let rare = ResponseQuery { tags: tags.clone(), order, ..every_response() };
        let scanned = index_pages_read(&cluster, &database, "responses%", async |store| {
            assert_eq!(listed(store, rare).await.0, BLOCKS / 2);
        });
        let scanned = scanned.await;
        assert!(scanned <= 1_500, "{scanned} pages for every other block, {order:?}");
        // A hundred responses in the middle.
        let at = |n: usize| Some(Timestamp::from_millis(1_763_172_000_000 + n as i64));
        let (from, to) = (at(ROWS / 2), at(ROWS / 2 + 100));
        let span = ResponseQuery { from, to, order, ..every_response() };
        let scanned = index_pages_read(&cluster, &database, "responses%", async |store| {
            for _ in 0..CALLS {
                assert_eq!(listed(store, span.clone()).await.0, 100);
            }
        });
        let scanned = scanned.await;
        assert!(scanned <= CALLS * 50, "{scanned} pages for {CALLS} × 100 rows, {order:?}");
    }
}

/// The number of responses in a list, and of its pages: on a slow machine a page may end early.
async fn listed(store: &PgStore, mut query: ResponseQuery) -> (usize, usize) {
    let (mut found, mut pages) = (0, 0);
    loop {
        let page = store.list_responses(&query).await.unwrap();
        (found, pages) = (found + page.rows.len(), pages + 1);
        query.after = page.next;
        if page.next.is_none() {
            return (found, pages);
        }
    }
}

/// The same for a count.
async fn counted(store: &PgStore, mut query: ResponseQuery) -> usize {
    let mut responses = 0;
    loop {
        let part = store.count_responses(&query).await.unwrap();
        responses += part.responses as usize;
        query.after = part.next;
        if part.next.is_none() {
            return responses;
        }
    }
}

/// Stores responses for this many blocks; those with numbers for which the condition holds have the
/// tag `rare`.
async fn fill_blocks(cluster: &Cluster, database: &str, blocks: usize, tagged: &str) {
    let fill = format!(
        "INSERT INTO responses (app_id, flow_id, flow_version_id, response_id, digest, admitted, \
         identity_verified, answers, tags) SELECT app_id, app_id, app_id, \
         (lpad(to_hex(1763172000000 + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, \
         gen_random_uuid(), false, false, '{{}}', \
         CASE WHEN {tagged} THEN '{{\"rare\":\"yes\"}}' END \
         FROM apps, generate_series(1, 1024 * {blocks}) AS n; \
         INSERT INTO count_scans (app_id, flow_id, unindexed) \
         SELECT app_id, app_id, 1024 * {blocks} FROM apps"
    );
    cluster.client(database).await.batch_execute(&fill).await.unwrap();
}

/// Builds the skip index, and closes the store.
async fn build_blocks(cluster: &Cluster, database: &str, store: PgStore, blocks: usize) {
    build(&store).await;
    store.close().await;
    let filled = "SELECT count(*) FROM response_blocks WHERE filter IS NOT NULL";
    assert_eq!(cluster.sql(database, filled).await, [blocks.to_string()]);
}

async fn build(store: &PgStore) {
    let made_at = support::rows::now();
    for hours in [0, 1, 2] {
        let (mut cursor, now) = (None, Timestamp::from_millis(made_at + hours * 3_600_000));
        while let Some(next) = store.build_skip_index(cursor, now).await.unwrap().next {
            cursor = next;
        }
    }
}

/// The id `00000000-0000-7000-8000-…` with these last digits, as in SQL above.
fn uuid(digits: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0000 | digits)
}

/// The newest responses of the first flow.
fn every_response() -> ResponseQuery {
    let all = ResponseQuery::new(app_row().app_id, flow_row().flow_id, 50);
    ResponseQuery { order: Order::Desc, scan_limit: 1_000_000, ..all }
}
