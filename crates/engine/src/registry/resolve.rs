//! What the public reads of a flow: its latest version with its status, and a snapshot.

use std::sync::Arc;

use sluice_flow::id::FlowId;
use sluice_flow::lifecycle::{self, Accepting, FlowStatus};
use sluice_flow::payload::Generation;
use sluice_flow::time::Timestamp;
use sluice_store::StoreResult;

use super::{AppView, FlowView, NoFlow, Registry, Resolved};
use crate::encoded_body::EncodedBody;
use crate::full_check::FullCheck;

impl Registry {
    /// The latest published version of a flow of this app.
    pub(crate) async fn resolve(
        &self,
        app: &AppView,
        flow_id: &str,
    ) -> StoreResult<Result<Resolved, NoFlow>> {
        let Ok(id) = flow_id.parse() else { return Ok(Err(NoFlow::NotFound)) };
        let Some(flow) = self.flow(id).await? else { return Ok(Err(NoFlow::NotFound)) };
        if flow.app_id != app.app_id || flow.times.archived_at.is_some() {
            return Ok(Err(NoFlow::NotFound));
        }
        let Some(published) = &flow.published else { return Ok(Err(NoFlow::NotPublished)) };
        let now = self.clock.now();
        let (status, valid_until) = self.status(&flow, now).await;
        let served = match status {
            FlowStatus::Scheduled => &published[0],
            FlowStatus::Open => &published[1],
            FlowStatus::Closed => &published[2],
        };
        Ok(Ok(Resolved { served: Arc::clone(served), valid_until, now }))
    }

    /// The status of a flow, and the next instant at which its live window changes it.
    pub(crate) async fn status(
        &self,
        flow: &FlowView,
        now: Timestamp,
    ) -> (FlowStatus, Option<Timestamp>) {
        let by_window = lifecycle::flow_status(&flow.times.live, now);
        let Some(full) = &flow.full else { return by_window };
        match by_window.0 {
            FlowStatus::Open if full.is_full(&*self.store, self.clock.monotonic()).await => {
                (FlowStatus::Closed, None)
            }
            FlowStatus::Scheduled | FlowStatus::Open | FlowStatus::Closed => by_window,
        }
    }

    /// Whether it is known that the flow has all its responses; reads nothing.
    pub(crate) fn is_known_full(&self, flow: FlowId) -> bool {
        let known = self.caches.flows.get(&flow).flatten();
        known.and_then(|view| view.full.as_ref().map(FullCheck::is_known_full)).unwrap_or(false)
    }

    /// Reads whether the flow has all its responses, after one was refused: then later ones need no
    /// transaction.
    pub(crate) async fn confirm_full(&self, flow: FlowId) {
        if let Ok(Some(view)) = self.flow(flow).await
            && let Some(full) = &view.full
        {
            full.confirm(&*self.store, self.clock.monotonic()).await;
        }
    }

    /// The snapshot of a published version of this app that is not retired.
    pub(crate) async fn snapshot(
        &self,
        app: &AppView,
        flow_version_id: &str,
        generation: Generation,
    ) -> StoreResult<Option<Arc<EncodedBody>>> {
        let Ok(id) = flow_version_id.parse() else { return Ok(None) };
        let Some(version) = self.version(app.app_id, id).await? else { return Ok(None) };
        if version.accepting(self.clock.now()) == Accepting::Gone {
            return Ok(None);
        }
        let published = version.published.as_ref();
        Ok(published.map(|published| Arc::clone(published.served(generation))))
    }
}
