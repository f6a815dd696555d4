//! What goes, part by part: one person who is erased, and what an app has kept long enough.
//!
//! Both are asked for again until they are done. A part is bounded, so that submissions get their turn
//! between two of them; and each that removes something writes its audit entry in the same transaction,
//! always the same one, so that nothing goes unrecorded where the rest is cut short.

use sluice_flow::id::{AppId, AssignmentId, RespondentId, ResponseId};
use sluice_flow::respondent::Known;
use sluice_flow::time::Timestamp;

use crate::AuditRow;

/// What becomes of the answers of an erased person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// They stay, without anything that connects them with the person.
    Keep,
    Delete,
}

/// Whom an erasure is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Person {
    Respondent(RespondentId),
    /// Somebody of whom this is known and who has no profile: their invitations are all there is.
    Invitee(Known),
}

/// One erasure, to be carried out in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    pub app_id: AppId,
    pub person: Person,
    pub answers: Answers,
    /// Written with every part that removes something. It tells nothing that the person is known by.
    pub audit: AuditRow,
    /// The most responses and invitations, together, that one part takes.
    pub limit: usize,
}

/// What one part of an erasure did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Responses of the person that were deleted or unlinked.
    pub responses: u64,
    /// Profiles that were removed.
    pub respondents: u64,
    /// Invitations that name nobody any more.
    pub invitations: u64,
    /// Whether nothing is left to remove.
    pub done: bool,
}

/// One part of the expiry of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    pub app_id: AppId,
    /// What was received, or was over, before this.
    pub before: Timestamp,
    pub place: ExpiryPlace,
    /// Written with every part that removes something.
    pub audit: AuditRow,
    /// The most rows that are looked at.
    pub limit: usize,
}

/// How far an expiry has come: what is taken next, and after what. It begins at the default, and is then
/// handed back as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryPlace {
    Responses(Option<ResponseId>),
    Consents(Option<ResponseId>),
    /// The marks of keys whose responses went earlier.
    Keys(Option<ResponseId>),
    /// By when they were over.
    Invitations(Option<(Timestamp, AssignmentId)>),
}

impl ExpiryPlace {
    /// What is taken after all of this.
    pub fn following(self) -> Option<Self> {
        match self {
            Self::Responses(_) => Some(Self::Consents(None)),
            Self::Consents(_) => Some(Self::Keys(None)),
            Self::Keys(_) => Some(Self::Invitations(None)),
            Self::Invitations(_) => None,
        }
    }
}

impl Default for ExpiryPlace {
    fn default() -> Self {
        Self::Responses(None)
    }
}

/// What one part of an expiry did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// Responses that were deleted.
    pub responses: u64,
    /// Profiles that were removed.
    pub respondents: u64,
    /// Invitations that name nobody any more.
    pub invitations: u64,
    /// All rows that were removed or changed, those of consents and keys among them.
    pub rows: u64,
    pub next: Next,
}

impl Expired {
    /// A part that did nothing.
    pub(crate) fn nothing(next: Next) -> Self {
        Self { responses: 0, respondents: 0, invitations: 0, rows: 0, next }
    }
}

/// Where an expiry goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    At(ExpiryPlace),
    Done,
    /// Another process is at this app, and goes on with it.
    LeftToAnother,
}
