//! Lists of responses: order, pages, filters.

use super::world::{Shop, TheStore, apply, at, flow_row, listed, published_row, response_id};
use crate::{
    NewResponse, Order, Outcome, ResponseCount, ResponseQuery, ResponseRow, Search, Write,
};
use sluice_flow::answer_filter::AnswerFilter;
use sluice_flow::folding::folded;
use sluice_flow::id::ResponseId;
use sluice_flow::submission::Admission;

pub(super) async fn responses_are_listed_in_both_orders_page_by_page(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut ids = Vec::new();
    // Stored out of order: lists are ordered by id.
    for millis in [5, 1, 3, 2, 4] {
        ids.push(shop.store(&store, millis, "").await);
    }
    ids.sort();
    for order in [Order::Asc, Order::Desc] {
        for limit in [1, 2, 3, 100] {
            let query = ResponseQuery { order, limit, ..shop.query() };
            assert_eq!(all_pages(&store, query).await, ids, "{order:?} by {limit}");
        }
        ids.reverse();
    }
}

/// All pages concatenated; no page exceeds its limit, and each ends at or after its last row.
pub(super) async fn all_pages(store: &TheStore, mut query: ResponseQuery) -> Vec<ResponseId> {
    let mut all = Vec::new();
    loop {
        let page = store.list_responses(&query).await.unwrap();
        assert!(page.rows.len() <= query.limit);
        all.extend(page.rows.iter().map(|row| row.response_id));
        let Some(next) = page.next else { return all };
        let beyond = |id: ResponseId| match query.order {
            Order::Asc => next >= id,
            Order::Desc => next <= id,
        };
        assert!(page.rows.iter().all(|row| beyond(row.response_id)), "{next}");
        assert!(query.after.is_none_or(|after| after != next && beyond(after)), "{next}");
        query.after = Some(next);
    }
}

pub(super) async fn responses_of_other_flows_and_apps_are_not_listed(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let flow = flow_row(shop.app());
    apply(&store, shop.app(), vec![Write::Flow(flow.clone())]).await;
    let mut elsewhere = shop.response(&store, 2).await;
    elsewhere.row.flow_id = flow.flow_id;
    assert_eq!(store.commit(vec![elsewhere]).await.unwrap(), [Outcome::Stored]);
    let mine = shop.store(&store, 1, "").await;
    let theirs = other.store(&store, 3, "").await;
    assert_eq!(listed(&store, &shop.query()).await, [mine]);
    assert_eq!(listed(&store, &other.query()).await, [theirs]);
    let crossed = ResponseQuery { app_id: other.app(), ..shop.query() };
    assert_eq!(listed(&store, &crossed).await, []);
}

pub(super) async fn several_responses_of_an_app_are_found_in_one_call(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let first = shop.store(&store, 1, "").await;
    shop.store(&store, 2, "").await;
    let last = shop.store(&store, 3, "").await;
    let theirs = other.store(&store, 2, "").await;
    // In any order, with a duplicate, one of another app and one that does not exist.
    let wanted = [last, theirs, first, last, response_id(9)];
    let found = store.find_responses(shop.app(), &wanted).await.unwrap();
    let ids: Vec<_> = found.iter().map(|row| row.response_id).collect();
    assert_eq!(ids, [first, last]);
    for row in found {
        assert_eq!(store.find_response(row.response_id).await.unwrap(), Some(row));
    }
    assert_eq!(store.find_responses(shop.app(), &[]).await.unwrap(), []);
}

