//! Links responses to their respondents, in the transaction that stores them.
//!
//! Lookups are subqueries that the planner cannot join otherwise, as in [`super::first_exchange`].
//!
//! Only a batch with claims comes here, and pays for it: one exchange that reads known identities,
//! one for the consents, and, for a new respondent, one for the profile and one for its identities.
//! A batch that adds to a profile locks it first and reads again, so that profiles stay within
//! their size limit. Two batches may claim the same new identity concurrently: the unique keys make
//! the later one wait for the earlier and then fail; it starts again and finds the new profile.
//! Identities are written in the same order everywhere, so no two batches wait for each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use sluice_flow::id::{AppId, RespondentId};
use sluice_flow::respondent::{
    Claim, Holder, IDENTITIES_PER_RESPONDENT_MAX, IdentityType, ProfileIdentity, link, remember,
};
use uuid::Uuid;

use super::by_app::{AppColumn, ByApp, groups};
use super::codec::{self, Cells, ReadCells as _};
use super::failure::TransactionError;
use super::pool::Params;
use super::read::limit;
use super::transaction::Transaction;
use crate::{ConsentRow, IdentityRow, NewResponse, RespondentRow, StoreResult};

static HOLDERS: LazyLock<ByApp> = LazyLock::new(|| {
    let holders = |given: &str, app: &str| {
        let all_of = format!(
            "identities AS all_of WHERE all_of.app_id = {app} \
             AND all_of.respondent_id = identities.respondent_id"
        );
        format!(
            "SELECT held.* FROM {given} CROSS JOIN LATERAL ( \
             SELECT identities.app_id, identities.type, identities.value, \
             identities.respondent_id, \
             EXISTS (SELECT FROM {all_of} AND all_of.type = 'userId'), \
             (SELECT count(*) FROM (SELECT FROM {all_of} LIMIT $4) AS counted) \
             FROM identities WHERE identities.app_id = {app} \
             AND identities.type = given.type AND identities.value = given.value LIMIT 1) AS held"
        )
    };
    ByApp {
        one: holders("unnest($2::text[], $3::text[]) AS given (type, value)", "$1"),
        many: holders(
            "unnest($1::uuid[], $2::text[], $3::text[]) AS given (app, type, value)",
            "given.app",
        ),
    }
});
/// Two batches may add to one profile concurrently: the later one waits, and then counts what the
/// other has added.
static LOCK: LazyLock<ByApp> = LazyLock::new(|| ByApp {
    one: "SELECT FROM respondents WHERE app_id = $1 AND respondent_id = ANY($2) \
         ORDER BY respondent_id FOR NO KEY UPDATE"
        .to_owned(),
    // In the order of the arrays.
    many: "SELECT FROM unnest($1::uuid[], $2::uuid[]) AS given (app, id) CROSS JOIN LATERAL ( \
         SELECT FROM respondents WHERE app_id = given.app AND respondent_id = given.id \
         FOR NO KEY UPDATE) AS locked"
        .to_owned(),
});
static MAKE: LazyLock<ByApp> =
    LazyLock::new(|| ByApp::insert("respondents", &[("respondent_id", "uuid")], ""));
static ADD: LazyLock<ByApp> = LazyLock::new(|| {
    let columns = [("type", "text"), ("value", "text"), ("respondent_id", "uuid")];
    ByApp::insert("identities", &columns, "ON CONFLICT DO NOTHING")
});
static CONSENT: LazyLock<ByApp> = LazyLock::new(|| {
    let ids = ["response_id", "respondent_id", "flow_id", "flow_version_id"];
    ByApp::insert("consents", &ids.map(|name| (name, "uuid")), "")
});

/// The respondents that responses are linked to, by the index of the response in the call.
pub(super) type Links = HashMap<usize, RespondentId>;

/// A known identity of an app.
type IdentityOfApp = (AppId, ProfileIdentity);

/// Finds or creates the respondents for the rows that claim one, in order.
pub(super) async fn settle(
    transaction: &Transaction,
    rows: &[(usize, &NewResponse)],
    links: &mut Links,
) -> Result<(), TransactionError> {
    let claiming = rows.iter().copied().filter(|(_, it)| it.claim.is_some());
    for rows in groups(transaction.is_spread(), claiming, |(_, it)| it.row.app_id) {
        settle_group(transaction, &rows, links).await?;
    }
    Ok(())
}

