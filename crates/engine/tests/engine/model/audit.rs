//! Quiet points: nothing runs, and everything stored is read, counted and checked. Then the
//! database is moved, or restored from a backup.

use std::sync::{Arc, Mutex};

use sluice_engine::backup::{self, Backup};
use sluice_engine::clock::Clock as _;
use sluice_engine::rows::Order;
use sluice_engine::{Engine, Options, Paging, ResponseFilter, Store, integrity, moving, restore};
use sluice_flow::id::FlowId;

use super::clients::{Client, responses, seen};
use super::history::{Action, Audit, AuditedFlow, Outcome, Seen};
use super::nodes::Place;
use super::settings::read;
use crate::support::UseCases as _;

/// The engine of an audit has no faults, and this number.
const AUDITOR: u32 = u32::MAX;
const PAGE_ROWS: usize = 1_000;

/// Finishes what was begun, removes what is too old, and notes what is then stored.
pub(super) async fn audit(client: &Client, place: &Place) {
    let store = place.open().await;
    let clock = Arc::clone(&client.recorder.clock);
    let engine = Engine::start(Arc::clone(&store), clock, Options::default()).await.unwrap();
    let note = |invoked, action, outcome| {
        client.recorder.note(client.number, AUDITOR, invoked, action, outcome);
    };
    let invoked = client.recorder.moment();
    engine.upkeep().finish_erasures().await.unwrap();
    note(invoked, Action::FinishErasures, Outcome::Finished);
    let invoked = client.recorder.moment();
    let expired = engine.upkeep().enforce_retention().await.unwrap();
    note(invoked, Action::Expire, Outcome::Expired { complete: expired.failed == 0 });
    count_all(client, &engine).await;
    let invoked = client.recorder.moment();
    let mut audit = Audit::default();
    for flow in 0..client.board.flows.len() {
        audit.flows.push(audited(client, &engine, &*store, flow).await);
    }
    let damaged = Mutex::new(Vec::new());
    let found = |it: integrity::DamagedPlace| {
        damaged.lock().unwrap().push(format!("{}: {}", it.place, it.what));
    };
    integrity::check(&*store, found, |_| {}).await.unwrap();
    audit.damaged = damaged.into_inner().unwrap();
    note(invoked, Action::Audit, Outcome::Audited(audit));
    engine.close().await;
}

/// Counts what was imported by a move. Another task of the engine may be about the same flow, which
/// is then skipped, so this waits until all are counted.
async fn count_all(client: &Client, engine: &Engine) {
    for flow in &client.board.flows {
        while !responses(engine, &client.actor, *flow).await.unwrap().1 {
            engine.upkeep().compact_counts().await.unwrap();
        }
    }
}

async fn audited(client: &Client, engine: &Engine, store: &dyn Store, flow: usize) -> AuditedFlow {
    let (actor, id) = (&client.actor, client.board.flows[flow]);
    let rows = rows(client, engine, id).await;
    let (counted, is_complete) = responses(engine, actor, id).await.unwrap();
    assert!(is_complete, "everything was counted before");
    let recounted =
        store.recount(client.board.apps[client.board.app_of(flow)].0, id).await.unwrap();
    let (counted_again, _) = responses(engine, actor, id).await.unwrap();
    let (config, counter, _) = read(client, engine, flow).await.unwrap();
    let counter = counter.map(|counter| counter.value);
    AuditedFlow { config, rows, counted, recounted, counted_again, counter }
}

async fn rows(client: &Client, engine: &Engine, flow: FlowId) -> Vec<Seen> {
    let mut rows = Vec::new();
    let mut paging = Paging { after: None, order: Order::Asc, limit: PAGE_ROWS };
    let all = ResponseFilter::default();
    loop {
        let page = engine.list_responses(&client.actor, flow, &all, paging).await.unwrap();
        rows.extend(page.rows.iter().map(|row| seen(&client.board, row)));
        paging.after = page.next;
        if page.next.is_none() {
            return rows;
        }
    }
}

/// Copies the database to another place, and notes whether both are the same.
pub(super) async fn copy(client: &Client, from: &Place, to: &Place) {
    let invoked = client.recorder.moment();
    let (source, copy) = (from.open().await, to.open().await);
    moving::copy(&source, &copy, None, |_| {}).await.unwrap();
    note_copy(client, invoked, &source, &copy).await;
}

/// The same through a backup.
pub(super) async fn back_up_and_restore(
    client: &Client,
    from: &Place,
    to: &Place,
    file: &std::path::Path,
) {
    let invoked = client.recorder.moment();
    let (source, copy) = (from.open().await, to.open().await);
    let out = std::fs::File::create(file).unwrap();
    let now = client.recorder.clock.now();
    backup::write(&source, out, now, None, None, |_| {}).await.unwrap();
    Backup::open(file, None).unwrap().check(|_| {}).unwrap();
    restore::write(&copy, Backup::open(file, None).unwrap(), |_| {}).await.unwrap();
    note_copy(client, invoked, &source, &copy).await;
}

async fn note_copy(
    client: &Client,
    invoked: super::history::Moment,
    source: &Arc<dyn Store>,
    copy: &Arc<dyn Store>,
) {
    let tally = async |store: &Arc<dyn Store>| moving::tally(store, |_| {}).await.unwrap().tables();
    let (before, after) = (tally(source).await, tally(copy).await);
    assert_eq!(before.len(), after.len());
    let differ = before.iter().zip(&after).filter(|(one, other)| one != other);
    let differences = differ.count() as u64;
    let outcome = Outcome::Moved { differences };
    client.recorder.note(client.number, AUDITOR, invoked, Action::Move, outcome);
    source.close().await;
    copy.close().await;
}
