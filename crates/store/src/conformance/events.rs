//! The log of an app: its responses and its events, in one order that a reader can follow.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use sluice_flow::id::{AppId, EventId, ResponseId};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::removal::{erasure, stored, telling};
use super::world::{
    Shop, TheStore, app_row, apply, at, audit_row, event_row, flow_row, response_row, try_apply,
};
use crate::{
    AnswersOnErasure, AppRow, At, Change, Expiry, ExpiryCursor, LogEntry, LogQuery, Next, Order,
    Outcome, Page, StoreError, Write,
};

/// Long after everything that the cases store.
const LATER_MILLIS: i64 = 3_600_000;
/// How long a case waits until the log shows what was stored just now.
const SHOWN_MAX: Duration = Duration::from_secs(30);

pub(super) fn start() -> EventId {
    EventId::from_uuid(Uuid::nil())
}

/// A time long after everything stored, and later with each call.
fn later() -> Timestamp {
    static CALLS: AtomicI64 = AtomicI64::new(0);
    at(LATER_MILLIS + 1_000 * CALLS.fetch_add(1, Ordering::Relaxed))
}

pub(super) fn query(app_id: AppId, after: EventId) -> LogQuery {
    let now = later();
    LogQuery {
        app_id,
        flow_id: None,
        responses: true,
        after,
        before: None,
        order: Order::Asc,
        now,
        limit: 100,
        bytes_max: usize::MAX,
    }
}

/// Everything that a query and its next pages return now, and where to continue.
pub(super) async fn read(store: &TheStore, mut query: LogQuery) -> (Vec<LogEntry>, EventId) {
    let mut entries = Vec::new();
    loop {
        let page = store.read_log(&query).await.unwrap();
        assert!(page.entries.len() <= query.limit);
        assert!(page.next >= query.after, "the log goes back");
        for entry in &page.entries {
            assert!(entry.position() > query.after && entry.position() <= page.next);
        }
        entries.extend(page.entries);
        query.after = page.next;
        if !page.has_more {
            assert!(entries.is_sorted_by_key(LogEntry::position), "out of order");
            return (entries, query.after);
        }
    }
}

/// Reads on until the log has shown all of these.
async fn wait_for(store: &TheStore, app: AppId, after: EventId, wanted: &[String]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut query = query(app, after);
    let waited = tokio::time::timeout(SHOWN_MAX, async {
        while !wanted.iter().all(|it| seen.contains(it)) {
            let (entries, next) = read(store, query).await;
            seen.extend(entries.iter().map(name));
            (query.after, query.now) = (next, later());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waited.await.is_ok(), "{wanted:?} is not in {seen:?}");
    seen
}

/// What an entry reports: the id of a response, or the type of an event with its body.
fn name(entry: &LogEntry) -> String {
    match entry {
        LogEntry::Response(row) => row.response_id.to_string(),
        LogEntry::Event(row) => match row.late_response() {
            Some(response) => response.to_string(),
            None => format!("{} {}", row.kind, row.body),
        },
    }
}

fn names(entries: &[LogEntry]) -> Vec<String> {
    entries.iter().map(name).collect()
}

/// The responses at their own positions.
fn responses(entries: &[LogEntry]) -> Vec<ResponseId> {
    let response = |entry: &LogEntry| match entry {
        LogEntry::Response(row) => Some(row.response_id),
        LogEntry::Event(_) => None,
    };
    entries.iter().filter_map(response).collect()
}

pub(super) async fn the_log_has_the_responses_of_an_app_in_the_order_of_ids(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let sibling = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(sibling.clone())]).await;
    let mut expected = Vec::new();
    for millis in [5, 3, 9, 1, 7] {
        expected.push(shop.store(&store, millis, "").await);
        other.store(&store, millis, "").await;
        let mut response = shop.response(&store, millis + 20).await;
        response.row = response_row(&sibling, &shop.version, millis + 20);
        expected.push(response.row.response_id);
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    }
    expected.sort_unstable();
    for limit in [1, 3, 100] {
        let all = LogQuery { limit, ..query(shop.app(), start()) };
        assert_eq!(responses(&read(&store, all).await.0), expected, "pages of {limit}");
        let of_one = LogQuery { flow_id: Some(sibling.flow_id), ..all };
        let of_one = responses(&read(&store, of_one).await.0);
        assert_eq!(of_one, expected[5..], "pages of {limit}");
        let none = LogQuery { responses: false, ..all };
        assert_eq!(responses(&read(&store, none).await.0), []);
    }
    let after = EventId::from_uuid(expected[3].uuid());
    assert_eq!(responses(&read(&store, query(shop.app(), after)).await.0), expected[4..]);
}

