//! Writes that PostgreSQL refuses or blocks before COMMIT are reported as not stored, and leave no
//! broken connection behind.

use crate::support;

use std::time::Duration;

use sluice_flow::id::AppId;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{AppRow, At, Change, IfBusy, NewResponse, Outcome, StoreError, Write};
use support::Cluster;
use support::rows::{app_row, now, response};

async fn open(cluster: &Cluster, database: &str) -> PgStore {
    PgStore::connect(&cluster.url(database), Options::default()).await.unwrap()
}

async fn put_app(store: &PgStore) {
    let rows = vec![Write::App(app_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
}

/// Makes rows with one answer impossible to store.
const REFUSE: &str =
    "ALTER TABLE responses ADD CONSTRAINT refused CHECK (answers <> '{\"refused\":\"x\"}')";

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_with_refused_rows_stores_nothing_and_is_not_in_doubt() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = open(&cluster, &database).await;
    put_app(&store).await;
    cluster.sql(&database, REFUSE).await;
    let mut refused = response(now(), 2, 1);
    refused.row.answers = "{\"refused\":\"x\"}".to_owned();
    let batch = vec![response(now(), 1, 1), refused, response(now(), 3, 1)];
    let failure = store.commit(batch.clone()).await.unwrap_err();
    assert!(matches!(failure, StoreError::Failed(_)), "{failure:?}");
    assert_eq!(skip(&store, &batch).await, [Outcome::Busy; 3], "to be committed by app");
    let left =
        "SELECT count(*)::text FROM responses UNION ALL SELECT count(*)::text FROM idempotency";
    assert_eq!(cluster.sql(&database, left).await, ["0", "0"]);
    cluster.sql(&database, "ALTER TABLE responses DROP CONSTRAINT refused").await;
    assert_eq!(store.commit(batch).await.unwrap(), [Outcome::Stored; 3]);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_another_transaction_holds_leaves_nothing_in_doubt() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let options = Options { commit_deadline: Duration::from_secs(5), ..Options::default() };
    let store = PgStore::connect(&cluster.url(&database), options).await.unwrap();
    put_app(&store).await;
    let sent = response(now(), 1, 1);
    let key = uuid::Uuid::from_bytes(sent.idempotency_key.expect("the response has a key"));
    let app = app_row().app_id.uuid();
    let holder = cluster.client(&database).await;
    let hold = format!(
        "BEGIN; INSERT INTO idempotency VALUES ('{app}', '{key}', '{}')",
        uuid::Uuid::nil()
    );
    holder.batch_execute(&hold).await.unwrap();
    let failure = store.commit(vec![sent.clone()]).await.unwrap_err();
    assert!(matches!(failure, StoreError::Failed(_)), "{failure:?}");
    let plain = NewResponse { idempotency_key: None, ..response(now(), 2, 1) };
    assert_eq!(store.commit(vec![plain]).await.unwrap(), [Outcome::Stored], "others are stored");
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(store.commit(vec![sent]).await.unwrap(), [Outcome::Stored]);
    store.close().await;
}

/// Commits without waiting for apps that are being changed.
async fn skip(store: &PgStore, sent: &[NewResponse]) -> Vec<Outcome> {
    let (reply, outcomes) = tokio::sync::oneshot::channel();
    let then = |outcomes| {
        drop(reply.send(outcomes));
        sluice_store::Resume::nothing()
    };
    store.commit_then(sent.to_vec(), IfBusy::Skip, Box::new(then));
    outcomes.await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_several_apps_does_not_wait_for_one_that_is_being_changed() {
    let cluster = Cluster::start(&[]);
    let bits = app_row().app_id.uuid().as_u128();
    let number = ((bits >> 64) as u64 ^ bits as u64).cast_signed();
    let queue = format!("SELECT pg_advisory_xact_lock({number})");
    let row = format!("SELECT FROM apps WHERE app_id = '{}' FOR UPDATE", app_row().app_id.uuid());
    // A change locks both. On a distributed database each of them alone must be enough.
    for (distributed, lock) in [(false, &queue), (true, &queue), (true, &row)] {
        skips_the_changed(&cluster, distributed, lock).await;
    }
}

async fn skips_the_changed(cluster: &Cluster, distributed: bool, lock: &str) {
    let database = cluster.database().await;
    let options = Options { distributed, ..Options::default() };
    let store = PgStore::connect(&cluster.url(&database), options).await.unwrap();
    let (changed, other) = (app_row().app_id, AppId::from_uuid(uuid::Uuid::from_u128(7)));
    let rows = vec![Write::App(app_row()), Write::App(AppRow { app_id: other, ..app_row() })];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    let of_app = |number, app| {
        let mut sent = response(now(), number, 1);
        sent.row.app_id = app;
        sent
    };
    let sent = [of_app(1, changed), of_app(2, other), of_app(3, changed), of_app(4, other)];
    let holder = cluster.client(&database).await;
    holder.batch_execute(&format!("BEGIN; {lock}")).await.unwrap();
    let (busy, stored) = (Outcome::Busy, Outcome::Stored);
    assert_eq!(skip(&store, &sent).await, [busy, stored, busy, stored]);
    assert_eq!(skip(&store, &sent[..1]).await, [busy], "also if it is the only app");
    let replayed = |index: usize| Outcome::Replayed(sent[index].row.response_id);
    assert_eq!(
        skip(&store, &sent).await,
        [busy, replayed(1), busy, replayed(3)],
        "the key of another app is no reason to answer for an app that is being changed"
    );
    // Otherwise it waits for the end of the change.
    let of_changed = vec![sent[0].clone(), sent[2].clone()];
    let (ended, outcomes) = tokio::join!(
        holder.batch_execute("SELECT pg_sleep(0.2); COMMIT"),
        store.commit(of_changed)
    );
    ended.unwrap();
    assert_eq!(outcomes.unwrap(), [stored, stored]);
    assert_eq!(
        store.commit(sent.to_vec()).await.unwrap(),
        [replayed(0), replayed(1), replayed(2), replayed(3)]
    );
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_before_commit_is_not_in_doubt_and_breaks_no_connection() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    for distributed in [false, true] {
        let second = Duration::from_secs(1);
        let few = Options { connections_max: 2, lanes: 1, distributed, ..Options::default() };
        let few = Options { statement_deadline: second, ..few };
        let store = PgStore::connect(&cluster.url(&database), few).await.unwrap();
        if !distributed {
            put_app(&store).await;
        }
        let first = u32::from(distributed) * 100;
        let holder = cluster.client(&database).await;
        holder.batch_execute("BEGIN; LOCK TABLE responses IN ACCESS EXCLUSIVE MODE").await.unwrap();
        let plain = NewResponse { idempotency_key: None, ..response(now(), first + 1, 1) };
        for sent in [plain, response(now(), first + 2, 1)] {
            let failure = store.commit(vec![sent]).await.unwrap_err();
            assert!(matches!(failure, StoreError::Failed(_)), "{distributed}: {failure:?}");
        }
        holder.batch_execute("COMMIT").await.unwrap();
        for number in 3..9 {
            let outcome = store.commit(vec![response(now(), first + number, 1)]).await;
            assert_eq!(outcome.unwrap(), [Outcome::Stored], "{distributed}");
            store.find_app(app_row().app_id).await.unwrap().expect("the app is missing");
            store.check().await.unwrap();
        }
        store.close().await;
    }
}
