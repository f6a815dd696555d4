//! Everything out, and everything in: what moving a database needs.
//!
//! The order is by table, then by app, then by the row's own key, which is the primary key of every
//! table; so each page is a walk along it from where the last one ended.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use sluice_flow::id::AppId;
use uuid::Uuid;

use super::apply::announce;
use super::codec::{self, APP, AUDIT, Cells, FLOW, KEY, RESPONSE, TOKEN, VERSION};
use super::columns::{Columns, GIVEN, NAMES};
use super::failure::Stop;
use super::partitions;
use super::pool::{Params, Pool};
use super::put;
use super::read::limit;
use super::transaction::{Transaction, end};
use crate::{App, IdempotencyKey, Place, Record, ResponseRow, StoreError, StoreResult};

/// The tables in the order of [`Record`].
const TABLES: [Table; 7] = [
    Table { columns: APP, name: "apps", key: None, read: |it| codec::app(it).map(Record::App) },
    Table {
        columns: KEY,
        name: "api_keys",
        key: Some("api_key"),
        read: |it| codec::key(it).map(Record::Key),
    },
    Table {
        columns: FLOW,
        name: "flows",
        key: Some("flow_id"),
        read: |it| codec::flow(it).map(Record::Flow),
    },
    Table {
        columns: VERSION,
        name: "versions",
        key: Some("flow_version_id"),
        read: |it| codec::version(it).map(Record::Version),
    },
    Table {
        columns: TOKEN,
        name: "tokens",
        key: Some("token_id"),
        read: |it| codec::token(it).map(Record::Token),
    },
    Table {
        columns: AUDIT,
        name: "audit",
        key: Some("audit_id"),
        read: |it| codec::audit(it).map(Record::Audit),
    },
    Table { columns: RESPONSE, name: "responses", key: Some("response_id"), read: response },
];

struct Table {
    columns: &'static str,
    name: &'static str,
    /// What comes after the app in the primary key.
    key: Option<&'static str>,
    read: fn(&mut Cells) -> StoreResult<Record>,
}

fn response(cells: &mut Cells) -> StoreResult<Record> {
    codec::keyed_response(cells).map(|(row, idempotency_key)| Record::Response { row, idempotency_key })
}

pub(super) async fn read_out(
    pool: &Pool,
    after: Option<&Place>,
    records: usize,
) -> StoreResult<Vec<Record>> {
    let mut found = Vec::new();
    for (number, table) in (0..).zip(&TABLES) {
        let after = match after {
            Some(place) if place.table > number => continue,
            Some(place) if place.table == number => Some(place),
            _ => None,
        };
        found.extend(page(pool, table, after, records - found.len()).await?);
        if found.len() >= records {
            break;
        }
    }
    Ok(found)
}

/// Rows of one table, from its beginning or from beyond a place in it.
async fn page(
    pool: &Pool,
    table: &Table,
    after: Option<&Place>,
    rows: usize,
) -> StoreResult<Vec<Record>> {
    let Table { columns, name, key, read } = table;
    let keyed = if *name == "responses" { ", idempotency_key" } else { "" };
    let order = key.map_or("app_id".to_owned(), |key| format!("app_id, {key}"));
    let select = |condition: &str| {
        format!("SELECT {columns}{keyed} FROM {name} {condition} ORDER BY {order} LIMIT $1")
    };
    let rows = limit(rows);
    let Some(place) = after else { return pool.many(&select(""), &[&rows], *read).await };
    let app = Uuid::from_bytes(place.app);
    match key {
        None => pool.many(&select("WHERE app_id > $2"), &[&rows, &app], *read).await,
        Some(key) => {
            let sql = select(&format!("WHERE (app_id, {key}) > ($2, $3)"));
            match *key {
                "api_key" => {
                    let text = String::from_utf8_lossy(&place.key);
                    pool.many(&sql, &[&rows, &app, &&*text], *read).await
                }
                _ => {
                    let id = Uuid::from_slice(&place.key).unwrap_or_default();
                    pool.many(&sql, &[&rows, &app, &id], *read).await
                }
            }
        }
    }
}

