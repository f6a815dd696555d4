//! The size of the database file and of its log: neither grows without limit, and both shrink
//! again.

use crate::support;

use std::time::{Duration, Instant};

use rusqlite::Connection;
use sluice_flow::id::AuditId;
use sluice_flow::time::Timestamp;
use sluice_store::roles::*;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{
    At, AuditRow, Change, Expiry, ExpiryCursor, NewResponse, Next, Outcome, StoreError, Write,
};
use support::rows::{app_row, response};

/// Deadline for what must happen, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LOG_BYTES_MAX: u64 = 1024 * 1024;

async fn open(folder: &tempfile::TempDir) -> SqliteStore {
    let options =
        Options { log_bytes_max: LOG_BYTES_MAX, disk_reserve_bytes: Some(0), ..Options::default() };
    let store = SqliteStore::open(&folder.path().join("sluice.db"), options).unwrap();
    let rows = vec![Write::App(app_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    store
}

/// A response that takes about 4 KiB.
fn long(number: u32) -> NewResponse {
    let mut response = response(1_000, number, 1);
    response.row.answers = format!("{{\"why\":\"{}\"}}", "a".repeat(4_000));
    response
}

#[tokio::test]
async fn a_reader_that_holds_the_log_stops_submissions_at_its_limit_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    let reader = Connection::open(folder.path().join("sluice.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM responses").unwrap();
    let mut stored = 0;
    let refused = loop {
        match store.commit(vec![long(stored)]).await {
            Ok(outcomes) => assert_eq!(outcomes, [Outcome::Stored]),
            Err(error) => break error,
        }
        stored += 1;
        assert!(u64::from(stored) < LOG_BYTES_MAX / 4_000, "the log has no limit");
    };
    assert!(matches!(refused, StoreError::DiskReserve), "{refused:?}");
    assert!(matches!(store.check().await, Err(StoreError::DiskReserve)), "the store is ready");
    let log_bytes = store.disk_space().unwrap().log_bytes;
    assert!(log_bytes >= LOG_BYTES_MAX, "{log_bytes}");
    reader.execute_batch("COMMIT").unwrap();
    let begun = Instant::now();
    while let Err(error) = store.commit(vec![long(stored)]).await {
        assert!(begun.elapsed() < PATIENCE, "{error:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store.check().await.unwrap();
    let log_bytes = store.disk_space().unwrap().log_bytes;
    assert!(log_bytes < LOG_BYTES_MAX, "{log_bytes}");
    let count = "SELECT count(*) FROM responses";
    let count: u32 = reader.query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(count, stored + 1);
    store.close().await;
}

#[tokio::test]
async fn space_of_expired_responses_is_returned_to_the_file_system_while_the_store_is_open() {
    const RESPONSES: u32 = 4_000;
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    for batch in 0..RESPONSES / 500 {
        let batch = (0..500).map(|number| long(batch * 500 + number)).collect();
        store.commit(batch).await.unwrap();
    }
    let size = || std::fs::metadata(folder.path().join("sluice.db")).unwrap().len();
    let mut cursor = ExpiryCursor::default();
    loop {
        let expiry = Expiry {
            app_id: app_row().app_id,
            retention_days: None,
            before: Timestamp::from_millis(2_000),
            cursor,
            audit: audit_row(),
            limit: 500,
        };
        match store.expire(expiry).await.unwrap().next {
            Next::At(next) => cursor = next,
            _ => break,
        }
    }
    let begun = Instant::now();
    while size() > 8 * 1024 * 1024 {
        assert!(begun.elapsed() < PATIENCE, "the file still has {} bytes", size());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(store.commit(vec![long(RESPONSES)]).await.unwrap(), [Outcome::Stored]);
    store.close().await;
    let database = Connection::open(folder.path().join("sluice.db")).unwrap();
    let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

fn audit_row() -> AuditRow {
    AuditRow {
        audit_id: AuditId::from_uuid(app_row().app_id.uuid()),
        app_id: Some(app_row().app_id),
        actor: "test".to_owned(),
        action: "retention.enforced".to_owned(),
        subject: String::new(),
        detail: "{}".to_owned(),
    }
}
