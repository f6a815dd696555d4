//! Stored invitations: rows, queries and changes.
//!
//! A row is created once and then only moves forward: opened, completed, revoked, forgotten. No
//! write replaces a whole row, since a response may complete the invitation at any moment.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, AssignmentId, FlowId, ResponseId};
use sluice_flow::invitation::{InvitationState, InvitationTimes, Invitee};
use sluice_flow::time::Timestamp;

/// A flow assigned to one person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvitationRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub assignment_id: AssignmentId,
    pub invitee: Invitee,
    pub created_at: Timestamp,
    pub times: InvitationTimes,
    /// The response that completed it, if it is linked to a respondent.
    pub response_id: Option<ResponseId>,
}

/// The invitation that a response came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invited {
    pub assignment_id: AssignmentId,
    /// Whether the invitation may reference the response. Otherwise only the day of its completion
    /// is stored, and nothing stored leads from one to the other.
    pub linked: bool,
}

/// A change of an invitation that is not caused by a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvitationStep {
    /// Its page was opened. Recorded once, and only if the invitation is not completed.
    Open { app: AppId, assignment: AssignmentId, at: Timestamp },
    /// Revoked. If it is completed or revoked already, the change is a conflict.
    Revoke { app: AppId, assignment: AssignmentId, at: Timestamp },
}

impl InvitationStep {
    pub fn app(&self) -> AppId {
        match self {
            Self::Open { app, .. } | Self::Revoke { app, .. } => *app,
        }
    }
}

/// The position of an invitation in the list of its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InvitationPosition {
    pub created_at: Timestamp,
    pub assignment_id: AssignmentId,
}

/// Which invitations of a flow to list, in creation order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvitationQuery {
    pub app_id: AppId,
    pub flow_id: FlowId,
    /// Only invitations that have this state at `now`.
    pub state: Option<InvitationState>,
    pub now: Timestamp,
    pub after: Option<InvitationPosition>,
    pub limit: usize,
}

/// How many invitations a flow has in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InvitationCounts {
    pub sent: u64,
    pub opened: u64,
    pub expired: u64,
    pub revoked: u64,
    pub completed: u64,
}

impl InvitationCounts {
    pub(crate) fn of_state(&mut self, state: InvitationState) -> &mut u64 {
        match state {
            InvitationState::Sent => &mut self.sent,
            InvitationState::Opened => &mut self.opened,
            InvitationState::Expired => &mut self.expired,
            InvitationState::Revoked => &mut self.revoked,
            InvitationState::Completed => &mut self.completed,
        }
    }
}

/// [`InvitationTimes::state`] as SQL; `now` is the SQL expression for the current time.
pub(crate) fn state_in_sql(now: &str) -> String {
    format!(
        "CASE WHEN completed_at IS NOT NULL THEN 'completed' WHEN revoked_at IS NOT NULL THEN 'revoked' \
         WHEN expires_at <= {now} THEN 'expired' WHEN opened_at IS NOT NULL THEN 'opened' \
         ELSE 'sent' END"
    )
}
