//! Checking a store: sound as a server leaves it, and every kind of damage is found and named.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;
use sluice_engine::clock::SystemClock;
use sluice_engine::integrity::{self, IntegrityReport};
use sluice_engine::moving::{self, MoveError};
use sluice_engine::recount::{self, RecountScope};
use sluice_engine::{Engine, NotReady, Options, StoreError};
use sluice_flow::closing::ALL;
use sluice_flow::id::{AssetId, FlowId, FlowVersionId, RespondentId};
use sluice_store::conformance::filling;
use sluice_store::sqlite::{self, SqliteStore};
use sluice_store::{Record, ResponseRow, Store};

fn open(path: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(path, sqlite::Options::default()).unwrap())
}

/// Checks a store with these records, counted by a server.
async fn check(records: Vec<Record>) -> (IntegrityReport, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("sluice.db"));
    store.import_records(records).await.unwrap();
    let mut cursor = Some(sluice_store::CompactionCursor::default());
    while let Some(at) = cursor {
        cursor = store.compact_counts(at, 10_000).await.unwrap().next;
    }
    let found = Mutex::new(Vec::new());
    let note = |it: integrity::DamagedPlace| {
        found.lock().unwrap().push(format!("{}: {}", it.place, it.what));
    };
    let checked = integrity::check(&*store, note, |_| {}).await.unwrap();
    store.close().await;
    (checked, found.into_inner().unwrap())
}

#[tokio::test]
async fn a_store_as_a_server_leaves_it_is_sound() {
    let records: Vec<Record> = filling::records(500).collect();
    let count = records.len() as u64;
    let (checked, found) = check(records).await;
    assert_eq!(found, Vec::<String>::new());
    let sound = IntegrityReport { records: count, responses: 500, ..IntegrityReport::default() };
    assert_eq!(checked, IntegrityReport { has_checked_pages: true, ..sound });
}

#[tokio::test]
async fn responses_that_are_not_counted_yet_are_reported_as_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("sluice.db"));
    store.import_records(filling::records(20).collect()).await.unwrap();
    let checked = integrity::check(&*store, |it| panic!("{it:?}"), |_| {}).await.unwrap();
    assert!(checked.skipped[0].contains("counts of 6 flows"), "{checked:?}");
}

