//! What operators see of the store.

use sluice_flow::time::Timestamp;

use super::mails::add;
use super::world::{Shop, TheStore, at, mail_row};
use crate::{DEFAULT_ROWS_MAX, MailRow, Partitions};

pub(super) async fn the_status_names_the_backend_its_connections_and_its_partitions(
    store: TheStore,
) {
    // So that a connection was used.
    store.list_tokens().await.unwrap();
    let status = store.status();
    let pool = status.pool;
    assert!(pool.in_use + pool.idle >= 1, "{pool:?}");
    assert!(pool.in_use + pool.idle <= pool.max, "{pool:?}");
    assert_eq!(pool.waiting, 0);
    match (status.kind, store.partitions().await.unwrap()) {
        ("sqlite", None) => {
            let syncs = status.log_syncs.unwrap();
            assert_eq!(syncs.counts.len(), syncs.bounds_nanos.len() + 1);
        }
        ("postgres", Some(Partitions { months, ahead, default_rows })) => {
            assert_eq!((ahead, status.log_syncs), (3, None));
            // Other cases store responses of times before all partitions.
            assert!(months >= ahead && default_rows <= DEFAULT_ROWS_MAX);
        }
        other => panic!("{other:?}"),
    }
}

pub(super) async fn mails_that_wait_are_counted_without_those_planned_for_later(store: TheStore) {
    let shop = Shop::open(&store).await;
    let before = store.mail_backlog(at(5)).await.unwrap();
    let row = |next_at, attempts| MailRow {
        next_at: Option::map(next_at, at),
        attempts,
        ..mail_row(&shop.flow)
    };
    let due = [row(Some(5), 0), row(Some(4), 1)];
    add(&store, &due).await;
    // One to be sent again, two planned for later, and one that is done.
    add(&store, &[row(Some(9), 2), row(Some(6), 0), row(Some(9), 0), row(None, 1)]).await;
    let after = store.mail_backlog(at(5)).await.unwrap();
    assert_eq!((after.due - before.due, after.retrying - before.retrying), (2, 1));
    assert!(after.due_since.is_some_and(|since| since <= at(4)), "{after:?}");
    let none_due = store.mail_backlog(Timestamp::from_millis(0)).await.unwrap();
    assert_eq!((none_due.due, none_due.due_since), (0, None));
}
