//! Webhook endpoints: settings, leases of workers, deliveries.

use sluice_flow::id::{DeliveryId, EndpointId, EventId, v7};
use sluice_flow::time::Timestamp;

use super::world::{
    Shop, TheStore, apply, at, delivery_row, endpoint_row, public_revision, revision,
};
use crate::{
    Backlog, Claim, DeliveryQuery, DeliveryRow, DeliveryState, EndpointLane, EndpointRow,
    EndpointWrite, Progress, Redelivery, Saved, WorkerId, Write,
};

pub(super) const ONE: WorkerId = [1; 16];
pub(super) const TWO: WorkerId = [2; 16];
/// The length of a lease in these cases.
pub(super) const LEASE_MILLIS: i64 = 1_000;

pub(super) async fn put(store: &TheStore, row: &EndpointRow) {
    let put = EndpointWrite::Put(Box::new(row.clone()));
    apply(store, row.app_id, vec![Write::Endpoint(put)]).await;
}

pub(super) async fn write(store: &TheStore, shop: &Shop, write: EndpointWrite) {
    apply(store, shop.app(), vec![Write::Endpoint(write)]).await;
}

pub(super) async fn only(store: &TheStore, shop: &Shop) -> EndpointRow {
    let rows = store.list_endpoints(shop.app()).await.unwrap();
    assert_eq!(rows.len(), 1);
    rows.into_iter().next().unwrap()
}

pub(super) fn claim(worker: WorkerId, now: i64) -> Claim {
    let until = at(now + LEASE_MILLIS);
    Claim { worker, now: at(now), until, limit: 10, lane: EndpointLane::Prompt, slow: Vec::new() }
}

pub(super) async fn claimed(store: &TheStore, worker: WorkerId, now: i64) -> Vec<EndpointId> {
    let rows = store.claim_endpoints(claim(worker, now)).await.unwrap();
    rows.into_iter().map(|row| row.endpoint_id).collect()
}

/// Progress without any, by a worker that claimed at this time and releases.
pub(super) fn progress(row: &EndpointRow, worker: WorkerId, claimed_at: i64) -> Progress {
    Progress {
        app_id: row.app_id,
        endpoint_id: row.endpoint_id,
        worker,
        leased_until: at(claimed_at + LEASE_MILLIS),
        from: row.cursor,
        to: row.cursor,
        failing_since: None,
        failures: 0,
        deliveries: Vec::new(),
        dropped: Vec::new(),
        lease_until: None,
        due_at: at(60_000),
        keep: 100,
        keep_since: Timestamp::from_millis(0),
        removals: row.removals,
    }
}

pub(super) async fn save(store: &TheStore, progress: &Progress) -> bool {
    matches!(store.save_progress(progress.clone()).await.unwrap(), Saved::Done(_))
}

pub(super) async fn listed(store: &TheStore, row: &EndpointRow) -> Vec<DeliveryRow> {
    let query = DeliveryQuery {
        app_id: row.app_id,
        endpoint_id: row.endpoint_id,
        state: None,
        after: None,
        limit: 100,
    };
    store.list_deliveries(&query).await.unwrap()
}

fn event(millis: i64) -> EventId {
    EventId::from_uuid(v7(at(millis), 9, 9))
}

pub(super) async fn an_endpoint_reads_back_and_only_its_settings_are_replaced(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let mut row = endpoint_row(shop.app());
    row.flows = vec![shop.flow.flow_id];
    row.previous_secret = Some("sealed before".to_owned());
    row.previous_until = Some(at(5));
    let before = public_revision(&store, shop.app()).await;
    put(&store, &row).await;
    assert_eq!(public_revision(&store, shop.app()).await, before);
    assert_eq!(only(&store, &shop).await, row);
    put(&store, &endpoint_row(other.app())).await;
    let changed = EndpointRow {
        url: "https://other.example/".to_owned(),
        batch: true,
        types: Vec::new(),
        secret: "sealed again".to_owned(),
        previous_secret: None,
        previous_until: None,
        cursor: event(70),
        failing_since: Some(at(7)),
        failures: 7,
        disabled_at: Some(at(7)),
        due_at: at(7),
        ..row.clone()
    };
    put(&store, &changed).await;
    let expected = EndpointRow {
        cursor: row.cursor,
        failing_since: None,
        failures: 0,
        disabled_at: None,
        due_at: row.due_at,
        ..changed
    };
    assert_eq!(only(&store, &shop).await, expected);
    let apps = store.apps_with_endpoints().await.unwrap();
    let mut both = vec![shop.app(), other.app()];
    both.sort_unstable();
    assert_eq!(apps, both);
}

