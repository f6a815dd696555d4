//! Removes expired data of an app in batches.
//!
//! Rows are found through an index, from where the last batch stopped, without locking the app:
//! only the removal of a profile makes submissions wait, for as long as it takes to delete that
//! number of rows by key. Only one node at a time works on an app. That merely saves work: the next
//! step depends on what was found, not on what this node deleted, so two at once do no harm.

use std::sync::{Arc, LazyLock};

use sluice_flow::id::{AppId, RespondentId, ResponseId, v7};
use sluice_flow::time::{DAY_MILLIS, Timestamp};
use uuid::Uuid;

use super::codec::{Cells, ReadCells as _};
use super::failure::TransactionError;
use super::invitations::{self, ENDED};
use super::pool::{Params, Pool};
use super::put;
use super::read::limit;
use super::removal::{BY_PRIMARY_KEY, FREE_KEYS, delete, hold, profiles, settle_keys};
use super::transaction::{Transaction, end};
use crate::{Expired, Expiry, ExpiryCursor, Next, Page, RetainingApp, StoreError, StoreResult};

/// Takes the app's turn, released with the transaction, reads its setting, and limits how long
/// others may have to wait. A table without statistics yet must not be read in full.
const TURN: &str = "SELECT pg_try_advisory_xact_lock($1, $2), \
     (SELECT retention_days FROM app_directory WHERE app_id = $3), \
     set_config('lock_timeout', '2s', true), set_config('statement_timeout', '5s', true), \
     set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)";
/// The first half of the lock number of a turn; the queues of apps use the single-number kind.
const TURNS: i32 = i32::from_be_bytes(*b"reta");

/// One batch of an expiry.
pub(super) async fn part(pool: &Arc<Pool>, expiry: &Expiry) -> StoreResult<Expired> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = taken(&transaction, expiry).await;
    end(transaction, body).await
}

async fn taken(transaction: &Transaction, expiry: &Expiry) -> Result<Expired, TransactionError> {
    let app = expiry.app_id;
    let turn = transaction.query(TURN, &[&TURNS, &turn_of(app), &app.uuid()]).await?;
    let turn = turn.first().map(|row| {
        let mut cells = Cells::new(row);
        Ok::<(bool, Option<i64>), StoreError>((cells.take()?, cells.take()?))
    });
    let Some((true, current_days)) = turn.transpose()? else {
        return Ok(Expired::nothing(Next::LeftToAnother));
    };
    if expiry.retention_days.is_some_and(|days| current_days != Some(days.into())) {
        return Ok(Expired::nothing(Next::SettingChanged));
    }
    let expired = match expiry.cursor {
        ExpiryCursor::Responses(after) => responses(transaction, expiry, after).await?,
        ExpiryCursor::Consents(after) => consents(transaction, expiry, after).await?,
        ExpiryCursor::Keys(after) => keys(transaction, expiry, after).await?,
        ExpiryCursor::Invitations(after) => {
            let page = Page { after, limit: expiry.limit };
            let (app, before) = (expiry.app_id, expiry.before);
            let (rows, last) = invitations::forget_ended(transaction, app, before, page).await?;
            let is_last = rows < expiry.limit;
            let next = match is_last {
                true => ExpiryCursor::Events,
                false => ExpiryCursor::Invitations(last),
            };
            let rows = rows as u64;
            Expired { invitations: rows, rows, ..Expired::nothing(Next::At(next)) }
        }
        ExpiryCursor::Events => events(transaction, expiry).await?,
    };
    if expired.rows > 0 {
        put::audit(transaction, &expiry.audit).await?;
    }
    Ok(expired)
}

/// The second half: apps with the same number take turns, which does no harm.
fn turn_of(app: AppId) -> i32 {
    let bits = app.uuid().as_u128();
    (0..4).map(|part| (bits >> (part * 32)) as u32).fold(0, |all, part| all ^ part).cast_signed()
}

/// The smallest id of a response received at this time.
fn first_at(time: Timestamp) -> Uuid {
    Uuid::from_u128(v7(time, 0, 0).as_u128() >> 80 << 80)
}

