//! Responses are listed, counted and exported in the order of their ids, in whatever order and by
//! whatever process they are stored.

use crate::support;

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use sluice_flow::counts::Contribution;
use sluice_flow::id::{FlowId, FlowVersionId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::roles::*;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{
    At, Change, CompactionCursor, CountsQuery, FlowRow, NewResponse, Order, Outcome, Record,
    RecordCursor, ResponseQuery, Write,
};
use support::rows::{app_row, flow_row, response};
use tempfile::TempDir;

const FLOWS: u64 = 3;
/// All responses fall into so few milliseconds.
const MILLIS: u64 = 4;
const START_MILLIS: i64 = 1_763_172_000_000;

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(&folder.path().join("sluice.db"), Options::default()).unwrap()
}

fn flow(number: u64) -> FlowRow {
    let id = v7(Timestamp::from_millis(1), 1, number);
    FlowRow { flow_id: FlowId::from_uuid(id), ..flow_row() }
}

async fn prepared(folder: &TempDir) -> SqliteStore {
    let store = open(folder);
    let mut rows = vec![Write::App(app_row())];
    rows.extend((0..FLOWS).map(|number| Write::Flow(flow(number))));
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    store
}

/// Numbers that look random: the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }

    /// A response as one of several nodes could have received it: in any order.
    fn response(&mut self) -> NewResponse {
        let millis = START_MILLIS + self.below(MILLIS).cast_signed();
        let (number, random) = (self.below(40) as u32, self.below(1 << 30));
        let (which, version) = (self.below(FLOWS), self.below(2));
        let mut sent = response(millis, number, 1);
        sent.row.response_id =
            ResponseId::from_uuid(v7(Timestamp::from_millis(millis), number, random));
        sent.row.flow_id = flow(which).flow_id;
        sent.row.flow_version_id =
            FlowVersionId::from_uuid(v7(Timestamp::from_millis(1), 2, which * 2 + version));
        sent.row.tags = Some(format!(r#"{{"of":"{}"}}"#, self.below(5)));
        let tags = sent.row.tags.as_deref();
        sent.contribution = Contribution::from_stored(None, "{}", tags, sent.row.admission);
        sent.idempotency_key = None;
        sent
    }
}

fn all_of(flow_id: FlowId) -> ResponseQuery {
    ResponseQuery::new(app_row().app_id, flow_id, 7)
}

/// The ids on all pages, which are read one after the other.
async fn listed(store: &SqliteStore, mut query: ResponseQuery) -> Vec<ResponseId> {
    let mut ids = Vec::new();
    loop {
        let page = store.list_responses(&query).await.unwrap();
        ids.extend(page.rows.iter().map(|row| row.response_id));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return ids,
        }
    }
}