pub(super) async fn the_newest_response_of_several_flows_is_found_in_one_call(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let (busy, silent) = (flow_row(shop.app()), flow_row(shop.app()));
    let flows = vec![Write::Flow(busy.clone()), Write::Flow(silent.clone())];
    apply(&store, shop.app(), flows).await;
    let mut elsewhere = shop.response(&store, 9).await;
    elsewhere.row.flow_id = busy.flow_id;
    let of_busy = elsewhere.row.response_id;
    assert_eq!(store.commit(vec![elsewhere]).await.unwrap(), [Outcome::Stored]);
    // Stored out of order: the newest is the one with the highest id.
    let newest = shop.store(&store, 5, "").await;
    shop.store(&store, 3, "").await;
    other.store(&store, 7, "").await;
    let wanted = [shop.flow.flow_id, silent.flow_id, busy.flow_id, other.flow.flow_id];
    let mut found = store.newest_responses(shop.app(), &wanted).await.unwrap();
    found.sort_unstable();
    let mut expected = [(shop.flow.flow_id, newest), (busy.flow_id, of_busy)];
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(store.newest_responses(shop.app(), &[]).await.unwrap(), []);
}

pub(super) async fn times_are_half_open(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut ids = Vec::new();
    for millis in [10, 10, 20, 30] {
        ids.push(shop.store(&store, millis, "").await);
    }
    for (from, to, expected) in [
        (None, None, 0..4),
        (Some(10), None, 0..4),
        (Some(11), None, 2..4),
        (Some(20), None, 2..4),
        (Some(21), None, 3..4),
        (None, Some(10), 0..0),
        (None, Some(11), 0..2),
        (None, Some(20), 0..2),
        (None, Some(31), 0..4),
        (Some(10), Some(20), 0..2),
        (Some(20), Some(20), 0..0),
        (Some(30), Some(10), 0..0),
    ] {
        for order in [Order::Asc, Order::Desc] {
            let mut expected = ids[expected.clone()].to_vec();
            if order == Order::Desc {
                expected.reverse();
            }
            let query = ResponseQuery { from: from.map(at), to: to.map(at), order, ..shop.query() };
            assert_eq!(listed(&store, &query).await, expected, "[{from:?}, {to:?}) {order:?}");
        }
    }
    let epoch = sluice_flow::time::Timestamp::MIN;
    let ever = ResponseQuery { from: Some(epoch), ..shop.query() };
    assert_eq!(listed(&store, &ever).await, ids);
    let never = ResponseQuery { to: Some(epoch), ..shop.query() };
    assert_eq!(listed(&store, &never).await, []);
}

pub(super) async fn a_version_filters(store: TheStore) {
    let shop = Shop::open(&store).await;
    let next = published_row(&shop.flow, 2);
    apply(&store, shop.app(), vec![Write::Version(next.clone())]).await;
    let old = shop.store(&store, 1, "").await;
    let mut newer = shop.response(&store, 2).await;
    newer.row.flow_version_id = next.flow_version_id;
    let new = newer.row.response_id;
    assert_eq!(store.commit(vec![newer]).await.unwrap(), [Outcome::Stored]);
    for (version, expected) in [
        (None, vec![old, new]),
        (Some(shop.version.flow_version_id), vec![old]),
        (Some(next.flow_version_id), vec![new]),
        (Some(published_row(&shop.flow, 3).flow_version_id), vec![]),
    ] {
        let query = ResponseQuery { version, ..shop.query() };
        assert_eq!(listed(&store, &query).await, expected, "{version:?}");
    }
}

pub(super) async fn a_tag_filters_by_text_or_by_membership(store: TheStore) {
    let shop = Shop::open(&store).await;
    let tags = [
        "",
        "{}",
        r#"{"plan":"pro"}"#,
        r#"{"plan":["free","pro"],"eu":"yes"}"#,
        r#"{"plan":"professional","a.b":"dot","quo\"te":"it's"}"#,
        r#"{"plan":["[\"pro\"]"],"\u00e9t\u00e9":"caf\u00e9"}"#,
    ];
    let mut ids = Vec::new();
    for (millis, tags) in (0..).zip(tags) {
        ids.push(shop.store(&store, millis, tags).await);
    }
    for (wanted, expected) in [
        (&[("plan", "pro")][..], &[2, 3][..]),
        (&[("plan", "free")], &[3]),
        (&[("plan", "professional")], &[4]),
        (&[("plan", "pr")], &[]),
        (&[("plan", "[\"pro\"]")], &[5]),
        (&[("plan", "")], &[]),
        (&[("Plan", "pro")], &[]),
        (&[("a.b", "dot")], &[4]),
        (&[("quo\"te", "it's")], &[4]),
        (&[("\u{e9}t\u{e9}", "caf\u{e9}")], &[5]),
        (&[("plan", "pro"), ("eu", "yes")], &[3]),
        (&[("plan", "free"), ("plan", "pro")], &[3]),
        (&[("eu", "yes"), ("plan", "other")], &[]),
        (&[("absent", "pro")], &[]),
    ] {
        let tags = wanted.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let query = ResponseQuery { tags, ..shop.query() };
        let expected: Vec<_> = expected.iter().map(|index: &usize| ids[*index]).collect();
        assert_eq!(listed(&store, &query).await, expected, "{wanted:?}");
    }
}

