//! The outcomes of deliveries to webhook endpoints.

use sluice_flow::time::Timestamp;

use super::world::{Shop, TheStore, apply, at, delivery_row, endpoint_row};
use crate::{DeliveryRow, DeliveryState, EndpointHealth, EndpointWrite, Write};

async fn put_all(store: &TheStore, rows: &[DeliveryRow]) {
    for row in rows {
        let put = EndpointWrite::Delivery(Box::new(row.clone()));
        apply(store, row.app_id, vec![Write::Endpoint(put)]).await;
    }
}

pub(super) async fn the_health_of_an_endpoint_is_of_its_own_deliveries(store: TheStore) {
    let shop = Shop::open(&store).await;
    let (busy, idle) = (endpoint_row(shop.app()), endpoint_row(shop.app()));
    for row in [&busy, &idle] {
        let put = EndpointWrite::Put(Box::new(row.clone()));
        apply(&store, row.app_id, vec![Write::Endpoint(put)]).await;
    }
    let waiting = |millis| DeliveryRow {
        state: DeliveryState::Waiting,
        next_at: Some(at(90_000)),
        ..delivery_row(&busy, millis)
    };
    let failed =
        |millis| DeliveryRow { state: DeliveryState::Failed, ..delivery_row(&busy, millis) };
    // The newest delivery is not the one that was sent last.
    let resent = DeliveryRow { attempted_at: at(500), ..delivery_row(&busy, 1) };
    let rows =
        [resent, delivery_row(&busy, 2), waiting(3), waiting(4), waiting(5), failed(6), failed(7)];
    put_all(&store, &rows).await;
    let health = |waiting_max| store.endpoint_health(shop.app(), waiting_max);
    let of = |row: &crate::EndpointRow, last_success: Option<Timestamp>, waiting| EndpointHealth {
        endpoint_id: row.endpoint_id,
        last_success,
        waiting,
    };
    let mut expected = vec![of(&busy, Some(at(500)), 3), of(&idle, None, 0)];
    expected.sort_by_key(|it| it.endpoint_id);
    assert_eq!(health(10).await.unwrap(), expected);
    let counted = health(2).await.unwrap().into_iter().map(|it| it.waiting).sum::<usize>();
    assert_eq!(counted, 2, "up to the limit");

    let times = |each_max| store.delivery_times(busy.app_id, busy.endpoint_id, each_max);
    let mut found = times(10).await.unwrap();
    found.sort_by_key(|(_, sent)| *sent);
    let mut all: Vec<_> = rows.iter().map(|row| (row.state, row.attempted_at)).collect();
    all.sort_by_key(|(_, sent)| *sent);
    assert_eq!(found, all);
    let mut newest = times(1).await.unwrap();
    newest.sort_by_key(|(_, sent)| *sent);
    let expected = [
        (DeliveryState::Waiting, at(5)),
        (DeliveryState::Failed, at(7)),
        (DeliveryState::Delivered, at(500)),
    ];
    assert_eq!(newest, expected, "the newest of each state");
    assert_eq!(store.delivery_times(idle.app_id, idle.endpoint_id, 10).await.unwrap(), []);
}
