//! E-mails that use cases queue, and what became of them. What is sent, and to whom, is decided in
//! [`crate::mail`] when they are due.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{MailId, UserId};
use sluice_flow::time::{Timestamp, Window};
use sluice_store::{FlowRow, InvitationRow, MailEnd, MailKind, MailRow, MailWrite, Write};

use crate::admin::AdminError;
use crate::ids::{random_bits, random_ids};

/// What became of the e-mail of an invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailStatus {
    /// How many were accepted by the mail server, reminders included, and when the last one was.
    pub sent: u32,
    pub sent_at: Option<Timestamp>,
    /// When the next one is due.
    pub next_at: Option<Timestamp>,
    pub ended: Option<MailEnd>,
    /// The code of the mail server's last refusal.
    pub reply: Option<String>,
}

impl From<MailRow> for MailStatus {
    fn from(row: MailRow) -> Self {
        let MailRow { sent, sent_at, next_at, ended, reply, .. } = row;
        Self { sent, sent_at, next_at, ended, reply }
    }
}

/// The e-mails of new invitations.
pub(crate) fn queued_invitations(invitations: &[InvitationRow]) -> Write {
    let ids = random_ids(invitations.len());
    let row = |(invitation, id): (&InvitationRow, u128)| MailRow {
        app_id: Some(invitation.app_id),
        flow_id: Some(invitation.flow_id),
        assignment_id: Some(invitation.assignment_id),
        ..MailRow::new(MailId::from_random(id), MailKind::Invitation, invitation.created_at)
    };
    Write::Mail(MailWrite::Add(invitations.iter().zip(ids).map(row).collect()))
}

/// Moves the invitations that wait for the start of a flow to its new start; if that has passed, they
/// are sent now, or end if the flow has ended.
pub(crate) fn queued_at_start(flow: &FlowRow, live: Window, now: Timestamp) -> Option<Write> {
    let from = flow.live.starts_at.filter(|from| *from > now && Some(*from) != live.starts_at)?;
    let to = live.starts_at.map_or(now, |to| to.max(now));
    let (app_id, flow_id) = (flow.app_id, flow.flow_id);
    Some(Write::Mail(MailWrite::Reschedule { app_id, flow_id, from, to }))
}

/// The `detail` of an e-mail with a password link.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PasswordDetail {
    #[serde(default)]
    pub(crate) language: Option<String>,
    /// Whether the user asked for it, and not an owner: such requests are limited.
    #[serde(default)]
    pub(crate) is_requested: bool,
}

impl PasswordDetail {
    pub(crate) fn of(row: &MailRow) -> Self {
        let detail = row.detail.as_deref().and_then(|text| serde_json::from_str(text).ok());
        detail.unwrap_or_default()
    }

    pub(crate) fn to_detail(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// The e-mail with a link for a user.
pub(crate) fn queued_password(user: UserId, detail: &PasswordDetail, now: Timestamp) -> Write {
    let id = MailId::from_random(random_bits());
    let row = MailRow {
        user_id: Some(user),
        detail: detail.to_detail(),
        ..MailRow::new(id, MailKind::Password, now)
    };
    Write::Mail(MailWrite::Add(vec![row]))
}

/// The error if something is to be sent and there is no mail server.
pub(crate) fn no_mail_server() -> AdminError {
    AdminError::conflict("no_mail_server", "no mail server is configured; set smtp-url first")
}