pub(super) async fn filters_and_pages_work_together(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut wanted = Vec::new();
    for millis in 0..12 {
        let tags = if millis % 3 == 0 { r#"{"plan":"pro"}"# } else { r#"{"plan":"free"}"# };
        let id = shop.store(&store, millis, tags).await;
        if millis % 3 == 0 && millis >= 3 {
            wanted.push(id);
        }
    }
    for order in [Order::Asc, Order::Desc] {
        let query = ResponseQuery {
            version: Some(shop.version.flow_version_id),
            from: Some(at(3)),
            to: Some(at(12)),
            tags: vec![("plan".to_owned(), "pro".to_owned())],
            order,
            limit: 2,
            ..shop.query()
        };
        assert_eq!(all_pages(&store, query).await, wanted, "{order:?}");
        wanted.reverse();
    }
}

pub(super) async fn a_list_for_counts_leaves_out_what_they_do_not_need(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut response = shop.response(&store, 1).await;
    let text = |text: &str| Some(text.to_owned());
    response.row.tags = text(r#"{"plan":"pro"}"#);
    response.row.score = text("3");
    response.row.context = text(r#"{"locale":"de"}"#);
    response.row.flow_assignment_id = text("own");
    response.row.identities = text(r#"[{"type":"userId","value":"u"}]"#);
    let whole = response.row.clone();
    assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    let listed = store.list_responses(&shop.query()).await.unwrap().rows;
    assert_eq!(listed, std::slice::from_ref(&whole));
    for tags in [vec![], vec![("plan".to_owned(), "pro".to_owned())]] {
        let query = ResponseQuery { for_counts: true, tags, ..shop.query() };
        let counted = store.list_responses(&query).await.unwrap().rows;
        let (identities, context, flow_assignment_id) = (None, None, None);
        let expected = ResponseRow { identities, context, flow_assignment_id, ..whole.clone() };
        assert_eq!(counted, [expected]);
    }
}

pub(super) async fn an_admission_filters(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut ids = Vec::new();
    for (millis, admission) in (0..).zip([Admission::Admitted, Admission::CollectionOnly]) {
        let mut response = shop.response(&store, millis).await;
        response.row.admission = admission;
        ids.push(response.row.response_id);
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    }
    for (admission, expected) in [
        (None, &ids[..]),
        (Some(Admission::Admitted), &ids[..1]),
        (Some(Admission::CollectionOnly), &ids[1..]),
    ] {
        let query = ResponseQuery { admission, ..shop.query() };
        assert_eq!(listed(&store, &query).await, expected, "{admission:?}");
    }
}

/// Stores a response with each of these answers, in order.
pub(super) async fn answered(store: &TheStore, shop: &Shop, answers: &[&str]) -> Vec<ResponseId> {
    let mut ids = Vec::new();
    for (millis, answers) in (0..).zip(answers) {
        let mut response = shop.response(store, millis).await;
        response.row.answers = (*answers).to_owned();
        ids.push(response.row.response_id);
        assert_eq!(store.commit(vec![response]).await.unwrap(), [Outcome::Stored]);
    }
    ids
}

pub(super) async fn an_answer_filters_by_text_or_by_membership(store: TheStore) {
    let shop = Shop::open(&store).await;
    let answers = [
        "{}",
        r#"{"use":"api"}"#,
        r#"{"use":["api","form"],"nps":"9"}"#,
        r#"{"use":["other:my own","form"],"nps":"10"}"#,
        r#"{"use":"other:it's \"mine\""}"#,
        r#"{"use":"another","why":"api"}"#,
        r#"{"use":"caf\u00e9","why":"{\"use\":\"api\"}"}"#,
    ];
    let ids = answered(&store, &shop, &answers).await;
    for (wanted, expected) in [
        (&[("use", "api")][..], &[1, 2][..]),
        (&[("use", "form")], &[2, 3]),
        (&[("use", "form"), ("nps", "9")], &[2]),
        (&[("use", "form"), ("use", "api")], &[2]),
        (&[("nps", "1")], &[]),
        (&[("nps", "")], &[]),
        (&[("use", "other")], &[3, 4]),
        (&[("use", "other:my own")], &[3]),
        (&[("use", "other:it's \"mine\"")], &[4]),
        (&[("use", "other:")], &[]),
        (&[("use", "caf\u{e9}")], &[6]),
        (&[("why", "api")], &[5]),
        (&[("Use", "api")], &[]),
        (&[("use", "%")], &[]),
        (&[("use", "a_i")], &[]),
    ] {
        let answers = wanted.iter().map(|(id, value)| AnswerFilter::is(*id, *value)).collect();
        let query = ResponseQuery { answers, ..shop.query() };
        let expected: Vec<_> = expected.iter().map(|index: &usize| ids[*index]).collect();
        assert_eq!(listed(&store, &query).await, expected, "{wanted:?}");
    }
}

pub(super) async fn a_search_finds_every_word_in_texts_ignoring_case(store: TheStore) {
    let shop = Shop::open(&store).await;
    let answers = [
        r#"{"why":"The Quick brown fox","use":"api"}"#,
        r#"{"why":"quick","more":"BROWN"}"#,
        r#"{"use":"quick","nps":"brown"}"#,
        r#"{"use":["form","other:Quick and BROWN"]}"#,
        r#"{"why":"Stra\u00dfe in \u041c\u041e\u0421\u041a\u0412\u0410"}"#,
        "{\"why\":\"GRÜSSE aus der Straße\"}",
        r#"{"why":"line\nquick\tbrown 100% a_b"}"#,
        "{}",
    ];
    let ids = answered(&store, &shop, &answers).await;
    for (words, expected) in [
        (&["quick"][..], &[0, 1, 3, 6][..]),
        (&["brown", "quick"], &[0, 1, 3, 6]),
        (&["QUICK", "fox"], &[0]),
        (&["uic"], &[0, 1, 3, 6]),
        (&["api"], &[]),
        (&["other"], &[]),
        (&["why"], &[]),
        (&["nquick"], &[]),
        (&["STRASSE"], &[4, 5]),
        (&["москва"], &[4]),
        (&["grüße"], &[5]),
        (&["100%"], &[6]),
        (&["a_b"], &[6]),
        (&["axb"], &[]),
        (&["\"why\""], &[]),
    ] {
        let words = words.iter().map(|word| folded(word)).collect();
        let questions = vec!["why".to_owned(), "more".to_owned()];
        let search = Some(Search { words, questions });
        let query = ResponseQuery { search, ..shop.query() };
        let expected: Vec<_> = expected.iter().map(|index: &usize| ids[*index]).collect();
        assert_eq!(listed(&store, &query).await, expected, "{:?}", query.search);
    }
}

pub(super) async fn a_page_reads_a_limited_number_of_rows_and_has_a_next_page(store: TheStore) {
    let shop = Shop::open(&store).await;
    let mut ids = Vec::new();
    for millis in 0..10 {
        let tags = if millis % 5 == 4 { r#"{"rare":"yes"}"# } else { "" };
        ids.push(shop.store(&store, millis, tags).await);
    }
    for order in [Order::Asc, Order::Desc] {
        let tags = vec![("rare".to_owned(), "yes".to_owned())];
        let mut query = ResponseQuery { tags, order, scan_limit: 3, ..shop.query() };
        let mut pages = Vec::new();
        loop {
            let page = store.list_responses(&query).await.unwrap();
            pages.push(page.rows.iter().map(|row| row.response_id).collect::<Vec<_>>());
            query.after = page.next;
            if page.next.is_none() {
                break;
            }
        }
        let (rare, last) = (ids[4], ids[9]);
        let expected = match order {
            Order::Asc => vec![vec![], vec![rare], vec![], vec![last]],
            Order::Desc => vec![vec![last], vec![rare], vec![], vec![]],
        };
        assert_eq!(pages, expected, "{order:?}");
        let unfiltered = ResponseQuery { order, scan_limit: 3, ..shop.query() };
        let page = store.list_responses(&unfiltered).await.unwrap();
        assert_eq!(page.rows.len(), 3, "{order:?}");
        assert_eq!(page.next, page.rows.last().map(|row| row.response_id), "{order:?}");
    }
}

/// More rows than a backend reads in one call.
pub(super) async fn a_filter_finds_one_row_after_many_others(store: TheStore) {
    const ROWS: i64 = 12_000;
    let shop = Shop::open(&store).await;
    let model = shop.response(&store, 0).await;
    let mut rows = Vec::new();
    for millis in 1..=ROWS {
        let mut row = model.row.clone();
        row.response_id = response_id(millis);
        row.tags = Some(r#"{"often":"yes"}"#.to_owned());
        rows.push(NewResponse { row, ..model.clone() });
    }
    let ends = [0, rows.len() - 1];
    for end in ends {
        rows[end].row.tags = Some(r#"{"rare":"yes"}"#.to_owned());
    }
    let mut wanted = ends.map(|end| rows[end].row.response_id);
    store.commit(rows).await.unwrap();
    for order in [Order::Asc, Order::Desc] {
        let tags = vec![("rare".to_owned(), "yes".to_owned())];
        let query = ResponseQuery { tags, order, ..shop.query() };
        assert_eq!(all_pages(&store, query).await, wanted, "{order:?}");
        wanted.reverse();
    }
}

pub(super) async fn a_page_of_long_texts_is_short_and_has_a_next_page(store: TheStore) {
    let shop = Shop::open(&store).await;
    let long = format!(r#"{{"why":"{}"}}"#, "x".repeat(1024 * 1024));
    let ids = answered(&store, &shop, &[long.as_str(); 12]).await;
    let page = store.list_responses(&shop.query()).await.unwrap();
    assert!(page.rows.len() < ids.len(), "{} rows", page.rows.len());
    assert_eq!(all_pages(&store, shop.query()).await, ids);
}

pub(super) async fn responses_are_counted_with_the_names_of_their_tags(store: TheStore) {
    let shop = Shop::open(&store).await;
    for (millis, tags) in (0..).zip([
        "",
        r#"{"plan":"pro"}"#,
        r#"{"plan":"free","\u00e9t\u00e9":["a","b"]}"#,
        r#"{"plan":"free"}"#,
        "{}",
    ]) {
        shop.store(&store, millis, tags).await;
    }
    let free = vec![("plan".to_owned(), "free".to_owned())];
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for scan_limit in [1, 2, 1_000] {
        for (tags, responses, tag_names) in
            [(vec![], 5, names(&["plan", "été"])), (free.clone(), 2, names(&["plan", "été"]))]
        {
            let mut query = ResponseQuery { tags, scan_limit, limit: 1, ..shop.query() };
            let mut counted = ResponseCount::default();
            loop {
                let part = store.count_responses(&query).await.unwrap();
                counted.responses += part.responses;
                counted.tag_names.extend(part.tag_names);
                query.after = part.next;
                if part.next.is_none() {
                    break;
                }
            }
            let expected = ResponseCount { responses, tag_names, next: None };
            assert_eq!(counted, expected, "limit {scan_limit}: {query:?}");
        }
    }
}
