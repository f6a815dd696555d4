//! Counts of what visitors did.

use std::sync::Arc;

use sluice_flow::time::Day;

use super::world::{Shop, TheStore, visit_count_row};
use crate::{FeedPosition, FlowRow, VisitCountRow, VisitCountsQuery};

const EVERY_DAY: VisitCountsQuery = VisitCountsQuery { from: None, to: None };

fn day(number: i32) -> Day {
    Day::from_number(20_000 + number)
}

async fn read(store: &TheStore, flow: &FlowRow, query: VisitCountsQuery) -> Vec<VisitCountRow> {
    store.read_visit_counts(flow.app_id, flow.flow_id, &query).await.unwrap()
}

pub(super) async fn visit_counts_are_added_up(store: TheStore) {
    let (one, two) = (Shop::open(&store).await, Shop::open(&store).await);
    let row =
        |shop: &Shop, counter, visits| visit_count_row(&shop.version, day(1), counter, visits);
    store.add_visit_counts(Vec::new()).await.unwrap();
    assert_eq!(read(&store, &one.flow, EVERY_DAY).await, []);
    // In no order, and of several apps.
    let first = vec![row(&two, "opened", 7), row(&one, "seen:b", 2), row(&one, "opened", 3)];
    store.add_visit_counts(first).await.unwrap();
    store.add_visit_counts(vec![row(&one, "opened", 4), row(&one, "seen:a", 1)]).await.unwrap();
    let expected = [row(&one, "opened", 7), row(&one, "seen:a", 1), row(&one, "seen:b", 2)];
    assert_eq!(read(&store, &one.flow, EVERY_DAY).await, expected);
    assert_eq!(read(&store, &two.flow, EVERY_DAY).await, [row(&two, "opened", 7)]);
}

pub(super) async fn visit_counts_are_read_for_the_requested_days_of_one_flow(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = |it, visits| visit_count_row(&shop.version, day(it), "opened", visits);
    let rows = [1, 2, 3].map(|it| row(it, 1));
    let mut all = rows.to_vec();
    let mut elsewhere = rows[1].clone();
    elsewhere.flow_id = super::world::flow_row(shop.app()).flow_id;
    all.push(elsewhere);
    store.add_visit_counts(all).await.unwrap();
    for (from, to, expected) in [
        (None, None, &[row(1, 3)][..]),
        (Some(2), None, &[row(2, 2)]),
        (None, Some(2), &[row(1, 2)]),
        (Some(2), Some(2), &[row(2, 1)]),
        (Some(4), None, &[]),
    ] {
        let query = VisitCountsQuery { from: from.map(day), to: to.map(day) };
        assert_eq!(read(&store, &shop.flow, query).await, expected, "{query:?}");
    }
}

pub(super) async fn visit_counts_are_exact_under_concurrent_writes(store: TheStore) {
    const WRITERS: u64 = 8;
    const WRITES: u64 = 5;
    let shops = Arc::new([Shop::open(&store).await, Shop::open(&store).await]);
    let counters = ["opened", "seen:a", "seen:b"];
    let writers = (0..WRITERS).map(|writer| {
        let (store, shops) = (Arc::clone(&store), Arc::clone(&shops));
        tokio::spawn(async move {
            for _ in 0..WRITES {
                let of =
                    |shop: &Shop| counters.map(|it| visit_count_row(&shop.version, day(1), it, 1));
                let mut rows: Vec<_> = shops.iter().flat_map(of).collect();
                // Every writer in another order.
                rows.rotate_left(usize::try_from(writer).unwrap() % 6);
                store.add_visit_counts(rows).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    for shop in shops.iter() {
        let visits = read(&store, &shop.flow, EVERY_DAY).await;
        let visits: Vec<u64> = visits.iter().map(|row| row.visits).collect();
        assert_eq!(visits, [WRITERS * WRITES; 3]);
    }
}

pub(super) async fn visit_counts_move_no_revision_and_no_feed(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = store.find_app(shop.app()).await.unwrap();
    let feed = store.changes(FeedPosition(0)).await.unwrap().position;
    let row = visit_count_row(&shop.version, day(1), "opened", 1);
    store.add_visit_counts(vec![row]).await.unwrap();
    assert_eq!(store.find_app(shop.app()).await.unwrap(), before);
    assert_eq!(store.changes(feed).await.unwrap().position, feed);
}
