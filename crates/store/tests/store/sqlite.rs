//! SQLite keeps every promise of the trait, and those specific to a file: it is refused if it is
//! foreign, damaged or newer; it outlives its process; several processes share it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use sluice_flow::counts::Contribution;
use sluice_flow::definition::Kind;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId, v7};
use sluice_flow::time::{Timestamp, Window};
use sluice_store::conformance::rows::empty_response;
use sluice_store::roles::*;
use sluice_store::sqlite::{OpenError, Options, SqliteStore};
use sluice_store::{
    AppLimits, AppRow, At, Change, CompactionCursor, CountsQuery, FeedPosition, FlowRow,
    IdentityVerification, NewResponse, Outcome, ResponseRow, Store, StoreError, Write, conformance,
};
use tempfile::TempDir;

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(&folder.path().join("sluice.db"), Options::default()).unwrap()
}

fn refused(path: &Path) -> OpenError {
    let options = Options { busy_timeout: Duration::from_millis(200), ..Options::default() };
    SqliteStore::open(path, options).expect_err("should be refused")
}

fn app_row(number: u64) -> AppRow {
    AppRow {
        app_id: AppId::from_uuid(v7(Timestamp::from_millis(1), 0, number)),
        name: "Shop".to_owned(),
        identity_verification: IdentityVerification::Off,
        allowed_origins: Vec::new(),
        grace_window_seconds: None,
        retention_days: None,
        token_lifetime_seconds: None,
        hosted: None,
        limits: AppLimits::default(),
        created_at: Timestamp::from_millis(1),
    }
}

fn response(app: &AppRow, number: u32, public_revision: u64, answers: &str) -> NewResponse {
    let id = v7(Timestamp::from_millis(2), number, 0);
    let (flow, version) =
        (FlowId::from_uuid(app.app_id.uuid()), FlowVersionId::from_uuid(app.app_id.uuid()));
    let row = ResponseRow {
        answers: answers.to_owned(),
        digest: [1; 16],
        ..empty_response(app.app_id, flow, version, ResponseId::from_uuid(id))
    };
    let contribution =
        Contribution::from_stored(None, &row.answers, row.tags.as_deref(), row.admission);
    NewResponse {
        row,
        idempotency_key: None,
        public_revision,
        claim: None,
        invitation: None,
        limits: Vec::new(),
        contribution,
    }
}

