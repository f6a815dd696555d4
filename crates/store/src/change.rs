//! An administrative change: the rows to write, and the revision that it is based on.
//!
//! [`crate::AdminStore::apply`] writes all of them or none.

use std::fmt;

use sluice_flow::id::{AppId, AssetId, FlowId, ReportId, ResponseId};
#[cfg(doc)]
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::time::Timestamp;

use crate::{
    AdminRequestWrite, AppRow, AssetRow, AuditRow, ClosingWrite, EndpointWrite, EventRow, FlowRow,
    IdentityKeyRow, InvitationRow, InvitationStep, KeyRow, MailWrite, PeopleWrite, ReportRow,
    ShortPathRow, TestWrite, TokenRow, VersionRow,
};

/// The latest instant at which superseded versions of a flow accept responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraceCap {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub ends_at: Timestamp,
}

/// One row to write: inserted, or replacing the row with the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    App(AppRow),
    Key(KeyRow),
    IdentityKey(IdentityKeyRow),
    Flow(FlowRow),
    Version(VersionRow),
    /// Ends the grace of every version of the flow at this time if it would end later; other
    /// versions are unchanged, see [`VersionTimes::superseded`].
    CapGrace(GraceCap),
    Token(TokenRow),
    Audit(AuditRow),
    /// The idempotency key stays used, and the invitation that the response completed no longer
    /// references it.
    DeleteResponse(ResponseId),
    /// New invitations of one app; an existing one is left unchanged.
    Invitations(Vec<InvitationRow>),
    Invitation(InvitationStep),
    Report(ReportRow),
    DeleteReport(AppId, ReportId),
    /// Replaces the flow's path.
    ShortPath(ShortPathRow),
    DeleteShortPath(AppId, FlowId),
    Asset(AssetRow),
    DeleteAsset(AppId, AssetId),
    People(PeopleWrite),
    Closing(ClosingWrite),
    Test(TestWrite),
    /// Something that happened. If its id is behind the log's horizon, it gets a current one.
    Event(EventRow),
    Endpoint(EndpointWrite),
    Mail(MailWrite),
    AdminRequest(AdminRequestWrite),
    /// Holds e-mails and webhooks since a time, or releases them.
    HoldOutbound(Option<Timestamp>),
}

impl Write {
    /// Whether the public API can see the change; if so, the app's public revision grows.
    pub fn is_public(&self) -> bool {
        match self {
            Self::App(_)
            | Self::Key(_)
            | Self::IdentityKey(_)
            | Self::Flow(_)
            | Self::CapGrace(_)
            | Self::Closing(_)
            | Self::ShortPath(_)
            | Self::DeleteShortPath(..)
            | Self::DeleteAsset(..) => true,
            Self::Version(version) => version.times.published_at.is_some(),
            Self::Token(_)
            | Self::Audit(_)
            | Self::DeleteResponse(_)
            | Self::Invitations(_)
            | Self::Invitation(_)
            | Self::Report(_)
            | Self::DeleteReport(..)
            | Self::Test(_)
            | Self::Event(_)
            | Self::Endpoint(_)
            | Self::Mail(_)
            | Self::HoldOutbound(_)
            | Self::AdminRequest(_)
            // No client knows its id yet.
            | Self::Asset(_)
            | Self::People(_) => false,
        }
    }
}

/// Which app a change belongs to, and the revision it is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    App {
        app: AppId,
        expected: u64,
    },
    /// No existing app.
    Instance,
    /// No existing app; decided while there was no app at all.
    FirstApp,
    /// No existing app; decided while there was no admin token at all, not even a revoked one.
    FirstToken,
    /// Users, grants and links, and the revision the change is based on.
    People {
        expected: u64,
    },
}

/// Produces the rows of a change, called when no other write can happen.
pub struct Change(Box<dyn FnOnce() -> Vec<Write> + Send>);

impl Change {
    pub fn new(make: impl FnOnce() -> Vec<Write> + Send + 'static) -> Self {
        Self(Box::new(make))
    }

    pub fn rows(self) -> Vec<Write> {
        (self.0)()
    }
}

impl From<Vec<Write>> for Change {
    fn from(rows: Vec<Write>) -> Self {
        Self::new(move || rows)
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Change")
    }
}
