//! What the hosted page of a flow needs: the flow by its id alone, how its app wants it to look, and the
//! version that a form was made for.
//!
//! A page has no API key in its address, so here alone a flow is found without one. All of it comes from the
//! registry: a page that was shown before costs the database nothing. What a form is sent with goes through
//! [`crate::intake`] like everything else.

use std::sync::Arc;

use sluice_flow::id::{FlowId, FlowVersionId, FormKey};
use sluice_flow::lifecycle::{self, FlowStatus};
use sluice_flow::snapshot::Snapshot;
use sluice_flow::time::Window;
use sluice_store::StoreResult;

use crate::engine::Engine;
use crate::look::Look;
use crate::registry::{AppView, NoFlow, VersionView};

/// An app as its hosted pages need it.
#[derive(Debug)]
pub(crate) struct HostedApp {
    pub(crate) view: Arc<AppView>,
    pub(crate) look: Look,
}

/// A flow that has a page, published and not archived.
#[derive(Debug, Clone)]
pub struct HostedFlow {
    pub flow_id: FlowId,
    pub status: FlowStatus,
    pub live: Window,
    /// The latest published version.
    pub current: HostedVersion,
    app: Arc<HostedApp>,
}

impl HostedFlow {
    pub fn app(&self) -> &Arc<AppView> {
        &self.app.view
    }

    pub fn look(&self) -> &Look {
        &self.app.look
    }
}

/// A published version of a flow, current or not.
#[derive(Debug, Clone)]
pub struct HostedVersion(Arc<VersionView>);

impl HostedVersion {
    fn of(view: Arc<VersionView>) -> Option<Self> {
        view.published.is_some().then_some(Self(view))
    }

    pub fn id(&self) -> FlowVersionId {
        self.0.flow_version_id
    }

    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.0.published.as_ref().map(|published| &published.snapshot)
    }
}

impl Engine {
    /// The flow of a page, if it has one.
    pub async fn hosted(&self, flow_id: &str) -> StoreResult<Result<HostedFlow, NoFlow>> {
        let Ok(flow_id) = flow_id.parse() else { return Ok(Err(NoFlow::NotFound)) };
        let Some(flow) = self.registry.flow(flow_id).await? else {
            return Ok(Err(NoFlow::NotFound));
        };
        if flow.times.archived_at.is_some() {
            return Ok(Err(NoFlow::NotFound));
        }
        let Some(app) = self.registry.hosted_app(flow.app_id).await? else {
            return Ok(Err(NoFlow::NotFound));
        };
        let current = match flow.current {
            Some(id) => self.registry.version(flow.app_id, id).await?,
            None => None,
        };
        let Some(current) = current.and_then(HostedVersion::of) else {
            return Ok(Err(NoFlow::NotPublished));
        };
        let live = flow.times.live;
        let (status, _) = lifecycle::flow_status(&live, self.now());
        Ok(Ok(HostedFlow { flow_id, status, live, current, app }))
    }

    /// The version that a form was made for, if it is one of this flow that was published.
    pub async fn hosted_version(
        &self,
        flow: &HostedFlow,
        flow_version_id: &str,
    ) -> StoreResult<Option<HostedVersion>> {
        let Ok(id) = flow_version_id.parse() else { return Ok(None) };
        let view = self.registry.version(flow.app().app_id, id).await?;
        Ok(view.filter(|view| view.flow_id == flow.flow_id).and_then(HostedVersion::of))
    }

    /// Whether the version takes responses now.
    pub fn is_accepting(&self, version: &HostedVersion) -> bool {
        version.0.accepting(self.now()).refusal().is_none()
    }

    /// The key of a form that is about to be shown.
    pub fn new_form_key(&self) -> FormKey {
        FormKey::from_uuid(self.new_id())
    }
}
