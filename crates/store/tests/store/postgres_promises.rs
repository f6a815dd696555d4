//! PostgreSQL keeps every promise of the trait.

use std::sync::Arc;

use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use sluice_store::{Store, conformance};

use crate::postgres::{open, start, until};

async fn keeps_every_promise(options: Options) {
    let cluster = start();
    // The schema is created once, and copied for every case.
    let template = cluster.database().await;
    open(&cluster, &template).await.close().await;
    let connected = format!("SELECT pid FROM pg_stat_activity WHERE datname = '{template}'");
    until("the template is free", async || {
        cluster.sql("postgres", &connected).await.is_empty().then_some(())
    })
    .await;
    conformance::run_all(async || {
        cluster.sql("postgres", "DROP DATABASE IF EXISTS promise WITH (FORCE)").await;
        let copy = format!("CREATE DATABASE promise TEMPLATE {template}");
        cluster.sql("postgres", &copy).await;
        let url = cluster.socket_url("promise");
        Arc::new(PgStore::connect(&url, options.clone()).await.unwrap()) as Arc<dyn Store>
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_every_promise_of_the_trait() {
    keeps_every_promise(Options::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_every_promise_in_distributed_mode() {
    keeps_every_promise(Options { distributed: true, ..Options::default() }).await;
}
