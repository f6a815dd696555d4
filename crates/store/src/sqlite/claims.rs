//! Links a response to its respondent, in the transaction that stores it.
//!
//! There is one writer, so what is read here does not change before it is written.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, RespondentId};
use sluice_flow::respondent::{
    Claim, Holder, IDENTITIES_PER_RESPONDENT_MAX, ProfileIdentity, link,
};

use super::codec::{self, Cells, ReadCells as _, bytes};
use crate::{ConsentRow, IdentityRow, RespondentRow, ResponseRow};

const HOLDER: &str = "SELECT respondent_id, EXISTS (SELECT 1 FROM identities AS all_of \
     WHERE all_of.app_id = identities.app_id \
     AND all_of.respondent_id = identities.respondent_id AND all_of.type = 'userId'), \
     (SELECT count(*) FROM (SELECT 1 FROM identities AS all_of \
     WHERE all_of.app_id = identities.app_id AND all_of.respondent_id = identities.respondent_id \
     LIMIT ?4)) FROM identities WHERE app_id = ?1 AND type = ?2 AND value = ?3";

/// Finds or creates the respondent of a claim, and stores new identities.
pub(super) fn settle(connection: &Connection, app: AppId, claim: &Claim) -> Result<RespondentId> {
    let mut holders = HashMap::new();
    for known in claim.identities() {
        if let Some(holder) = holder(connection, app, known)? {
            holders.insert(known.clone(), holder);
        }
    }
    let link = link(claim, &holders);
    let respondent_id = link.respondent;
    if link.is_new {
        put_respondent(connection, &RespondentRow { app_id: app, respondent_id, erasing: None })?;
    }
    for known in link.added {
        put_identity(connection, &IdentityRow { app_id: app, known, respondent_id })?;
    }
    Ok(respondent_id)
}

pub(super) fn holder(
    connection: &Connection,
    app: AppId,
    known: &ProfileIdentity,
) -> Result<Option<Holder>> {
    let most = IDENTITIES_PER_RESPONDENT_MAX as i64;
    connection
        .prepare_cached(HOLDER)?
        .query_row(params![bytes!(app), known.kind.as_str(), known.value, most], |row| {
            let mut cells = Cells::new(row);
            let respondent = cells.id(RespondentId::from_uuid)?;
            let (has_user_id, all) = (cells.take()?, cells.take::<u32>()? as usize);
            let addresses = all.saturating_sub(usize::from(has_user_id));
            Ok(Holder { respondent, has_user_id, addresses })
        })
        .optional()
}

/// The record of the consent that came with a response.
pub(super) fn consent_of(row: &ResponseRow, respondent_id: RespondentId) -> ConsentRow {
    ConsentRow {
        app_id: row.app_id,
        response_id: row.response_id,
        respondent_id,
        flow_id: row.flow_id,
        flow_version_id: row.flow_version_id,
    }
}

pub(super) fn put_respondent(connection: &Connection, row: &RespondentRow) -> Result<()> {
    let sql = "INSERT INTO respondents (app_id, respondent_id, erasing) VALUES (?1, ?2, ?3) \
         ON CONFLICT (app_id, respondent_id) DO UPDATE SET erasing = excluded.erasing";
    let erasing = row.erasing.as_ref().map(codec::json).transpose()?;
    let params = params![bytes!(row.app_id), bytes!(row.respondent_id), erasing];
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}

pub(super) fn put_identity(connection: &Connection, row: &IdentityRow) -> Result<()> {
    let sql = "INSERT INTO identities (app_id, type, value, respondent_id) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (app_id, type, value) DO UPDATE SET respondent_id = excluded.respondent_id";
    let IdentityRow { app_id, known, respondent_id } = row;
    let params = params![bytes!(app_id), known.kind.as_str(), known.value, bytes!(respondent_id)];
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}

pub(super) fn put_consent(connection: &Connection, row: &ConsentRow) -> Result<()> {
    let sql = "INSERT INTO consents (app_id, response_id, respondent_id, flow_id, flow_version_id) \
         VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (app_id, response_id) DO UPDATE SET \
         respondent_id = excluded.respondent_id, flow_id = excluded.flow_id, \
         flow_version_id = excluded.flow_version_id";
    let params = params![
        bytes!(row.app_id),
        bytes!(row.response_id),
        bytes!(row.respondent_id),
        bytes!(row.flow_id),
        bytes!(row.flow_version_id),
    ];
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}
