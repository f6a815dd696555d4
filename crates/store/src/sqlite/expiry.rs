//! Removes expired data of an app in batches.
//!
//! There is one writer, so submissions wait for a batch: it reads a limited number of rows, from
//! where the last one stopped.

use rusqlite::{Connection, OptionalExtension as _, Result, params};
use sluice_flow::id::{AppId, RespondentId, ResponseId, v7};
use sluice_flow::time::Timestamp;

use super::codec::{self, Cells, RESPONSE, ReadCells as _, bytes};
use super::counts::Going;
use super::read::{limit, many};
use super::transaction::{Finish, TransactionError};
use super::version_numbers::RESPONSES;
use super::{events, invitations, put, removal, response_keys};
use crate::{Expired, Expiry, ExpiryCursor, Next, Page, RetainingApp};

/// One batch of an expiry.
pub(super) fn part(
    connection: &Connection,
    expiry: &Expiry,
) -> Result<(Expired, Finish), TransactionError> {
    if expiry.retention_days.is_some()
        && retention_days(connection, expiry)? != expiry.retention_days
    {
        return Ok((Expired::nothing(Next::SettingChanged), Finish::RollBack));
    }
    let expired = match expiry.cursor {
        ExpiryCursor::Responses(_) => responses(connection, expiry)?,
        ExpiryCursor::Consents(after) => consents(connection, expiry, after)?,
        ExpiryCursor::Keys(_) => keys(connection, expiry)?,
        ExpiryCursor::Invitations(after) => {
            let page = Page { after, limit: expiry.limit };
            let (rows, last) =
                invitations::forget_ended(connection, expiry.app_id, expiry.before, page)?;
            let is_last = rows < expiry.limit;
            let next = match is_last {
                true => ExpiryCursor::Events,
                false => ExpiryCursor::Invitations(last),
            };
            let rows = rows as u64;
            Expired { invitations: rows, rows, ..Expired::nothing(Next::At(next)) }
        }
        ExpiryCursor::Events => {
            let before = first_at(expiry.before).to_be_bytes();
            let rows = events::expire(connection, expiry.app_id, before, expiry.limit)?;
            let is_last = rows < expiry.limit;
            let next = if is_last { Next::Done } else { Next::At(ExpiryCursor::Events) };
            Expired { rows: rows as u64, ..Expired::nothing(next) }
        }
    };
    if expired.rows == 0 {
        return Ok((expired, Finish::RollBack));
    }
    put::audit(connection, &expiry.audit)?;
    Ok((expired, Finish::Commit))
}

/// The current setting of the app.
fn retention_days(connection: &Connection, expiry: &Expiry) -> Result<Option<u32>> {
    let sql = "SELECT retention_days FROM apps WHERE app_id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let days = statement.query_row([bytes!(expiry.app_id)], |row| row.get(0)).optional()?;
    Ok(days.flatten())
}

/// The apps that limit how long they keep data.
pub(super) fn retaining_apps(
    connection: &Connection,
    now: Timestamp,
    page: Page<AppId>,
) -> Result<Vec<RetainingApp>> {
    let instant = connection.unchecked_transaction()?;
    let sql = "SELECT app_id, retention_days FROM apps \
         WHERE retention_days IS NOT NULL AND app_id > ?1 ORDER BY app_id LIMIT ?2";
    let after = page.after.map(|id| bytes!(id)).unwrap_or_default();
    let mut apps = many(&instant, sql, params![after, limit(page.limit)], |cells: &mut Cells| {
        let app_id = cells.id(AppId::from_uuid)?;
        Ok(RetainingApp { app_id, retention_days: cells.number()?, is_due: false })
    })?;
    for app in &mut apps {
        app.is_due = has_any_before(&instant, app.app_id, app.kept_since(now))?;
    }
    Ok(apps)
}

/// Whether any step of an expiry would find something.
fn has_any_before(connection: &Connection, app: AppId, before: Timestamp) -> Result<bool> {
    let first = first_at(before);
    let key = response_keys::from(connection, first)?;
    let responses = "SELECT 1 FROM version_numbers CROSS JOIN responses \
         ON responses.flow_number = version_numbers.version_number \
         WHERE app_id = ?1 AND response_key < ?2";
    let mut is_any = connection.prepare_cached(responses)?.exists(params![bytes!(app), key])?;
    let tables =
        [("consents", "response_id"), ("used_keys", "response_id"), ("events", "event_id")];
    for (table, id) in tables {
        let sql = format!("SELECT 1 FROM {table} WHERE app_id = ?1 AND {id} < ?2");
        let old = params![bytes!(app), first.to_be_bytes()];
        is_any = is_any || connection.prepare_cached(&sql)?.exists(old)?;
    }
    Ok(is_any || invitations::has_ended(connection, app, before)?)
}

