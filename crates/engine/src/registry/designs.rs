//! The branding of flows that replace parts of their app's design. Changes of the flow and of its
//! app outdate it.

use std::sync::Arc;

use sluice_flow::id::{AppId, FlowId};
use sluice_store::{FlowRow, StoreResult};

use super::{ENTRY_BYTES, HostedApp, Lookup, Registry, RegistryWeighter};
use crate::branding::Branding;
use crate::single_flight::CacheEntry;

/// The branding of a flow with its own design.
#[derive(Debug)]
pub(crate) struct FlowBranding {
    app_id: AppId,
    pub(crate) branding: Branding,
}

impl quick_cache::Weighter<AppId, CacheEntry<HostedApp>> for RegistryWeighter {
    fn weight(&self, _: &AppId, app: &CacheEntry<HostedApp>) -> u64 {
        ENTRY_BYTES + app.value.as_ref().map_or(0, |app| app.branding.weight() as u64)
    }
}

impl quick_cache::Weighter<FlowId, CacheEntry<FlowBranding>> for RegistryWeighter {
    fn weight(&self, _: &FlowId, flow: &CacheEntry<FlowBranding>) -> u64 {
        ENTRY_BYTES + flow.value.as_ref().map_or(0, |flow| flow.branding.weight() as u64)
    }
}

impl Registry {
    pub(crate) fn flow_branding(&self, id: FlowId) -> Lookup<'_, FlowBranding> {
        self.cached(&self.caches.designs, &id, |flow| flow.app_id, async move {
            let Some(state) = self.store.find_flow(id).await? else { return Ok(None) };
            self.branding_of(&state.flow).await
        })
    }

    /// The same for a row that was read; `None` if the flow has the design of its app.
    pub(crate) async fn branding_of(
        &self,
        flow: &FlowRow,
    ) -> StoreResult<Option<Arc<FlowBranding>>> {
        if flow.design.is_none() {
            return Ok(None);
        }
        let Some(app) = self.store.find_app(flow.app_id).await? else { return Ok(None) };
        let branding = Branding::from_flow(flow, &app.row);
        Ok(Some(Arc::new(FlowBranding { app_id: flow.app_id, branding })))
    }
}