async fn settle_group(
    transaction: &Transaction,
    rows: &[(usize, &NewResponse)],
    links: &mut Links,
) -> Result<(), TransactionError> {
    let is_spread = transaction.is_spread();
    let claims =
        rows.iter().filter_map(|&(index, it)| Some((index, (it.row.app_id, it.claim.as_deref()?))));
    let claims: BTreeMap<usize, (AppId, &Claim)> = claims.collect();
    let mut results = decide(&claims, read_holders(transaction, &claims).await?);
    if !results.grown.is_empty() {
        let apps = AppColumn::new(is_spread, results.grown.iter().map(|(app, _)| *app));
        let locked: Vec<Uuid> = results.grown.iter().map(|(_, id)| *id).collect();
        transaction.query(LOCK.form(is_spread), &[apps.param(), &locked]).await?;
        let before = std::mem::take(&mut results.grown);
        results = decide(&claims, read_holders(transaction, &claims).await?);
        if !results.grown.is_subset(&before) {
            return Err(TransactionError::Race);
        }
    }
    let ClaimResults { links: found, made, added, .. } = results;
    links.extend(found);
    if !made.is_empty() {
        let apps = AppColumn::new(is_spread, made.iter().map(|(app, _)| *app));
        let ids: Vec<Uuid> = made.iter().map(|(_, id)| *id).collect();
        transaction.execute(MAKE.form(is_spread), &[apps.param(), &ids]).await?;
    }
    consent(transaction, rows, links).await?;
    if added.is_empty() {
        return Ok(());
    }
    let apps = AppColumn::new(is_spread, added.keys().map(|(app, _)| *app));
    let (types, values) = columns(added.keys().map(|(_, known)| known));
    let whose: Vec<Uuid> = added.values().copied().collect();
    let params: Params = &[apps.param(), &types, &values, &whose];
    let written = transaction.execute(ADD.form(is_spread), params).await?;
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
    made: BTreeSet<(AppId, Uuid)>,
    added: BTreeMap<IdentityOfApp, Uuid>,
    /// Existing profiles that get more identities.
    grown: BTreeSet<(AppId, Uuid)>,
}

type Holders = HashMap<AppId, HashMap<ProfileIdentity, Holder>>;

fn decide(claims: &BTreeMap<usize, (AppId, &Claim)>, mut holders: Holders) -> ClaimResults {
    let mut results = ClaimResults::default();
    for (index, (app, claim)) in claims {
        let holders = holders.entry(*app).or_default();
        let link = link(claim, holders);
        remember(holders, &link);
        let respondent = (*app, link.respondent.uuid());
        results.links.insert(*index, link.respondent);
        if link.is_new {
            results.made.insert(respondent);
        } else if !link.added.is_empty() && !results.made.contains(&respondent) {
            results.grown.insert(respondent);
        }
        let added = link.added.into_iter().map(|known| ((*app, known), respondent.1));
        results.added.extend(added);
    }
    results
}

async fn read_holders<'c>(
    transaction: &Transaction,
    claims: &BTreeMap<usize, (AppId, &'c Claim)>,
) -> Result<Holders, TransactionError> {
    let is_spread = transaction.is_spread();
    let of_claim = |(app, claim): &(AppId, &'c Claim)| {
        let app = *app;
        claim.identities().iter().map(move |known| (app, known))
    };
    let wanted: BTreeSet<(AppId, &ProfileIdentity)> = claims.values().flat_map(of_claim).collect();
    let apps = AppColumn::new(is_spread, wanted.iter().map(|(app, _)| *app));
    let (types, values) = columns(wanted.iter().map(|(_, known)| *known));
    let mut holders = Holders::new();
    let most = limit(IDENTITIES_PER_RESPONDENT_MAX);
    let params: Params = &[apps.param(), &types, &values, &most];
    for row in transaction.query(HOLDERS.form(is_spread), params).await? {
        let mut cells = Cells::new(&row);
        let app = cells.id(AppId::from_uuid)?;
        let known = ProfileIdentity { kind: cells.variant()?, value: cells.take()? };
        let respondent = cells.id(RespondentId::from_uuid)?;
        let (has_user_id, all) = (cells.take()?, cells.revision()? as usize);
        let addresses = all.saturating_sub(usize::from(has_user_id));
        let holder = Holder { respondent, has_user_id, addresses };
        holders.entry(app).or_default().insert(known, holder);
    }
    Ok(holders)
}

pub(super) fn columns<'a>(
    known: impl Iterator<Item = &'a ProfileIdentity>,
) -> (Vec<&'static str>, Vec<&'a str>) {
    known.map(|it| (IdentityType::as_str(it.kind), it.value.as_str())).unzip()
}

/// Stores the consents that come with responses.
async fn consent(
    transaction: &Transaction,
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
    let is_spread = transaction.is_spread();
    let linked = rows.iter().filter(|(index, _)| links.contains_key(index));
    let apps = AppColumn::new(is_spread, linked.map(|(_, it)| it.row.app_id));
    let params: Params = &[apps.param(), &ids[0], &ids[1], &ids[2], &ids[3]];
    transaction.execute(CONSENT.form(is_spread), params).await.map(|_| ())
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
    let (app, whose, of) = (row.app_id.uuid(), row.respondent_id.uuid(), row.known.kind.as_str());
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
pub(super) fn known(cells: &mut Cells) -> StoreResult<ProfileIdentity> {
    Ok(ProfileIdentity { kind: cells.variant()?, value: cells.take()? })
}
