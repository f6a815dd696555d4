//! Removal in batches: erasure of a person, and expiry of an app's old data.
//!
//! The caller repeats both until they are done. A batch is bounded, so that submissions get their
//! turn between two batches. The audit entry is written in the same transaction as the first
//! removed rows, so nothing is removed unrecorded if the rest is interrupted.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, AssignmentId, RespondentId, ResponseId};
use sluice_flow::respondent::{IDENTITIES_PER_RESPONDENT_MAX, ProfileIdentity};
use sluice_flow::time::{DAY_MILLIS, Timestamp};

use crate::AuditRow;

/// The most identities of a profile that an erasure cuts out of all its answers: those of a full
/// profile, and as many again that submissions may add before the last one is removed. A profile
/// from before the limit may have more.
pub const ERASURE_IDENTITIES_MAX: usize = 2 * IDENTITIES_PER_RESPONDENT_MAX;

/// What happens to the answers of an erased person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswersOnErasure {
    /// They stay, without anything that links them to the person.
    Keep,
    Delete,
}

impl AnswersOnErasure {
    pub const ALL: [Self; 2] = [Self::Keep, Self::Delete];

    /// The name used in requests, events and the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Delete => "delete",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// An erasure in progress. Stored with the profile until the profile is removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureMark {
    pub answers: AnswersOnErasure,
    /// The identities of the profile, to cut out of every response that is kept; empty if the
    /// answers are deleted. Lookups by identity do not use them.
    pub identities: Vec<ProfileIdentity>,
}

/// Who is erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErasureTarget {
    Respondent(RespondentId),
    /// A person without a profile, known by this identity; only their invitations are stored.
    Invitee(ProfileIdentity),
}

/// One erasure, carried out in batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    pub app_id: AppId,
    pub target: ErasureTarget,
    pub answers: AnswersOnErasure,
    /// Written with the first batch. Contains nothing that identifies the person.
    pub audit: AuditRow,
    /// The most identities that one batch takes, and the most responses, consents and invitations
    /// together.
    pub limit: usize,
}

/// What one batch of an erasure did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErasedPart {
    /// Responses of the person that were deleted or unlinked.
    pub responses: u64,
    /// Profiles that were removed.
    pub respondents: u64,
    /// Invitations that no longer name a person.
    pub invitations: u64,
    /// Whether nothing is left to remove.
    pub done: bool,
}

/// One batch of the expiry of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    pub app_id: AppId,
    /// The setting that `before` follows from. A batch does nothing if the app has another one by
    /// now.
    pub retention_days: Option<u32>,
    /// Data that was received, or ended, before this time.
    pub before: Timestamp,
    pub cursor: ExpiryCursor,
    /// Written with every batch that removes something.
    pub audit: AuditRow,
    /// The most rows to read.
    pub limit: usize,
}

/// The cursor of an expiry: what to remove next, and after which row. Starts at the default; the
/// caller passes back what the previous batch returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryCursor {
    Responses(Option<ResponseId>),
    Consents(Option<ResponseId>),
    /// Marks of used keys; their responses were removed earlier.
    Keys(Option<ResponseId>),
    /// In the order in which they ended.
    Invitations(Option<(Timestamp, AssignmentId)>),
    /// The log of events, and deliveries.
    Events,
}

impl ExpiryCursor {
    /// The step after this one.
    pub fn following(self) -> Option<Self> {
        match self {
            Self::Responses(_) => Some(Self::Consents(None)),
            Self::Consents(_) => Some(Self::Keys(None)),
            Self::Keys(_) => Some(Self::Invitations(None)),
            Self::Invitations(_) => Some(Self::Events),
            Self::Events => None,
        }
    }
}

