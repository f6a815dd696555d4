//! Respondents, their identities, consents and responses.
//!
//! A respondent given by id alone is looked up in two steps, like a flow: first the app, which
//! never changes, then the rest by app.

use sluice_flow::id::{AppId, FlowId, RespondentId, ResponseId};
use sluice_flow::respondent::ProfileIdentity;
use uuid::Uuid;

use super::super::claims::known;
use super::super::codec::{self, CONSENT, Cells, RESPONDENT, RESPONSE, ReadCells as _};
use super::super::pool::{Params, Pool};
use super::limit;
use crate::{ConsentRow, Page, Respondent, RespondentRow, ResponseRow, StoreResult};

pub(in super::super) async fn by_id(
    pool: &Pool,
    respondent: RespondentId,
) -> StoreResult<Option<Respondent>> {
    let Some(app_id) = app_of(pool, respondent).await? else {
        return Ok(None);
    };
    let sql =
        format!("SELECT {RESPONDENT} FROM respondents WHERE app_id = $1 AND respondent_id = $2");
    let params: Params = &[&app_id.uuid(), &respondent.uuid()];
    let Some(row) = pool.one(&sql, params, codec::respondent).await? else {
        return Ok(None);
    };
    let mut found = around(pool, app_id, vec![row]).await?.pop();
    if let Some(found) = &mut found {
        let counts = "SELECT responses.flow_id, count(*) FROM consents \
             JOIN responses ON responses.app_id = consents.app_id \
             AND responses.flow_id = consents.flow_id \
             AND responses.response_id = consents.response_id \
             WHERE consents.app_id = $1 AND consents.respondent_id = $2 \
             GROUP BY responses.flow_id ORDER BY responses.flow_id";
        let ids = (app_id.uuid(), respondent.uuid());
        let read = |cells: &mut Cells| Ok((cells.id(FlowId::from_uuid)?, cells.revision()?));
        found.flows = pool.many(counts, &[&ids.0, &ids.1], read).await?;
    }
    Ok(found)
}

pub(in super::super) async fn app_of(
    pool: &Pool,
    respondent: RespondentId,
) -> StoreResult<Option<AppId>> {
    let sql = "SELECT app_id FROM respondents WHERE respondent_id = $1";
    pool.one(sql, &[&respondent.uuid()], |cells: &mut Cells| cells.id(AppId::from_uuid)).await
}

pub(in super::super) async fn by_identity(
    pool: &Pool,
    app: AppId,
    known: &ProfileIdentity,
) -> StoreResult<Option<RespondentId>> {
    let sql = "SELECT respondent_id FROM identities WHERE app_id = $1 AND type = $2 AND value = $3";
    let read = |cells: &mut Cells| cells.id(RespondentId::from_uuid);
    pool.one(sql, &[&app.uuid(), &known.kind.as_str(), &known.value], read).await
}

pub(in super::super) async fn list(
    pool: &Pool,
    app: AppId,
    page: Page<RespondentId>,
) -> StoreResult<Vec<Respondent>> {
    let sql = format!(
        "SELECT {RESPONDENT} FROM respondents \
         WHERE app_id = $1 AND respondent_id > $2 ORDER BY respondent_id LIMIT $3"
    );
    let after = page.after.map_or(Uuid::nil(), RespondentId::uuid);
    let rows =
        pool.many(&sql, &[&app.uuid(), &after, &limit(page.limit)], codec::respondent).await?;
    around(pool, app, rows).await
}

pub(in super::super) async fn erasing(pool: &Pool, rows: usize) -> StoreResult<Vec<RespondentRow>> {
    let sql = format!(
        "SELECT {RESPONDENT} FROM respondents WHERE erasing IS NOT NULL \
         ORDER BY app_id, respondent_id LIMIT $1"
    );
    pool.many(&sql, &[&limit(rows)], codec::respondent).await
}

/// Profiles, in the given order, with their identities and the times they were seen.
async fn around(pool: &Pool, app: AppId, rows: Vec<RespondentRow>) -> StoreResult<Vec<Respondent>> {
    let ids: Vec<Uuid> = rows.iter().map(|row| row.respondent_id.uuid()).collect();
    let identities = "SELECT respondent_id, type, value FROM identities \
         WHERE app_id = $1 AND respondent_id = ANY($2)";
    let read = |cells: &mut Cells| Ok((cells.id(RespondentId::from_uuid)?, known(cells)?));
    let mut identities = pool.many(identities, &[&app.uuid(), &ids], read).await?;
    identities.sort();
    let edges = "SELECT (SELECT response_id FROM consents WHERE app_id = $1 \
         AND respondent_id = given.id ORDER BY response_id LIMIT 1), \
         (SELECT response_id FROM consents WHERE app_id = $1 \
         AND respondent_id = given.id ORDER BY response_id DESC LIMIT 1) \
         FROM unnest($2::uuid[]) WITH ORDINALITY AS given (id, place) ORDER BY given.place";
    let read = |cells: &mut Cells| {
        let (first, last): (Option<Uuid>, Option<Uuid>) = (cells.take()?, cells.take()?);
        let at = |id| ResponseId::from_uuid(id).made_at();
        Ok(first.map(at).zip(last.map(at)))
    };
    let seen = pool.many(edges, &[&app.uuid(), &ids], read).await?;
    let whole = rows.into_iter().zip(seen).map(|(row, seen)| {
        let own = identities.iter().filter(|(whose, _)| *whose == row.respondent_id);
        let identities = own.map(|(_, known)| known.clone()).collect();
        Respondent { row, identities, seen, flows: Vec::new() }
    });
    Ok(whole.collect())
}

pub(in super::super) async fn consents(
    pool: &Pool,
    app: AppId,
    respondent: RespondentId,
    page: Page<ResponseId>,
) -> StoreResult<Vec<ConsentRow>> {
    let sql = format!(
        "SELECT {CONSENT} FROM consents WHERE app_id = $1 AND respondent_id = $2 \
         AND response_id > $3 ORDER BY response_id LIMIT $4"
    );
    let ids = (app.uuid(), respondent.uuid(), page.after.map_or(Uuid::nil(), ResponseId::uuid));
    pool.many(&sql, &[&ids.0, &ids.1, &ids.2, &limit(page.limit)], codec::consent).await
}

pub(in super::super) async fn responses(
    pool: &Pool,
    app: AppId,
    respondent: RespondentId,
    page: Page<ResponseId>,
) -> StoreResult<Vec<ResponseRow>> {
    let columns = codec::of_table("responses", RESPONSE);
    let sql = format!(
        "SELECT {columns} FROM consents JOIN responses ON responses.app_id = consents.app_id \
         AND responses.flow_id = consents.flow_id AND responses.response_id = consents.response_id \
         WHERE consents.app_id = $1 AND consents.respondent_id = $2 \
         AND consents.response_id > $3 ORDER BY consents.response_id LIMIT $4"
    );
    let ids = (app.uuid(), respondent.uuid(), page.after.map_or(Uuid::nil(), ResponseId::uuid));
    pool.many(&sql, &[&ids.0, &ids.1, &ids.2, &limit(page.limit)], codec::response).await
}
