//! Positions in sinks.

use sluice_flow::id::{AppId, EventId, v7};

use super::world::{Shop, TheStore, at, public_revision, revision};
use crate::{SinkLease, SinkPositionRow, WorkerId};

const ONE: WorkerId = [1; 16];
const TWO: WorkerId = [2; 16];
const LEASE_MILLIS: i64 = 100;

fn lease(worker: WorkerId, millis: i64) -> SinkLease {
    SinkLease {
        sink: "nats/A".to_owned(),
        worker,
        now: at(millis),
        until: at(millis + LEASE_MILLIS),
    }
}

fn row(app_id: AppId, sink: &str, millis: i64) -> SinkPositionRow {
    let position = EventId::from_uuid(v7(at(millis), 9, 9));
    SinkPositionRow { app_id, sink: sink.to_owned(), position }
}

pub(super) async fn one_of_many_workers_has_the_lease_of_a_sink(store: TheStore) {
    let workers = (0..8_u8).map(|number| {
        let store = TheStore::clone(&store);
        tokio::spawn(async move { store.lease_sink(lease([number; 16], 10)).await.unwrap() })
    });
    let mut holders = Vec::new();
    for (number, worker) in workers.collect::<Vec<_>>().into_iter().enumerate() {
        if worker.await.unwrap() {
            holders.push([number as u8; 16]);
        }
    }
    let [holder] = holders[..] else { panic!("{holders:?}") };
    let other = if holder == ONE { TWO } else { ONE };
    let taken = |worker, millis| store.lease_sink(lease(worker, millis));
    let end = 10 + LEASE_MILLIS;
    assert!(taken(holder, 20).await.unwrap(), "renewed");
    assert!(!taken(other, end).await.unwrap(), "still leased");
    let of_another = SinkLease { sink: "nats/B".to_owned(), ..lease(other, 20) };
    assert!(store.lease_sink(of_another).await.unwrap(), "another sink");
    assert!(taken(other, end + 10).await.unwrap(), "the lease ended");
    assert!(!taken(holder, end + 10).await.unwrap());
    let released = SinkLease { until: at(end + 20), ..lease(other, end + 20) };
    assert!(store.save_sink_positions(released, Vec::new()).await.unwrap());
    assert!(taken(holder, end + 20).await.unwrap(), "the lease was given back");
}

pub(super) async fn positions_are_saved_by_the_holder_of_the_lease_only(store: TheStore) {
    let (shop, other) = (Shop::open(&store).await, Shop::open(&store).await);
    let revisions =
        async || (revision(&store, shop.app()).await, public_revision(&store, shop.app()).await);
    let before = revisions().await;
    let save = |worker, millis, rows: Vec<SinkPositionRow>| {
        store.save_sink_positions(lease(worker, millis), rows)
    };
    let listed = |sink: &'static str| store.list_sink_positions(sink);
    let first = row(shop.app(), "nats/A", 5);
    assert!(!save(ONE, 0, vec![first.clone()]).await.unwrap(), "no lease");
    assert_eq!(listed("nats/A").await.unwrap(), []);
    assert!(store.lease_sink(lease(ONE, 0)).await.unwrap());
    assert!(save(ONE, 10, vec![first.clone()]).await.unwrap());
    let mut both = vec![row(shop.app(), "nats/A", 3), row(other.app(), "nats/A", 7)];
    both.sort_by_key(|row| row.app_id);
    assert!(save(ONE, 20, both.clone()).await.unwrap(), "a position may move back");
    assert_eq!(listed("nats/A").await.unwrap(), both);
    assert_eq!(listed("nats/B").await.unwrap(), []);
    let sinks = store.list_sinks().await.unwrap();
    assert_eq!(sinks.iter().filter(|name| *name == "nats/A").count(), 1, "{sinks:?}");
    assert!(!sinks.contains(&"nats/B".to_owned()), "{sinks:?}");
    assert!(!store.lease_sink(lease(TWO, 20 + LEASE_MILLIS - 1)).await.unwrap(), "renewed");
    let late = 20 + LEASE_MILLIS;
    assert!(save(ONE, late, vec![first.clone()]).await.unwrap(), "nobody else has taken it");
    assert!(store.lease_sink(lease(TWO, late + LEASE_MILLIS)).await.unwrap());
    assert!(!save(ONE, late + LEASE_MILLIS, both).await.unwrap(), "another worker has it");
    assert!(listed("nats/A").await.unwrap().contains(&first), "nothing was written");
    assert_eq!(revisions().await, before, "no revision moved");
}