async fn put_app(store: &SqliteStore, app: &AppRow) {
    let rows = vec![Write::App(app.clone())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_every_promise_of_the_trait() {
    let folder = tempfile::tempdir().unwrap();
    let made = std::sync::atomic::AtomicU32::new(0);
    conformance::run_all(async || {
        let number = made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = folder.path().join(format!("case-{number}.db"));
        Arc::new(SqliteStore::open(&path, Options::default()).unwrap()) as Arc<dyn Store>
    })
    .await;
}

#[test]
fn the_bundled_sqlite_is_new_enough() {
    let version = rusqlite::version();
    let numbers: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert!(numbers >= vec![3, 51, 3], "{version}");
}

#[tokio::test]
async fn stored_rows_are_found_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let app = app_row(1);
    let store = open(&folder);
    put_app(&store, &app).await;
    let before = store.find_app(app.app_id).await.unwrap();
    let sent = response(&app, 1, 1, "{}");
    assert_eq!(store.commit(vec![sent.clone()]).await.unwrap(), [Outcome::Stored]);
    store.close().await;
    assert!(!folder.path().join("sluice.db-wal").exists(), "closing did not write the log back");
    let store = open(&folder);
    assert_eq!(store.find_app(app.app_id).await.unwrap(), before);
    assert_eq!(store.find_response(sent.row.response_id).await.unwrap(), Some(sent.row));
    assert_eq!(store.changes(FeedPosition(0)).await.unwrap().apps, [app.app_id]);
    store.close().await;
}

#[tokio::test]
async fn two_handles_on_one_file_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let app = app_row(1);
    let (one, two) = (open(&folder), open(&folder));
    put_app(&one, &app).await;
    let seen = two.changes(FeedPosition(0)).await.unwrap();
    assert_eq!(seen.apps, [app.app_id]);
    let judged = two.find_app(app.app_id).await.unwrap().unwrap();
    put_app(&one, &app).await;
    assert_eq!(two.changes(seen.position).await.unwrap().apps, [app.app_id]);
    let stale = response(&app, 1, judged.public_revision, "{}");
    assert_eq!(two.commit(vec![stale]).await.unwrap(), [Outcome::Stale]);
    let at = At::App { app: app.app_id, expected: judged.revision };
    let late = two.apply(at, Change::new(|| vec![Write::App(app_row(1))])).await;
    assert!(matches!(late, Err(StoreError::Conflict)), "{late:?}");
    one.close().await;
    let newest = two.find_app(app.app_id).await.unwrap().unwrap();
    let fresh = response(&app, 2, newest.public_revision, "{}");
    assert_eq!(two.commit(vec![fresh]).await.unwrap(), [Outcome::Stored]);
    two.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_on_one_file_wait_for_each_other() {
    const EACH: u32 = 50;
    let folder = tempfile::tempdir().unwrap();
    let app = app_row(1);
    let handles = [(); 3].map(|()| Arc::new(open(&folder)));
    put_app(&handles[0], &app).await;
    let writers = handles.clone().into_iter().zip(0..).map(|(store, writer)| {
        let app = app.clone();
        tokio::spawn(async move {
            for number in 0..EACH {
                let row = response(&app, writer * EACH + number, 1, "{}");
                assert_eq!(store.commit(vec![row]).await.unwrap(), [Outcome::Stored]);
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    for store in handles {
        store.close().await;
    }
    let file = Connection::open(folder.path().join("sluice.db")).unwrap();
    let rows: u32 = file.query_row("SELECT count(*) FROM responses", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 3 * EACH);
}

#[tokio::test]
async fn blocks_without_responses_are_removed_and_leave_no_gap() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let file = Connection::open(folder.path().join("sluice.db")).unwrap();
    for [flow, first, last] in [[1, 0, 9], [1, 10, 19], [1, 20, 29], [2, 0, 9]] {
        let blob = |value: u8| vec![value; 16];
        let sql = "INSERT INTO response_blocks (app_id, flow_id, first_id, last_id, since) \
             VALUES (?1, ?2, ?3, ?4, 0)";
        file.execute(sql, rusqlite::params![blob(7), blob(flow), blob(first), blob(last)]).unwrap();
    }
    let mut cursor = None;
    let now = Timestamp::from_millis(3_600_000);
    while let Some(next) = store.build_skip_index(cursor, now).await.unwrap().next {
        cursor = next;
    }
    // The last block of each flow is kept, and covers those before it.
    let sql = "SELECT hex(flow_id), hex(first_id), hex(last_id) FROM response_blocks \
         WHERE filter IS NOT NULL ORDER BY flow_id";
    let mut statement = file.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).unwrap();
    let left: Vec<[String; 3]> = rows.map(Result::unwrap).collect();
    let block = |values: [&str; 3]| values.map(|value| value.repeat(16));
    assert_eq!(left, [block(["01", "00", "1D"]), block(["02", "00", "09"])]);
    let sql = "SELECT count(*) FROM response_blocks";
    assert_eq!(file.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap(), 2);
    store.close().await;
}

#[test]
fn a_new_database_can_be_opened_concurrently() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for opening in [(); 8].map(|()| scope.spawn(|| open(&folder))) {
            opening.join().unwrap();
        }
    });
}

#[test]
fn a_newer_schema_is_refused_with_both_numbers() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(&folder));
    let path = folder.path().join("sluice.db");
    let file = Connection::open(&path).unwrap();
    let newest = "SELECT max(version) FROM schema_history";
    let known: i64 = file.query_row(newest, [], |row| row.get(0)).unwrap();
    file.execute("INSERT INTO schema_history VALUES (999, 'later', '1', 0)", []).unwrap();
    let error = refused(&path);
    assert!(matches!(error, OpenError::NewerSchema { found: 999, .. }), "{error:?}");
    let text = error.to_string();
    let reported = format!("newer Sluice (schema 999; this binary knows {known}): upgrade");
    assert!(text.contains(&reported), "{text}");
}

#[test]
fn a_schema_of_another_build_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(&folder));
    let path = folder.path().join("sluice.db");
    let file = Connection::open(&path).unwrap();
    file.execute("UPDATE schema_history SET checksum = '1'", []).unwrap();
    assert!(matches!(refused(&path), OpenError::OtherSchema { .. }));
}