pub(super) async fn an_event_is_written_with_its_change_or_not_at_all(store: TheStore) {
    let shop = Shop::open(&store).await;
    let (kept, lost) = (event_row(&shop.flow, 1), event_row(&shop.flow, 2));
    apply(&store, shop.app(), vec![Write::Event(kept.clone())]).await;
    let outdated = At::App { app: shop.app(), expected: 0 };
    let refused = store.apply(outdated, Change::new(|| vec![Write::Event(lost)])).await;
    assert!(matches!(refused, Err(StoreError::Conflict)), "{refused:?}");
    let absent = Write::Flow(flow_row(app_row().app_id));
    let failed =
        try_apply(&store, shop.app(), vec![Write::Event(event_row(&shop.flow, 3)), absent]);
    assert!(failed.await.is_err());
    let last = event_row(&shop.flow, 4);
    apply(&store, shop.app(), vec![Write::Event(last.clone())]).await;
    let named = [&kept, &last].map(|row| format!("{} {}", row.kind, row.body));
    assert_eq!(wait_for(&store, shop.app(), start(), &named).await, named);
}

pub(super) async fn an_event_is_not_a_change_of_its_app(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = store.find_app(shop.app()).await.unwrap().unwrap();
    let row = event_row(&shop.flow, 1);
    store.apply(At::Instance, Change::new(|| vec![Write::Event(row)])).await.unwrap();
    assert_eq!(store.find_app(shop.app()).await.unwrap().unwrap(), before);
}

/// However late something becomes visible, a reader that follows the log gets it.
pub(super) async fn a_reader_never_misses_what_is_stored_behind_it(store: TheStore) {
    let shop = Shop::open(&store).await;
    let first = shop.store(&store, 50, "").await;
    let mut seen = BTreeSet::new();
    let mut after = start();
    let mut stored = BTreeSet::from([first.to_string()]);
    // Each id is older than what the reader has passed.
    for millis in [40, 45, 10, 49, 1] {
        let (entries, next) = read(&store, query(shop.app(), after)).await;
        seen.extend(names(&entries));
        after = next;
        stored.insert(shop.store(&store, millis, "").await.to_string());
    }
    let missing: Vec<String> = stored.difference(&seen).cloned().collect();
    assert!(!missing.is_empty(), "nothing was stored behind the reader");
    seen.extend(wait_for(&store, shop.app(), after, &missing).await);
    assert_eq!(seen, stored);
}

/// Found at once, by a reader that must not read the log so far yet.
pub(super) async fn responses_that_are_announced_again_are_found_at_once(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    shop.store(&store, 50, "").await;
    let (_, passed) = read(&store, query(shop.app(), start())).await;
    let late = [shop.store(&store, 40, "").await, shop.store(&store, 10, "").await];
    let (app, flow) = (shop.app(), shop.flow.flow_id);
    let found = store.late_responses(app, flow, passed).await.unwrap();
    assert!(late.iter().all(|it| found.contains(it)), "{late:?} are not in {found:?}");
    let last = EventId::from_uuid(Uuid::max());
    assert_eq!(store.late_responses(app, flow, last).await.unwrap(), []);
    let sibling = flow_row(app).flow_id;
    for (app, flow) in [(app, sibling), (other.app(), flow), (other.app(), other.flow.flow_id)] {
        assert_eq!(store.late_responses(app, flow, start()).await.unwrap(), []);
    }
    // A deleted response may still be announced; it is just not stored any more.
    let rows = vec![Write::DeleteResponse(late[0])];
    apply(&store, app, rows).await;
    let found = store.late_responses(app, flow, passed).await.unwrap();
    assert!(found.contains(&late[1]), "{found:?}");
}

