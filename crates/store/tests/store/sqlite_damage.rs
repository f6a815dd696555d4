//! A damaged file of SQLite: whichever read or write notices it, nothing more is accepted.

use std::path::Path;

use sluice_store::conformance::filling;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{
    MovingStore as _, Record, RecordCursor, ResponseQuery, ResponseStore as _, StoreError, Table,
    UpkeepStore as _,
};

const PAGE_BYTES: usize = 4096;

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).unwrap()
}

async fn fill(path: &Path) {
    let store = open(path);
    store.import_records(filling::records(3_000).collect()).await.unwrap();
    store.close().await;
}

/// Overwrites the pages in which this text occurs.
fn overwrite(path: &Path, text: &str) {
    let mut bytes = std::fs::read(path).unwrap();
    let mut pages = 0;
    for page in bytes.chunks_mut(PAGE_BYTES) {
        if page.windows(text.len()).any(|window| window == text.as_bytes()) {
            page.fill(0);
            pages += 1;
        }
    }
    assert!(pages > 0, "{text} is on no page");
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_read_that_finds_the_file_damaged_stops_submissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    fill(&path).await;
    overwrite(&path, "Because it was quick");
    let store = open(&path);
    store.check().await.unwrap();
    assert_eq!(store.damage().found(), None, "opening reads no rows");
    let apps = store.export_records(None, 1).await.unwrap();
    let Some(Record::App(app)) = apps.first() else { panic!("the first record is an app") };
    let flows = RecordCursor::start_of(Table::Flows);
    let flows = store.export_records(Some(&flows), 1).await.unwrap();
    let Some(Record::Flow(flow)) = flows.first() else { panic!("it has a flow") };
    let query = ResponseQuery::new(app.row.app_id, flow.flow_id, 100);
    let read = store.list_responses(&query).await;
    assert!(matches!(read, Err(StoreError::Damaged(_))), "{read:?}");
    assert!(store.damage().found().is_some());
    let other = open(&path);
    let ready = store.check().await;
    assert!(matches!(ready, Err(StoreError::Damaged(_))), "{ready:?}");
    store.check_files().await.unwrap();
    other.check_files().await.unwrap();
    assert!(other.damage().found().is_some(), "another process looks every second");
    other.close().await;
    store.close().await;
    // The next process knows it, until the damage is forgotten.
    let store = open(&path);
    let mark = store.damage().mark().unwrap().clone();
    store.damage().note("page 8");
    store.close().await;
    let is_forgotten = SqliteStore::forget_damage(&path, &mark).unwrap();
    assert!(!is_forgotten, "damage was found again since");
    let store = open(&path);
    let mark = store.damage().mark().unwrap().clone();
    store.close().await;
    assert!(SqliteStore::forget_damage(&path, &mark).unwrap());
    let store = open(&path);
    assert_eq!(store.damage().found(), None);
    store.close().await;
}

#[tokio::test]
async fn rows_around_an_unreadable_one_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    fill(&path).await;
    // Not UTF-8 any more.
    let mut bytes = std::fs::read(&path).unwrap();
    let word = b"{\"nps\": 7, \"why\":\"Because";
    let at = bytes.windows(word.len()).position(|window| window == word).unwrap();
    bytes[at + word.len() - 1] = 0xFF;
    std::fs::write(&path, bytes).unwrap();
    let store = open(&path);
    assert!(matches!(store.export_records(None, 10_000).await, Err(StoreError::Corrupt(_))));
    let mut view = store.open_view().await.unwrap();
    let mut last = RecordCursor::start_of(Table::Responses);
    let (mut read, mut unreadable) = (0, Vec::new());
    loop {
        let page = view.records(&last, 7).await.unwrap();
        unreadable.extend(page.unreadable);
        let Some(end) = page.records.last() else { break };
        read += page.records.len();
        last = end.cursor();
    }
    unreadable.dedup();
    assert_eq!((read, unreadable.len()), (2_999, 1), "{unreadable:?}");
    assert!(unreadable[0].ids.contains("rs_") && unreadable[0].flow.is_some(), "{unreadable:?}");
    assert_eq!(store.damage().found(), None, "the file itself is sound");
    drop(view);
    store.close().await;
}