impl Erasure {
    /// The mark of this erasure, given the mark of earlier batches and the identities that the
    /// profile still has. Deleting wins over keeping.
    pub(crate) fn mark(
        &self,
        begun: Option<&ErasureMark>,
        found: &[ProfileIdentity],
    ) -> ErasureMark {
        let begun_answers = begun.map(|it| it.answers);
        if self.answers == AnswersOnErasure::Delete
            || begun_answers == Some(AnswersOnErasure::Delete)
        {
            return ErasureMark { answers: AnswersOnErasure::Delete, identities: Vec::new() };
        }
        let mut identities = begun.map_or_else(Vec::new, |it| it.identities.clone());
        for known in found {
            if identities.len() < ERASURE_IDENTITIES_MAX && !identities.contains(known) {
                identities.push(known.clone());
            }
        }
        ErasureMark { answers: AnswersOnErasure::Keep, identities }
    }

    /// How many identities a batch reads: enough for the mark and for what it removes.
    pub(crate) fn identities_read(&self) -> usize {
        self.limit.max(ERASURE_IDENTITIES_MAX)
    }
}

impl Default for ExpiryCursor {
    fn default() -> Self {
        Self::Responses(None)
    }
}

/// A month of responses that no app keeps any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredMonth {
    pub from: Timestamp,
    /// Where the next month begins.
    pub to: Timestamp,
    /// The apps with responses in it.
    pub apps: Vec<AppId>,
}

/// An app that limits how long it keeps data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetainingApp {
    pub app_id: AppId,
    pub retention_days: u32,
    /// Whether it may have anything older than that.
    pub is_due: bool,
}

impl RetainingApp {
    /// Data from before this time is too old.
    pub fn kept_since(&self, now: Timestamp) -> Timestamp {
        kept_since(now, self.retention_days)
    }
}

/// The time since which an app with this retention keeps data.
pub(crate) fn kept_since(now: Timestamp, retention_days: u32) -> Timestamp {
    let millis = now.as_millis().saturating_sub(i64::from(retention_days) * DAY_MILLIS);
    Timestamp::from_millis(millis.max(0))
}

/// What one batch of an expiry did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// Responses that were deleted.
    pub responses: u64,
    /// Profiles that were removed.
    pub respondents: u64,
    /// Invitations that no longer name a person.
    pub invitations: u64,
    /// All rows that were removed or changed, including consents and keys.
    pub rows: u64,
    pub next: Next,
}

impl Expired {
    /// A batch that did nothing.
    pub(crate) fn nothing(next: Next) -> Self {
        Self { responses: 0, respondents: 0, invitations: 0, rows: 0, next }
    }
}

/// Where an expiry continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    At(ExpiryCursor),
    Done,
    /// Another process is working on this app and continues it.
    LeftToAnother,
    /// The app keeps data for another time by now; the next run follows it.
    SettingChanged,
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::AuditId;
    use sluice_flow::respondent::IdentityType;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_mark_of_an_erasure_is_bounded_however_large_the_profile() {
        let audit = AuditRow {
            audit_id: AuditId::from_uuid(Uuid::nil()),
            app_id: None,
            actor: String::new(),
            action: String::new(),
            subject: String::new(),
            detail: String::new(),
        };
        let erasure = Erasure {
            app_id: AppId::from_uuid(Uuid::nil()),
            target: ErasureTarget::Respondent(RespondentId::from_uuid(Uuid::nil())),
            answers: AnswersOnErasure::Keep,
            audit,
            limit: 20,
        };
        let address = |number: usize| {
            ProfileIdentity::new(IdentityType::Email, &format!("{number}@mail.example"))
        };
        let first = erasure.mark(None, &[0, 1].map(address));
        assert_eq!(first.identities, [0, 1].map(address));
        let all: Vec<ProfileIdentity> = (1..500).map(address).collect();
        let second = erasure.mark(Some(&first), &all);
        assert_eq!(second.identities.len(), ERASURE_IDENTITIES_MAX);
        assert_eq!(second.identities[..3], [0, 1, 2].map(address));
        let delete = Erasure { answers: AnswersOnErasure::Delete, ..erasure.clone() };
        let deleting = delete.mark(Some(&second), &all);
        assert_eq!(
            deleting,
            ErasureMark { answers: AnswersOnErasure::Delete, identities: Vec::new() }
        );
        assert_eq!(erasure.mark(Some(&deleting), &all), deleting, "deleting wins");
    }
}
