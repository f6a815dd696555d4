//! Links responses to their respondents, in the transaction that stores them.
//!
//! Only a batch with claims comes here, and pays for it: one exchange that reads known identities,
//! one for the consents, and, for a new respondent, one for the profile and one for its identities.
//! A batch that adds to a profile locks it first and reads again, so that profiles stay within
//! their size limit. Two batches may claim the same new identity concurrently: the unique keys make
//! the later one wait for the earlier and then fail; it starts again and finds the new profile.
//! Identities are written in the same order everywhere, so no two batches wait for each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use sluice_flow::id::{AppId, RespondentId};
use sluice_flow::respondent::{
    Claim, Holder, IDENTITIES_PER_RESPONDENT_MAX, IdentityType, Known, link, remember,
};
use uuid::Uuid;

use super::codec::{self, Cells, ReadCells as _};
use super::failure::TransactionError;
use super::pool::Params;
use super::read::limit;
use super::transaction::Transaction;
use crate::{ConsentRow, IdentityRow, NewResponse, RespondentRow, StoreResult};

const HOLDERS: &str = "SELECT identities.type, identities.value, identities.respondent_id, \
     EXISTS (SELECT FROM identities AS all_of WHERE all_of.app_id = $1 \
     AND all_of.respondent_id = identities.respondent_id AND all_of.type = 'userId'), \
     (SELECT count(*) FROM (SELECT FROM identities AS all_of WHERE all_of.app_id = $1 \
     AND all_of.respondent_id = identities.respondent_id LIMIT $4) AS counted) \
     FROM identities JOIN unnest($2::text[], $3::text[]) AS given (type, value) \
     ON identities.type = given.type AND identities.value = given.value \
     WHERE identities.app_id = $1";
/// Two batches may add to one profile concurrently: the later one waits, and then counts what the
/// other has added.
const LOCK: &str = "SELECT FROM respondents WHERE app_id = $1 AND respondent_id = ANY($2) \
     ORDER BY respondent_id FOR NO KEY UPDATE";
/// `apps` is joined for its one row, so that a distributed database knows the app of the rows.
const MAKE: &str = "INSERT INTO respondents (app_id, respondent_id) \
     SELECT apps.app_id, given.id FROM apps, unnest($2::uuid[]) AS given (id) \
     WHERE apps.app_id = $1";
const ADD: &str = "INSERT INTO identities (app_id, type, value, respondent_id) \
     SELECT apps.app_id, given.* FROM apps, unnest($2::text[], $3::text[], $4::uuid[]) AS given \
     WHERE apps.app_id = $1 ON CONFLICT DO NOTHING";
const CONSENT: &str = "INSERT INTO consents \
     (app_id, response_id, respondent_id, flow_id, flow_version_id) \
     SELECT apps.app_id, given.* \
     FROM apps, unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[]) AS given \
     WHERE apps.app_id = $1";

/// The respondents that responses are linked to, by the index of the response in the call.
pub(super) type Links = HashMap<usize, RespondentId>;

/// Finds or creates the respondents for the rows of an app that claim one, in order.
pub(super) async fn settle(
    transaction: &Transaction,
    app: AppId,
    rows: &[(usize, &NewResponse)],
    links: &mut Links,
) -> Result<(), TransactionError> {
    let claims = rows.iter().filter_map(|(index, it)| Some((*index, it.claim.as_deref()?)));
    let claims: BTreeMap<usize, _> = claims.collect();
    if claims.is_empty() {
        return Ok(());
    }
    let wanted: BTreeSet<&Known> = claims.values().flat_map(|it| it.identities()).collect();
    let mut results = decide(&claims, read_holders(transaction, app, &wanted).await?);
    if !results.grown.is_empty() {
        let locked: Vec<Uuid> = results.grown.iter().copied().collect();
        transaction.query(LOCK, &[&app.uuid(), &locked]).await?;
        let before = std::mem::take(&mut results.grown);
        results = decide(&claims, read_holders(transaction, app, &wanted).await?);
        if !results.grown.is_subset(&before) {
            return Err(TransactionError::Race);
        }
    }
    let ClaimResults { links: found, made, added, .. } = results;
    links.extend(found);
    if !made.is_empty() {
        transaction.execute(MAKE, &[&app.uuid(), &made]).await?;
    }
    consent(transaction, app, rows, links).await?;
    if added.is_empty() {
        return Ok(());
    }
    let (types, values) = columns(added.keys());
    let whose: Vec<Uuid> = added.values().copied().collect();
    let written = transaction.execute(ADD, &[&app.uuid(), &types, &values, &whose]).await?;
    match written == added.len() as u64 {
        true => Ok(()),
        // Another transaction has just stored one of these identities.
        false => Err(TransactionError::Race),
    }
}

/// The result of the claims of a batch.
#[derive(Default)]
struct ClaimResults {
    links: Links,
    made: Vec<Uuid>,
    added: BTreeMap<Known, Uuid>,
    /// Existing profiles that get more identities.
    grown: BTreeSet<Uuid>,
}

