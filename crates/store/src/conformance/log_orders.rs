//! The log of an app with several flows, from both ends.

use sluice_flow::event::payload::created_id;
use sluice_flow::id::EventId;

use super::events::{query, read, read_back, start};
use super::world::{Shop, TheStore, apply, event_row, flow_row, response_row};
use crate::{LogEntry, LogQuery, Record, Write};

/// Few flows, and more than a store reads one by one.
const FLOWS: [i64; 3] = [2, 5, 70];

/// Responses and events of flows that take turns, some of which have only a few; in order.
async fn fill(store: &TheStore, shop: &Shop, flows: i64) -> Vec<EventId> {
    let rows: Vec<_> = (0..flows).map(|_| flow_row(shop.app())).collect();
    apply(store, shop.app(), rows.iter().cloned().map(Write::Flow).collect()).await;
    let mut positions = Vec::new();
    let mut records = Vec::new();
    for round in 0..4_i64 {
        for (number, flow) in (0_i64..).zip(&rows) {
            let millis = 1 + round * 1_000 + (number * 37) % flows;
            // The first flow is as frequent as all others together, every third one is rare.
            for copy in 0..if number == 0 { 3 } else { 1 } {
                if round > 0 && number % 3 == 2 {
                    continue;
                }
                let row = response_row(flow, &shop.version, millis + copy * 100);
                positions.push(created_id(row.response_id));
                records.push(Record::Response { row, idempotency_key: None });
            }
            if number % 2 == 0 {
                let event = event_row(flow, millis + 500);
                positions.push(event.event_id);
                records.push(Record::Event(event));
            }
        }
    }
    store.import_records(records).await.unwrap();
    positions.sort_unstable();
    positions
}

fn positions(entries: &[LogEntry]) -> Vec<EventId> {
    entries.iter().map(LogEntry::position).collect()
}

pub(super) async fn the_log_of_several_flows_is_the_same_from_both_ends(store: TheStore) {
    for flows in FLOWS {
        let shop = Shop::open(&store).await;
        let forward = fill(&store, &shop, flows).await;
        let backward: Vec<EventId> = forward.iter().rev().copied().collect();
        let (after, before) = (forward[2], forward[forward.len() - 3]);
        for limit in [1, 2, 7, 1_000] {
            let all = LogQuery { limit, ..query(shop.app(), start()) };
            let context = format!("{flows} flows, pages of {limit}");
            assert_eq!(positions(&read(&store, all).await.0), forward, "{context}");
            assert_eq!(read_back(&store, all).await, backward, "{context}");
            let between = LogQuery { after, before: Some(before), ..all };
            let expected = &backward[3..backward.len() - 3];
            assert_eq!(read_back(&store, between).await, expected, "{context}, between");
        }
        // Texts end a page as well.
        for bytes_max in [1, 2_000] {
            let few = LogQuery { bytes_max, ..query(shop.app(), start()) };
            assert_eq!(read_back(&store, few).await, backward, "{flows} flows, {bytes_max} bytes");
        }
    }
}

pub(super) async fn the_newest_of_one_flow_are_read_beside_others(store: TheStore) {
    let shop = Shop::open(&store).await;
    fill(&store, &shop, 5).await;
    let everything = LogQuery { limit: 1_000, ..query(shop.app(), start()) };
    let (all, _) = read(&store, everything).await;
    let flow_of = |entry: &LogEntry| match entry {
        LogEntry::Response(row) => Some(row.flow_id),
        LogEntry::Event(row) => row.flow_id,
    };
    let mut flows: Vec<_> = all.iter().filter_map(flow_of).collect();
    flows.sort_unstable();
    flows.dedup();
    assert_eq!(flows.len(), 5);
    for flow in flows {
        let its = all.iter().rev().filter(|entry| flow_of(entry) == Some(flow));
        let expected: Vec<EventId> = its.map(LogEntry::position).collect();
        for limit in [1, 3, 100] {
            let query = LogQuery { flow_id: Some(flow), limit, ..query(shop.app(), start()) };
            assert_eq!(read_back(&store, query).await, expected, "pages of {limit}");
        }
    }
    let events = LogQuery { responses: false, limit: 3, ..query(shop.app(), start()) };
    let its = all.iter().rev().filter(|entry| matches!(entry, LogEntry::Event(_)));
    assert_eq!(read_back(&store, events).await, its.map(LogEntry::position).collect::<Vec<_>>());
}