/// Puts records in as they are, all or none.
pub(super) async fn write_in(pool: &Arc<Pool>, records: Vec<Record>) -> StoreResult<()> {
    // Each once, and in the order in which tables name one another.
    let records: BTreeMap<_, _> = records.into_iter().map(|it| (it.place(), it)).collect();
    let times = records.values().filter_map(|record| match record {
        Record::Response { row, .. } => Some(row.response_id.made_at()),
        _ => None,
    });
    partitions::make_for_records(pool, times).await;
    let transaction = Transaction::begun(pool).await.map_err(Stop::of_statement)?;
    let body = put_all(&transaction, records.values()).await;
    end(transaction, body).await
}

async fn put_all(
    transaction: &Transaction,
    records: impl Iterator<Item = &Record>,
) -> Result<(), Stop> {
    let mut newest = None;
    let mut responses: BTreeMap<AppId, Vec<_>> = BTreeMap::new();
    for record in records {
        match record {
            Record::App(app) => {
                put_app(transaction, app).await?;
                newest = newest.max(Some(app.public_revision));
            }
            Record::Key(row) => put::key(transaction, row).await?,
            Record::Flow(row) => put::flow(transaction, row).await?,
            Record::Version(row) => put::version(transaction, row).await?,
            Record::Token(row) => put::token(transaction, row).await?,
            Record::Audit(row) => put::audit(transaction, row).await?,
            Record::Response { row, idempotency_key } => {
                responses.entry(row.app_id).or_default().push((row, idempotency_key.as_ref()));
            }
        }
    }
    for (app, rows) in responses {
        put_responses(transaction, app, &rows).await?;
    }
    if let Some(newest) = newest {
        let position = "UPDATE feed SET position = greatest(position, $1)";
        transaction.execute(position, &[&newest.cast_signed()]).await?;
        announce(transaction).await?;
    }
    Ok(())
}

async fn put_app(transaction: &Transaction, app: &App) -> Result<(), Stop> {
    put::app(transaction, &app.row).await?;
    let revisions = "UPDATE apps SET revision = $2, public_revision = $3 WHERE app_id = $1";
    let numbers = (app.revision.cast_signed(), app.public_revision.cast_signed());
    let params: Params = &[&app.row.app_id.uuid(), &numbers.0, &numbers.1];
    transaction.execute(revisions, params).await.map(|_| ())
}

static PUT_RESPONSES: LazyLock<String> = LazyLock::new(|| {
    let replaced: Vec<_> =
        NAMES.split(", ").map(str::trim).map(|name| format!("{name} = excluded.{name}")).collect();
    format!(
        "INSERT INTO responses (app_id, {NAMES}) SELECT $1, given.* FROM {GIVEN} \
         ON CONFLICT (app_id, response_id) DO UPDATE SET {}",
        replaced.join(", ")
    )
});

const PUT_KEYS: &str = "INSERT INTO idempotency AS old (app_id, key, response_id, digest) \
     SELECT $1, given.* FROM unnest($2::bytea[], $3::uuid[], $4::bytea[]) AS given \
     ON CONFLICT (app_id, key) DO UPDATE SET digest = excluded.digest \
     WHERE old.response_id = excluded.response_id";

async fn put_responses(
    transaction: &Transaction,
    app: AppId,
    rows: &[(&ResponseRow, Option<&IdempotencyKey>)],
) -> Result<(), Stop> {
    let columns = Columns::of(app, rows);
    transaction.execute(&PUT_RESPONSES, &columns.params()).await?;
    let keyed = rows.iter().filter_map(|(row, key)| key.map(|key| (row, key)));
    let (mut keys, mut ids, mut digests) = (Vec::new(), Vec::new(), Vec::new());
    for (row, key) in keyed {
        keys.push(key.as_slice());
        ids.push(row.response_id.uuid());
        digests.push(row.digest.as_slice());
    }
    let params: Params = &[&app.uuid(), &keys, &ids, &digests];
    let put = transaction.execute(PUT_KEYS, params).await?;
    match usize::try_from(put) == Ok(keys.len()) {
        true => Ok(()),
        false => Err(StoreError::Failed("an idempotency key is another response's".into()).into()),
    }
}
