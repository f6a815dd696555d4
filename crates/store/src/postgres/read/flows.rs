//! Flows and their versions, with data derived from them.
//!
//! A flow or version given by its id alone is looked up in two steps: first its app in the
//! directory, then everything else by app. So on a distributed database each statement runs on one
//! node.

use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use uuid::Uuid;

use super::super::codec::{self, Cells, FLOW, FLOW_APP, LISTED_FLOW, ReadCells as _, VERSION};
use super::super::directory;
use super::super::pool::{Params, Pool};
use super::limit;
use crate::{FlowQuery, FlowState, Order, StoreResult, VersionRow, VersionState};

/// Published, and neither superseded nor retired: the exact condition of an index.
const IS_CURRENT: &str =
    "published_at IS NOT NULL AND superseded_at IS NULL AND retired_at IS NULL";

pub(in super::super) async fn flow(pool: &Pool, flow: FlowId) -> StoreResult<Option<FlowState>> {
    let Some(owner) = directory::owner(pool, flow.uuid()).await? else { return Ok(None) };
    let sql = format!("{} WHERE flows.app_id = $1 AND flows.flow_id = $2", select_state(FLOW));
    let params: Params = &[&owner.app, &flow.uuid()];
    let revision = |state: &FlowState| state.public_revision;
    directory::current(pool, &owner, (&sql, params), state, revision).await
}

pub(in super::super) async fn flows(pool: &Pool, query: &FlowQuery) -> StoreResult<Vec<FlowState>> {
    let (beyond, order, start) = match query.order {
        Order::Asc => (">", "ASC", Uuid::nil()),
        Order::Desc => ("<", "DESC", Uuid::max()),
    };
    let after = query.after.map_or(start, FlowId::uuid);
    let archived = match query.archived {
        None => "",
        Some(true) => "AND flows.archived_at IS NOT NULL",
        Some(false) => "AND flows.archived_at IS NULL",
    };
    let sql = format!(
        "{} WHERE flows.app_id = $1 AND flows.flow_id {beyond} $2 {archived} \
         AND ($4::text IS NULL OR jsonb_exists(flows.labels::jsonb, $4::text)) \
         AND ($5::text IS NULL OR flows.flow_key = $5::text) \
         ORDER BY flows.flow_id {order} LIMIT $3",
        select_state(LISTED_FLOW)
    );
    let app = query.app_id.uuid();
    let params: Params = &[&app, &after, &limit(query.limit), &query.label, &query.key];
    pool.many(&sql, params, state).await
}

pub(in super::super) async fn version(
    pool: &Pool,
    version: FlowVersionId,
) -> StoreResult<Option<VersionState>> {
    let Some(owner) = directory::owner(pool, version.uuid()).await? else { return Ok(None) };
    let sql = format!(
        "SELECT {VERSION}, {LISTED_FLOW}, {FLOW_APP}, \
         (SELECT flow_version_id FROM versions AS all_of WHERE all_of.app_id = $1 \
         AND all_of.flow_id = flows.flow_id AND {IS_CURRENT} ORDER BY number DESC LIMIT 1) \
         FROM versions JOIN flows ON flows.app_id = versions.app_id \
         AND flows.flow_id = versions.flow_id JOIN apps ON apps.app_id = versions.app_id \
         WHERE versions.app_id = $1 AND versions.flow_version_id = $2"
    );
    let params: Params = &[&owner.app, &version.uuid()];
    let revision = |state: &VersionState| state.public_revision;
    directory::current(pool, &owner, (&sql, params), version_state, revision).await
}

pub(in super::super) async fn versions(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    before: Option<u32>,
    rows: usize,
) -> StoreResult<Vec<VersionRow>> {
    let sql = format!(
        "SELECT {VERSION} FROM versions WHERE app_id = $1 AND flow_id = $2 AND number > 0 \
         AND number < $3 ORDER BY number DESC LIMIT $4"
    );
    let before = before.map_or(i64::MAX, i64::from);
    let (app, flow) = (app.uuid(), flow.uuid());
    pool.many(&sql, &[&app, &flow, &before, &limit(rows)], codec::version).await
}

/// Flows with their app's revisions, their current version, their draft and their last number. `$1`
/// is the app: each part names it, so that a distributed database sees that it is the same one.
/// With these columns of a flow.
fn select_state(columns: &str) -> String {
    let newest = |condition: &str, name: &str| {
        format!(
            "LEFT JOIN LATERAL (SELECT {VERSION} FROM versions \
             WHERE versions.app_id = $1 AND versions.flow_id = flows.flow_id \
             AND {condition} ORDER BY number DESC, flow_version_id DESC LIMIT 1) AS {name} ON true"
        )
    };
    let current = newest(IS_CURRENT, "current");
    let draft = newest("published_at IS NULL", "draft");
    format!(
        "SELECT {columns}, {FLOW_APP}, current.*, draft.*, \
         (SELECT coalesce(max(number), 0) FROM versions WHERE versions.app_id = $1 \
         AND versions.flow_id = flows.flow_id AND number > 0) \
         FROM flows JOIN apps ON apps.app_id = flows.app_id {current} {draft}"
    )
}

fn state(cells: &mut Cells) -> StoreResult<FlowState> {
    let flow = codec::flow(cells)?;
    let (revision, public_revision, app_grace_window_seconds) = codec::flow_app(cells)?;
    Ok(FlowState {
        flow,
        revision,
        public_revision,
        app_grace_window_seconds,
        current: codec::optional_version(cells)?,
        draft: codec::optional_version(cells)?,
        last_number: cells.number()?,
    })
}

fn version_state(cells: &mut Cells) -> StoreResult<VersionState> {
    let (version, flow) = (codec::version(cells)?, codec::flow(cells)?);
    let (revision, public_revision, _) = codec::flow_app(cells)?;
    let current = cells.take::<Option<Uuid>>()?.map(FlowVersionId::from_uuid);
    Ok(VersionState { version, flow, revision, public_revision, current })
}