/// Whether any step of an expiry would find something in an app, before this time and the id of a
/// response at it. The responses of each flow are looked up by the primary key: no other index has
/// its order.
fn is_due(app: &str, first_id: &str, before: &str) -> String {
    let old = |table: &str, id: &str| {
        format!(
            "EXISTS (SELECT FROM {table} WHERE {table}.app_id = {app} AND {table}.{id} < {first_id})"
        )
    };
    format!(
        "EXISTS (SELECT FROM flows CROSS JOIN LATERAL ( \
          SELECT response_id FROM responses WHERE responses.app_id = {app} \
          AND (responses.flow_id, response_id) >= \
          (flows.flow_id, '00000000-0000-0000-0000-000000000000'::uuid) \
          AND (responses.flow_id, response_id) < (flows.flow_id, {first_id}) \
          AND response_id < {first_id} ORDER BY responses.flow_id, response_id LIMIT 1) AS old \
          WHERE flows.app_id = {app}) OR {consents} OR {used_keys} OR {events} OR \
          EXISTS (SELECT FROM invitations WHERE invitations.app_id = {app} AND {ENDED} < {before} \
          AND (user_id IS NOT NULL OR email IS NOT NULL))",
        consents = old("consents", "response_id"),
        used_keys = old("used_keys", "response_id"),
        events = old("events", "event_id"),
    )
}

/// Each app, and whether it is due.
static RETAINING: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT app.app_id, app.retention_days, {is_due} FROM ( \
         SELECT app_id, retention_days, before, \
          (lpad(to_hex(before), 12, '0') || '00000000000000000000')::uuid AS first_id \
          FROM app_directory CROSS JOIN LATERAL \
          (SELECT greatest($1 - retention_days * {DAY_MILLIS}, 0) AS before) AS times \
          WHERE retention_days IS NOT NULL AND app_id > $2 ORDER BY app_id LIMIT $3) AS app \
         ORDER BY app.app_id",
        is_due = is_due("app.app_id", "app.first_id", "app.before"),
    )
});

/// One app on its worker: no statement reads the data of apps on several workers.
static IS_DUE: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {} FROM apps WHERE app_id = $1", is_due("$1::uuid", "$2::uuid", "$3::bigint"))
});

/// The apps that limit how long they keep data.
pub(super) async fn retaining_apps(
    pool: &Pool,
    now: Timestamp,
    page: Page<AppId>,
) -> StoreResult<Vec<RetainingApp>> {
    let after = page.after.map_or(Uuid::nil(), AppId::uuid);
    let read = |cells: &mut Cells| {
        let app_id = cells.id(AppId::from_uuid)?;
        Ok(RetainingApp { app_id, retention_days: cells.number()?, is_due: cells.take()? })
    };
    if !pool.is_spread() {
        let params: Params = &[&now.as_millis(), &after, &limit(page.limit)];
        return pool.many_by_index(&RETAINING, params, read).await;
    }
    let sql = "SELECT app_id, retention_days, false FROM app_directory \
         WHERE retention_days IS NOT NULL AND app_id > $1 ORDER BY app_id LIMIT $2";
    let mut apps = pool.many(sql, &[&after, &limit(page.limit)], read).await?;
    let mut are_reached = true;
    for app in &mut apps {
        // While a worker is away every app is due: its expiry reports that, and the others go on.
        if !are_reached {
            app.is_due = true;
            continue;
        }
        let before = app.kept_since(now);
        let params: Params = &[&app.app_id.uuid(), &first_at(before), &before.as_millis()];
        let found = pool.many_by_index(&IS_DUE, params, |cells| cells.take()).await;
        are_reached = found.is_ok();
        app.is_due = found.map_or(true, |rows| rows.first().copied().unwrap_or(false));
    }
    Ok(apps)
}

/// The rows of a batch, from a statement that takes the app, the bounds of the ids, and a limit.
async fn found(
    transaction: &Transaction,
    expiry: &Expiry,
    after: Option<ResponseId>,
    sql: &str,
) -> Result<Vec<tokio_postgres::Row>, TransactionError> {
    let after = after.map_or(Uuid::nil(), ResponseId::uuid);
    let (app, first) = (expiry.app_id.uuid(), first_at(expiry.before));
    let params: Params = &[&app, &after, &first, &limit(expiry.limit)];
    transaction.query(sql, params).await
}