pub(super) async fn one_of_many_workers_gets_an_endpoint_that_is_due(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = EndpointRow { due_at: at(10), ..endpoint_row(shop.app()) };
    put(&store, &row).await;
    assert_eq!(claimed(&store, ONE, 9).await, [], "not due yet");
    let workers = (0..8_u8).map(|number| {
        let store = TheStore::clone(&store);
        tokio::spawn(async move { claimed(&store, [number; 16], 10).await.len() })
    });
    let mut got = 0;
    for worker in workers.collect::<Vec<_>>() {
        got += worker.await.unwrap();
    }
    assert_eq!(got, 1);
    assert_eq!(claimed(&store, TWO, 10 + LEASE_MILLIS - 1).await, [], "still leased");
    assert_eq!(claimed(&store, TWO, 10 + LEASE_MILLIS).await, [row.endpoint_id], "the lease ended");
}

pub(super) async fn progress_is_saved_by_the_holder_of_the_lease_only(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = EndpointRow { due_at: at(10), ..endpoint_row(shop.app()) };
    put(&store, &row).await;
    assert!(!save(&store, &progress(&row, ONE, 10)).await, "nobody has it");
    assert_eq!(claimed(&store, ONE, 10).await, [row.endpoint_id]);
    let expected = revision(&store, shop.app()).await;
    let done = Progress {
        to: event(5),
        failing_since: Some(at(3)),
        failures: 2,
        ..progress(&row, ONE, 10)
    };
    assert!(!save(&store, &Progress { worker: TWO, ..done.clone() }).await, "another one has it");
    let longer = Progress { lease_until: Some(at(9_000)), due_at: at(9_000), ..done.clone() };
    assert!(save(&store, &longer).await);
    assert_eq!(claimed(&store, TWO, 8_999).await, [], "the lease was renewed");
    let moved = only(&store, &shop).await;
    assert_eq!((moved.cursor, moved.failing_since, moved.failures), (event(5), Some(at(3)), 2));
    let last = Progress {
        from: event(5),
        to: event(6),
        leased_until: at(9_000),
        ..progress(&row, ONE, 10)
    };
    assert!(save(&store, &last).await);
    assert!(!save(&store, &last).await, "it was released");
    let released = only(&store, &shop).await;
    assert_eq!((released.cursor, released.failures, released.due_at), (event(6), 0, at(60_000)));
    assert_eq!(revision(&store, shop.app()).await, expected, "a worker moves no revision");
    // A worker whose lease was taken over.
    assert_eq!(claimed(&store, ONE, 60_000).await, [row.endpoint_id]);
    assert_eq!(claimed(&store, TWO, 60_000 + LEASE_MILLIS).await, [row.endpoint_id]);
    assert!(!save(&store, &progress(&released, ONE, 60_000)).await);
}

pub(super) async fn what_happens_during_a_lease_is_not_overwritten(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = EndpointRow { due_at: at(10), ..endpoint_row(shop.app()) };
    let (app_id, endpoint_id) = (row.app_id, row.endpoint_id);
    put(&store, &row).await;
    // Woken: due again at once.
    claimed(&store, ONE, 10).await;
    let woken = vec![(app_id, endpoint_id)];
    assert_eq!(store.wake_endpoints(woken.clone(), at(20)).await.unwrap(), []);
    assert!(save(&store, &progress(&row, ONE, 10)).await);
    assert_eq!(only(&store, &shop).await.due_at, at(20));
    // Set to another position: that stays.
    assert_eq!(claimed(&store, ONE, 30).await, [endpoint_id]);
    let replay = EndpointWrite::Replay { app_id, endpoint_id, cursor: event(1), due_at: at(40) };
    write(&store, &shop, replay).await;
    assert!(save(&store, &Progress { to: event(9), ..progress(&row, ONE, 30) }).await);
    let replayed = only(&store, &shop).await;
    assert_eq!((replayed.cursor, replayed.due_at), (event(1), at(40)));
    // Disabled: nothing more is saved.
    assert_eq!(claimed(&store, ONE, 50).await, [endpoint_id]);
    let reason = Some("gone".to_owned());
    write(&store, &shop, EndpointWrite::Disable { app_id, endpoint_id, at: at(51), reason }).await;
    assert!(!save(&store, &progress(&replayed, ONE, 50)).await);
    assert_eq!(claimed(&store, TWO, 100_000).await, []);
    assert_eq!(store.apps_with_endpoints().await.unwrap(), []);
    assert_eq!(store.wake_endpoints(woken, at(60)).await.unwrap(), []);
    let disabled = only(&store, &shop).await;
    let why = (disabled.disabled_at, disabled.disabled_reason.as_deref());
    assert_eq!(why, (Some(at(51)), Some("gone")));
    write(&store, &shop, EndpointWrite::Enable { app_id, endpoint_id, due_at: at(70) }).await;
    let enabled = only(&store, &shop).await;
    assert_eq!((enabled.disabled_at, enabled.disabled_reason.clone()), (None, None));
    assert_eq!((enabled.cursor, enabled.due_at), (event(1), at(70)));
    assert_eq!(claimed(&store, TWO, 70).await, [endpoint_id]);
}

