//! Which deliveries are sent together, and which are left to servers of a newer release.

use serde_json::value::RawValue;
use sluice_flow::event::payload::Payload;
use sluice_flow::id::{AppId, EndpointId};
use sluice_store::DeliveryState;
use uuid::Uuid;

use super::*;

fn endpoint(batch: bool) -> EndpointRow {
    let time = Timestamp::from_millis(0);
    EndpointRow {
        app_id: AppId::from_uuid(Uuid::nil()),
        endpoint_id: EndpointId::from_uuid(Uuid::nil()),
        url: String::new(),
        description: String::new(),
        format: "standard".to_owned(),
        batch,
        types: Vec::new(),
        flows: Vec::new(),
        secret: String::new(),
        previous_secret: None,
        previous_until: None,
        created_at: time,
        cursor: EventId::from_uuid(Uuid::nil()),
        failing_since: None,
        failures: 0,
        disabled_at: None,
        disabled_reason: None,
        due_at: time,
        removals: 0,
    }
}

fn row(number: usize, batch: Option<&str>) -> DeliveryRow {
    let row = endpoint(true);
    let id = Uuid::from_u128(number as u128);
    DeliveryRow {
        app_id: row.app_id,
        endpoint_id: row.endpoint_id,
        delivery_id: DeliveryId::from_uuid(id),
        event_id: EventId::from_uuid(id),
        kind: "flow.closed".to_owned(),
        state: DeliveryState::Waiting,
        attempts: 1,
        next_at: None,
        attempted_at: row.due_at,
        status: None,
        latency_millis: 0,
        reply: None,
        error: None,
        batch_id: batch.map(str::to_owned),
    }
}

fn item(number: usize, batch: Option<&str>) -> Item {
    let data = RawValue::from_string("{}".to_owned()).unwrap();
    let delivery = row(number, batch);
    let payload = Payload::new(delivery.event_id, EventType::FlowClosed, data);
    Item { payload, delivery, position: None }
}

#[test]
fn a_batch_has_at_most_100_events_and_stays_together() {
    let new = |count: usize| (0..count).map(|number| item(number, None));
    let again =
        |count: usize, batch: &'static str| (0..count).map(move |number| item(number, Some(batch)));
    let many = [
        (endpoint(true), new(250).collect::<Vec<_>>(), vec![100, 100, 50]),
        (endpoint(false), new(3).collect(), vec![1, 1, 1]),
        (endpoint(true), again(2, "a").chain(again(70, "b")).collect(), vec![2, 70]),
        (endpoint(true), again(2, "a").chain(new(3)).collect(), vec![2, 3]),
        (endpoint(false), again(2, "a").collect(), vec![1, 1]),
    ];
    for (endpoint, items, expected) in many {
        let sizes: Vec<usize> =
            grouped(&endpoint, items).iter().map(|attempt| attempt.0.len()).collect();
        assert_eq!(sizes, expected);
    }
}

#[test]
fn a_batch_that_was_not_read_whole_waits() {
    let rows = || vec![row(1, None), row(2, Some("a")), row(3, Some("b")), row(4, Some("b"))];
    let count = |is_full: bool| whole_batches(rows(), is_full).len();
    assert_eq!((count(true), count(false)), (2, 4));
    assert_eq!(whole_batches(vec![row(1, Some("a")), row(2, None)], true).len(), 2);
}

#[test]
fn a_delivery_of_a_newer_release_waits_for_a_server_that_knows_it() {
    let known = row(1, None);
    assert!(kind_of(&known).is_some());
    let newer = DeliveryRow { kind: "planet.discovered".to_owned(), ..known };
    let now = Timestamp::from_millis(1_000);
    let next_at = Some(Timestamp::from_millis(61_000));
    let mut stepped = Stepped::default();
    let answered = DeliveryRow { reply: Some("no".to_owned()), ..newer.clone() };
    let oldest = now.plus_seconds(-DISABLED_AFTER_SECONDS);
    stepped.postpone_unknown(vec![answered], now, oldest);
    // Without the reply, which an erasure may have removed since it was read.
    assert_eq!(stepped.deliveries, [DeliveryRow { next_at, ..newer.clone() }]);
    // Not permanently: after a downgrade there is no such server.
    let mut stepped = Stepped::default();
    stepped.postpone_unknown(vec![newer.clone()], now.plus_seconds(DISABLED_AFTER_SECONDS), now);
    assert_eq!((stepped.deliveries, stepped.dropped), (vec![], vec![newer.delivery_id]));
}

#[test]
fn a_batch_with_an_event_of_a_newer_release_is_left_to_it_as_a_whole() {
    let newer = |row| DeliveryRow { kind: "planet.discovered".to_owned(), ..row };
    let of_both = [row(2, Some("a")), newer(row(3, Some("a")))];
    let due = [row(1, None)].into_iter().chain(of_both.clone()).chain([row(4, Some("b"))]);
    let due: Vec<DeliveryRow> = due.collect();
    let (ours, theirs) = split_unknown(due.clone(), Timestamp::from_millis(0));
    assert_eq!(ours, [row(1, None), row(4, Some("b"))]);
    assert_eq!(theirs, of_both);
    // After five days what this release knows is sent, as another batch.
    let (ours, theirs) = split_unknown(due, Timestamp::from_millis(1));
    assert_eq!(ours, [row(1, None), row(2, None), row(4, Some("b"))]);
    assert_eq!(theirs, of_both[1..]);
}

#[test]
fn copies_of_one_batch_that_fill_a_page_are_sent() {
    let copies = || (0..AGAIN_BATCHED_MAX).map(|number| row(number, Some("a")));
    assert_eq!(whole_batches(copies().collect(), true).len(), AGAIN_BATCHED_MAX);
    let between = [row(1, Some("b"))].into_iter().chain(copies());
    assert_eq!(whole_batches(between.collect(), true).len(), 1);
}