/// A column of these rows.
fn column(rows: &[tokio_postgres::Row], index: usize) -> StoreResult<Vec<Uuid>> {
    rows.iter().map(|row| Cells::after(row, index).take()).collect()
}

/// The first column of these rows.
fn ids(rows: &[tokio_postgres::Row]) -> StoreResult<Vec<Uuid>> {
    column(rows, 0)
}

/// Where to continue: after the last row found, or with the next step if that was all.
fn next(
    expiry: &Expiry,
    ids: &[Uuid],
    again: fn(Option<ResponseId>) -> ExpiryCursor,
    then: ExpiryCursor,
) -> Next {
    match ids.last() {
        Some(last) if ids.len() >= expiry.limit => {
            Next::At(again(Some(ResponseId::from_uuid(*last))))
        }
        _ => Next::At(then),
    }
}

/// The oldest responses of all flows: those of each flow are read from the primary key, see
/// [`super::read::IN_SPAN`], and no row of another app is.
const OLD_RESPONSES: &str = "SELECT old.response_id, flows.flow_id FROM flows CROSS JOIN LATERAL ( \
     SELECT response_id FROM responses WHERE responses.app_id = $1 \
     AND (responses.flow_id, response_id) > (flows.flow_id, $2) \
     AND (responses.flow_id, response_id) < (flows.flow_id, $3) \
     AND response_id > $2 AND response_id < $3 ORDER BY responses.flow_id, response_id LIMIT $4) \
     AS old WHERE flows.app_id = $1 ORDER BY old.response_id LIMIT $4";

async fn responses(
    transaction: &Transaction,
    expiry: &Expiry,
    after: Option<ResponseId>,
) -> Result<Expired, TransactionError> {
    // In order, as in an erasure, so that neither waits for the other's rows.
    let hold = format!(
        "SELECT response_id, flow_id FROM responses, {BY_PRIMARY_KEY} ORDER BY response_id \
         FOR UPDATE OF responses"
    );
    let mut gone = 0;
    let old = loop {
        // Without statistics, the server may prefer to sort the responses of all flows and apps.
        let sorts = "SELECT set_config('enable_sort', $1, true)";
        transaction.query(sorts, &[&"off"]).await?;
        let old = found(transaction, expiry, after, OLD_RESPONSES).await?;
        transaction.query(sorts, &[&"on"]).await?;
        let (flows, old) = (column(&old, 1)?, ids(&old)?);
        if old.is_empty() {
            break old;
        }
        let held = transaction.query(&hold, &[&expiry.app_id.uuid(), &flows, &old]).await?;
        if !held.is_empty() {
            let held: Vec<_> = column(&held, 1)?.into_iter().zip(ids(&held)?).collect();
            gone = delete(transaction, expiry.app_id, &held, FREE_KEYS).await?;
            break old;
        }
        // Another transaction has removed all of them meanwhile.
    };
    let next = next(expiry, &old, ExpiryCursor::Responses, ExpiryCursor::Consents(None));
    Ok(Expired { responses: gone, rows: gone, ..Expired::nothing(next) })
}