#[tokio::test]
async fn images_that_pages_show_must_exist() {
    let named = |number: u128| AssetId::from_uuid(uuid::Uuid::from_u128(number));
    let mut records: Vec<Record> = filling::records(20).collect();
    let mut expected = Vec::new();
    let (mut has_app, mut has_flow, mut is_in_version) = (false, false, false);
    for record in &mut records {
        match record {
            Record::App(app) if !has_app => {
                has_app = true;
                app.row.hosted = Some(format!(r#"{{"background":"{}"}}"#, named(1)));
                expected.push(format!("apps {}: {}", app.row.app_id, named(1)));
            }
            Record::Flow(row) if !has_flow => {
                has_flow = true;
                row.design = Some(format!(r#"{{"background":"{}"}}"#, named(2)));
                expected.push(format!("flows {}: {}", row.flow_id, named(2)));
            }
            // What has ended, or was never published, may name an image that was deleted.
            Record::Version(row) => {
                let image = json!({"assetId": named(3), "alt": "x"});
                let question = json!({"id": "q", "type": "nps", "prompt": "Q?", "image": image});
                row.definition = json!({"title": "T", "questions": [question]}).to_string();
                let times = &row.times;
                let has_ended = times.superseded_at.is_some() || times.retired_at.is_some();
                if times.published_at.is_some() && !has_ended && !is_in_version {
                    is_in_version = true;
                    expected.push(format!("versions {}: {}", row.flow_version_id, named(3)));
                } else {
                    row.times.retired_at = row.times.published_at;
                }
            }
            _ => {}
        }
    }
    assert!(has_app && has_flow && is_in_version);
    let (_, found) = check(records).await;
    let mut images: Vec<_> = found.iter().filter(|it| it.contains("table assets")).collect();
    images.sort_unstable();
    let missing = |place: String| format!("{place} is missing from the table assets");
    let mut expected: Vec<String> = expected.into_iter().map(missing).collect();
    expected.sort_unstable();
    assert_eq!(images, expected.iter().collect::<Vec<_>>(), "{found:?}");
}

#[tokio::test]
async fn every_damaged_place_is_named() {
    let mut records: Vec<Record> = filling::records(60).collect();
    let mut expected = Vec::new();
    let responses = records.iter_mut().filter_map(|record| match record {
        Record::Response { row, .. } => Some(row),
        _ => None,
    });
    for (number, row) in responses.enumerate() {
        let what = match number {
            7 => {
                row.answers = row.answers.replacen("nps", "npt", 1);
                "the content does not match its digest".to_owned()
            }
            20 => {
                row.respondent_id = Some(RespondentId::from_uuid(uuid::Uuid::max()));
                format!("{} is missing from the table respondents", row.respondent_id.unwrap())
            }
            33 => {
                row.flow_version_id = FlowVersionId::from_uuid(uuid::Uuid::max());
                row.digest = row.digest_of_content();
                format!("{} is missing from the table versions", row.flow_version_id)
            }
            _ => continue,
        };
        expected.push(format!("responses {} {}: {what}", row.flow_id, row.response_id));
        if number == 20 {
            let id = row.response_id;
            let what = "has another respondent, flow or version there";
            expected.push(format!("pages: table consents: {id} {what}"));
        }
    }
    let (checked, mut found) = check(records).await;
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(checked.damaged, 4);
}

#[tokio::test]
async fn a_counter_of_a_limit_must_not_be_too_low() {
    let mut records: Vec<Record> = filling::records(60).collect();
    let mut flows = Vec::new();
    for record in &mut records {
        if let Record::ClosingCounts(row) = record {
            flows.push(row.flow_id);
            row.counts.set(ALL, 2);
        }
    }
    let gone = flows.remove(0);
    records.retain(|it| !matches!(it, Record::ClosingCounts(row) if row.flow_id == gone));
    let of_flow = |flow| {
        let is_of =
            |it: &&Record| matches!(it, Record::Response { row, .. } if row.flow_id == flow);
        records.iter().filter(is_of).count()
    };
    let low = |flow: &FlowId| {
        let stored = of_flow(*flow);
        format!("closing-counts {flow}: 2 responses are counted, {stored} stored")
    };
    let mut expected: Vec<String> = flows.iter().map(low).collect();
    expected.push(format!("flows {gone}: it limits its responses, but they are not counted"));
    let (_, mut found) = check(records.clone()).await;
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    // A recount corrects them.
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("sluice.db"));
    store.import_records(records.clone()).await.unwrap();
    recount::recount(&*store, RecountScope::All, |_| {}).await.unwrap();
    integrity::check(&*store, |it| panic!("{it:?}"), |_| {}).await.unwrap();
    for flow in [gone, flows[0]] {
        let app = store.find_flow(flow).await.unwrap().unwrap().flow.app_id;
        let counted = store.read_closing_counts(app, &[flow]).await.unwrap();
        assert_eq!(counted[0].counts.get(ALL), of_flow(flow) as u64);
    }
}

#[tokio::test]
async fn a_damaged_response_is_not_moved() {
    let folder = tempfile::tempdir().unwrap();
    let from = open(&folder.path().join("from.db"));
    let (row, mut records) = with_answers("{}");
    for record in &mut records {
        if let Record::Response { row: other, .. } = record
            && *other == row
        {
            other.answers = "{ }".to_owned();
        }
    }
    from.import_records(records).await.unwrap();
    let id = row.response_id.to_string();
    let failed = moving::tally(&from, |_| {}).await.unwrap_err();
    assert!(matches!(&failed, StoreError::Damaged(what) if what.contains(&id)), "{failed:?}");
    let to = open(&folder.path().join("to.db"));
    let failed = moving::copy(&from, &to, None, |_| {}).await.unwrap_err();
    assert!(matches!(failed, MoveError::Source(StoreError::Damaged(_))), "{failed:?}");
}

#[tokio::test]
async fn a_damaged_image_is_neither_moved_nor_certified() {
    let folder = tempfile::tempdir().unwrap();
    let (store, engine) = start(&folder.path().join("sluice.db")).await;
    let mut records: Vec<Record> = filling::records(20).collect();
    let assets = records.iter_mut().filter_map(|record| match record {
        Record::Asset(row) => Some(row),
        _ => None,
    });
    let damaged = assets.last().unwrap();
    damaged.bytes[0] ^= 1;
    let id = damaged.asset_id.to_string();
    store.import_records(records).await.unwrap();
    let failed = moving::tally(&store, |_| {}).await.unwrap_err();
    assert!(matches!(&failed, StoreError::Damaged(what) if what.contains(&id)), "{failed:?}");
    let done = engine.upkeep().scrub().await.unwrap();
    assert_eq!(done.damaged, 1, "{done:?}");
}

/// A letter that changes in the file is found by the scrub, and then nothing more is acknowledged.
#[tokio::test]
async fn the_scrub_finds_damage_and_stops_the_service() {
    const WORD: &str = "hummingbird";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    let (row, records) = with_answers(&format!(r#"{{"why":"{WORD}"}}"#));
    let (store, engine) = start(&path).await;
    store.import_records(records).await.unwrap();
    let done = engine.upkeep().scrub().await.unwrap();
    assert_eq!((done.records > 20, done.damaged), (true, 0), "{done:?}");
    engine.health().ready().await.unwrap();
    engine.close().await;
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(WORD.len()).position(|it| it == WORD.as_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();

    let (store, engine) = start(&path).await;
    engine.health().ready().await.unwrap();
    let done = engine.upkeep().scrub().await.unwrap();
    assert_eq!(done.damaged, 1, "{done:?}");
    let found = store.damage().found().unwrap();
    assert!(found.contains(&row.response_id.to_string()), "{found}");
    assert_eq!(engine.health().ready().await, Err(NotReady::StoreFails));
    let metrics = engine.health().metrics_text();
    for line in ["sluice_damaged_records_total 1", "sluice_damaged 1"] {
        assert!(metrics.lines().any(|it| it == line), "{metrics}");
    }
    engine.close().await;
}

/// A newer node may have written it, so the service continues.
#[tokio::test]
async fn a_row_that_this_build_cannot_decode_is_counted_and_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluice.db");
    let (store, engine) = start(&path).await;
    store.import_records(filling::records(20).collect()).await.unwrap();
    let sound = engine.upkeep().scrub().await.unwrap();
    engine.close().await;
    // A kind of flow that this build does not know.
    let mut bytes = std::fs::read(&path).unwrap();
    let places: Vec<usize> = bytes
        .windows(6)
        .enumerate()
        .filter_map(|(at, window)| (window == b"survey").then_some(at))
        .collect();
    for at in places {
        bytes[at..at + 6].copy_from_slice(b"puzzle");
    }
    std::fs::write(&path, bytes).unwrap();

    let (store, engine) = start(&path).await;
    // A start reads the tables that have secrets, and goes on.
    engine.health().closed_secrets().await.unwrap();
    let done = engine.upkeep().scrub().await.unwrap();
    assert!(done.unreadable > 0, "{done:?}");
    assert_eq!((done.records + done.unreadable, done.damaged), (sound.records, 0), "{done:?}");
    assert_eq!(store.damage().found(), None);
    engine.health().ready().await.unwrap();
    let metrics = engine.health().metrics_text();
    let line = format!("sluice_unreadable_records_total {}", done.unreadable);
    assert!(metrics.lines().any(|it| it == line), "{metrics}");
    engine.close().await;
}

async fn start(path: &Path) -> (Arc<dyn Store>, Arc<Engine>) {
    let store = open(path);
    let engine = Engine::start(Arc::clone(&store), Arc::new(SystemClock), Options::default());
    (store, engine.await.unwrap())
}

/// Records of 20 responses, one of which has these answers.
fn with_answers(answers: &str) -> (ResponseRow, Vec<Record>) {
    let mut records: Vec<Record> = filling::records(20).collect();
    let last = records.iter_mut().rev().find_map(|record| match record {
        Record::Response { row, .. } => Some(row),
        _ => None,
    });
    let row = last.unwrap();
    row.answers = answers.to_owned();
    row.digest = row.digest_of_content();
    (row.clone(), records)
}