/// The smallest id of a response received at this time.
fn first_at(time: Timestamp) -> u128 {
    v7(time, 0, 0).as_u128() >> 80 << 80
}

/// Deleted rows need not be skipped again, so there is no cursor. Iterates over the flows first, to
/// use the index by flow; there is none by app alone. The number of a flow is that of its first
/// version.
fn responses(connection: &Connection, expiry: &Expiry) -> Result<Expired, TransactionError> {
    let sql = format!(
        "SELECT {RESPONSE}, counted, response_key FROM {RESPONSES} WHERE response_key IN \
         (SELECT response_key FROM version_numbers CROSS JOIN responses \
         ON responses.flow_number = version_numbers.version_number \
         WHERE app_id = ?1 AND response_key < ?2 LIMIT ?3)"
    );
    let before = response_keys::from(connection, first_at(expiry.before))?;
    let params = params![bytes!(expiry.app_id), before, limit(expiry.limit)];
    let gone = many(connection, &sql, params, |cells: &mut Cells| {
        Ok((codec::response(cells)?, cells.take::<bool>()?, cells.take::<i64>()?))
    })?;
    let mut going = Going::default();
    for (row, at_once, key) in &gone {
        going.note(connection, row, *at_once, None)?;
        removal::delete(connection, *key)?;
    }
    going.settle(connection)?;
    let next = match gone.len() < expiry.limit {
        true => ExpiryCursor::Consents(None),
        false => ExpiryCursor::Responses(None),
    };
    let gone = gone.len() as u64;
    Ok(Expired { responses: gone, rows: gone, ..Expired::nothing(Next::At(next)) })
}

/// Removes consents, except those of people who are still invited, and the respondents without any
/// consent left.
fn consents(
    connection: &Connection,
    expiry: &Expiry,
    after: Option<ResponseId>,
) -> Result<Expired> {
    let Expiry { app_id, before, .. } = *expiry;
    let sql = "SELECT response_id, respondent_id FROM consents WHERE app_id = ?1 \
         AND response_id > ?2 AND response_id < ?3 ORDER BY response_id LIMIT ?4";
    let after = after.map(|id| bytes!(id)).unwrap_or_default();
    let params =
        params![bytes!(app_id), after, first_at(before).to_be_bytes(), limit(expiry.limit)];
    let found = many(connection, sql, params, |cells: &mut Cells| {
        Ok((cells.id(ResponseId::from_uuid)?, cells.id(RespondentId::from_uuid)?))
    })?;
    let mut whose: Vec<RespondentId> = found.iter().map(|(_, whose)| *whose).collect();
    whose.sort();
    whose.dedup();
    let mut going = Vec::new();
    for respondent in whose {
        if !invitations::is_invited(connection, app_id, respondent, before)? {
            going.push(respondent);
        }
    }
    let next = match found.last() {
        Some((last, _)) if found.len() >= expiry.limit => ExpiryCursor::Consents(Some(*last)),
        _ => ExpiryCursor::Keys(None),
    };
    let mut expired = Expired::nothing(Next::At(next));
    let mut forget =
        connection.prepare_cached("DELETE FROM consents WHERE app_id = ?1 AND response_id = ?2")?;
    for (response, whose) in &found {
        if going.binary_search(whose).is_ok() {
            expired.rows += forget.execute(params![bytes!(app_id), bytes!(response)])? as u64;
        }
    }
    for respondent in going {
        if !is_wanted(connection, app_id, respondent)? {
            expired.respondents += removal::profile(connection, app_id, respondent)?;
        }
    }
    Ok(expired)
}

/// Whether anything still requires the profile.
fn is_wanted(connection: &Connection, app: AppId, respondent: RespondentId) -> Result<bool> {
    let sql = "SELECT 1 FROM consents WHERE app_id = ?1 AND respondent_id = ?2";
    connection.prepare_cached(sql)?.exists(params![bytes!(app), bytes!(respondent)])
}

fn keys(connection: &Connection, expiry: &Expiry) -> Result<Expired> {
    let sql = "DELETE FROM used_keys WHERE app_id = ?1 AND response_id IN (SELECT response_id \
         FROM used_keys WHERE app_id = ?1 AND response_id < ?2 LIMIT ?3)";
    let before = first_at(expiry.before).to_be_bytes();
    let params = params![bytes!(expiry.app_id), before, limit(expiry.limit)];
    let rows = connection.prepare_cached(sql)?.execute(params)?;
    let next = match rows < expiry.limit {
        true => ExpiryCursor::Invitations(None),
        false => ExpiryCursor::Keys(None),
    };
    Ok(Expired { rows: rows as u64, ..Expired::nothing(Next::At(next)) })
}
