//! Limits on the number of responses of a flow: its settings, and how many responses they have
//! counted.
//!
//! The store compares the counts with the limits when it stores a response. Here they are set: a
//! new limit counts the responses that are already stored. Most of them are counted in pages while
//! submissions continue, however long that takes, until only those of the last minute are left; the
//! store counts these in the transaction that sets the limit. A response that is deleted makes room
//! for another one. One that is erased with its respondent, or that is older than the app keeps
//! responses, stays counted: a complete survey does not reopen by itself. [`crate::recount`] counts
//! what is stored now.

use serde_json::Value;
use sluice_flow::closing::{
    Closing, ClosingCounts, QuotaChange, VersionLimits, close_after_fault, read_quotas,
};
use sluice_flow::definition::{Definition, Fault};
use sluice_flow::id::{FlowVersionId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::{
    ClosingWrite, FlowRow, FlowState, ResponseQuery, ResponseRow, Scope, SetClosing, Store,
    StoreResult, Write,
};
use uuid::Uuid;

use crate::admin::{AdminError, AdminResult};
use crate::boxed;
use crate::core::Core;
use crate::definitions::stored_definition;
use crate::handle::{AppHandle, FlowHandle};
use crate::mail_queue::reopened_for_one;

/// The number of versions, and of responses, to read at a time.
const VERSIONS_PAGE: usize = 100;
const RESPONSES_PAGE: usize = 1_000;
/// Responses that are older than this are all visible: no write takes so long.
const SETTLED_SECONDS: i64 = 60;
/// Another pass follows while the last took longer than this: what was stored meanwhile would
/// otherwise be counted while the app is locked.
const LAST_PASS_MILLIS_MAX: i64 = 1_000;

/// The clock, for counting that takes a while.
pub(crate) type Now<'n> = &'n (dyn Fn() -> Timestamp + Send + Sync);

/// The limits of a flow, and what they have counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClosingState {
    pub closing: Closing,
    pub counts: ClosingCounts,
}

impl ClosingState {
    /// Whether the flow has all the responses that it accepts.
    pub fn is_full(&self) -> bool {
        self.counts.closes(&self.closing)
    }
}

impl FlowHandle {
    /// The limits of the flow, and how many responses they have counted. Reads nothing if it has
    /// none.
    #[boxed]
    pub async fn closing(&self) -> AdminResult<ClosingState> {
        let core = self.permit.core(Scope::Read)?;
        Ok(states(&*core.store, &[&self.flow]).await?.pop().unwrap_or_default())
    }
}

impl AppHandle {
    /// The same for flows of this app, in order.
    #[boxed]
    pub async fn closing_of_flows(&self, flows: &[FlowState]) -> AdminResult<Vec<ClosingState>> {
        let core = self.permit.core(Scope::Read)?;
        let flows: Vec<&FlowRow> = flows.iter().map(|state| &state.flow).collect();
        Ok(states(&*core.store, &flows).await?)
    }
}

async fn states(store: &dyn Store, flows: &[&FlowRow]) -> StoreResult<Vec<ClosingState>> {
    let limited: Vec<_> = flows.iter().filter(|flow| flow.closing.is_some()).collect();
    let counted = match limited.first() {
        Some(first) => {
            let ids: Vec<_> = limited.iter().map(|flow| flow.flow_id).collect();
            store.read_closing_counts(first.app_id, &ids).await?
        }
        None => Vec::new(),
    };
    let state = |flow: &&FlowRow| {
        let found = counted.iter().find(|row| row.flow_id == flow.flow_id);
        let counts = found.map(|row| row.counts.clone()).unwrap_or_default();
        Ok(ClosingState { closing: flow.limits()?, counts })
    };
    flows.iter().map(state).collect()
}

/// The limits of a flow after a change, or the faults of the change. What is absent stays.
pub(crate) fn changed(
    core: &Core,
    state: &FlowState,
    close_after: Option<Option<u32>>,
    quotas: Option<&Value>,
    quota_changes: &[QuotaChange],
) -> AdminResult<Result<Closing, Vec<Fault>>> {
    let mut closing = state.flow.limits()?;
    let mut faults = Vec::new();
    if let Some(close_after) = close_after {
        faults.extend(close_after_fault(close_after));
        closing.close_after = close_after;
    }
    let rows = state.current.iter().chain(&state.draft);
    let definitions: Vec<_> = rows.filter_map(|row| core.definitions.readable(row)).collect();
    let definitions: Vec<&Definition> = definitions.iter().map(|it| &**it).collect();
    if let Some(quotas) = quotas {
        match read_quotas(quotas, &definitions) {
            Ok(quotas) => closing.quotas = quotas,
            Err(found) => faults.extend(found),
        }
    }
    match closing.with_changes(quota_changes, &definitions) {
        Ok(closing) if faults.is_empty() => Ok(Ok(closing)),
        Ok(_) => Ok(Err(faults)),
        Err(found) => Ok(Err(faults.into_iter().chain(found).collect())),
    }
}

/// The counters for other limits of a flow. Those that count the same as before are kept.
pub(crate) async fn set(
    store: &dyn Store,
    now: Now<'_>,
    flow: &FlowRow,
    closing: &Closing,
) -> StoreResult<Write> {
    let kept = closing.kept_counters(&flow.limits()?);
    Ok(Write::Closing(ClosingWrite::Set(counted(store, now, flow, closing, kept).await?)))
}