pub(super) async fn a_wake_makes_an_endpoint_due_unless_it_is(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let (late, due) = (endpoint_row(shop.app()), endpoint_row(shop.app()));
    let (late, due) =
        (EndpointRow { due_at: at(500), ..late }, EndpointRow { due_at: at(5), ..due });
    let elsewhere = EndpointRow { due_at: at(500), ..endpoint_row(other.app()) };
    for row in [&late, &due, &elsewhere] {
        put(&store, row).await;
    }
    let woken = [&late, &due].map(|row| (row.app_id, row.endpoint_id));
    assert_eq!(store.wake_endpoints(woken.to_vec(), at(100)).await.unwrap(), []);
    let times = |rows: Vec<EndpointRow>| rows.iter().map(|row| row.due_at).collect::<Vec<_>>();
    assert_eq!(times(store.list_endpoints(shop.app()).await.unwrap()), [at(100), at(5)]);
    assert_eq!(times(store.list_endpoints(other.app()).await.unwrap()), [at(500)]);
    let claimed = store.claim_endpoints(claim(ONE, 100)).await.unwrap();
    assert_eq!(times(claimed), [at(5), at(100)], "longest due first, and since when");
}

pub(super) async fn waiting_deliveries_are_due_at_their_time(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = EndpointRow { due_at: at(10), ..endpoint_row(shop.app()) };
    put(&store, &row).await;
    claimed(&store, ONE, 10).await;
    let waiting = |millis: i64, next: i64| DeliveryRow {
        state: DeliveryState::Waiting,
        next_at: Some(at(next)),
        ..delivery_row(&row, millis)
    };
    let (later, sooner, done) = (waiting(1, 300), waiting(2, 200), delivery_row(&row, 3));
    let deliveries = vec![later.clone(), sooner.clone(), done.clone()];
    assert!(save(&store, &Progress { deliveries, ..progress(&row, ONE, 10) }).await);
    assert_eq!(only(&store, &shop).await.due_at, at(200), "with the next delivery");
    assert_eq!(listed(&store, &row).await, [done.clone(), sooner.clone(), later.clone()]);
    let due = |now: i64| store.due_deliveries(row.app_id, row.endpoint_id, at(now), 10);
    assert_eq!(due(199).await.unwrap(), (vec![], 2));
    assert_eq!(due(300).await.unwrap(), (vec![sooner.clone(), later.clone()], 2));
    let backlog = Backlog { waiting: 2, oldest: Some(later.delivery_id.made_at()) };
    assert_eq!(store.delivery_backlog().await.unwrap(), backlog);
    claimed(&store, ONE, 300).await;
    let delivered =
        DeliveryRow { state: DeliveryState::Delivered, next_at: None, attempts: 2, ..sooner };
    let step = Progress {
        deliveries: vec![delivered.clone()],
        dropped: vec![later.delivery_id],
        ..progress(&row, ONE, 300)
    };
    assert!(save(&store, &step).await);
    assert_eq!(listed(&store, &row).await, [done.clone(), delivered.clone()]);
    assert_eq!(only(&store, &shop).await.due_at, at(60_000));
    let found = store.find_delivery(row.app_id, row.endpoint_id, delivered.delivery_id).await;
    assert_eq!(found.unwrap(), Some(delivered));
    let query = DeliveryQuery {
        app_id: row.app_id,
        endpoint_id: row.endpoint_id,
        state: Some(DeliveryState::Delivered),
        after: Some(done.delivery_id),
        limit: 1,
    };
    assert_eq!(store.list_deliveries(&query).await.unwrap().len(), 1);
    let failed = DeliveryQuery { state: Some(DeliveryState::Failed), ..query };
    assert_eq!(store.list_deliveries(&failed).await.unwrap(), []);
}

pub(super) async fn finished_deliveries_beyond_a_number_are_removed(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = EndpointRow { due_at: at(10), ..endpoint_row(shop.app()) };
    put(&store, &row).await;
    claimed(&store, ONE, 10).await;
    let mut deliveries: Vec<_> = (1..=6).map(|millis| delivery_row(&row, millis)).collect();
    deliveries[0].state = DeliveryState::Waiting;
    deliveries[0].next_at = Some(at(90_000));
    let lease_until = Some(at(9_000));
    let first = Progress {
        deliveries: deliveries.clone(),
        keep: 3,
        lease_until,
        due_at: at(9_000),
        ..progress(&row, ONE, 10)
    };
    assert!(save(&store, &first).await);
    let kept: Vec<DeliveryId> =
        listed(&store, &row).await.iter().map(|it| it.delivery_id).collect();
    let id = |index: usize| deliveries[index].delivery_id;
    assert_eq!(kept, [id(5), id(4), id(3), id(0)], "what waits is kept");
    let old = Progress {
        keep_since: at(6),
        leased_until: at(9_000),
        from: row.cursor,
        ..progress(&row, ONE, 10)
    };
    assert!(save(&store, &old).await);
    let kept: Vec<DeliveryId> =
        listed(&store, &row).await.iter().map(|it| it.delivery_id).collect();
    assert_eq!(kept, [id(5), id(0)]);
}