/// A process was killed after it created the history table, and before the first migration.
#[tokio::test]
async fn an_interrupted_migration_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = Connection::open(folder.path().join("sluice.db")).unwrap();
    file.execute_batch(
        "CREATE TABLE schema_history (version INTEGER PRIMARY KEY, name TEXT NOT NULL, \
         checksum TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
    )
    .unwrap();
    drop(file);
    let store = open(&folder);
    put_app(&store, &app_row(1)).await;
    store.close().await;
}

/// Responses that are stored but not counted, as an import leaves them.
#[tokio::test]
async fn responses_stored_without_counts_are_counted_by_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let (app, store) = (app_row(1), open(&folder));
    put_app(&store, &app).await;
    let flow = FlowRow {
        app_id: app.app_id,
        flow_id: FlowId::from_uuid(app.app_id.uuid()),
        kind: Kind::Survey,
        name: "Feedback".to_owned(),
        live: Window::default(),
        grace_window_seconds: None,
        closing: None,
        invitation_email: None,
        key: None,
        labels: Vec::new(),
        design: None,
        test_links: 0,
        created_at: Timestamp::from_millis(1),
        archived_at: None,
    };
    let rows = vec![Write::Flow(flow.clone())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    let revision = store.find_app(app.app_id).await.unwrap().unwrap().public_revision;
    let rows = (0..10).map(|number| response(&app, number, revision, "{}")).collect();
    store.commit(rows).await.unwrap();
    store.close().await;
    let file = Connection::open(folder.path().join("sluice.db")).unwrap();
    file.execute_batch(
        "UPDATE responses SET counted = 0; DELETE FROM counts; DELETE FROM count_deltas; \
         INSERT INTO count_scans (app_id, flow_id, passed) \
         SELECT app_id, flow_id, zeroblob(16) FROM flows",
    )
    .unwrap();
    drop(file);
    let store = open(&folder);
    let counted = async || {
        let counts =
            store.read_counts(app.app_id, flow.flow_id, &CountsQuery::default()).await.unwrap();
        let responses: i64 = counts.daily.iter().map(|(_, _, daily)| daily.all().responses).sum();
        (responses, counts.scan.is_some())
    };
    assert_eq!(counted().await, (0, true));
    store.commit(vec![response(&app, 10, revision, "{}")]).await.unwrap();
    assert_eq!(counted().await, (1, true));
    while !store.compact_counts(CompactionCursor::default(), 4).await.unwrap().is_done() {}
    assert_eq!(counted().await, (11, false));
    store.close().await;
}

#[test]
fn a_foreign_file_is_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database, but long enough to be read as one. ".repeat(100))
        .unwrap();
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    for path in [text, other] {
        let before = std::fs::read(&path).unwrap();
        let error = refused(&path);
        assert!(matches!(error, OpenError::NotOurs { .. }), "{error:?}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before, "{}", path.display());
    }
}

#[tokio::test]
async fn a_damaged_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    let store = open(&folder);
    put_app(&store, &app_row(1)).await;
    store.close().await;
    let whole = std::fs::read(&path).unwrap();
    let mut scribbled = whole.clone();
    scribbled[100..8000].fill(0xA5);
    let cut = whole[..whole.len() / 2].to_vec();
    for damage in [scribbled, cut] {
        std::fs::write(&path, damage).unwrap();
        let error = refused(&path);
        assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains("sluice.db"), "{error}");
    }
}

#[test]
fn the_error_names_a_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("blocked");
    std::fs::write(&blocked, "a file where a folder should be").unwrap();
    let error = refused(&blocked.join("sluice.db"));
    assert!(matches!(error, OpenError::Folder { .. }), "{error:?}");
    assert!(error.to_string().contains("blocked"), "{error}");
}

#[test]
fn a_database_locked_by_another_process_is_reported_as_locked() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(&folder));
    let path = folder.path().join("sluice.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = refused(&path);
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
}