/// The counters of a flow, all counted again; `None` if it limits nothing.
pub(crate) async fn set_again(
    store: &dyn Store,
    now: Now<'_>,
    flow: &FlowRow,
) -> StoreResult<Option<Write>> {
    let closing = flow.limits()?;
    if closing.is_empty() {
        return Ok(None);
    }
    let set = counted(store, now, flow, &closing, Vec::new()).await?;
    Ok(Some(Write::Closing(ClosingWrite::Set(set))))
}

async fn counted(
    store: &dyn Store,
    now: Now<'_>,
    flow: &FlowRow,
    closing: &Closing,
    kept: Vec<String>,
) -> StoreResult<SetClosing> {
    let is_new = |counter: &&str| !kept.iter().any(|it| it == counter);
    let new: Vec<&str> = closing.counters().filter(is_new).collect();
    let mut set = SetClosing {
        app_id: flow.app_id,
        flow_id: flow.flow_id,
        counted: ClosingCounts::default(),
        counted_to: None,
        limits: Vec::new(),
        kept: kept.clone(),
    };
    new.iter().for_each(|counter| set.counted.set(counter, 0));
    if !new.is_empty() {
        set.limits = limits_by_version(store, flow, closing, &new).await?;
    }
    if !set.limits.is_empty() {
        count_settled(store, now, &mut set).await?;
    }
    Ok(set)
}

/// The limits with these counters, for every published version.
async fn limits_by_version(
    store: &dyn Store,
    flow: &FlowRow,
    closing: &Closing,
    counters: &[&str],
) -> StoreResult<Vec<(FlowVersionId, VersionLimits)>> {
    let (mut limits, mut before) = (Vec::new(), None);
    loop {
        let page = store.list_versions(flow.app_id, flow.flow_id, before, VERSIONS_PAGE).await?;
        let Some(last) = page.last() else { return Ok(limits) };
        before = Some(last.number);
        for version in &page {
            let definition = stored_definition(version);
            let of_version = closing.limits(definition.as_ref()).only(counters);
            limits.push((version.flow_version_id, of_version));
        }
    }
}

/// Counts the responses that no write in progress can precede, then those that were stored during
/// that time, until a pass is short.
async fn count_settled(store: &dyn Store, now: Now<'_>, set: &mut SetClosing) -> StoreResult<()> {
    let mut from = None;
    loop {
        let start = now();
        let to = start.plus_seconds(-SETTLED_SECONDS);
        count_between(store, from, to, set).await?;
        from = Some(to);
        if now().as_millis() - start.as_millis() <= LAST_PASS_MILLIS_MAX {
            return Ok(());
        }
    }
}

async fn count_between(
    store: &dyn Store,
    from: Option<Timestamp>,
    to: Timestamp,
    set: &mut SetClosing,
) -> StoreResult<()> {
    let mut query = ResponseQuery::new(set.app_id, set.flow_id, RESPONSES_PAGE);
    (query.from, query.to) = (from, Some(to));
    loop {
        let page = store.list_responses(&query).await?;
        for row in &page.rows {
            let limits = set.limits.iter().find(|(version, _)| *version == row.flow_version_id);
            if let Some((_, limits)) = limits {
                set.counted.add(&limits.for_stored_answers(&row.answers));
            }
        }
        let Some(next) = page.next else { break };
        query.after = Some(next);
    }
    // The last id before that time.
    let first_later = v7(to, 0, 0).as_u128();
    set.counted_to = Some(ResponseId::from_uuid(Uuid::from_u128(first_later.saturating_sub(1))));
    Ok(())
}

/// The room that the deletion of a response makes, and the e-mail that waited longest for it; empty
/// if its flow limits nothing.
pub(crate) async fn release(core: &Core, row: &ResponseRow) -> StoreResult<Vec<Write>> {
    let Some(found) = core.store.find_version(row.flow_version_id).await? else {
        return Ok(Vec::new());
    };
    let closing = found.flow.limits()?;
    if closing.is_empty() {
        return Ok(Vec::new());
    }
    let definition = core.definitions.readable(&found.version);
    let limits = closing.limits(definition.as_deref()).for_stored_answers(&row.answers);
    let counters = limits.into_iter().map(|limit| limit.counter).collect();
    let (app_id, flow_id) = (row.app_id, row.flow_id);
    let release = Write::Closing(ClosingWrite::Release { app_id, flow_id, counters });
    Ok(vec![release, reopened_for_one(&found.flow, core.now())])
}

/// Refuses to publish a definition without the questions that the flow's quotas ask about.
pub(crate) fn must_fit(state: &FlowState, definition: &Definition) -> AdminResult<()> {
    let closing = state.flow.limits()?;
    let faults: Vec<Fault> = closing
        .misfits(definition)
        .into_iter()
        .map(|(quota, fault)| {
            let message = format!(
                "the quota {quota} does not fit these questions ({}): change the quota first",
                fault.message
            );
            Fault::new("/questions", message)
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(AdminError::Invalid(faults)) }
}
