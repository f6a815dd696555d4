//! Exporting a whole PostgreSQL database takes linear, not quadratic time.

use crate::support::cluster;

use cluster::Cluster;
use sluice_store::Record;
use sluice_store::conformance::filling;
use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use tokio_postgres::NoTls;

const RESPONSES: u32 = 9_000;
const PAGE: usize = 100;

/// The first value of a query.
async fn number(cluster: &Cluster, database: &str, sql: &str) -> i64 {
    let url = cluster.socket_url(database);
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("ANALYZE").await.unwrap();
    client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn every_response_is_fetched_about_once() {
    let cluster = Cluster::start(&[]);
    let database = cluster.create_database();
    let url = cluster.url(&database);
    let open = || PgStore::connect(&url, Options::default());
    let store = open().await.unwrap();
    store.import_records(filling::records(RESPONSES).collect()).await.unwrap();
    store.close().await;
    // The planner chooses wrongly only once it has statistics of the rows.
    let reset = "SELECT count(pg_stat_reset()) FROM (SELECT 1) AS once";
    number(&cluster, &database, reset).await;

    let store = open().await.unwrap();
    let (mut after, mut records) = (None, 0);
    loop {
        let page = store.export_records(after.as_ref(), PAGE).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.cursor());
        records += page.iter().filter(|it| matches!(it, Record::Response { .. })).count();
    }
    store.close().await;
    assert_eq!(records, RESPONSES as usize);

    // The statistics of a session are complete at the latest when it has ended.
    let fetched = "SELECT sum(idx_tup_fetch + seq_tup_read)::bigint FROM pg_stat_user_tables \
         WHERE relname LIKE 'responses%'";
    let mut reported = 0;
    for _ in 0..600 {
        reported = number(&cluster, &database, fetched).await;
        if reported >= i64::from(RESPONSES) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let expected = i64::from(RESPONSES)..i64::from(RESPONSES) * 3 / 2;
    assert!(expected.contains(&reported), "{reported} rows were fetched to read {RESPONSES}");
}