/// As above, while many write at the same time.
pub(super) async fn a_reader_misses_nothing_under_concurrent_writes(store: TheStore) {
    const WRITERS: i64 = 4;
    const EACH: i64 = 25;
    let shop = std::sync::Arc::new(Shop::open(&store).await);
    let writers = (0..WRITERS).map(|writer| {
        let (store, shop) = (TheStore::clone(&store), std::sync::Arc::clone(&shop));
        tokio::spawn(async move {
            let mut stored = Vec::new();
            for number in 0..EACH {
                // Out of order between the writers, and within each.
                let millis = number * 10 + if number % 3 == 0 { -7 * writer } else { writer };
                stored.push(shop.store(&store, millis, "").await.to_string());
            }
            stored
        })
    });
    let writers: Vec<_> = writers.collect();
    let (mut seen, mut after) = (BTreeSet::new(), start());
    while !writers.iter().all(|it| it.is_finished()) {
        let (entries, next) = read(&store, query(shop.app(), after)).await;
        seen.extend(names(&entries));
        after = next;
        tokio::task::yield_now().await;
    }
    let mut stored = BTreeSet::new();
    for writer in writers {
        stored.extend(writer.await.unwrap());
    }
    let missing: Vec<String> = stored.difference(&seen).cloned().collect();
    seen.extend(wait_for(&store, shop.app(), after, &missing).await);
    assert_eq!(seen, stored);
}

pub(super) async fn an_erasure_records_what_it_deleted(store: TheStore) {
    let shop = Shop::open(&store).await;
    for (millis, answers) in [(1, AnswersOnErasure::Delete), (2, AnswersOnErasure::Keep)] {
        let row = stored(&store, telling(&shop, &store, "user=7", millis).await).await;
        let (response, respondent) = (row.response_id, row.respondent_id.unwrap());
        assert!(store.erase(erasure(&shop, respondent, answers)).await.unwrap().done);
        let (app, flow) = (shop.app(), shop.flow.flow_id);
        let word = if answers == AnswersOnErasure::Keep { "keep" } else { "delete" };
        let erased = format!(
            "respondent.erased {{\"appId\":\"{app}\",\"respondentId\":\"{respondent}\",\"answers\":\"{word}\"}}"
        );
        let deleted = format!(
            "response.deleted {{\"appId\":\"{app}\",\"flowId\":\"{flow}\",\"responseId\":\"{response}\"}}"
        );
        let seen = wait_for(&store, app, start(), std::slice::from_ref(&erased)).await;
        assert_eq!(seen.contains(&deleted), answers == AnswersOnErasure::Delete, "{seen:?}");
    }
}

pub(super) async fn a_deleted_response_is_not_in_the_log(store: TheStore) {
    let shop = Shop::open(&store).await;
    let (gone, kept) = (shop.store(&store, 1, "").await, shop.store(&store, 2, "").await);
    apply(&store, shop.app(), vec![Write::DeleteResponse(gone)]).await;
    assert_eq!(responses(&read(&store, query(shop.app(), start())).await.0), [kept]);
}

pub(super) async fn events_are_found_by_their_ids(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let rows = [1, 2, 3].map(|millis| event_row(&shop.flow, millis));
    let records = rows.clone().map(crate::Record::Event);
    store.import_records(records.to_vec()).await.unwrap();
    let ids = [rows[2].event_id, rows[0].event_id, start()];
    let found = store.find_events(shop.app(), &ids).await.unwrap();
    assert_eq!(found, [rows[0].clone(), rows[2].clone()]);
    assert_eq!(store.find_events(other.app(), &ids).await.unwrap(), []);
}

pub(super) async fn events_expire_with_the_data_of_their_app(store: TheStore) {
    const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let app = shop.app();
    let rows: Vec<_> = (0..5).map(|day| event_row(&shop.flow, day * DAY_MILLIS)).collect();
    let elsewhere = event_row(&other.flow, 0);
    let records = rows.iter().chain([&elsewhere]).cloned().map(crate::Record::Event);
    store.import_records(records.collect()).await.unwrap();
    let row = store.find_app(app).await.unwrap().unwrap().row;
    apply(&store, app, vec![Write::App(AppRow { retention_days: Some(1), ..row })]).await;
    let listed = store.list_retaining_apps(at(4 * DAY_MILLIS), Page { after: None, limit: 10 });
    assert!(listed.await.unwrap().iter().any(|it| it.app_id == app && it.is_due));
    let mut cursor = ExpiryCursor::default();
    loop {
        let (audit, before) = (audit_row(Some(app)), at(3 * DAY_MILLIS));
        let expiry = Expiry { app_id: app, retention_days: None, before, cursor, audit, limit: 2 };
        match store.expire(expiry).await.unwrap().next {
            Next::At(next) => cursor = next,
            Next::Done => break,
            other => panic!("{other:?}"),
        }
    }
    let ids: Vec<EventId> = rows.iter().map(|row| row.event_id).collect();
    assert_eq!(store.find_events(app, &ids).await.unwrap(), rows[3..]);
    let others = store.find_events(other.app(), &[elsewhere.event_id]).await.unwrap();
    assert_eq!(others.len(), 1);
}

