//! The side bar of a page: the apps that the visitor may see, and the flows of the current app.

use std::collections::{HashMap, HashSet};

use sluice_engine::outbound::OutboundHold;
use sluice_engine::rows::{AppRow, FlowState, Page, Scope};
use sluice_engine::{AdminError, AdminResult, AppHandle, FlowHandle, Missing};
use sluice_flow::id::{AppId, FlowId};
use sluice_flow::lifecycle::{self, FlowStatus};
use sluice_flow::time::Timestamp;

use super::Console;
use super::session::Visitor;

/// The most apps and flows that the side bar shows; the list pages show the rest.
const APPS_SHOWN: usize = 100;
const FLOWS_SHOWN: usize = 30;
/// Days of the sparklines.
const DAYS_SHOWN: u32 = 14;

/// The data of the side bar.
#[derive(Debug, Clone)]
pub(super) struct Sidebar {
    /// The first apps.
    pub(super) apps: Vec<AppRow>,
    pub(super) has_more_apps: bool,
    /// The app of the page; none on pages about the whole instance.
    own: Option<AppHandle>,
    /// The newest flows of the app that are not archived.
    pub(super) flows: Vec<SidebarFlow>,
    /// Those of them that have all the responses that they accept.
    full: HashSet<FlowId>,
    pub(super) now: Timestamp,
    /// Why nothing is sent, for visitors who may decide about that.
    pub(super) hold: Option<OutboundHold>,
}

/// A flow in the side bar.
#[derive(Debug, Clone)]
pub(super) struct SidebarFlow {
    pub(super) flow_id: FlowId,
    pub(super) name: String,
    pub(super) status: FlowStage,
    /// Responses of the last days, newest last.
    pub(super) days: Vec<u64>,
}

impl Sidebar {
    pub(super) async fn app(console: &Console, visitor: &Visitor, app: AppId) -> AdminResult<Self> {
        let (mut sidebar, listed) = Self::listed(console, visitor).await?;
        let own = match listed.into_iter().find(|listed| listed.app_id() == app) {
            Some(listed) => listed,
            None => console.engine.app(&visitor.actor, Scope::Read, app).await?,
        };
        let page = Page { after: None, limit: FLOWS_SHOWN };
        let flows = own.newest_flows(false, page).await?;
        let limits = own.closing_of_flows(&flows).await?;
        let full = flows.iter().zip(&limits).filter(|(_, limits)| limits.is_full());
        sidebar.full = full.map(|(state, _)| state.flow.flow_id).collect();
        let sparks = own.recent_sparks(DAYS_SHOWN).await?;
        let mut days: HashMap<FlowId, Vec<u64>> =
            sparks.into_iter().map(|spark| (spark.flow_id, spark.days)).collect();
        let mut of = |flow| days.remove(&flow).unwrap_or_default();
        let shown = flows.iter().map(|state| sidebar.sidebar_flow(state, of(state.flow.flow_id)));
        sidebar.flows = shown.collect();
        sidebar.own = Some(own);
        Ok(sidebar)
    }

    /// The side bar of a flow's page, and a read handle on the flow.
    pub(super) async fn flow(
        console: &Console,
        visitor: &Visitor,
        flow: FlowId,
    ) -> AdminResult<(Self, FlowHandle)> {
        let flow = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
        let sidebar = Self::app(console, visitor, flow.app_id()).await?;
        Ok((sidebar, flow))
    }

    pub(super) async fn instance(console: &Console, visitor: &Visitor) -> AdminResult<Self> {
        Ok(Self::listed(console, visitor).await?.0)
    }

    /// The apps that the visitor may see, and handles on those that are shown.
    async fn listed(console: &Console, visitor: &Visitor) -> AdminResult<(Self, Vec<AppHandle>)> {
        let engine = &console.engine;
        let page = Page { after: None, limit: APPS_SHOWN + 1 };
        let mut listed = engine.list_apps(&visitor.actor, page).await?;
        let has_more_apps = listed.len() > APPS_SHOWN;
        listed.truncate(APPS_SHOWN);
        let apps = listed.iter().map(|app| app.row.clone()).collect();
        let hold = match engine.instance(&visitor.actor) {
            Ok(instance) => instance.outbound_hold().await?,
            Err(_) => None,
        };
        let sidebar = Self {
            apps,
            has_more_apps,
            own: None,
            flows: Vec::new(),
            full: HashSet::new(),
            now: engine.now(),
            hold,
        };
        Ok((sidebar, listed))
    }

    /// The app of the page, if it has one.
    pub(super) fn in_app(&self) -> Option<&AppRow> {
        self.own.as_ref().map(|app| &app.row)
    }

    /// The app of the page, for reading.
    pub(super) fn own(&self) -> AdminResult<&AppHandle> {
        self.own.as_ref().ok_or(AdminError::NotFound(Missing::App))
    }

    /// The state of a flow of this app.
    pub(super) fn stage(&self, state: &FlowState) -> FlowStage {
        FlowStage::new(state, self.now).or_full(self.full.contains(&state.flow.flow_id))
    }

    fn sidebar_flow(&self, state: &FlowState, days: Vec<u64>) -> SidebarFlow {
        let flow = &state.flow;
        let status = self.stage(state);
        SidebarFlow { flow_id: flow.flow_id, name: flow.name.clone(), status, days }
    }
}

/// The state of a flow, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowStage {
    Draft,
    Scheduled,
    Open,
    Closed,
    Archived,
}

impl FlowStage {
    pub(super) fn new(state: &FlowState, now: Timestamp) -> Self {
        if state.flow.archived_at.is_some() {
            return Self::Archived;
        }
        if state.current.is_none() {
            return if state.last_number == 0 { Self::Draft } else { Self::Closed };
        }
        match lifecycle::flow_status(&state.flow.live, now).0 {
            FlowStatus::Scheduled => Self::Scheduled,
            FlowStatus::Open => Self::Open,
            FlowStatus::Closed => Self::Closed,
        }
    }

    /// A flow that is open is closed if it has all its responses.
    pub(super) fn or_full(self, is_full: bool) -> Self {
        if is_full && self == Self::Open { Self::Closed } else { self }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Draft => "Draft",
            Self::Scheduled => "Scheduled",
            Self::Open => "Open",
            Self::Closed => "Closed",
            Self::Archived => "Archived",
        }
    }

    /// The CSS class of its dot.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Scheduled => "scheduled",
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Archived => "archived",
        }
    }
}
