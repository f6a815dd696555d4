//! Rebuilds counts on demand: after running a release that did not count, or after rows were
//! changed by hand.
//!
//! Uses only the store, flow by flow and day by day, and can run while servers use it.

use std::time::Instant;

use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Timestamp;
use sluice_store::{At, FlowQuery, FlowState, Page, Store, StoreError, StoreResult};

use crate::boxed;
use crate::clock::{Clock as _, SystemClock};
use crate::closing::{self, Now};
use crate::conflict::retry_on_conflict;
use crate::mail_queue::reopened;

/// The number of apps and flows to read at a time.
const PAGE: usize = 100;

/// The flows to recount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecountScope {
    All,
    App(AppId),
    Flow(FlowId),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recounted {
    pub flows: u64,
    pub responses: u64,
}

/// Rebuilds the counts, also those of limits, and calls `counted` after each flow with its number
/// of responses.
pub async fn recount(
    store: &dyn Store,
    scope: RecountScope,
    counted: impl Fn(u64),
) -> StoreResult<Recounted> {
    let mut sum = Recounted::default();
    let (start, began) = (store.time().await?.unwrap_or_else(|| SystemClock.now()), Instant::now());
    let now = || {
        let millis = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(start.as_millis().saturating_add(millis))
    };
    let apps = match scope {
        RecountScope::Flow(flow) => {
            if let Some(state) = store.find_flow(flow).await? {
                sum.add(store, &state, &now, &counted).await?;
            }
            return Ok(sum);
        }
        RecountScope::App(app) => vec![app],
        RecountScope::All => apps(store).await?,
    };
    for app in apps {
        let mut after = None;
        loop {
            let page = Page { after, limit: PAGE };
            let flows = store.list_flows(&FlowQuery::all(app, page)).await?;
            let Some(last) = flows.last() else { break };
            after = Some(last.flow.flow_id);
            for state in &flows {
                sum.add(store, state, &now, &counted).await?;
            }
        }
    }
    Ok(sum)
}

/// The flows with this key, one for each app that has it.
#[boxed]
pub async fn flows_with_key(store: &dyn Store, key: &str) -> StoreResult<Vec<FlowId>> {
    let mut found = Vec::new();
    for app in apps(store).await? {
        let page = Page { after: None, limit: 1 };
        let query = FlowQuery { key: Some(key.to_owned()), ..FlowQuery::all(app, page) };
        found.extend(store.list_flows(&query).await?.iter().map(|state| state.flow.flow_id));
    }
    Ok(found)
}

impl Recounted {
    async fn add(
        &mut self,
        store: &dyn Store,
        state: &FlowState,
        now: Now<'_>,
        counted: &impl Fn(u64),
    ) -> StoreResult<()> {
        let responses = store.recount(state.flow.app_id, state.flow.flow_id).await?;
        recount_limits(store, state, now).await?;
        self.flows += 1;
        self.responses += responses;
        counted(responses);
        Ok(())
    }
}

/// Sets the counters of a flow's limits to the number of responses that are stored.
async fn recount_limits(store: &dyn Store, state: &FlowState, now: Now<'_>) -> StoreResult<()> {
    retry_on_conflict(|is_retry| async move {
        let newest = match is_retry {
            true => store.find_flow(state.flow.flow_id).await?,
            false => None,
        };
        let state = newest.as_ref().unwrap_or(state);
        let Some(write) = closing::set_again(store, now, &state.flow).await? else {
            return Ok::<_, StoreError>(());
        };
        let at = At::App { app: state.flow.app_id, expected: state.revision };
        // Invitations that waited because the flow was full are checked again.
        let mails = reopened(&state.flow, Some(now()));
        store.apply(at, vec![write, mails].into()).await
    })
    .await
}

async fn apps(store: &dyn Store) -> StoreResult<Vec<AppId>> {
    let (mut apps, mut after) = (Vec::new(), None);
    loop {
        let page = store.list_apps(Page { after, limit: PAGE }).await?;
        let Some(last) = page.last() else { return Ok(apps) };
        after = Some(last.row.app_id);
        apps.extend(page.iter().map(|app| app.row.app_id));
    }
}
