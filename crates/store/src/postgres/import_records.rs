//! Imports records of another database unchanged.
//!
//! Revisions are taken from the record, not incremented: a response judged against the other
//! database can be stored here. The feed is advanced, so that the next public change gets a new
//! position.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use sluice_flow::id::AppId;
use uuid::Uuid;

use super::admin_requests;
use super::assets;
use super::claims::{put_consent, put_identity, put_respondent};
use super::closing;
use super::columns::{Columns, given, names};
use super::counts;
use super::endpoints;
use super::events;
use super::failure::TransactionError;
use super::final_exchange::TAKE_KEYS;
use super::invitations;
use super::mails;
use super::partitions;
use super::people;
use super::pool::{Params, Pool};
use super::put;
use super::removal::put_used_key;
use super::reports;
use super::short_paths;
use super::sinks;
use super::skip_index;
use super::test_responses;
use super::transaction::{Transaction, end};
use super::visits;
use crate::{App, IdempotencyKey, Record, ResponseRow, StoreError, StoreResult};

pub(super) async fn records(pool: &Arc<Pool>, records: Vec<Record>) -> StoreResult<()> {
    // Each record once, in the order in which tables reference each other.
    let records: BTreeMap<_, _> = records.into_iter().map(|it| (it.cursor(), it)).collect();
    let times = records.values().filter_map(|record| match record {
        Record::Response { row, .. } => Some(row.response_id.made_at()),
        _ => None,
    });
    partitions::make_for_records(pool, times).await;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = put_all(&transaction, records.values()).await;
    end(transaction, body).await
}

async fn put_all(
    transaction: &Transaction,
    records: impl Iterator<Item = &Record>,
) -> Result<(), TransactionError> {
    let (mut newest, mut used, mut visited) = (None, Vec::new(), Vec::new());
    let mut responses: BTreeMap<AppId, Vec<_>> = BTreeMap::new();
    let mut invited: BTreeMap<AppId, Vec<_>> = BTreeMap::new();
    for record in records {
        match record {
            Record::App(app) => {
                put_app(transaction, app).await?;
                newest = newest.max(Some(app.public_revision));
            }
            Record::Key(row) => put::key(transaction, row).await?,
            Record::IdentityKey(row) => put::identity_key(transaction, row).await?,
            Record::Flow(row) => put::flow(transaction, row).await?,
            Record::Version(row) => put::version(transaction, row).await?,
            Record::Token(row) => put::token(transaction, row).await?,
            Record::Audit(row) => put::audit(transaction, row).await?,
            Record::Respondent(row) => put_respondent(transaction, row).await?,
            Record::Identity(row) => put_identity(transaction, row).await?,
            Record::Consent(row) => put_consent(transaction, row).await?,
            Record::UsedKey(row) => used.push(row),
            Record::Response { row, idempotency_key } => {
                responses.entry(row.app_id).or_default().push((row, idempotency_key.as_ref()));
            }
            Record::Invitation(row) => invited.entry(row.app_id).or_default().push(row),
            Record::VisitCount(row) => visited.push(row),
            Record::ClosingCounts(row) => closing::put(transaction, row).await?,
            Record::User(row) => people::put_user(transaction, row).await?,
            Record::Grant(row) => people::put_grant(transaction, row).await?,
            Record::Report(row) => reports::put(transaction, row).await?,
            Record::ShortPath(row) => short_paths::put(transaction, row).await?,
            Record::Mail(row) => mails::replace(transaction, row).await?,
            Record::TestResponse(row) => test_responses::replace(transaction, row).await?,
            Record::Asset(row) => assets::put(transaction, row).await?,
            Record::SavedView(row) => people::put_saved_view(transaction, row).await?,
            Record::Event(row) => events::put(transaction, row).await?,
            Record::Endpoint(row) => endpoints::replace(transaction, row).await?,
            Record::Delivery(row) => {
                endpoints::put_deliveries(transaction, std::slice::from_ref(&**row)).await?;
            }
            Record::SinkPosition(row) => sinks::put(transaction, std::slice::from_ref(row)).await?,
            Record::AdminRequest(row) => admin_requests::replace(transaction, row).await?,
        }
    }
    for (app, rows) in responses {
        let flows: BTreeSet<_> = rows.iter().map(|(row, _)| row.flow_id).collect();
        for flow in flows {
            counts::begin_scan(transaction, app, flow).await?;
            skip_index::forget(transaction, app, flow).await?;
        }
        put_responses(transaction, app, &rows).await?;
    }
    // After the responses, which may have released a key that is only marked as used from now on.
    for row in used {
        put_used_key(transaction, row).await?;
    }
    for rows in invited.into_values() {
        invitations::replace(transaction, &rows).await?;
    }
    visits::replace(transaction, visited).await?;
    if let Some(newest) = newest {
        let position = "UPDATE feed SET position = greatest(position, $1)";
        transaction.execute(position, &[&newest.cast_signed()]).await?;
    }
    Ok(())
}

async fn put_app(transaction: &Transaction, app: &App) -> Result<(), TransactionError> {
    put::app(transaction, &app.row).await?;
    let revisions = "UPDATE apps SET revision = $2, public_revision = $3 WHERE app_id = $1";
    let numbers = (app.revision.cast_signed(), app.public_revision.cast_signed());
    let params: Params = &[&app.row.app_id.uuid(), &numbers.0, &numbers.1];
    transaction.execute(revisions, params).await?;
    put::listed_revisions(transaction, app.row.app_id, numbers).await
}

static PUT_RESPONSES: LazyLock<String> = LazyLock::new(|| {
    let names = names();
    let replaced: Vec<_> = names.iter().map(|name| format!("{name} = excluded.{name}")).collect();
    format!(
        "INSERT INTO responses (app_id, {}) SELECT apps.app_id, given.* FROM apps, {} \
         WHERE apps.app_id = $1 ON CONFLICT (app_id, flow_id, response_id) DO UPDATE SET {}, counted = false",
        names.join(", "),
        given(),
        replaced.join(", ")
    )
});

/// A response that already exists may now have another key, or none.
const FREE_KEYS: &str = "DELETE FROM idempotency USING responses AS old WHERE old.app_id = $1 \
     AND old.response_id = ANY($2) AND idempotency.app_id = $1 \
     AND idempotency.key = old.idempotency_key AND idempotency.response_id = old.response_id";
async fn put_responses(
    transaction: &Transaction,
    app: AppId,
    rows: &[(&ResponseRow, Option<&IdempotencyKey>)],
) -> Result<(), TransactionError> {
    let all: Vec<_> = rows.iter().map(|(row, _)| row.response_id.uuid()).collect();
    transaction.execute(FREE_KEYS, &[&app.uuid(), &all]).await?;
    let written = transaction.execute(&PUT_RESPONSES, &Columns::new(app, rows).params()).await?;
    if written != rows.len() as u64 {
        let why = "responses name an app that does not exist";
        return Err(StoreError::Failed(why.into()).into());
    }
    let keyed = rows.iter().filter_map(|(row, key)| Some((Uuid::from_bytes(*(*key)?), row)));
    let (keys, ids): (Vec<_>, Vec<_>) =
        keyed.map(|(key, row)| (key, row.response_id.uuid())).unzip();
    transaction.execute(&TAKE_KEYS.one, &[&app.uuid(), &keys, &ids]).await.map(|_| ())
}
