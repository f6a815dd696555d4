//! Exports of what is new: a chain of them has every response once, whatever is stored meanwhile.

use crate::support;

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use sluice_engine::ResponseFilter;
use sluice_engine::export::{ExportAs, ExportFormat, FORMATS, ValuesAs};
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;
use sluice_flow::time::Timestamp;
use support::{World, accepted, submission};

/// How long a test waits until everything that was stored can be read.
const READABLE_MAX: Duration = Duration::from_secs(30);

fn real_now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap())
}

fn beginning() -> Timestamp {
    Timestamp::from_millis(0)
}

/// The ids in one export, and where the next one starts.
async fn part(
    world: &World,
    flow: FlowId,
    since: Timestamp,
    to: Option<Timestamp>,
) -> (Vec<String>, Timestamp) {
    let format = ExportFormat::named("jsonl").unwrap();
    let exported_as = ExportAs { format, values: ValuesAs::Ids, columns: None, after: None };
    let filter = ResponseFilter { to, ..ResponseFilter::default() };
    let handle = world.engine.flow(&world.actor, Scope::Export, flow).await.unwrap();
    let mut export = handle.export_since(exported_as, &filter, since).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(chunk) = export.chunks.recv().await {
        bytes.extend_from_slice(&chunk.unwrap());
    }
    let text = String::from_utf8(bytes).unwrap();
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let next = export.next.unwrap();
    assert_eq!(lines.pop().unwrap()["next"], next.to_string(), "the last line is the cursor");
    if export.progress.total == Some(0) {
        assert!(lines.is_empty(), "{text}");
    }
    (lines.iter().map(|line| line["responseId"].as_str().unwrap().to_owned()).collect(), next)
}

/// Follows from a cursor until all of these were exported, each once.
async fn chain(
    world: &World,
    flow: FlowId,
    mut since: Timestamp,
    wanted: &BTreeSet<String>,
) -> Timestamp {
    let (begin, mut seen) = (Instant::now(), BTreeSet::new());
    while seen.len() < wanted.len() {
        world.clock.set(real_now());
        let (ids, next) = part(world, flow, since, None).await;
        for id in ids {
            assert!(seen.insert(id.clone()), "{id} was exported twice");
        }
        since = next;
        assert!(begin.elapsed() < READABLE_MAX, "{:?} are missing", wanted - &seen);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(&seen, wanted);
    since
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_is_stored_behind_a_reader_is_exported_once() {
    let world = World::new().await;
    world.clock.set(real_now());
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let submit =
        async || accepted(world.submit(&view, &submission(version)).await).response_id.to_string();
    let first = BTreeSet::from([submit().await, submit().await]);
    let next = chain(&world, flow, beginning(), &first).await;
    // The clock goes back, and so do the ids.
    let behind = real_now().plus_seconds(-30);
    world.clock.set(behind);
    let late = submit().await;
    world.clock.set(real_now());
    let next = chain(&world, flow, next, &BTreeSet::from([late.clone()])).await;
    let (nothing, _) = part(&world, flow, next, None).await;
    assert_eq!(nothing, [""; 0]);

    // A reader from the beginning finds it once, too: where it was announced, not at its own time.
    let mut all = first.clone();
    all.insert(late);
    chain(&world, flow, beginning(), &all).await;
    let to = behind.plus_seconds(1);
    let (before, next) = part(&world, flow, beginning(), Some(to)).await;
    assert_eq!((before, next), (vec![], to));
    chain(&world, flow, next, &all).await;
    // With other formats as well.
    for &format in FORMATS {
        let exported_as = ExportAs { format, values: ValuesAs::Ids, columns: None, after: None };
        let handle = world.engine.flow(&world.actor, Scope::Export, flow).await.unwrap();
        let filter = ResponseFilter::default();
        let mut export = handle.export_since(exported_as, &filter, beginning()).await.unwrap();
        while let Some(chunk) = export.chunks.recv().await {
            chunk.unwrap();
        }
        assert!(export.progress.has_ended() && export.progress.rows() == 3, "{format:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_has_every_response_once_under_concurrent_writes() {
    const WRITERS: usize = 4;
    const EACH: usize = 40;
    let world = World::new().await;
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let world = std::sync::Arc::new(world.in_real_time().await);
    let view = world.view(&app).await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (world, view) = (std::sync::Arc::clone(&world), std::sync::Arc::clone(&view));
            tokio::spawn(async move {
                let mut stored = Vec::new();
                for _ in 0..EACH {
                    let receipt = accepted(world.submit(&view, &submission(version)).await);
                    stored.push(receipt.response_id.to_string());
                }
                stored
            })
        })
        .collect();
    let (mut seen, mut since) = (BTreeSet::new(), beginning());
    while !writers.iter().all(|it| it.is_finished()) {
        let (ids, next) = part(&world, flow, since, None).await;
        for id in ids {
            assert!(seen.insert(id.clone()), "{id} was exported twice");
        }
        assert!(next >= since);
        since = next;
    }
    let mut stored = BTreeSet::new();
    for writer in writers {
        stored.extend(writer.await.unwrap());
    }
    let rest: BTreeSet<String> = &stored - &seen;
    let end = chain(&world, flow, since, &rest).await;
    // The same in parts that end at times of the reader's choice.
    let (mut again, mut since) = (BTreeSet::new(), end.plus_seconds(-3600));
    while since < end {
        let to = since.plus_seconds(600).min(end);
        let (ids, next) = part(&world, flow, since, Some(to)).await;
        assert!(ids.into_iter().all(|id| again.insert(id)), "exported twice");
        assert_eq!(next, to);
        since = next;
    }
    assert_eq!(again, stored);
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_of_a_pipeline_share_an_entry_in_the_audit_log() {
    let world = World::new().await;
    world.clock.set(real_now());
    let app = world.app().await;
    let flow = world.flow(&app).await.flow.flow_id;
    let version = world.publish(flow).await.flow_version_id;
    let view = world.view(&app).await;
    let exports = async || {
        let entries = world.engine.list_audit(&world.actor, None, None, 100).await.unwrap();
        entries.iter().filter(|entry| entry.action == "responses.exported").count()
    };
    // Nothing is new: nothing is recorded.
    part(&world, flow, beginning(), None).await;
    assert_eq!(exports().await, 0);
    let id = accepted(world.submit(&view, &submission(version)).await).response_id.to_string();
    let wanted = BTreeSet::from([id]);
    chain(&world, flow, beginning(), &wanted).await;
    chain(&world, flow, beginning(), &wanted).await;
    assert_eq!(exports().await, 1);
}