#[tokio::test]
async fn a_write_blocked_by_another_process_times_out_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    let options = Options { busy_timeout: Duration::from_millis(100), ..Options::default() };
    let store = SqliteStore::open(&path, options).unwrap();
    let app = app_row(1);
    put_app(&store, &app).await;
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    let result = store.commit(vec![response(&app, 1, 1, "{}")]).await;
    assert!(matches!(result, Err(StoreError::Failed(_))), "{result:?}");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(
        matches!(store.check().await, Err(StoreError::Failed(_))),
        "the store claims to be ready"
    );
    assert!(store.find_app(app.app_id).await.unwrap().is_some(), "reads fail");
    other.execute_batch("ROLLBACK").unwrap();
    store.check().await.unwrap();
    let outcomes = store.commit(vec![response(&app, 1, 1, "{}")]).await.unwrap();
    assert_eq!(outcomes, [Outcome::Stored]);
    store.close().await;
}

#[tokio::test]
async fn a_write_to_a_full_disk_fails_and_recovers_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    let options = Options { size_max_bytes: Some(1024 * 1024), ..Options::default() };
    let store = SqliteStore::open(&path, options).unwrap();
    let app = app_row(1);
    put_app(&store, &app).await;
    let long = "x".repeat(20_000);
    let mut stored = Vec::new();
    let refused = loop {
        let row = response(&app, stored.len() as u32, 1, &long);
        let id = row.row.response_id;
        match store.commit(vec![row]).await {
            Ok(_) => stored.push(id),
            Err(error) => break (id, error),
        }
        assert!(stored.len() < 1000, "the limit is never reached");
    };
    assert!(matches!(refused.1, StoreError::Failed(_)), "{:?}", refused.1);
    assert!(
        matches!(store.check().await, Err(StoreError::Failed(_))),
        "the store claims to be ready"
    );
    assert_eq!(store.find_response(refused.0).await.unwrap(), None);
    assert!(store.find_response(stored[0]).await.unwrap().is_some(), "reads fail");
    let gone = stored[..4].iter().map(|id| Write::DeleteResponse(*id)).collect();
    let expected = store.find_app(app.app_id).await.unwrap().unwrap().revision;
    let at = At::App { app: app.app_id, expected };
    store.apply(at, Change::new(|| gone)).await.unwrap();
    let again = response(&app, stored.len() as u32, 1, &long);
    assert_eq!(store.commit(vec![again]).await.unwrap(), [Outcome::Stored]);
    store.check().await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn below_the_disk_reserve_commits_and_the_check_fail_and_other_writes_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    let app = app_row(1);
    let ordinary = SqliteStore::open(&path, Options::default()).unwrap();
    put_app(&ordinary, &app).await;
    let kept = response(&app, 1, 1, "{}");
    let id = kept.row.response_id;
    ordinary.commit(vec![kept]).await.unwrap();
    ordinary.close().await;

    let options = Options { disk_reserve_bytes: Some(u64::MAX), ..Options::default() };
    let store = SqliteStore::open(&path, options).unwrap();
    let space = store.disk_space().unwrap();
    assert!(space.free_bytes > 0 && space.reserve_bytes == u64::MAX, "{space:?}");
    for number in 2..4 {
        let refused = store.commit(vec![response(&app, number, 1, "{}")]).await;
        assert!(matches!(refused, Err(StoreError::DiskReserve)), "{refused:?}");
    }
    assert!(matches!(store.check().await, Err(StoreError::DiskReserve)));
    put_app(&store, &AppRow { name: "Renamed".to_owned(), ..app.clone() }).await;
    let expected = store.find_app(app.app_id).await.unwrap().unwrap().revision;
    let at = At::App { app: app.app_id, expected };
    store.apply(at, Change::new(move || vec![Write::DeleteResponse(id)])).await.unwrap();
    assert_eq!(store.find_response(id).await.unwrap(), None);
    store.close().await;
}

#[tokio::test]
async fn the_log_is_reset_instead_of_growing_indefinitely() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let app = app_row(1);
    put_app(&store, &app).await;
    let long = "x".repeat(8_000);
    for batch in 0..240 {
        let rows = (0..25).map(|row| response(&app, batch * 25 + row, 1, &long)).collect();
        store.commit(rows).await.unwrap();
    }
    let log = std::fs::metadata(folder.path().join("sluice.db-wal")).unwrap().len();
    assert!(log < 40 * 1024 * 1024, "48 MB were written, and {log} bytes are in the log");
    store.close().await;
}

#[cfg(unix)]
#[test]
fn a_new_database_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let _store = open(&folder);
    for file in ["sluice.db", "sluice.db-wal"] {
        let mode = std::fs::metadata(folder.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file}");
    }
}
