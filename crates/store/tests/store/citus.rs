//! A Citus cluster: what runs on one node, what a worker's failure or settings do, and that no
//! publish is lost. Skipped unless the environment names a cluster, see `../support/citus.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::id::{AppId, FlowId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::conformance::{self, use_cases};
use sluice_store::postgres::{ConnectError, Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{
    AppRow, At, Change, CompactionCursor, FeedPosition, FlowRow, NewResponse, Outcome, Store,
    StoreError, WorkerStatus, Write,
};
use tokio_postgres::Client;

use crate::support::citus::{CitusDatabase, Proxy};
use crate::support::rows::{app_row, flow_row, now, response};

/// For what must happen, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

async fn connect(database: &CitusDatabase) -> Result<PgStore, ConnectError> {
    PgStore::connect(&database.url(), Options::default()).await
}

/// A database with its tables placed, or `None` without a cluster.
async fn placed(name: &str) -> Option<CitusDatabase> {
    let database = CitusDatabase::create(name).await?;
    let refused = connect(&database).await.expect_err("tables that are not placed");
    assert!(matches!(refused, ConnectError::NotPlaced { .. }), "{refused}");
    database.place_tables().await;
    Some(database)
}

/// The shard of an app, and the port and number of its worker.
async fn placement(client: &Client, app: AppId) -> (i64, u16, u32) {
    let sql = "SELECT shardid, nodeport::bigint, groupid::bigint FROM pg_dist_shard_placement \
         JOIN pg_dist_node USING (nodename, nodeport) \
         WHERE shardid = get_shard_id_for_distribution_column('apps', $1::uuid)";
    let row = client.query_one(sql, &[&app.uuid()]).await.unwrap();
    let (port, number): (i64, i64) = (row.get(1), row.get(2));
    (row.get(0), u16::try_from(port).unwrap(), u32::try_from(number).unwrap())
}

/// An app on the worker with this port, with one flow.
async fn app_on(database: &CitusDatabase, port: u16) -> (AppRow, FlowRow) {
    apps_on(database, port, 1).await.remove(0)
}

/// Apps on different shards of the worker with this port, each with one flow.
async fn apps_on(database: &CitusDatabase, port: u16, count: usize) -> Vec<(AppRow, FlowRow)> {
    let client = database.client().await;
    let mut apps = BTreeMap::new();
    for number in 1..1000 {
        let id = v7(Timestamp::from_millis(now()), number, 0);
        let (shard, found, _) = placement(&client, AppId::from_uuid(id)).await;
        if found == port {
            let app = AppRow { app_id: AppId::from_uuid(id), ..app_row() };
            let flow = FlowRow {
                app_id: app.app_id,
                flow_id: FlowId::from_uuid(id),
                name: "0".to_owned(),
                ..flow_row()
            };
            apps.entry(shard).or_insert((app, flow));
        }
        if apps.len() == count {
            return apps.into_values().collect();
        }
    }
    panic!("no {count} apps fall on the worker at port {port}");
}

async fn put(store: &PgStore, (app, flow): &(AppRow, FlowRow)) {
    let rows = vec![Write::App(app.clone()), Write::Flow(flow.clone())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
}

/// A change that the public API shows.
async fn rename(store: &PgStore, flow: &FlowRow, name: String) -> Result<(), StoreError> {
    let app = store.find_app(flow.app_id).await?.unwrap();
    let at = At::App { app: flow.app_id, expected: app.revision };
    let rows = vec![Write::Flow(FlowRow { name, ..flow.clone() })];
    store.apply(at, Change::new(|| rows)).await
}

async fn submit(store: &PgStore, app: &AppRow, number: u32) -> Result<Vec<Outcome>, StoreError> {
    store.commit(vec![submission(store, app, number).await?]).await
}

async fn submission(store: &PgStore, app: &AppRow, number: u32) -> Result<NewResponse, StoreError> {
    let public_revision = store.find_app(app.app_id).await?.unwrap().public_revision;
    let mut new = response(now(), number, public_revision);
    new.row.app_id = app.app_id;
    new.row.flow_id = FlowId::from_uuid(app.app_id.uuid());
    Ok(new)
}

/// Polls until the condition holds, up to a deadline.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_use_case_runs_on_one_shard_or_one_node() {
    let Some(database) = placed("sluice_use_cases").await else { return };
    let store = Arc::new(connect(&database).await.unwrap()) as Arc<dyn Store>;
    let mut before = database.fanned_out().await;
    let mut wide = Vec::new();
    use_cases::run_each(Arc::clone(&store), async |name| {
        let now = database.fanned_out().await;
        if now > before {
            wide.push((name, now - before));
        }
        before = now;
    })
    .await;
    assert!(wide.is_empty(), "sent to several shards: {wide:#?}");
    store.close().await;
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn citus_keeps_every_promise_of_the_trait() {
    let Some(database) = placed("sluice_promises").await else { return };
    let client = database.client().await;
    let tables = "SELECT string_agg(logicalrelid::text, ', ') FROM pg_dist_partition \
         WHERE logicalrelid::text NOT LIKE 'responses_%'";
    let tables: String = client.query_one(tables, &[]).await.unwrap().get(0);
    // The rows that tables have from the beginning.
    let schema = include_str!("../../src/postgres/migrations/V1__initial_schema.sql");
    let first: Vec<&str> = schema.lines().filter(|it| it.starts_with("INSERT INTO ")).collect();
    let empty = format!("TRUNCATE {tables}; TRUNCATE marks; {}", first.join(" "));
    conformance::run_all(async || {
        client.batch_execute(&empty).await.unwrap();
        Arc::new(connect(&database).await.unwrap()) as Arc<dyn Store>
    })
    .await;
    drop(client);
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_not_durable_is_refused_by_name() {
    let Some(database) = placed("sluice_durable").await else { return };
    let store = connect(&database).await.unwrap();
    let app = app_on(&database, database.proxies[0].port).await;
    put(&store, &app).await;
    assert_eq!(submit(&store, &app.0, 1).await.unwrap(), [Outcome::Stored]);

    let setting = |value: &str| {
        format!(
            "SET citus.enable_ddl_propagation = off; \
             ALTER DATABASE sluice_durable SET synchronous_commit = {value}"
        )
    };
    let worker = database.worker(1).await;
    worker.batch_execute(&setting("off")).await.unwrap();
    // Sessions keep their setting; end those of the coordinator, as a restart of the worker does.
    database.proxies[1].cut();
    until("the worker is away", async || connect(&database).await.is_ok()).await;
    database.proxies[1].repair();
    let named = format!("127.0.0.1:{} has synchronous_commit=off", database.proxies[1].port);
    until("a running node refuses to store", async || match submit(&store, &app.0, 2).await {
        Err(StoreError::Failed(why)) => why.to_string().contains(&named),
        _ => false,
    })
    .await;
    assert!(store.check().await.is_err(), "readiness is red");
    let workers = store.status().workers.unwrap();
    assert_eq!((workers.away, workers.weak), (0, 1), "{workers:?}");
    let refused = connect(&database).await.expect_err("a weak worker");
    assert!(refused.to_string().contains(&named), "{refused}");

    worker.batch_execute(&setting("on")).await.unwrap();
    database.proxies[1].cut();
    tokio::time::sleep(Duration::from_millis(50)).await;
    database.proxies[1].repair();
    until("it stores again", async || submit(&store, &app.0, 2).await.is_ok()).await;
    store.close().await;
    database.remove().await;
}

/// 1 if the worker of an app still shows it as it was before the change that the feed has.
async fn behind(client: &Client, app: AppId) -> u32 {
    let revision = |table: &str| {
        format!("SELECT public_revision FROM {table} WHERE app_id = '{}'", app.uuid())
    };
    let announced: i64 = client.query_one(&revision("app_directory"), &[]).await.unwrap().get(0);
    let shown: i64 = client.query_one(&revision("apps"), &[]).await.unwrap().get(0);
    u32::from(shown < announced)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_publish_is_lost_if_the_second_part_of_a_commit_is_late() {
    let Some(database) = placed("sluice_feed").await else { return };
    let (one, two) = (connect(&database).await.unwrap(), connect(&database).await.unwrap());
    let mut apps = Vec::new();
    for proxy in &database.proxies {
        let app = app_on(&database, proxy.port).await;
        put(&one, &app).await;
        apps.push(app);
    }
    for proxy in &database.proxies {
        proxy.delay_commits(Duration::from_millis(90));
    }
    // What the other node has in memory: read again only when the feed names the app.
    let mut position = two.changes(FeedPosition(0)).await.unwrap().position;
    let mut follow = async |cached: &mut [String]| {
        let changes = two.changes(position).await.unwrap();
        position = changes.position;
        for (index, (app, flow)) in apps.iter().enumerate() {
            if changes.apps.contains(&app.app_id) {
                cached[index] = two.find_flow(flow.flow_id).await.unwrap().unwrap().flow.name;
            }
        }
    };
    let mut cached = vec!["0".to_owned(); apps.len()];
    let (mut lost, mut late) = (Vec::new(), 0);
    let client = database.client().await;
    for number in 1..=30_usize {
        let index = number % apps.len();
        let publish = rename(&one, &apps[index].1, number.to_string());
        tokio::pin!(publish);
        loop {
            tokio::select! {
                published = &mut publish => {
                    published.unwrap();
                    break;
                }
                () = tokio::time::sleep(Duration::from_millis(5)) => {
                    late += behind(&client, apps[index].0.app_id).await;
                    follow(&mut cached).await;
                }
            }
        }
        follow(&mut cached).await;
        if cached[index] != number.to_string() {
            lost.push(number);
        }
    }
    assert!(late > 0, "the worker was never behind, so this shows nothing");
    assert!(lost.is_empty(), "publishes that the other node never saw: {lost:?}");
    for node in [one, two] {
        node.close().await;
    }
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apps_of_the_other_workers_stay_in_service() {
    let Some(database) = placed("sluice_away").await else { return };
    let running = connect(&database).await.unwrap();
    let alive = app_on(&database, database.proxies[0].port).await;
    let away = app_on(&database, database.proxies[1].port).await;
    put(&running, &alive).await;
    put(&running, &away).await;
    database.proxies[1].cut();
    tokio::time::sleep(Duration::from_millis(50)).await;

    let started = connect(&database).await.expect("a node starts while a worker is away");
    for (number, node) in (1..).zip([&running, &started]) {
        rename(node, &alive.1, format!("on node {number}")).await.unwrap();
        assert_eq!(submit(node, &alive.0, number).await.unwrap(), [Outcome::Stored]);
        node.check().await.expect("some worker is there");
        node.changes(FeedPosition(0)).await.unwrap();
        let found = node.find_flow(alive.1.flow_id).await.unwrap().unwrap();
        assert_eq!(found.flow.name, format!("on node {number}"));
        assert!(node.find_app(away.0.app_id).await.unwrap().is_some(), "settings are still there");
        let refused = submit(node, &away.0, number).await;
        assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
        let workers = node.status().workers.unwrap();
        assert_eq!((workers.away, workers.weak), (1, 0), "{workers:?}");
    }
    database.proxies[0].cut();
    until("readiness is red without any worker", async || running.check().await.is_err()).await;
    for proxy in &database.proxies {
        proxy.repair();
    }
    until("readiness is green", async || running.check().await.is_ok()).await;
    until("every app is in service", async || submit(&running, &away.0, 9).await.is_ok()).await;
    let all = WorkerStatus { up: database.proxies.len(), ..WorkerStatus::default() };
    until("every worker is up", async || running.status().workers == Some(all)).await;
    for node in [running, started] {
        node.close().await;
    }
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_write_on_a_worker_holds_back_the_skip_index() {
    let Some(database) = placed("sluice_open").await else { return };
    let store = connect(&database).await.unwrap();
    let (app, flow) = app_on(&database, database.proxies[0].port).await;
    put(&store, &(app.clone(), flow)).await;
    // Its session on the coordinator has no transaction id: only the worker has one.
    let writer = database.client().await;
    let write = format!(
        "BEGIN; INSERT INTO used_keys (app_id, response_id, key) VALUES ('{}', '{}', '{}')",
        app.app_id.uuid(),
        app.app_id.uuid(),
        app.app_id.uuid()
    );
    writer.batch_execute(&write).await.unwrap();
    let public_revision = store.find_app(app.app_id).await.unwrap().unwrap().public_revision;
    let stored = (0..1_100).map(|number| {
        let mut new = response(now(), number, public_revision);
        new.row.app_id = app.app_id;
        new.row.flow_id = FlowId::from_uuid(app.app_id.uuid());
        NewResponse { idempotency_key: None, ..new }
    });
    store.commit(stored.collect()).await.unwrap();
    // The flows with enough responses for a block are known when these are counted.
    store.compact_counts(CompactionCursor::default(), 5_000).await.unwrap();
    // Late enough for all of them to be in a block.
    let later = Timestamp::from_millis(now() + 3_600_000);
    let made = async || store.build_skip_index(None, later).await.unwrap().made;
    assert_eq!(made().await, 0, "a response of the open transaction may still appear among them");
    writer.batch_execute("ROLLBACK").await.unwrap();
    assert!(made().await > 0);
    store.close().await;
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_for_apps_of_one_worker_is_one_phase() {
    let Some(database) = placed("sluice_group").await else { return };
    let store = connect(&database).await.unwrap();
    let client = database.client().await;
    let two_phase = || database.proxies.iter().map(Proxy::prepared).sum::<u64>();
    let [here, there] = [&database.proxies[0], &database.proxies[1]].map(|proxy| proxy.port);
    let (ours, theirs) = (apps_on(&database, here, 3).await, app_on(&database, there).await);
    for app in ours.iter().chain([&theirs]) {
        put(&store, app).await;
        let (_, _, worker) = placement(&client, app.0.app_id).await;
        assert_eq!(store.server_of(app.0.app_id), Some(worker), "as Citus has placed it");
    }
    let batch = async |number: u32, apps: &[&(AppRow, FlowRow)]| {
        let mut rows = Vec::new();
        for (number, (app, _)) in (number..).zip(apps) {
            rows.push(submission(&store, app, number).await.unwrap());
        }
        rows
    };
    let of_one: Vec<_> = ours.iter().collect();
    let before = two_phase();
    let sent = batch(10, &of_one).await;
    assert_eq!(store.commit(sent.clone()).await.unwrap(), [Outcome::Stored; 3]);
    let replayed: Vec<_> = sent.iter().map(|it| Outcome::Replayed(it.row.response_id)).collect();
    assert_eq!(store.commit(sent).await.unwrap(), replayed, "a retry is answered");
    assert_eq!(two_phase(), before, "commits for apps of one worker");

    let sent = batch(20, &[&ours[0], &theirs]).await;
    assert_eq!(store.commit(sent).await.unwrap(), [Outcome::Stored; 2]);
    assert!(two_phase() > before, "a commit for apps of two workers");

    // A shard that is moved: commits that are composed by its old place store as well.
    let moved = ours[0].0.app_id;
    let (shard, _, _) = placement(&client, moved).await;
    let from_to = format!("'127.0.0.1', {here}, '127.0.0.1', {there}");
    let sql = format!("SELECT citus_move_shard_placement({shard}, {from_to}, 'block_writes')");
    client.batch_execute(&sql).await.unwrap();
    let sent = batch(30, &of_one).await;
    assert_eq!(store.commit(sent).await.unwrap(), [Outcome::Stored; 3]);
    let (_, _, worker) = placement(&client, moved).await;
    until("the move is noticed", async || store.server_of(moved) == Some(worker)).await;
    store.close().await;
    drop(client);
    database.remove().await;
}
