//! Rows of e-mails: what to send, and its progress.
//!
//! A row names what it is about and never an address: the recipient is read when the e-mail is
//! sent, so an erased person gets none. A server takes a row by moving its time into the future; if
//! the server stops, the row becomes due again and another server takes it. Every change of a row
//! raises its revision, so a slow server cannot overwrite a later change.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, AssignmentId, FlowId, MailId, UserId};
use sluice_flow::time::Timestamp;

/// SHA-256 of an app and an address, of a recipient who unsubscribed.
pub type AddressHash = [u8; 32];

/// What an e-mail is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailKind {
    /// An invitation and its reminders.
    Invitation,
    /// A link to set a password.
    Password,
    /// A user's subscription to the new responses of a flow.
    Notice,
    /// That a webhook endpoint was disabled.
    Endpoint,
}

/// Why nothing more is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailEnd {
    /// The mail server refused the recipient permanently.
    Bounced,
    /// Every attempt failed.
    Failed,
    /// The recipient unsubscribed from the e-mails of the app.
    Unsubscribed,
    /// There was no reason to send it any more.
    Stopped,
    /// The flow is closed: it is sent when that opens again.
    Closed,
}

/// An e-mail, or a series of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailRow {
    pub app_id: Option<AppId>,
    pub mail_id: MailId,
    pub kind: MailKind,
    pub flow_id: Option<FlowId>,
    pub assignment_id: Option<AssignmentId>,
    pub user_id: Option<UserId>,
    /// JSON, by kind.
    pub detail: Option<String>,
    pub created_at: Timestamp,
    /// How many of the series were accepted by the mail server, and when the last one was.
    pub sent: u32,
    pub sent_at: Option<Timestamp>,
    /// How often the next one was attempted.
    pub attempts: u32,
    /// When the next one is due, or may be taken by another server; absent if nothing more is sent.
    pub next_at: Option<Timestamp>,
    pub ended: Option<MailEnd>,
    /// The code of the mail server's last refusal.
    pub reply: Option<String>,
    #[serde(default, with = "crate::hex")]
    pub address: Option<AddressHash>,
    /// How often the row was changed.
    #[serde(default)]
    pub revision: u32,
}

/// E-mails that do not wait for one another: neither a password link nor a notice waits behind many
/// invitations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailLane {
    Passwords,
    /// Notices of new responses and of disabled endpoints.
    Notices,
    Invitations,
}

impl MailLane {
    pub const ALL: [Self; 3] = [Self::Passwords, Self::Notices, Self::Invitations];

    /// The SQL condition of its rows, as the indexes have it.
    pub(crate) fn condition(self) -> &'static str {
        match self {
            Self::Passwords => "kind = 'password'",
            Self::Notices => "kind IN ('notice', 'endpoint')",
            Self::Invitations => "kind = 'invitation'",
        }
    }
}

impl MailRow {
    /// A new e-mail that is due at a time.
    pub fn new(mail_id: MailId, kind: MailKind, created_at: Timestamp) -> Self {
        Self {
            app_id: None,
            mail_id,
            kind,
            flow_id: None,
            assignment_id: None,
            user_id: None,
            detail: None,
            created_at,
            sent: 0,
            sent_at: None,
            attempts: 0,
            next_at: Some(created_at),
            ended: None,
            reply: None,
            address: None,
            revision: 0,
        }
    }
}

/// A change to e-mails. It moves no revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailWrite {
    /// New e-mails; an existing one is left unchanged.
    Add(Vec<MailRow>),
    /// Takes an e-mail until a time, and counts the attempt. A conflict if it was taken or changed
    /// since it was read.
    Claim {
        read: MailRow,
        until: Timestamp,
    },
    /// Counts an e-mail of this minute, by all servers together. A conflict if `max` were counted.
    /// A server whose clock is up to [`PACE_SKEW_MINUTES`] behind counts it in the minute of the
    /// others.
    Pace {
        minute: i64,
        max: u32,
    },
    /// Replaces an e-mail that has this revision. A conflict if it was taken, changed or removed
    /// since then.
    Settle {
        row: MailRow,
        revision: u32,
    },
    /// Ends an e-mail because its recipient unsubscribed.
    Unsubscribe {
        app_id: AppId,
        mail_id: MailId,
        address: AddressHash,
    },
    /// Sets when the invitations of a flow that were sent fewer than `count` times are sent again,
    /// in milliseconds after the last time; absent means never. Only those that have not ended. Of
    /// those that are being sent only the revision changes, so that their outcome considers it.
    Remind {
        app_id: AppId,
        flow_id: FlowId,
        after_millis: Option<i64>,
        count: u32,
    },
    /// Moves the invitations of a flow that wait for its start, which was `from`, to another time.
    Reschedule {
        app_id: AppId,
        flow_id: FlowId,
        from: Timestamp,
        to: Timestamp,
    },
    /// Sends the invitations of a flow at a time that wait because it was closed; absent ends them.
    Reopen {
        app_id: AppId,
        flow_id: FlowId,
        at: Option<Timestamp>,
    },
    /// Sends the invitation of a flow at a time that has waited longest because it was closed.
    ReopenOne {
        app_id: AppId,
        flow_id: FlowId,
        at: Timestamp,
    },
    Remove(Option<AppId>, MailId),
}

/// How far the clock of a server may be behind that of another, in minutes. Beyond it the minute
/// that was counted last was wrong.
pub const PACE_SKEW_MINUTES: i64 = 10;