fn decide(claims: &BTreeMap<usize, &Claim>, mut holders: HashMap<Known, Holder>) -> ClaimResults {
    let mut results = ClaimResults::default();
    for (index, claim) in claims {
        let link = link(claim, &holders);
        remember(&mut holders, &link);
        let respondent = link.respondent.uuid();
        results.links.insert(*index, link.respondent);
        if link.is_new {
            results.made.push(respondent);
        } else if !link.added.is_empty() && !results.made.contains(&respondent) {
            results.grown.insert(respondent);
        }
        results.added.extend(link.added.into_iter().map(|known| (known, respondent)));
    }
    results
}

async fn read_holders(
    transaction: &Transaction,
    app: AppId,
    wanted: &BTreeSet<&Known>,
) -> Result<HashMap<Known, Holder>, TransactionError> {
    let (types, values) = columns(wanted.iter().copied());
    let mut holders = HashMap::new();
    let most = limit(IDENTITIES_PER_RESPONDENT_MAX);
    for row in transaction.query(HOLDERS, &[&app.uuid(), &types, &values, &most]).await? {
        let mut cells = Cells::of(&row);
        let known = Known { of: cells.variant()?, value: cells.take()? };
        let respondent = cells.id(RespondentId::from_uuid)?;
        let (has_user_id, all) = (cells.take()?, cells.revision()? as usize);
        let addresses = all.saturating_sub(usize::from(has_user_id));
        holders.insert(known, Holder { respondent, has_user_id, addresses });
    }
    Ok(holders)
}

pub(super) fn columns<'a>(
    known: impl Iterator<Item = &'a Known>,
) -> (Vec<&'static str>, Vec<&'a str>) {
    known.map(|it| (IdentityType::as_str(it.of), it.value.as_str())).unzip()
}

/// Stores the consents that come with an app's responses.
async fn consent(
    transaction: &Transaction,
    app: AppId,
    rows: &[(usize, &NewResponse)],
    links: &Links,
) -> Result<(), TransactionError> {
    let mut ids: [Vec<Uuid>; 4] = Default::default();
    for (row, respondent) in rows.iter().filter_map(|(it, r)| Some((&r.row, links.get(it)?))) {
        let of_row = [
            row.response_id.uuid(),
            respondent.uuid(),
            row.flow_id.uuid(),
            row.flow_version_id.uuid(),
        ];
        for (column, id) in ids.iter_mut().zip(of_row) {
            column.push(id);
        }
    }
    let params: Params = &[&app.uuid(), &ids[0], &ids[1], &ids[2], &ids[3]];
    transaction.execute(CONSENT, params).await.map(|_| ())
}

/// The responses, each with the respondent it is linked to. Copied only if there is a link.
pub(super) fn linked(responses: &Arc<Vec<NewResponse>>, links: &Links) -> Arc<Vec<NewResponse>> {
    if links.is_empty() {
        return Arc::clone(responses);
    }
    let mut responses = responses.as_ref().clone();
    for (index, respondent) in links {
        responses[*index].row.respondent_id = Some(*respondent);
    }
    Arc::new(responses)
}

pub(super) async fn put_respondent(
    t: &Transaction,
    row: &RespondentRow,
) -> Result<(), TransactionError> {
    let sql = "INSERT INTO respondents (app_id, respondent_id, erasing) VALUES ($1, $2, $3) \
         ON CONFLICT (app_id, respondent_id) DO UPDATE SET erasing = excluded.erasing";
    let erasing = row.erasing.as_ref().map(codec::json).transpose()?;
    t.execute(sql, &[&row.app_id.uuid(), &row.respondent_id.uuid(), &erasing]).await.map(|_| ())
}

pub(super) async fn put_identity(
    t: &Transaction,
    row: &IdentityRow,
) -> Result<(), TransactionError> {
    let sql = "INSERT INTO identities (app_id, type, value, respondent_id) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (app_id, type, value) DO UPDATE SET respondent_id = excluded.respondent_id";
    let (app, whose, of) = (row.app_id.uuid(), row.respondent_id.uuid(), row.known.of.as_str());
    t.execute(sql, &[&app, &of, &row.known.value, &whose]).await.map(|_| ())
}

pub(super) async fn put_consent(t: &Transaction, row: &ConsentRow) -> Result<(), TransactionError> {
    let sql = "INSERT INTO consents (app_id, response_id, respondent_id, flow_id, flow_version_id) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (app_id, response_id) DO UPDATE SET \
         respondent_id = excluded.respondent_id, flow_id = excluded.flow_id, \
         flow_version_id = excluded.flow_version_id";
    let ids = [
        row.app_id.uuid(),
        row.response_id.uuid(),
        row.respondent_id.uuid(),
        row.flow_id.uuid(),
        row.flow_version_id.uuid(),
    ];
    t.execute(sql, &[&ids[0], &ids[1], &ids[2], &ids[3], &ids[4]]).await.map(|_| ())
}

/// Reads an identity, for lists.
pub(super) fn known(cells: &mut Cells) -> StoreResult<Known> {
    Ok(Known { of: cells.variant()?, value: cells.take()? })
}
