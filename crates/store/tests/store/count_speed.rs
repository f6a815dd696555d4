//! How fast imported responses are counted in the background, beside a recount of the same flows.

use crate::support;

use std::time::{Duration, Instant};

use sluice_store::conformance::filling;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::sqlite::{self, SqliteStore};
use sluice_store::{CompactionCursor, Record, Store};
use support::Cluster;

/// As in the engine.
const PART_ROWS: usize = 5_000;
const PART_PAUSE: Duration = Duration::from_millis(20);

/// `cargo test --release -p sluice-store --test store count_speed -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark"]
async fn imported_responses_are_counted_about_as_fast_as_by_a_recount() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let postgres = PgStore::connect(&cluster.url(&database), Options::default()).await.unwrap();
    measure("postgres", &postgres).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    measure("sqlite", &SqliteStore::open(&path, sqlite::Options::default()).unwrap()).await;
}

#[expect(clippy::print_stdout, reason = "prints measurements")]
async fn measure(what: &str, store: &dyn Store) {
    const RESPONSES: u32 = 100_000;
    let records: Vec<Record> = filling::records(RESPONSES).collect();
    let flow = |record: &Record| match record {
        Record::Flow(flow) => Some((flow.app_id, flow.flow_id)),
        _ => None,
    };
    let flows: Vec<_> = records.iter().filter_map(flow).collect();
    for part in records.chunks(1_000) {
        store.import_records(part.to_vec()).await.unwrap();
    }
    let began = Instant::now();
    let (mut cursor, mut scanned) = (Some(CompactionCursor::default()), 0);
    while let Some(at) = cursor {
        let part = store.compact_counts(at, PART_ROWS).await.unwrap();
        scanned += part.scanned;
        cursor = part.next;
        tokio::time::sleep(PART_PAUSE).await;
    }
    let counted = began.elapsed();
    let (began, mut recounted) = (Instant::now(), 0);
    for (app, flow) in flows {
        recounted += store.recount(app, flow).await.unwrap();
    }
    let took = began.elapsed();
    assert_eq!((scanned, recounted), (u64::from(RESPONSES), u64::from(RESPONSES)));
    println!("{what}: {scanned} scanned in {counted:?}, recounted in {took:?}");
}