/// Removes consents, except those of people who are still invited, and the respondents without any
/// consent left.
async fn consents(
    transaction: &Transaction,
    expiry: &Expiry,
    after: Option<ResponseId>,
) -> Result<Expired, TransactionError> {
    let sql = "SELECT response_id, respondent_id FROM consents WHERE app_id = $1 \
         AND response_id > $2 AND response_id < $3 ORDER BY response_id LIMIT $4";
    let mut old = Vec::new();
    for row in found(transaction, expiry, after, sql).await? {
        let mut cells = Cells::new(&row);
        let response: Uuid = cells.take()?;
        old.push((response, cells.id(RespondentId::from_uuid)?.uuid()));
    }
    let ids: Vec<Uuid> = old.iter().map(|(response, _)| *response).collect();
    let next = next(expiry, &ids, ExpiryCursor::Consents, ExpiryCursor::Keys(None));
    let mut expired = Expired::nothing(next);
    uninvited(transaction, expiry, &mut old).await?;
    if old.is_empty() {
        return Ok(expired);
    }
    hold(transaction, expiry.app_id).await?;
    // A person may have been invited before the app was locked.
    uninvited(transaction, expiry, &mut old).await?;
    let (ids, mut whose): (Vec<Uuid>, Vec<Uuid>) = old.into_iter().unzip();
    let app = expiry.app_id.uuid();
    let sql = "DELETE FROM consents WHERE app_id = $1 AND response_id = ANY($2)";
    expired.rows = transaction.execute(sql, &[&app, &ids]).await?;
    whose.sort();
    whose.dedup();
    let unwanted = unwanted(transaction, expiry.app_id, &whose).await?;
    expired.respondents = profiles(transaction, expiry.app_id, &unwanted).await?;
    Ok(expired)
}

/// Keeps only the consents of people who are not invited.
async fn uninvited(
    transaction: &Transaction,
    expiry: &Expiry,
    consents: &mut Vec<(Uuid, Uuid)>,
) -> Result<(), TransactionError> {
    let mut whose: Vec<Uuid> = consents.iter().map(|(_, whose)| *whose).collect();
    whose.sort();
    whose.dedup();
    if whose.is_empty() {
        return Ok(());
    }
    let invited = invitations::invited(transaction, expiry.app_id, &whose, expiry.before).await?;
    consents.retain(|(_, whose)| !invited.contains(whose));
    Ok(())
}

/// The profiles among these that nothing requires any more.
async fn unwanted(
    transaction: &Transaction,
    app: AppId,
    whose: &[Uuid],
) -> Result<Vec<Uuid>, TransactionError> {
    let sql = "SELECT given.id FROM unnest($2::uuid[]) AS given (id) WHERE NOT EXISTS \
         (SELECT FROM consents WHERE app_id = $1 AND respondent_id = given.id)";
    let rows = transaction.query(sql, &[&app.uuid(), &whose]).await?;
    Ok(ids(&rows)?)
}

/// The oldest events, and all old deliveries.
async fn events(transaction: &Transaction, expiry: &Expiry) -> Result<Expired, TransactionError> {
    let (app, before) = (expiry.app_id.uuid(), first_at(expiry.before));
    let sql = "DELETE FROM deliveries \
         WHERE app_id = $1 AND (delivery_id < $2 OR event_id < $2)";
    transaction.execute(sql, &[&app, &before]).await?;
    let sql = "DELETE FROM events WHERE app_id = $1 AND event_id IN (SELECT event_id \
         FROM events WHERE app_id = $1 AND event_id < $2 ORDER BY event_id LIMIT $3)";
    let rows = transaction.execute(sql, &[&app, &before, &limit(expiry.limit)]).await?;
    let is_last = rows < expiry.limit as u64;
    let next = if is_last { Next::Done } else { Next::At(ExpiryCursor::Events) };
    Ok(Expired { rows, ..Expired::nothing(next) })
}

async fn keys(
    transaction: &Transaction,
    expiry: &Expiry,
    after: Option<ResponseId>,
) -> Result<Expired, TransactionError> {
    let sql = "SELECT response_id FROM used_keys WHERE app_id = $1 \
         AND response_id > $2 AND response_id < $3 ORDER BY response_id LIMIT $4";
    let old = ids(&found(transaction, expiry, after, sql).await?)?;
    let sql = "DELETE FROM used_keys WHERE app_id = $1 AND response_id = ANY($2) \
         RETURNING response_id, key";
    let mut rows = 0;
    if !old.is_empty() {
        let gone = transaction.query(sql, &[&expiry.app_id.uuid(), &old]).await?;
        rows = gone.len() as u64;
        settle_keys(transaction, expiry.app_id, &gone, FREE_KEYS).await?;
    }
    let next = next(expiry, &old, ExpiryCursor::Keys, ExpiryCursor::Invitations(None));
    Ok(Expired { rows, ..Expired::nothing(next) })
}
