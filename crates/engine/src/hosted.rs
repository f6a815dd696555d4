//! Data for the hosted page of a flow: the flow by its id or short path alone, its branding, and
//! the version that a form was rendered for.
//!
//! A page has no API key in its URL, so this is the only place where a flow is found without one.
//! All data comes from the registry: a page that was shown before needs no database read. A
//! submitted form goes through [`crate::intake`] like any other submission.
//!
//! An author can preview a flow before it is published. The preview shows the parts of the draft
//! that can be shown, and cannot reach the intake: only authors can open it, and nothing sent from
//! it is stored.

use std::sync::Arc;

use sluice_flow::definition::{self, Definition};
use sluice_flow::id::{AppId, AssetId, FlowId, FlowVersionId, FormKey};
use sluice_flow::lifecycle::FlowStatus;
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::time::{Timestamp, Window};
use sluice_store::{Scope, StoreResult};

use crate::admin::{AdminError, AdminResult, Missing};
use crate::boxed;
use crate::branding::Branding;
use crate::core::Core;
use crate::definitions::shown_definition;
use crate::handle::{AppHandle, FlowHandle};
use crate::registry::{AppView, FlowBranding, HostedApp, NoFlow, VersionView};
use crate::shown_images::{ImageSizes, image_sizes};
use crate::templates::Template;

/// A flow with a page: published and not archived; or one that an author previews.
#[derive(Clone)]
pub struct HostedFlow {
    pub flow_id: FlowId,
    pub status: FlowStatus,
    pub live: Window,
    /// The latest published version.
    pub current: HostedVersion,
    app: Arc<HostedApp>,
    /// Absent if it has the design of its app.
    pub(crate) branding: Option<Arc<FlowBranding>>,
    pub(crate) core: Arc<Core>,
}

impl std::fmt::Debug for HostedFlow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HostedFlow").field(&self.flow_id).finish()
    }
}

impl HostedFlow {
    pub fn app(&self) -> &Arc<AppView> {
        &self.app.view
    }

    pub fn branding(&self) -> &Branding {
        self.branding.as_ref().map_or(&self.app.branding, |own| &own.branding)
    }

    /// The version that a form was rendered for, if it is a published version of this flow.
    #[boxed]
    pub async fn version(&self, flow_version_id: &str) -> StoreResult<Option<HostedVersion>> {
        let Ok(id) = flow_version_id.parse() else { return Ok(None) };
        let view = self.core.registry.version(self.app().app_id, id).await?;
        Ok(view.filter(|view| view.flow_id == self.flow_id).and_then(HostedVersion::from_view))
    }

    /// A new key for a form that is about to be shown.
    pub fn new_form_key(&self) -> FormKey {
        FormKey::from_uuid(self.core.new_id())
    }

    pub(crate) fn is_preview(&self) -> bool {
        matches!(self.current.0, Shown::Previewed(..))
    }
}

/// A version of a flow: published, current or not; or one that an author previews.
#[derive(Debug, Clone)]
pub struct HostedVersion(Shown);

#[derive(Debug, Clone)]
enum Shown {
    Published(Arc<VersionView>),
    Previewed(Arc<Snapshot>, Arc<ImageSizes>),
}

impl HostedVersion {
    /// Whether it accepts responses at this time.
    pub fn is_accepting(&self, now: Timestamp) -> bool {
        match &self.0 {
            Shown::Published(view) => view.accepting(now).accepts(),
            Shown::Previewed(..) => false,
        }
    }

    fn from_view(view: Arc<VersionView>) -> Option<Self> {
        view.published.is_some().then_some(Self(Shown::Published(view)))
    }

    pub fn id(&self) -> FlowVersionId {
        match &self.0 {
            Shown::Published(view) => view.flow_version_id,
            Shown::Previewed(snapshot, _) => snapshot.meta().flow_version_id,
        }
    }

    /// The version, unless it is previewed.
    pub(crate) fn published(&self) -> Option<&VersionView> {
        match &self.0 {
            Shown::Published(view) => Some(view),
            Shown::Previewed(..) => None,
        }
    }

    pub fn snapshot(&self) -> Option<&Snapshot> {
        match &self.0 {
            Shown::Published(view) => view.published.as_ref().map(|published| &published.snapshot),
            Shown::Previewed(snapshot, _) => Some(snapshot),
        }
    }

    /// The width and the height of an image of the version, in pixels; `None` if it was deleted.
    pub fn image_size(&self, asset: AssetId) -> Option<(u32, u32)> {
        let sizes = match &self.0 {
            Shown::Published(view) => &view.published.as_ref()?.images,
            Shown::Previewed(_, sizes) => sizes,
        };
        sizes.get(&asset).copied()
    }
}

