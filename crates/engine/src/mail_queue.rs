//! E-mails that use cases queue, and their state. Contents and recipients are determined in
//! [`crate::mail`] when they are due.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{MailId, UserId};
use sluice_flow::time::{Timestamp, Window};
use sluice_store::{FlowRow, InvitationRow, MailEnd, MailKind, MailRow, MailWrite, Write};

use crate::admin::AdminError;
use crate::ids::{random_bits, random_ids};
use crate::mail::words::chosen_language;

/// The state of the e-mail of an invitation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
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

/// Moves the invitations that wait for the start of a flow to its new start; if that has passed,
/// they are sent now, or end if the flow has ended.
pub(crate) fn queued_at_start(flow: &FlowRow, live: Window, now: Timestamp) -> Option<Write> {
    let from = flow.live.starts_at.filter(|from| *from > now && Some(*from) != live.starts_at)?;
    let to = live.starts_at.map_or(now, |to| to.max(now));
    let (app_id, flow_id) = (flow.app_id, flow.flow_id);
    Some(Write::Mail(MailWrite::Reschedule { app_id, flow_id, from, to }))
}

/// Sends the invitations that wait because the flow was closed, if it no longer is.
pub(crate) fn queued_at_opening(flow: &FlowRow, live: Window, now: Timestamp) -> Option<Write> {
    let is_closed = |window: Window| window.ends_at.is_some_and(|end| end <= now);
    (is_closed(flow.live) && !is_closed(live)).then(|| reopened(flow, Some(now)))
}

/// Sends the invitations that wait because the flow was closed at a time, or ends them.
pub(crate) fn reopened(flow: &FlowRow, at: Option<Timestamp>) -> Write {
    let (app_id, flow_id) = (flow.app_id, flow.flow_id);
    Write::Mail(MailWrite::Reopen { app_id, flow_id, at })
}

/// Sends one of the invitations that wait because the flow is full: there is room for one.
pub(crate) fn reopened_for_one(flow: &FlowRow, at: Timestamp) -> Write {
    let (app_id, flow_id) = (flow.app_id, flow.flow_id);
    Write::Mail(MailWrite::ReopenOne { app_id, flow_id, at })
}

/// The `detail` of an e-mail with a password link.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PasswordDetail {
    #[serde(default)]
    pub(crate) language: Option<String>,
    /// Whether the user requested it, not an owner: such requests are limited.
    #[serde(default)]
    pub(crate) is_requested: bool,
}

impl PasswordDetail {
    /// For a user whose browser requests this language.
    pub(crate) fn new(wanted: Option<&str>, is_requested: bool) -> Self {
        let language = wanted.map(|wanted| chosen_language(wanted).to_owned());
        Self { language, is_requested }
    }

    pub(crate) fn from_row(row: &MailRow) -> Self {
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

/// Removes the e-mails with a link for a user that were not sent yet: the password was set.
pub(crate) fn waiting_passwords(rows: Vec<MailRow>) -> Vec<Write> {
    let is_waiting = |row: &MailRow| row.kind == MailKind::Password && row.next_at.is_some();
    let waiting = rows.into_iter().filter(is_waiting);
    waiting.map(|row| Write::Mail(MailWrite::Remove(row.app_id, row.mail_id))).collect()
}

/// The error if something is to be sent and there is no mail server.
pub(crate) fn no_mail_server() -> AdminError {
    AdminError::conflict("no_mail_server", "no mail server is configured; set smtp-url first")
}
