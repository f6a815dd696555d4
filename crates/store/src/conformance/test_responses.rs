//! Test responses: apart from the responses, once per form, and only the newest of a flow.

use sluice_flow::id::AppId;

use super::world::{Shop, TheStore, apply, at, flow_row, listed, test_response_row};
use crate::{
    At, CountsQuery, FeedPosition, FlowRow, StoreError, StoreResult, TestCursor, TestResponseRow,
    TestWrite, Write,
};

const KEEP: u32 = 3;

async fn write(store: &TheStore, write: TestWrite) -> StoreResult<()> {
    store.apply(At::Instance, vec![Write::Test(write)].into()).await
}

async fn add(store: &TheStore, row: &TestResponseRow) {
    write(store, TestWrite::Add { row: row.clone(), keep: KEEP }).await.unwrap();
}

async fn tests(store: &TheStore, flow: &FlowRow) -> Vec<TestResponseRow> {
    store.list_test_responses(flow.app_id, flow.flow_id, None, 100).await.unwrap()
}

pub(super) async fn test_responses_are_listed_newest_first_by_flow(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let sibling = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(sibling.clone())]).await;
    assert_eq!(tests(&store, &shop.flow).await, []);
    let full = TestResponseRow {
        number: 7,
        answers: "{\"q\": \"\u{e9} \\\"\"}".into(),
        tags: Some(r#"{"plan": ["pro"]}"#.into()),
        score: Some("-2.25".into()),
        ..test_response_row(&shop.flow, 5)
    };
    // Its form was made first, and is sent last.
    let late = test_response_row(&shop.flow, 9);
    let early = test_response_row(&shop.flow, 1);
    for row in [&full, &late, &early] {
        add(&store, row).await;
    }
    for flow in [&sibling, &other.flow] {
        add(&store, &test_response_row(flow, 2)).await;
        assert_eq!(tests(&store, flow).await.len(), 1);
    }
    assert_eq!(tests(&store, &shop.flow).await, [late.clone(), full.clone(), early]);
    let two = store.list_test_responses(shop.app(), shop.flow.flow_id, None, 2).await.unwrap();
    assert_eq!(two, [late, full]);
}

pub(super) async fn pages_of_tests_are_without_gaps_and_repetitions(store: TheStore) {
    let shop = Shop::open(&store).await;
    // Two at the same time: the forms decide.
    let sent = [1, 2, 2].map(|second| test_response_row(&shop.flow, second));
    for row in &sent {
        add(&store, row).await;
    }
    let all = tests(&store, &shop.flow).await;
    assert_eq!(all.len(), sent.len());
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let flow = shop.flow.flow_id;
        let page = store.list_test_responses(shop.app(), flow, after, 1).await.unwrap();
        let Some(last) = page.last() else { break };
        let cursor = TestCursor::after(last);
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        after = Some(cursor);
        paged.extend(page);
    }
    assert_eq!(paged, all);
}

pub(super) async fn a_form_is_stored_once_as_a_test_with_what_was_sent_last(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = test_response_row(&shop.flow, 1);
    let again = TestResponseRow { received_at: at(2), answers: "{}".into(), ..row.clone() };
    for sent in [&row, &again, &row, &again] {
        add(&store, sent).await;
        assert_eq!(tests(&store, &shop.flow).await, std::slice::from_ref(sent));
    }
}

pub(super) async fn only_the_newest_tests_of_a_flow_are_kept(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let elsewhere = test_response_row(&other.flow, 0);
    add(&store, &elsewhere).await;
    let rows: Vec<_> = (0..5).map(|it| test_response_row(&shop.flow, it)).collect();
    for row in &rows {
        add(&store, row).await;
    }
    let newest: Vec<_> = rows[2..].iter().rev().cloned().collect();
    assert_eq!(tests(&store, &shop.flow).await, newest);
    // Older than all that are kept.
    add(&store, &test_response_row(&shop.flow, -1)).await;
    assert_eq!(tests(&store, &shop.flow).await, newest);
    assert_eq!(tests(&store, &other.flow).await, [elsewhere]);
}

