//! Rebuilds counts on demand: after running a release that did not count, or after rows were
//! changed by hand.
//!
//! Uses only the store, flow by flow and day by day, and can run while servers use it.

use sluice_flow::id::{AppId, FlowId};
use sluice_store::{FlowQuery, Page, Store, StoreResult};

/// The number of apps and flows to read at a time.
const PAGE: usize = 100;

/// The flows to recount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    All,
    App(AppId),
    Flow(FlowId),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recounted {
    pub flows: u64,
    pub responses: u64,
}

/// Rebuilds the counts, and calls `counted` after each flow with its number of responses.
pub async fn recount(
    store: &dyn Store,
    which: Which,
    counted: impl Fn(u64),
) -> StoreResult<Recounted> {
    let mut sum = Recounted::default();
    let apps = match which {
        Which::Flow(flow) => {
            if let Some(state) = store.find_flow(flow).await? {
                sum.add(store, state.flow.app_id, flow, &counted).await?;
            }
            return Ok(sum);
        }
        Which::App(app) => vec![app],
        Which::All => apps(store).await?,
    };
    for app in apps {
        let mut after = None;
        loop {
            let page = Page { after, limit: PAGE };
            let flows = store.list_flows(&FlowQuery::all(app, page)).await?;
            let Some(last) = flows.last() else { break };
            after = Some(last.flow.flow_id);
            for state in &flows {
                sum.add(store, app, state.flow.flow_id, &counted).await?;
            }
        }
    }
    Ok(sum)
}

impl Recounted {
    async fn add(
        &mut self,
        store: &dyn Store,
        app: AppId,
        flow: FlowId,
        counted: &impl Fn(u64),
    ) -> StoreResult<()> {
        let responses = store.recount(app, flow).await?;
        self.flows += 1;
        self.responses += responses;
        counted(responses);
        Ok(())
    }
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