pub(super) async fn deliveries_are_sent_again_on_request(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = EndpointRow { due_at: at(50_000), ..endpoint_row(shop.app()) };
    let (app_id, endpoint_id) = (row.app_id, row.endpoint_id);
    put(&store, &row).await;
    let failed = |millis: i64| DeliveryRow {
        state: DeliveryState::Failed,
        attempts: 10,
        attempted_at: at(millis),
        ..delivery_row(&row, millis)
    };
    let rows = [failed(1), failed(2), delivery_row(&row, 3), delivery_row(&row, 4)];
    for row in &rows {
        write(&store, &shop, EndpointWrite::Delivery(Box::new(row.clone()))).await;
    }
    let which = Redelivery::FailedSince(at(2));
    write(&store, &shop, EndpointWrite::Redeliver { app_id, endpoint_id, which, at: at(70) }).await;
    let which = Redelivery::One(rows[2].delivery_id);
    write(&store, &shop, EndpointWrite::Redeliver { app_id, endpoint_id, which, at: at(60) }).await;
    let (due, waiting) = store.due_deliveries(app_id, endpoint_id, at(70), 10).await.unwrap();
    let due: Vec<_> = due.iter().map(|it| (it.delivery_id, it.attempts)).collect();
    assert_eq!(due, [(rows[2].delivery_id, 0), (rows[1].delivery_id, 0)]);
    assert_eq!((waiting, only(&store, &shop).await.due_at), (2, at(60)));
}

pub(super) async fn deliveries_of_a_batch_are_due_together(store: TheStore) {
    let shop = Shop::open(&store).await;
    let row = EndpointRow { batch: true, ..endpoint_row(shop.app()) };
    let (app_id, endpoint_id) = (row.app_id, row.endpoint_id);
    put(&store, &row).await;
    let waiting = |millis: i64, next: i64, batch: Option<&str>| DeliveryRow {
        state: DeliveryState::Waiting,
        next_at: Some(at(next)),
        batch_id: batch.map(str::to_owned),
        ..delivery_row(&row, millis)
    };
    // Two batches and a single event that are due at the same time, and one that is due before.
    let rows = [
        waiting(1, 50, Some("batch_b")),
        waiting(2, 50, Some("batch_a")),
        waiting(3, 50, None),
        waiting(4, 50, Some("batch_b")),
        waiting(5, 50, Some("batch_a")),
        waiting(6, 40, Some("batch_c")),
    ];
    for row in &rows {
        write(&store, &shop, EndpointWrite::Delivery(Box::new(row.clone()))).await;
    }
    let due = async |limit: usize| {
        let (due, waiting) =
            store.due_deliveries(app_id, endpoint_id, at(50), limit).await.unwrap();
        assert_eq!(waiting, rows.len());
        due
    };
    let expected = [5, 2, 1, 4, 0, 3].map(|index: usize| rows[index].clone());
    assert_eq!(due(10).await, expected);
    assert_eq!(due(4).await, expected[..4]);
    // An event that is sent again alone is another message.
    let which = Redelivery::One(rows[4].delivery_id);
    write(&store, &shop, EndpointWrite::Redeliver { app_id, endpoint_id, which, at: at(30) }).await;
    let first = due(1).await.remove(0);
    assert_eq!((first.delivery_id, first.batch_id), (rows[4].delivery_id, None));
    assert_eq!(due(10).await.iter().filter(|it| it.batch_id.is_some()).count(), 4);
}

pub(super) async fn a_deleted_endpoint_is_gone_with_its_deliveries(store: TheStore) {
    let shop = Shop::open(&store).await;
    let (gone, kept) = (endpoint_row(shop.app()), endpoint_row(shop.app()));
    for row in [&gone, &kept] {
        put(&store, row).await;
        let delivery = EndpointWrite::Delivery(Box::new(delivery_row(row, 1)));
        write(&store, &shop, delivery).await;
    }
    write(&store, &shop, EndpointWrite::Delete(shop.app(), gone.endpoint_id)).await;
    assert_eq!(store.list_endpoints(shop.app()).await.unwrap(), std::slice::from_ref(&kept));
    assert_eq!(listed(&store, &gone).await, []);
    assert_eq!(listed(&store, &kept).await.len(), 1);
}
