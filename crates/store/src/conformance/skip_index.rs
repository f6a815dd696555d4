//! The skip index: lists return the same responses with and without it, and it keeps nothing of
//! removed responses.

use sluice_flow::answer_filter::AnswerFilter;
use sluice_flow::id::ResponseId;
use sluice_flow::submission::Admission;

use super::respondents::claim;
use super::responses::all_pages;
use super::world::{
    Shop, TheStore, apply, at, audit_row, flow_row, new_response, public_revision, published_row,
    response_row,
};
use crate::{
    AnswersOnErasure, CompactionCursor, Erasure, ErasureTarget, Expiry, ExpiryCursor, NewResponse,
    Next, Order, Outcome, Record, ResponsePage, ResponseQuery, ResponseRow, SkipIndexCursor, Write,
};

/// More than four blocks.
const ROWS: usize = 4_500;
const TRIES_MAX: usize = 100;
/// The only row with its tag and its answer. The filter of no other block reports its answer by
/// chance, as one in two thousand does.
const RARE: usize = 2_300;
/// When all rows are old enough for a block, and when a new block may be filled.
const OLD_MILLIS: i64 = 3_600_000;
const SETTLED_MILLIS: i64 = OLD_MILLIS + 3_600_000;

async fn filled(store: &TheStore, shop: &Shop) -> Vec<ResponseId> {
    let public_revision = public_revision(store, shop.app()).await;
    let mut rows = Vec::with_capacity(ROWS);
    for number in 0..ROWS {
        let mut row = response_row(&shop.flow, &shop.version, i64::try_from(number).unwrap());
        let rare = if number == RARE { r#","rare":"yes""# } else { "" };
        row.tags = Some(format!(r#"{{"plan":"{}"{rare}}}"#, ["a", "b", "c"][number % 3]));
        row.answers = format!(r#"{{"n":"{number}","use":["x","other:{}"]}}"#, number % 7);
        rows.push(new_response(row, public_revision));
    }
    let ids = rows.iter().map(|response| response.row.response_id).collect();
    for part in rows.chunks(500) {
        let outcomes = store.commit(part.to_vec()).await.unwrap();
        assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Stored));
    }
    ids
}

/// Runs the background work on every flow until nothing is left; returns how much was done.
async fn build(store: &TheStore, millis: i64) -> u64 {
    let mut cursor = Some(CompactionCursor::default());
    while let Some(at) = cursor {
        cursor = store.compact_counts(at, 1_000).await.unwrap().next;
    }
    build_compacted(store, millis).await.0
}

/// The same for responses that are folded; returns also the number of calls.
async fn build_compacted(store: &TheStore, millis: i64) -> (u64, usize) {
    let (mut cursor, mut made): (SkipIndexCursor, u64) = (None, 0);
    for calls in 1.. {
        let blocked = store.build_skip_index(cursor, at(millis)).await.unwrap();
        made += blocked.made;
        let Some(next) = blocked.next else { return (made, calls) };
        cursor = next;
    }
    unreachable!("it ends")
}

/// Creates blocks and fills them.
async fn block(store: &TheStore) -> u64 {
    build(store, OLD_MILLIS).await + build(store, SETTLED_MILLIS).await
}

pub(super) async fn only_flows_with_something_to_build_are_visited(store: TheStore) {
    let shop = Shop::open(&store).await;
    let flows: Vec<_> = (0..30).map(|_| flow_row(shop.app())).collect();
    let idle: Vec<_> = flows.into_iter().map(|flow| (published_row(&flow, 1), flow)).collect();
    let rows = idle
        .iter()
        .flat_map(|(version, flow)| [Write::Flow(flow.clone()), Write::Version(version.clone())]);
    apply(&store, shop.app(), rows.collect()).await;
    let revision = public_revision(&store, shop.app()).await;
    let few =
        idle.iter().map(|(version, flow)| new_response(response_row(flow, version, 1), revision));
    store.commit(few.collect()).await.unwrap();
    let ids = filled(&store, &shop).await;
    // Two calls for the one flow with blocks to create or to fill, and one that finds no other.
    assert_eq!(build(&store, OLD_MILLIS).await, 4);
    let (made, calls) = build_compacted(&store, OLD_MILLIS).await;
    assert_eq!((made, calls), (0, 1), "nothing is left");
    let (made, calls) = build_compacted(&store, SETTLED_MILLIS).await;
    assert_eq!((made, calls), (4, 2));
    let (made, calls) = build_compacted(&store, SETTLED_MILLIS).await;
    assert_eq!((made, calls), (0, 1));
    // Responses that are removed before they are in a block cost one more visit.
    for id in &ids[4_096..] {
        apply(&store, shop.app(), vec![Write::DeleteResponse(*id)]).await;
    }
    let more = (0..700).map(|number| {
        new_response(response_row(&shop.flow, &shop.version, 10_000 + number), revision)
    });
    store.commit(more.collect()).await.unwrap();
    build(&store, SETTLED_MILLIS).await;
    let (made, calls) = build_compacted(&store, SETTLED_MILLIS).await;
    assert_eq!((made, calls), (0, 1), "a number that was too high was not corrected");
    // One more makes it a block.
    let more = (0..324).map(|number| {
        new_response(response_row(&shop.flow, &shop.version, 20_000 + number), revision)
    });
    store.commit(more.collect()).await.unwrap();
    assert_eq!(build(&store, SETTLED_MILLIS).await, 1);
}

fn tagged(shop: &Shop, name: &str, value: &str) -> ResponseQuery {
    ResponseQuery { tags: vec![(name.to_owned(), value.to_owned())], ..shop.query() }
}

fn answered(shop: &Shop, question: &str, value: &str) -> ResponseQuery {
    ResponseQuery { answers: vec![AnswerFilter::is(question, value)], ..shop.query() }
}

/// Whether one call can rule out any match.
async fn is_ruled_out(store: &TheStore, query: &ResponseQuery) -> bool {
    let short = ResponseQuery { scan_limit: 1, to: Some(at(4_000)), ..query.clone() };
    store.list_responses(&short).await.unwrap() == ResponsePage::default()
}

pub(super) async fn the_skip_index_does_not_change_lists(store: TheStore) {
    let shop = Shop::open(&store).await;
    let ids = filled(&store, &shop).await;
    let mut queries = vec![
        shop.query(),
        tagged(&shop, "rare", "yes"),
        tagged(&shop, "plan", "b"),
        tagged(&shop, "plan", "z"),
        answered(&shop, "n", "4444"),
        answered(&shop, "n", "17"),
        answered(&shop, "use", "other"),
        answered(&shop, "use", "other:3"),
        answered(&shop, "n", "other"),
    ];
    queries.push(ResponseQuery { tags: vec![("plan".into(), "a".into())], ..queries[4].clone() });
    let mut wanted = Vec::new();
    for query in queries {
        for (from, to) in [(None, None), (Some(1_500), Some(3_001)), (Some(4_400), None)] {
            for (order, scan_limit) in
                [(Order::Asc, 1_000_000), (Order::Desc, 1_000_000), (Order::Desc, 700)]
            {
                let (from, to) = (from.map(at), to.map(at));
                let query =
                    ResponseQuery { order, scan_limit, limit: 400, from, to, ..query.clone() };
                wanted.push((all_pages(&store, query.clone()).await, query));
            }
        }
    }
    assert!(block(&store).await >= 8);
    for (expected, query) in &wanted {
        assert_eq!(all_pages(&store, query.clone()).await, *expected, "{query:?}");
    }
    // A cursor may lie within a block.
    for order in [Order::Asc, Order::Desc] {
        let after = Some(ids[RARE]);
        let query = ResponseQuery { order, after, limit: 3, ..tagged(&shop, "plan", "a") };
        let mut beyond: Vec<ResponseId> = match order {
            Order::Asc => ids[RARE + 1..].to_vec(),
            Order::Desc => ids[..RARE].iter().rev().copied().collect(),
        };
        beyond.retain(|id| ids.iter().position(|one| one == id).unwrap() % 3 == 0);
        let page = store.list_responses(&query).await.unwrap();
        let listed: Vec<_> = page.rows.iter().map(|row| row.response_id).collect();
        assert_eq!(listed, beyond[..3], "{order:?}");
    }
}

/// What one call finds. A scan also ends after a while, which may be early on a busy machine, so
/// several are tried; one that has to read too many rows never finds anything.
async fn found_at_once(store: &TheStore, query: &ResponseQuery) -> Vec<ResponseRow> {
    for _ in 0..TRIES_MAX {
        let page = store.list_responses(query).await.unwrap();
        if !page.rows.is_empty() {
            return page.rows;
        }
    }
    Vec::new()
}

pub(super) async fn a_rare_value_is_found_within_few_rows(store: TheStore) {
    let shop = Shop::open(&store).await;
    let ids = filled(&store, &shop).await;
    for order in [Order::Asc, Order::Desc] {
        for query in [tagged(&shop, "rare", "yes"), answered(&shop, "n", &RARE.to_string())] {
            // The limit covers the rows that are too young for a block, and one block.
            let query = ResponseQuery { order, scan_limit: 2_100, ..query };
            assert_eq!(store.list_responses(&query).await.unwrap().rows, []);
        }
    }
    block(&store).await;
    for order in [Order::Asc, Order::Desc] {
        for query in [tagged(&shop, "rare", "yes"), answered(&shop, "n", &RARE.to_string())] {
            let query = ResponseQuery { order, scan_limit: 2_100, ..query };
            let found = found_at_once(&store, &query).await;
            assert_eq!(found.len(), 1, "{query:?}");
            assert_eq!(found[0].response_id, ids[RARE]);
        }
    }
    assert!(is_ruled_out(&store, &tagged(&shop, "rare", "no")).await);
    assert!(!is_ruled_out(&store, &tagged(&shop, "rare", "yes")).await);
}

pub(super) async fn young_responses_are_in_no_block(store: TheStore) {
    let shop = Shop::open(&store).await;
    filled(&store, &shop).await;
    assert_eq!(build(&store, 500_000).await, 0);
    // Blocks are created first and filled later.
    let created = build(&store, OLD_MILLIS).await;
    assert_eq!((created, build(&store, OLD_MILLIS).await), (4, 0));
    assert_eq!(build(&store, SETTLED_MILLIS).await, 4);
    assert_eq!(build(&store, SETTLED_MILLIS).await, 0);
}

pub(super) async fn no_block_keeps_anything_of_a_deleted_response(store: TheStore) {
    let shop = Shop::open(&store).await;
    let ids = filled(&store, &shop).await;
    block(&store).await;
    let rare = [tagged(&shop, "rare", "yes"), answered(&shop, "n", &RARE.to_string())];
    apply(&store, shop.app(), vec![Write::DeleteResponse(ids[RARE])]).await;
    for query in &rare {
        assert_eq!(all_pages(&store, query.clone()).await, []);
    }
    assert_eq!(build(&store, SETTLED_MILLIS).await, 1);
    for query in &rare {
        assert!(is_ruled_out(&store, query).await, "{query:?}");
    }
    assert!(!is_ruled_out(&store, &answered(&shop, "n", &(RARE + 1).to_string())).await);
}

pub(super) async fn expired_responses_leave_no_block(store: TheStore) {
    let shop = Shop::open(&store).await;
    let ids = filled(&store, &shop).await;
    block(&store).await;
    let mut cursor = ExpiryCursor::default();
    loop {
        let expiry = Expiry {
            app_id: shop.app(),
            retention_days: None,
            before: at(3_000),
            cursor,
            limit: 500,
            audit: audit_row(Some(shop.app())),
        };
        match store.expire(expiry).await.unwrap().next {
            Next::At(next) => cursor = next,
            Next::Done | Next::LeftToAnother | Next::SettingChanged => break,
        }
    }
    assert_eq!(all_pages(&store, answered(&shop, "use", "other:2")).await.len(), 214);
    // Two blocks are empty; the third has lost some rows. One that begins earlier is filled later.
    assert_eq!(build(&store, SETTLED_MILLIS).await, 3);
    for turn in [2, 3] {
        build(&store, turn * SETTLED_MILLIS).await;
    }
    assert!(is_ruled_out(&store, &tagged(&shop, "rare", "yes")).await);
    assert_eq!(all_pages(&store, answered(&shop, "n", "4444")).await, [ids[4_444]]);
    assert_eq!(all_pages(&store, shop.query()).await, ids[3_000..]);
    // A response with an id of that time is found, although the empty blocks are gone.
    let row = response_row(&shop.flow, &shop.version, 500);
    let row = ResponseRow { tags: Some(r#"{"rare":"late"}"#.to_owned()), ..row };
    let late = [row.response_id];
    let response = new_response(row, public_revision(&store, shop.app()).await);
    assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    for turn in [4, 5] {
        build(&store, turn * SETTLED_MILLIS).await;
        for order in [Order::Asc, Order::Desc] {
            let query = ResponseQuery { order, ..tagged(&shop, "rare", "late") };
            assert_eq!(all_pages(&store, query).await, late);
        }
    }
}

pub(super) async fn a_response_stored_with_an_older_id_is_listed(store: TheStore) {
    let shop = Shop::open(&store).await;
    let ids = filled(&store, &shop).await;
    block(&store).await;
    // Within a block, just before and just after one, and before all of them.
    let mut late = Vec::new();
    for millis in [-5, 500, 1_023, 1_024, 3_999] {
        let row = response_row(&shop.flow, &shop.version, millis);
        let row = ResponseRow { tags: Some(r#"{"rare":"late"}"#.to_owned()), ..row };
        late.push(row.response_id);
        let response = new_response(row, public_revision(&store, shop.app()).await);
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
        for order in [Order::Asc, Order::Desc] {
            let query = ResponseQuery { order, ..tagged(&shop, "rare", "late") };
            let mut listed = all_pages(&store, query).await;
            listed.sort_unstable();
            assert_eq!(listed, late, "{millis}");
        }
    }
    build(&store, SETTLED_MILLIS).await;
    assert_eq!(all_pages(&store, tagged(&shop, "rare", "late")).await, late);
    assert_eq!(all_pages(&store, tagged(&shop, "rare", "yes")).await, [ids[RARE]]);
    // A row at the end may come from a clock that was ahead.
    assert!(is_ruled_out(&store, &tagged(&shop, "rare", "no")).await);
}

pub(super) async fn no_block_keeps_anything_of_an_erased_person(store: TheStore) {
    for answers in [AnswersOnErasure::Delete, AnswersOnErasure::Keep] {
        let shop = Shop::open(&store).await;
        filled(&store, &shop).await;
        let row = response_row(&shop.flow, &shop.version, 100);
        let row = ResponseRow {
            admission: Admission::Admitted,
            identities: Some(r#"[{"type":"userId","value":"u-42"}]"#.to_owned()),
            tags: Some(r#"{"account":"u-42","plan":"z"}"#.to_owned()),
            ..row
        };
        let claim = claim(&["user=u-42"], 100);
        let respondent = claim.as_ref().unwrap().new_id;
        let response =
            NewResponse { claim, ..new_response(row, public_revision(&store, shop.app()).await) };
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
        block(&store).await;
        let theirs = tagged(&shop, "account", "u-42");
        assert!(!is_ruled_out(&store, &theirs).await);
        let erasure = Erasure {
            app_id: shop.app(),
            target: ErasureTarget::Respondent(respondent),
            answers,
            audit: audit_row(Some(shop.app())),
            limit: 100,
        };
        assert!(store.erase(erasure).await.unwrap().done);
        assert_eq!(all_pages(&store, theirs.clone()).await, []);
        build(&store, SETTLED_MILLIS).await;
        assert!(is_ruled_out(&store, &theirs).await, "{answers:?}");
        let kept = all_pages(&store, tagged(&shop, "plan", "z")).await.len();
        assert_eq!(kept, usize::from(answers == AnswersOnErasure::Keep));
    }
}

pub(super) async fn responses_imported_within_a_block_are_listed(store: TheStore) {
    let shop = Shop::open(&store).await;
    filled(&store, &shop).await;
    block(&store).await;
    let mut row = shop.response(&store, 1_000).await.row;
    row.tags = Some(r#"{"rare":"late"}"#.to_owned());
    let id = row.response_id;
    store.import_records(vec![Record::Response { row, idempotency_key: None }]).await.unwrap();
    assert_eq!(all_pages(&store, tagged(&shop, "rare", "late")).await, [id]);
    block(&store).await;
    assert_eq!(all_pages(&store, tagged(&shop, "rare", "late")).await, [id]);
}

pub(super) async fn no_list_misses_a_response_during_an_import(store: TheStore) {
    const IMPORTS: i64 = 15;
    let shop = Shop::open(&store).await;
    let ids = filled(&store, &shop).await;
    build(&store, OLD_MILLIS).await;
    for number in 0..IMPORTS {
        // Every import deletes the blocks of the flow.
        build_compacted(&store, OLD_MILLIS).await;
        build_compacted(&store, SETTLED_MILLIS).await;
        let row = response_row(&shop.flow, &shop.version, 5_000 + number);
        let import = store.import_records(vec![Record::Response { row, idempotency_key: None }]);
        let lists = async {
            for order in [Order::Asc, Order::Desc, Order::Asc, Order::Desc, Order::Asc] {
                let query = ResponseQuery { order, ..tagged(&shop, "rare", "yes") };
                let listed = all_pages(&store, query).await;
                assert_eq!(listed, [ids[RARE]], "{order:?} during import {number}");
            }
        };
        let (imported, ()) = tokio::join!(import, lists);
        imported.unwrap();
    }
}
