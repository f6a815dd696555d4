//! Unreadable counts are rebuilt and block nothing: on both stores, with the bytes of one flow
//! damaged.

use crate::support;

use rusqlite::Connection;
use sluice_flow::counts::{Contribution, segment};
use sluice_flow::id::{FlowId, ResponseId, v7};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;
use sluice_store::postgres::{self, PgStore};
use sluice_store::roles::*;
use sluice_store::sqlite::{Options, SqliteStore};
use sluice_store::{
    At, Change, CompactionCursor, CountsQuery, FlowRow, NewResponse, Outcome, Record, Store, Write,
};
use support::Cluster;
use support::rows::{app_row, flow_row, now, response};

const RESPONSES: u32 = 30;
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

fn flows() -> [FlowRow; 2] {
    let mut other = flow_row();
    other.flow_id = FlowId::from_uuid(v7(Timestamp::from_millis(2), 0, 2));
    [flow_row(), other]
}

fn sent(flow: &FlowRow, number: u32) -> NewResponse {
    let millis = now() - i64::from(number % 3) * DAY_MILLIS;
    let mut sent = response(millis, number, 1);
    sent.row.flow_id = flow.flow_id;
    sent.row.response_id = ResponseId::from_uuid(v7(
        Timestamp::from_millis(millis),
        number,
        flow.flow_id.uuid().as_u128() as u64,
    ));
    sent.idempotency_key = None;
    let plan = if number.is_multiple_of(2) { "pro" } else { "free" };
    sent.row.tags = Some(format!("{{\"plan\":\"{plan}\"}}"));
    let tags = sent.row.tags.as_deref();
    sent.contribution = Contribution::from_stored(None, "{}", tags, Admission::CollectionOnly);
    sent
}

async fn fill(store: &dyn Store) -> Vec<ResponseId> {
    let mut rows = vec![Write::App(app_row())];
    rows.extend(flows().map(Write::Flow));
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
    let mut first = Vec::new();
    for (at, flow) in flows().iter().enumerate() {
        let batch: Vec<_> = (0..RESPONSES).map(|number| sent(flow, number)).collect();
        if at == 0 {
            first = batch.iter().map(|it| it.row.response_id).collect();
        }
        let outcomes = store.commit(batch).await.unwrap();
        assert!(outcomes.iter().all(|it| *it == Outcome::Stored), "{outcomes:?}");
    }
    first
}

async fn fold(store: &dyn Store) {
    for _ in 0..100 {
        if store.compact_counts(CompactionCursor::default(), 7).await.unwrap().is_done() {
            return;
        }
    }
    panic!("the background work never finishes");
}

/// The number of counted responses of a flow, and of those with the tag.
async fn counted(store: &dyn Store, flow: &FlowRow) -> (i64, i64) {
    let pro = segment("plan", "pro");
    let query = CountsQuery { segment: Some(pro.clone()), ..CountsQuery::default() };
    let reported = store.read_counts(flow.app_id, flow.flow_id, &query).await.unwrap();
    let all = reported.daily.iter().map(|(_, _, daily)| daily.all().responses).sum();
    let of_tag = |(_, _, daily): &(_, _, sluice_flow::counts::DailyCounts)| {
        daily.of_segment(&pro).map_or(0, |counts| counts.responses)
    };
    (all, reported.daily.iter().map(of_tag).sum())
}

async fn remove(store: &dyn Store, id: ResponseId) {
    let rows = vec![Write::DeleteResponse(id)];
    store.apply(At::Instance, Change::new(|| rows)).await.unwrap();
}

/// What finds the damage first.
#[derive(Debug, Clone, Copy)]
enum Met {
    Folding,
    Removal,
    Reading,
    Scanning,
}

/// Damages bytes of the first flow, in each form in which they are stored, and triggers the finder.
async fn check(met: Met, store: &dyn Store, damage: impl AsyncFn(&str)) {
    let [first, other] = flows();
    let mut ids = fill(store).await;
    for (table, which) in [("count_deltas", ""), ("counts", ""), ("counts", "AND segment <> ''")] {
        if matches!(met, Met::Scanning) {
            let row = sent(&first, 7 * ids.len() as u32).row;
            ids.push(row.response_id);
            store
                .import_records(vec![Record::Response { row, idempotency_key: None }])
                .await
                .unwrap();
            // Half of it is scanned.
            store.compact_counts(CompactionCursor::default(), ids.len() / 2).await.unwrap();
        }
        if table == "counts" && !matches!(met, Met::Scanning) {
            fold(store).await;
        }
        damage(&format!("{table} WHERE flow_id = FLOW {which}")).await;
        match met {
            Met::Folding => {
                let new = [sent(&first, 1_000 + ids.len() as u32), sent(&other, 2_000)];
                ids.push(new[0].row.response_id);
                store.commit(new.to_vec()).await.unwrap();
                fold(store).await;
                remove(store, new[1].row.response_id).await;
            }
            Met::Removal => remove(store, ids.remove(5)).await,
            Met::Reading => {}
            Met::Scanning => fold(store).await,
        }
        let all = ids.len() as i64;
        let (reported, pro) = counted(store, &first).await;
        assert_eq!(reported, all, "{met:?} {table} {which}");
        assert!((1..all).contains(&pro), "{met:?} {table} {which}: {pro}");
        assert_eq!(counted(store, &other).await, (30, 15), "{met:?} {table} {which}");
        fold(store).await;
        assert_eq!(counted(store, &first).await, (reported, pro), "{met:?} {table} {which}");
    }
    for id in ids {
        remove(store, id).await;
    }
    fold(store).await;
    assert_eq!(counted(store, &first).await, (0, 0), "{met:?}");
}

const ALL: [Met; 4] = [Met::Folding, Met::Removal, Met::Reading, Met::Scanning];

#[tokio::test]
async fn damaged_counts_in_sqlite_are_rebuilt_and_block_nothing() {
    let flow = flows()[0].flow_id.uuid().simple().to_string();
    for met in ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sluice.db");
        let store = SqliteStore::open(&path, Options::default()).unwrap();
        let file = Connection::open(&path).unwrap();
        let damage = async |of: &str| {
            let (table, which) = of.split_once(' ').unwrap();
            let which = which.replace("FLOW", &format!("x'{flow}'")).replace("''", "x''");
            let sql = format!("UPDATE {table} SET body = x'ff' {which}");
            file.execute(&sql, []).unwrap();
        };
        check(met, &store, damage).await;
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_counts_in_postgresql_are_rebuilt_and_block_nothing() {
    let flow = flows()[0].flow_id.uuid().to_string();
    let cluster = Cluster::start(&[]);
    for met in ALL {
        let database = cluster.database().await;
        let url = cluster.url(&database);
        let store = PgStore::connect(&url, postgres::Options::default()).await.unwrap();
        let damage = async |of: &str| {
            let (table, which) = of.split_once(' ').unwrap();
            let which = which.replace("FLOW", &format!("'{flow}'"));
            cluster.sql(&database, &format!("UPDATE {table} SET body = '\\xff' {which}")).await;
        };
        check(met, &store, damage).await;
        store.close().await;
    }
}
