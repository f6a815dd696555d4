//! No publish is lost between nodes: the change feed never passes a change that is not visible, and
//! nothing older than the feed is read, even if the two parts of a change become visible one after
//! the other, as on a distributed database.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use sluice_flow::definition::Kind;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, v7};
use sluice_flow::time::{Timestamp, Window};
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{AppRow, At, Change, FeedPosition, FlowRow, StoreError, Write};
use support::Cluster;
use support::rows::{app_row, now};
use uuid::Uuid;

/// Longer than a change takes that waits for nothing.
const A_WHILE: Duration = Duration::from_millis(500);
/// For what must happen, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

async fn open(cluster: &Cluster, database: &str) -> Arc<PgStore> {
    Arc::new(PgStore::connect(&cluster.url(database), Options::default()).await.unwrap())
}

fn another_app() -> AppRow {
    let app_id = AppId::from_uuid(v7(Timestamp::from_millis(now()), 7, 7));
    AppRow { app_id, ..app_row() }
}

fn flow_of(app: AppId) -> FlowRow {
    FlowRow {
        app_id: app,
        flow_id: FlowId::from_uuid(v7(
            Timestamp::from_millis(now()),
            1,
            app.uuid().as_u128() as u64,
        )),
        kind: Kind::Survey,
        name: "before".to_owned(),
        live: Window { starts_at: None, ends_at: None },
        grace_window_seconds: None,
        closing: None,
        invitation_email: None,
        key: None,
        labels: Vec::new(),
        design: None,
        test_links: 0,
        created_at: Timestamp::from_millis(now()),
        archived_at: None,
    }
}

async fn put(store: &PgStore, app: &AppRow, flow: &FlowRow) {
    let rows = vec![Write::App(app.clone()), Write::Flow(flow.clone())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
}

/// Changes a flow on a node, as a publish does.
async fn change(store: &PgStore, flow: &FlowRow) {
    let app = store.find_app(flow.app_id).await.unwrap().unwrap();
    let at = At::App { app: flow.app_id, expected: app.revision };
    let rows = vec![Write::Flow(FlowRow { name: "after".to_owned(), ..flow.clone() })];
    store.apply(at, Change::new(|| rows)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_does_not_pass_a_change_that_is_not_committed() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let (one, two) = (open(&cluster, &database).await, open(&cluster, &database).await);
    let (first, second) = (app_row(), another_app());
    let (slow, quick) = (flow_of(first.app_id), flow_of(second.app_id));
    put(&one, &first, &slow).await;
    put(&one, &second, &quick).await;
    let FeedPosition(before) = two.changes(FeedPosition(0)).await.unwrap().position;

    // A change that has its position and is not committed yet.
    let open_change = cluster.client(&database).await;
    let next = "UPDATE feed SET position = position + 1 RETURNING position";
    open_change.batch_execute("BEGIN").await.unwrap();
    let position: i64 = open_change.query_one(next, &[]).await.unwrap().get(0);
    assert_eq!(position.unsigned_abs(), before + 1);

    // A later change waits for it, so no later position can be seen before it.
    let later = {
        let (one, quick) = (Arc::clone(&one), quick.clone());
        tokio::spawn(async move { change(&one, &quick).await })
    };
    tokio::time::sleep(A_WHILE).await;
    assert!(!later.is_finished(), "a later change must wait for an open one");
    let seen = two.changes(FeedPosition(before)).await.unwrap();
    assert_eq!((seen.position, seen.apps), (FeedPosition(before), Vec::new()));

    let app = first.app_id.uuid();
    for table in ["apps", "app_directory"] {
        let sql = format!("UPDATE {table} SET public_revision = $2 WHERE app_id = $1");
        open_change.execute(&sql, &[&app, &position]).await.unwrap();
    }
    open_change.batch_execute("COMMIT").await.unwrap();
    tokio::time::timeout(PATIENCE, later).await.unwrap().unwrap();
    let seen = two.changes(FeedPosition(before)).await.unwrap();
    assert_eq!(seen.position, FeedPosition(before + 2));
    assert_eq!(seen.apps, [first.app_id, second.app_id], "both, in the order of their positions");
    for node in [one, two] {
        node.close().await;
    }
}

/// What a distributed database shows between the two parts of a commit: the coordinator's, which
/// has the feed and the directory, and not yet the worker's, which has the app.
async fn show_on_coordinator(cluster: &Cluster, database: &str, app: Uuid) {
    let sql = format!(
        "WITH next AS (UPDATE feed SET position = position + 1 RETURNING position) \
         UPDATE app_directory SET public_revision = next.position, revision = revision + 1 \
         FROM next WHERE app_id = '{app}'"
    );
    cluster.sql(database, &sql).await;
}

async fn show_on_worker(cluster: &Cluster, database: &str, app: Uuid) {
    let sql = format!(
        "BEGIN; UPDATE flows SET name = 'after' WHERE app_id = '{app}'; \
         UPDATE apps SET revision = revision + 1, \
         public_revision = (SELECT position FROM feed) WHERE app_id = '{app}'; COMMIT"
    );
    cluster.sql(database, &sql).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_older_than_the_feed_is_read_while_a_worker_is_late() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let distributed = Options { distributed: true, ..Options::default() };
    let store = PgStore::connect(&cluster.url(&database), distributed).await.unwrap();
    let store = Arc::new(store);
    let (app, flow) = (app_row(), flow_of(app_row().app_id));
    put(&store, &app, &flow).await;
    // An id of another kind.
    let version = FlowVersionId::from_uuid(flow.flow_id.uuid());
    let plain = open(&cluster, &database).await;
    for store in [&plain, &*store] {
        assert_eq!(store.find_version(version).await.unwrap(), None);
    }
    plain.close().await;
    let before = store.changes(FeedPosition(0)).await.unwrap().position;
    let id = app.app_id.uuid();

    show_on_coordinator(&cluster, &database, id).await;
    let seen = store.changes(before).await.unwrap();
    assert_eq!(seen.apps, [app.app_id]);
    // The node drops the app from its cache and reads it again, as a request would.
    let read = {
        let (store, flow) = (Arc::clone(&store), flow.flow_id);
        tokio::spawn(async move { store.find_flow(flow).await })
    };
    // Briefly: the read does not wait for long.
    tokio::time::sleep(A_WHILE / 5).await;
    assert!(!read.is_finished(), "the read must wait for the worker");
    show_on_worker(&cluster, &database, id).await;
    let found = tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap().unwrap().unwrap();
    assert_eq!(found.flow.name, "after");
    assert_eq!(found.public_revision, seen.position.0);

    // A worker that stays away: an error, which is never cached, and not the old state.
    show_on_coordinator(&cluster, &database, id).await;
    let failed = store.find_flow(flow.flow_id).await;
    assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
    let failed = store.find_version(version).await;
    assert!(matches!(failed, Err(StoreError::Failed(_))), "{failed:?}");
    store.close().await;
}