pub(super) async fn tests_of_one_flow_are_removed_at_once(store: TheStore) {
    let shop = Shop::open(&store).await;
    let sibling = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(sibling.clone())]).await;
    let kept = test_response_row(&sibling, 1);
    for row in [&kept, &test_response_row(&shop.flow, 1), &test_response_row(&shop.flow, 2)] {
        add(&store, row).await;
    }
    for _ in 0..2 {
        write(&store, TestWrite::RemoveAll(shop.app(), shop.flow.flow_id)).await.unwrap();
        assert_eq!(tests(&store, &shop.flow).await, []);
    }
    assert_eq!(tests(&store, &sibling).await, [kept]);
}

pub(super) async fn old_tests_expire_in_one_app_or_in_all(store: TheStore) {
    let shops = [Shop::open(&store).await, Shop::open(&store).await];
    // Cases may share a database, and their tests are of a later time.
    let days = |number: i64| number * 24 * 3_600_000 - 1_000_000_000_000;
    let mut rows = Vec::new();
    for shop in &shops {
        rows.push([1, 2, 3].map(|day| test_response_row(&shop.flow, days(day))));
    }
    for row in rows.iter().flatten() {
        add(&store, row).await;
    }
    let expire = async |app: Option<AppId>, day| {
        let before = at(days(day));
        let old = store.list_old_tests(app, before, 1).await.unwrap();
        assert_eq!(old.len(), 1, "no more than were asked for");
        for (app_id, flow, form) in store.list_old_tests(app, before, 10_000).await.unwrap() {
            let forms = vec![(flow, form)];
            write(&store, TestWrite::Expire { app_id, before, forms }).await.unwrap();
        }
        assert_eq!(store.list_old_tests(app, before, 1).await.unwrap(), []);
    };
    expire(Some(shops[0].app()), 3).await;
    assert_eq!(tests(&store, &shops[0].flow).await, [rows[0][2].clone()]);
    assert_eq!(tests(&store, &shops[1].flow).await.len(), 3);
    expire(None, 2).await;
    assert_eq!(tests(&store, &shops[0].flow).await, [rows[0][2].clone()]);
    assert_eq!(tests(&store, &shops[1].flow).await, [rows[1][2].clone(), rows[1][1].clone()]);
    // One that was sent again since it was listed stays.
    let row = &rows[1][2];
    let forms = vec![(row.flow_id, row.form_key)];
    let kept = TestWrite::Expire { app_id: row.app_id, before: row.received_at, forms };
    write(&store, kept).await.unwrap();
    assert_eq!(tests(&store, &shops[1].flow).await.len(), 2);
}

pub(super) async fn tests_move_no_revision_no_count_and_no_list(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = store.find_app(shop.app()).await.unwrap();
    let feed = store.changes(FeedPosition(0)).await.unwrap().position;
    add(&store, &test_response_row(&shop.flow, 1)).await;
    let old = TestWrite::Expire { app_id: shop.app(), before: at(1), forms: Vec::new() };
    write(&store, old).await.unwrap();
    assert_eq!(tests(&store, &shop.flow).await.len(), 1);
    assert_eq!(store.find_app(shop.app()).await.unwrap(), before);
    assert_eq!(store.changes(feed).await.unwrap().position, feed);
    assert_eq!(listed(&store, &shop.query()).await, []);
    let newest = store.newest_responses(shop.app(), &[shop.flow.flow_id]).await.unwrap();
    assert_eq!(newest, []);
    let query = CountsQuery::default();
    let counts = store.read_counts(shop.app(), shop.flow.flow_id, &query).await.unwrap();
    assert!(counts.daily.is_empty(), "{counts:?}");
}

pub(super) async fn a_test_of_a_flow_that_does_not_exist_is_refused(store: TheStore) {
    let shop = Shop::open(&store).await;
    let absent = flow_row(shop.app());
    let row = test_response_row(&absent, 1);
    let refused = write(&store, TestWrite::Add { row, keep: KEEP }).await;
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert_eq!(tests(&store, &absent).await, []);
}