pub(super) async fn a_page_reads_a_limited_number_of_rows_of_other_apps(store: TheStore) {
    // More than a page scans in a store without an index by app.
    const OTHERS: i64 = 5_200;
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let first = shop.store(&store, 0, "").await;
    let records = (0..OTHERS).map(|millis| crate::Record::Response {
        row: response_row(&other.flow, &other.version, 1 + millis / 10),
        idempotency_key: None,
    });
    let records: Vec<_> = records.collect();
    for part in records.chunks(1_000) {
        store.import_records(part.to_vec()).await.unwrap();
    }
    let last = shop.store(&store, OTHERS, "").await;
    let (entries, _) = read(&store, query(shop.app(), start())).await;
    assert_eq!(responses(&entries), [first, last]);
}

/// Everything that a query and its next pages return, newest first.
pub(super) async fn read_back(store: &TheStore, mut query: LogQuery) -> Vec<EventId> {
    query.order = Order::Desc;
    let mut positions = Vec::new();
    loop {
        let page = store.read_log(&query).await.unwrap();
        assert!(page.entries.len() <= query.limit);
        positions.extend(page.entries.iter().map(LogEntry::position));
        if !page.has_more {
            assert!(positions.is_sorted_by(|one, next| one > next), "out of order");
            return positions;
        }
        assert!(query.before.is_none_or(|before| page.next < before), "the log does not advance");
        query.before = Some(page.next);
    }
}

pub(super) async fn the_log_can_be_read_from_its_end_and_between_positions(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let sibling = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(sibling.clone())]).await;
    for millis in [5, 3, 9, 1, 7] {
        shop.store(&store, millis, "").await;
        other.store(&store, millis, "").await;
        apply(&store, shop.app(), vec![Write::Event(event_row(&sibling, millis + 20))]).await;
    }
    let shown = tokio::time::timeout(SHOWN_MAX, async {
        loop {
            let (entries, next) = read(&store, query(shop.app(), start())).await;
            if entries.len() >= 10 {
                return (entries, next);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let (entries, next) = shown.await.unwrap();
    // Whatever becomes visible later comes after this position.
    let end = EventId::from_uuid(Uuid::from_u128(next.uuid().as_u128() + 1));
    let everything = LogQuery { before: Some(end), ..query(shop.app(), start()) };
    let mut positions: Vec<EventId> = entries.iter().map(LogEntry::position).collect();
    let (after, before) = (positions[1], positions[entries.len() - 2]);
    let between = LogQuery { after, before: Some(before), ..everything };
    for limit in [1, 3, 100] {
        let forward = read(&store, LogQuery { limit, ..between }).await.0;
        let forward: Vec<EventId> = forward.iter().map(LogEntry::position).collect();
        assert_eq!(forward, positions[2..entries.len() - 2], "pages of {limit}");
    }
    positions.reverse();
    for limit in [1, 3, 100] {
        let all = LogQuery { limit, ..everything };
        assert_eq!(read_back(&store, all).await, positions, "pages of {limit}");
        let part = read_back(&store, LogQuery { limit, ..between }).await;
        assert_eq!(part, positions[2..entries.len() - 2], "pages of {limit}");
        let of_flow = LogQuery { flow_id: Some(shop.flow.flow_id), ..all };
        let responses = responses(&entries).into_iter().map(|id| EventId::from_uuid(id.uuid()));
        let responses: Vec<EventId> = responses.collect();
        let found = read_back(&store, of_flow).await;
        assert!(responses.iter().rev().all(|id| found.contains(id)), "pages of {limit}");
        let of_sibling = LogQuery { flow_id: Some(sibling.flow_id), ..all };
        assert!(!read_back(&store, of_sibling).await.contains(&responses[0]));
        let nothing = LogQuery { before: Some(positions[0]), after: positions[0], ..all };
        assert_eq!(read_back(&store, nothing).await, []);
    }
}
