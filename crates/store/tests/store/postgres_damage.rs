//! Damage that PostgreSQL reports, in whichever read or write: from then on nothing is accepted.

use crate::support;

use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{At, Change, FeedPosition, ResponseQuery, StoreError, Write};
use support::Cluster;
use support::rows::{app_row, flow_row, now, response};

/// Fails as the server does when it finds a damaged page or index.
const BROKEN: &str = "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS \
     'BEGIN RAISE EXCEPTION ''invalid page'' USING ERRCODE = ''XX001''; END'; \
     CREATE FUNCTION broken_index() RETURNS boolean LANGUAGE plpgsql AS \
     'BEGIN RAISE EXCEPTION ''invalid index'' USING ERRCODE = ''XX002''; END'";

fn on_insert(table: &str) -> String {
    format!(
        "CREATE TRIGGER broken BEFORE INSERT OR UPDATE ON {table} \
         FOR EACH ROW EXECUTE FUNCTION broken()"
    )
}

fn on_read(table: &str) -> String {
    format!(
        "ALTER TABLE {table} RENAME TO sound; \
         CREATE VIEW {table} AS SELECT * FROM sound WHERE broken_index()"
    )
}

/// A database with an app, a flow and a response.
async fn filled(cluster: &Cluster) -> String {
    let database = cluster.database().await;
    let store = PgStore::connect(&cluster.url(&database), Options::default()).await.unwrap();
    let rows = vec![Write::App(app_row()), Write::Flow(flow_row())];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    store.commit(vec![response(now(), 1, 1)]).await.unwrap();
    store.close().await;
    cluster.sql(&database, BROKEN).await;
    database
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Find,
    List,
    Export,
    Commit,
    Apply,
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_that_the_server_reports_stops_submissions_whoever_finds_it() {
    let cluster = Cluster::start(&[]);
    for (call, sql) in [
        (Call::Find, on_read("app_directory")),
        (Call::List, on_read("responses")),
        (Call::Export, on_read("flows")),
        (Call::Commit, on_insert("responses")),
        (Call::Commit, on_insert("idempotency")),
        (Call::Apply, on_insert("flows")),
    ] {
        let database = filled(&cluster).await;
        cluster.sql(&database, &sql).await;
        let store = PgStore::connect(&cluster.url(&database), Options::default()).await.unwrap();
        assert_eq!(store.damage().found(), None);
        let app = app_row().app_id;
        let failure = match call {
            Call::Find => store.find_app(app).await.map(drop),
            Call::List => {
                let query = ResponseQuery::new(app, flow_row().flow_id, 10);
                store.list_responses(&query).await.map(drop)
            }
            Call::Export => store.export_records(None, 10).await.map(drop),
            Call::Commit => store.commit(vec![response(now(), 2, 1)]).await.map(drop),
            Call::Apply => {
                let rows = vec![Write::Flow(flow_row())];
                store.apply(At::Instance, Change::new(|| rows)).await
            }
        };
        let failure = failure.expect_err(&format!("{call:?}, {sql}"));
        assert!(matches!(failure, StoreError::Damaged(_)), "{call:?}, {sql}: {failure:?}");
        let found = store.damage().found().unwrap();
        assert!(found.contains("invalid"), "{call:?}, {sql}: {found}");
        let refused = store.commit(vec![response(now(), 3, 1)]).await.unwrap_err();
        assert!(matches!(refused, StoreError::Damaged(_)), "{call:?}, {sql}: {refused:?}");
        store.close().await;
    }
}

/// Other errors say nothing about the files.
#[tokio::test(flavor = "multi_thread")]
async fn an_ordinary_error_is_no_damage() {
    let cluster = Cluster::start(&[]);
    let database = filled(&cluster).await;
    let sql = "ALTER TABLE responses ADD CONSTRAINT refused CHECK (false) NOT VALID";
    cluster.sql(&database, sql).await;
    let store = PgStore::connect(&cluster.url(&database), Options::default()).await.unwrap();
    let failure = store.commit(vec![response(now(), 2, 1)]).await.unwrap_err();
    assert!(matches!(failure, StoreError::Failed(_)), "{failure:?}");
    assert_eq!(store.damage().found(), None);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_remembered_until_it_is_forgotten() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let url = cluster.url(&database);
    let store = PgStore::connect(&url, Options::default()).await.unwrap();
    let other = PgStore::connect(&url, Options::default()).await.unwrap();
    for what in ["page 7", "page 8", "page 9"] {
        store.damage().note(what);
    }
    // Closing waits until it is written.
    store.close().await;
    assert_eq!(other.damage().found(), None);
    other.changes(FeedPosition::END).await.unwrap();
    assert_eq!(other.damage().found(), Some("page 7"), "a node that polls the feed knows it");
    other.close().await;
    let store = PgStore::connect(&url, Options::default()).await.unwrap();
    assert_eq!(store.damage().found(), Some("page 7"));
    assert!(store.commit(vec![response(now(), 1, 1)]).await.is_err());
    let mark = store.damage().mark().unwrap().clone();
    store.damage().note("page 9");
    store.close().await;
    let is_forgotten = PgStore::forget_damage(&url, Options::default(), &mark).await.unwrap();
    assert!(!is_forgotten, "damage was found again since");
    let store = PgStore::connect(&url, Options::default()).await.unwrap();
    let mark = store.damage().mark().unwrap().clone();
    store.close().await;
    assert!(PgStore::forget_damage(&url, Options::default(), &mark).await.unwrap());
    let store = PgStore::connect(&url, Options::default()).await.unwrap();
    assert_eq!(store.damage().found(), None);
    store.close().await;
}
