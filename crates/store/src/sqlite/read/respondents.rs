//! Respondents, their identities, consents and responses.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, FlowId, RespondentId, ResponseId};
use sluice_flow::respondent::ProfileIdentity;

use super::super::codec::{self, CONSENT, Cells, IDENTITY, RESPONDENT, ReadCells as _, bytes};
use super::super::response_keys;
use super::{limit, many, one, responses};
use crate::{ConsentRow, Page, Respondent, RespondentRow, ResponseRow};

pub(in super::super) fn by_id(
    connection: &Connection,
    respondent: RespondentId,
) -> Result<Option<Respondent>> {
    let instant = connection.unchecked_transaction()?;
    let sql = format!("SELECT {RESPONDENT} FROM respondents WHERE respondent_id = ?1");
    let found = one(&instant, &sql, [bytes!(respondent)], codec::respondent)?;
    let Some(row) = found else { return Ok(None) };
    let (app, id) = (row.app_id, row.respondent_id);
    let mut respondent = around(&instant, row)?;
    let mut flows: BTreeMap<FlowId, u64> = BTreeMap::new();
    let sql = "SELECT response_id, flow_id FROM consents WHERE app_id = ?1 AND respondent_id = ?2";
    for (response, flow) in many(&instant, sql, params![bytes!(app), bytes!(id)], |cells| {
        Ok((cells.id(ResponseId::from_uuid)?, cells.id(FlowId::from_uuid)?))
    })? {
        // It may have been deleted individually.
        if response_keys::find(&instant, response)?.is_some() {
            *flows.entry(flow).or_default() += 1;
        }
    }
    respondent.flows = flows.into_iter().collect();
    Ok(Some(respondent))
}

pub(in super::super) fn app_of(
    connection: &Connection,
    respondent: RespondentId,
) -> Result<Option<AppId>> {
    let sql = "SELECT app_id FROM respondents WHERE respondent_id = ?1";
    one(connection, sql, [bytes!(respondent)], |cells| cells.id(AppId::from_uuid))
}

pub(in super::super) fn by_identity(
    connection: &Connection,
    app: AppId,
    known: &ProfileIdentity,
) -> Result<Option<RespondentId>> {
    let sql = "SELECT respondent_id FROM identities WHERE app_id = ?1 AND type = ?2 AND value = ?3";
    let params = params![bytes!(app), known.kind.as_str(), known.value];
    one(connection, sql, params, |cells| cells.id(RespondentId::from_uuid))
}

pub(in super::super) fn list(
    connection: &Connection,
    app: AppId,
    page: Page<RespondentId>,
) -> Result<Vec<Respondent>> {
    let instant = connection.unchecked_transaction()?;
    let after = page.after.map(|id| bytes!(id)).unwrap_or_default();
    let sql = format!(
        "SELECT {RESPONDENT} FROM respondents WHERE app_id = ?1 AND respondent_id > ?2 \
         ORDER BY respondent_id LIMIT ?3"
    );
    let params = params![bytes!(app), after, limit(page.limit)];
    let rows = many(&instant, &sql, params, codec::respondent)?;
    rows.into_iter().map(|row| around(&instant, row)).collect()
}

pub(in super::super) fn erasing(
    connection: &Connection,
    rows: usize,
) -> Result<Vec<RespondentRow>> {
    let sql = format!(
        "SELECT {RESPONDENT} FROM respondents WHERE erasing IS NOT NULL \
         ORDER BY app_id, respondent_id LIMIT ?1"
    );
    many(connection, &sql, [limit(rows)], codec::respondent)
}

/// A profile with its identities and the times it was seen.
fn around(connection: &Connection, row: RespondentRow) -> Result<Respondent> {
    let ids = params![bytes!(row.app_id), bytes!(row.respondent_id)];
    let sql = format!("SELECT {IDENTITY} FROM identities WHERE app_id = ?1 AND respondent_id = ?2");
    let identities = many(connection, &sql, ids, codec::identity)?;
    let mut identities: Vec<_> = identities.into_iter().map(|row| row.known).collect();
    identities.sort();
    let edge = |order: &str| {
        let sql = format!(
            "SELECT response_id FROM consents WHERE app_id = ?1 AND respondent_id = ?2 \
             ORDER BY response_id {order} LIMIT 1"
        );
        let id = |cells: &mut Cells| cells.id(ResponseId::from_uuid);
        one(connection, &sql, ids, id).map(|id| id.map(ResponseId::made_at))
    };
    let seen = edge("ASC")?.zip(edge("DESC")?);
    Ok(Respondent { row, identities, seen, flows: Vec::new() })
}

pub(in super::super) fn consents(
    connection: &Connection,
    app: AppId,
    respondent: RespondentId,
    page: Page<ResponseId>,
) -> Result<Vec<ConsentRow>> {
    let sql = format!(
        "SELECT {CONSENT} FROM consents WHERE app_id = ?1 AND respondent_id = ?2 \
         AND response_id > ?3 ORDER BY response_id LIMIT ?4"
    );
    let after = page.after.map(|id| bytes!(id)).unwrap_or_default();
    let params = params![bytes!(app), bytes!(respondent), after, limit(page.limit)];
    many(connection, &sql, params, codec::consent)
}

pub(in super::super) fn responses(
    connection: &Connection,
    app: AppId,
    respondent: RespondentId,
    page: Page<ResponseId>,
) -> Result<Vec<ResponseRow>> {
    let instant = connection.unchecked_transaction()?;
    let sql = "SELECT response_id FROM consents WHERE app_id = ?1 AND respondent_id = ?2 \
         AND response_id > ?3 ORDER BY response_id";
    let after = page.after.map(|id| bytes!(id)).unwrap_or_default();
    let mut consents = instant.prepare_cached(sql)?;
    let mut consents = consents.query(params![bytes!(app), bytes!(respondent), after])?;
    let mut found = Vec::new();
    while found.len() < page.limit {
        let Some(consent) = consents.next()? else { break };
        let response = Cells::new(consent).id(ResponseId::from_uuid)?;
        // It may have been deleted individually.
        found.extend(responses::by_id(&instant, response)?);
    }
    Ok(found)
}