/// Every way to read agrees with what was stored.
async fn check(store: &SqliteStore, stored: &BTreeMap<ResponseId, NewResponse>) {
    for number in 0..FLOWS {
        let flow_id = flow(number).flow_id;
        let of_flow = || stored.values().filter(|it| it.row.flow_id == flow_id);
        let expected: Vec<_> = of_flow().map(|it| it.row.response_id).collect();
        assert_eq!(listed(store, all_of(flow_id)).await, expected);
        let newest_first = ResponseQuery { order: Order::Desc, ..all_of(flow_id) };
        let reversed: Vec<_> = expected.iter().rev().copied().collect();
        assert_eq!(listed(store, newest_first).await, reversed);
        let at = |millis| Some(Timestamp::from_millis(START_MILLIS + millis));
        let between = ResponseQuery { from: at(1), to: at(3), ..all_of(flow_id) };
        let in_time =
            |id: &&ResponseId| (1..3).contains(&(id.made_at().as_millis() - START_MILLIS));
        let some: Vec<_> = expected.iter().filter(in_time).copied().collect();
        assert_eq!(listed(store, between).await, some);
        let counted = store.count_responses(&all_of(flow_id)).await.unwrap();
        assert_eq!(counted.responses, expected.len() as u64);
        let newest = store.newest_responses(app_row().app_id, &[flow_id]).await.unwrap();
        assert_eq!(newest.first().map(|(_, id)| id), expected.last());
        let counts = store.read_counts(app_row().app_id, flow_id, &CountsQuery::default()).await;
        let daily = counts.unwrap().daily;
        let responses: i64 = daily.iter().map(|(_, _, daily)| daily.all().responses).sum();
        assert_eq!(responses, expected.len() as i64);
        for tag in 0..5 {
            let tags = vec![("of".to_owned(), tag.to_string())];
            let text = Some(format!(r#"{{"of":"{tag}"}}"#));
            let ids = of_flow().filter(|it| it.row.tags == text).map(|it| it.row.response_id);
            let tagged = ResponseQuery { tags, ..all_of(flow_id) };
            assert_eq!(listed(store, tagged).await, Vec::from_iter(ids));
        }
    }
    for (id, sent) in stored {
        assert_eq!(store.find_response(*id).await.unwrap().as_ref(), Some(&sent.row));
    }
    let exported: Vec<RecordCursor> = exported(store).await.iter().map(Record::cursor).collect();
    assert!(exported.is_sorted());
    assert_eq!(exported.len(), stored.len());
}

/// All responses, in the order of an export.
async fn exported(store: &SqliteStore) -> Vec<Record> {
    let (mut responses, mut after) = (Vec::new(), None);
    loop {
        let page = store.export_records(after.as_ref(), 11).await.unwrap();
        let Some(last) = page.last() else { return responses };
        after = Some(last.cursor());
        responses.extend(page.into_iter().filter(|it| matches!(it, Record::Response { .. })));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_stored_in_any_order_by_several_processes_are_read_in_id_order() {
    for seed in 1..6 {
        let folder = tempfile::tempdir().unwrap();
        let mut random = Random(seed);
        let handles = [prepared(&folder).await, open(&folder)];
        let mut stored = BTreeMap::new();
        for _ in 0..25 {
            let handle = &handles[random.below(2) as usize];
            let mut batch = Vec::new();
            for _ in 0..random.below(12) {
                let sent = random.response();
                if let Entry::Vacant(free) = stored.entry(sent.row.response_id) {
                    free.insert(sent.clone());
                    batch.push(sent);
                }
            }
            let outcomes = handle.commit(batch).await.unwrap();
            assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Stored));
            // One response is deleted, often the one that was stored last.
            let gone = match random.below(3) {
                0 => stored.keys().next_back().copied(),
                1 => stored.keys().nth(stored.len() / 2).copied(),
                _ => None,
            };
            if let Some(id) = gone {
                stored.remove(&id);
                let other = &handles[random.below(2) as usize];
                let expected = other.find_app(app_row().app_id).await.unwrap().unwrap().revision;
                let at = At::App { app: app_row().app_id, expected };
                let rows = vec![Write::DeleteResponse(id)];
                other.apply(at, Change::new(|| rows)).await.unwrap();
            }
        }
        for handle in &handles {
            check(handle, &stored).await;
        }
        // An import into another file, in any order, some of it twice.
        let mut records = exported(&handles[0]).await;
        for at in (1..records.len()).rev() {
            records.swap(at, random.below(at as u64 + 1) as usize);
        }
        let other = tempfile::tempdir().unwrap();
        let copy = prepared(&other).await;
        for (at, part) in records.chunks(13).enumerate() {
            copy.import_records(part.to_vec()).await.unwrap();
            if at % 3 == 0 {
                copy.import_records(part[..part.len() / 2].to_vec()).await.unwrap();
            }
        }
        while !copy.compact_counts(CompactionCursor::default(), 50).await.unwrap().is_done() {}
        check(&copy, &stored).await;
        for handle in handles.iter().chain([&copy]) {
            handle.close().await;
        }
    }
}

#[tokio::test]
async fn responses_stored_out_of_order_do_not_disturb_a_list_between_its_pages() {
    for order in [Order::Asc, Order::Desc] {
        let folder = tempfile::tempdir().unwrap();
        let (store, mut random) = (prepared(&folder).await, Random(77));
        let flow_id = flow(0).flow_id;
        let mut query = ResponseQuery { order, ..all_of(flow_id) };
        let (mut seen, mut ids) = (Vec::new(), BTreeSet::new());
        let batch: Vec<_> = (0..60).map(|_| random.response()).collect();
        let initial: BTreeSet<_> = batch
            .iter()
            .filter(|it| it.row.flow_id == flow_id)
            .map(|it| it.row.response_id)
            .collect();
        store.commit(batch).await.unwrap();
        loop {
            let page = store.list_responses(&query).await.unwrap();
            seen.extend(page.rows.iter().map(|row| row.response_id));
            let Some(next) = page.next else { break };
            query.after = Some(next);
            // They move the keys of rows on both sides of the cursor.
            for _ in 0..10 {
                let sent = random.response();
                ids.insert(sent.row.response_id);
                store.commit(vec![sent]).await.unwrap();
            }
        }
        let mut sorted = seen.clone();
        sorted.sort_unstable();
        if order == Order::Desc {
            sorted.reverse();
        }
        assert_eq!(seen, sorted);
        let without_new = |id: &&ResponseId| !ids.contains(id);
        let kept: BTreeSet<_> = seen.iter().filter(without_new).copied().collect();
        assert_eq!(kept, initial, "{order:?}");
        assert_eq!(seen.len(), BTreeSet::from_iter(&seen).len(), "a response is listed twice");
        store.close().await;
    }
}