/// A flow as its author previews it.
#[derive(Debug, Clone)]
pub struct Preview {
    pub flow: HostedFlow,
}

impl Core {
    /// The flow of a page, by its id or its short path, if there is one.
    pub(crate) async fn hosted(
        self: &Arc<Self>,
        flow_id: &str,
    ) -> StoreResult<Result<HostedFlow, NoFlow>> {
        let flow_id = match flow_id.parse() {
            Ok(flow_id) => flow_id,
            Err(_) => match self.registry.short_path(flow_id).await? {
                Some(row) => row.flow_id,
                None => return Ok(Err(NoFlow::NotFound)),
            },
        };
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
        let Some(current) = current.and_then(HostedVersion::from_view) else {
            return Ok(Err(NoFlow::NotPublished));
        };
        let branding = match flow.has_design {
            true => self.registry.flow_branding(flow_id).await?,
            false => None,
        };
        let now = self.now();
        let (status, _) = self.registry.status(&flow, now).await;
        let mut live = flow.times.live;
        // It may have closed before that, because it has all its responses.
        live.ends_at = live.ends_at.filter(|end| status != FlowStatus::Closed || now >= *end);
        let core = Arc::clone(self);
        Ok(Ok(HostedFlow { flow_id, status, live, current, app, branding, core }))
    }

    /// The page of a definition that is not published, if the app exists.
    pub(crate) async fn previewed(
        self: &Arc<Self>,
        app: AppId,
        meta: VersionMeta,
        definition: Definition,
    ) -> StoreResult<Option<HostedFlow>> {
        let sizes = image_sizes(&*self.store, app, &definition).await;
        let Some(app) = self.registry.hosted_app(app).await? else { return Ok(None) };
        let snapshot = Arc::new(Snapshot::new(meta, definition));
        Ok(Some(HostedFlow {
            flow_id: meta.flow_id,
            status: FlowStatus::Open,
            live: Window::default(),
            current: HostedVersion(Shown::Previewed(snapshot, Arc::new(sizes))),
            app,
            branding: None,
            core: Arc::clone(self),
        }))
    }
}

impl FlowHandle {
    /// Previews the flow's draft, without the parts that cannot be shown, or one of its versions;
    /// for actors who may read it.
    #[boxed]
    pub async fn preview(&self, version: Option<FlowVersionId>) -> AdminResult<Preview> {
        let core = self.permit.core(Scope::Read)?;
        let (definition, id) = match version {
            None => {
                let row = self.draft.as_ref().or(self.current.as_ref());
                let id = row.map(|row| row.flow_version_id);
                let shown = definition::presentable(&self.editing().await?.definition);
                let (definition, _) = shown.ok_or(AdminError::NotFound(Missing::Draft))?;
                (definition, id)
            }
            Some(version) => {
                let missing = || AdminError::NotFound(Missing::FlowVersion);
                let found = core.store.find_version(version).await?.ok_or_else(missing)?;
                if found.version.flow_id != self.flow_id() {
                    return Err(missing());
                }
                (shown_definition(&found.version).ok_or_else(missing)?, Some(version))
            }
        };
        let meta = VersionMeta {
            flow_version_id: id.unwrap_or_else(|| FlowVersionId::from_uuid(core.new_id())),
            flow_id: self.flow_id(),
            kind: self.flow.kind,
            number: self.last_number + 1,
            published_at: core.now(),
        };
        let flow = core.previewed(self.app_id(), meta, definition).await?;
        let mut flow = flow.ok_or(AdminError::NotFound(Missing::App))?;
        flow.branding = core.registry.branding_of(&self.flow).await?;
        Ok(Preview { flow })
    }
}

impl AppHandle {
    /// Previews a template with the app's branding.
    #[boxed]
    pub async fn preview_template(&self, template: &Template) -> AdminResult<Preview> {
        let core = self.permit.core(Scope::Read)?;
        let shown = definition::presentable(&template.definition);
        let (definition, _) = shown.ok_or(AdminError::NotFound(Missing::Draft))?;
        let meta = VersionMeta {
            flow_version_id: FlowVersionId::from_uuid(core.new_id()),
            flow_id: FlowId::from_uuid(core.new_id()),
            kind: template.kind,
            number: 1,
            published_at: core.now(),
        };
        let flow = core.previewed(self.app_id(), meta, definition).await?;
        flow.map(|flow| Preview { flow }).ok_or(AdminError::NotFound(Missing::App))
    }
}
