//! Invitations: who can be invited, and the state of an invitation at an instant.
//!
//! An invitation assigns a flow to one person and counts once. Its state is a function of four
//! times, like that of a version; no job has to run for one to expire. Messages never repeat an
//! identity.

use serde::{Deserialize, Serialize};

use crate::email::is_email;
use crate::issue::Code;
use crate::submission::identities::{EMAIL_CHARS_MAX, USER_ID_CHARS_MAX};
use crate::time::{DAY_MILLIS, Timestamp};

pub use crate::submission::parts::{EMAIL, USER_ID};

/// The person invited: a user id, an e-mail address, or both.
///
/// Both are absent if the person was erased and only the fact of the invitation is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitee {
    pub user_id: Option<String>,
    pub email: Option<String>,
}

/// Which field of an [`Invitee`] is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InviteeField {
    /// Both are absent.
    Whole,
    UserId,
    Email,
}

impl Invitee {
    /// Every fault, by the rules for identities of a submission.
    pub fn faults(&self) -> Vec<(InviteeField, String)> {
        let mut faults = Vec::new();
        if self.user_id.is_none() && self.email.is_none() {
            faults.push((
                InviteeField::Whole,
                "must have a userId, an e-mail address, or both".to_owned(),
            ));
        }
        if let Some(user) = &self.user_id
            && !(1..=USER_ID_CHARS_MAX).contains(&user.chars().count())
        {
            let what = format!("must have 1 to {USER_ID_CHARS_MAX} characters");
            faults.push((InviteeField::UserId, what));
        }
        if let Some(email) = &self.email
            && (email.chars().count() > EMAIL_CHARS_MAX || !is_email(email))
        {
            let what = "must be an e-mail address such as name@example.com".to_owned();
            faults.push((InviteeField::Email, what));
        }
        for (field, text) in
            [(InviteeField::UserId, &self.user_id), (InviteeField::Email, &self.email)]
        {
            if text.as_ref().is_some_and(|text| text.contains('\0')) {
                faults.push((field, "must not hold a NUL character".to_owned()));
            }
        }
        faults
    }

    /// The address in the form used for comparison: the case of ASCII letters is ignored.
    pub fn email_key(&self) -> Option<String> {
        self.email.as_ref().map(|email| email.to_ascii_lowercase())
    }
}

/// The times that determine the state of an invitation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvitationTimes {
    pub expires_at: Option<Timestamp>,
    pub opened_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// The state of an invitation at an instant. If several apply, the last in the list wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvitationState {
    /// Created, and not known to be opened.
    Sent,
    /// Its page was opened.
    Opened,
    /// Ended without a response.
    Expired,
    /// It was revoked.
    Revoked,
    /// Has its response.
    Completed,
}

impl InvitationState {
    pub const ALL: [Self; 5] =
        [Self::Sent, Self::Opened, Self::Expired, Self::Revoked, Self::Completed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Opened => "opened",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Completed => "completed",
        }
    }

    /// The code with which a response is refused; `None` if it is accepted.
    pub fn refusal(self) -> Option<Code> {
        match self {
            Self::Sent | Self::Opened => None,
            Self::Expired => Some(Code::InvitationExpired),
            Self::Revoked => Some(Code::InvitationRevoked),
            Self::Completed => Some(Code::InvitationUsed),
        }
    }
}

impl InvitationTimes {
    pub fn state(&self, now: Timestamp) -> InvitationState {
        if self.completed_at.is_some() {
            InvitationState::Completed
        } else if self.revoked_at.is_some() {
            InvitationState::Revoked
        } else if self.expires_at.is_some_and(|end| now >= end) {
            InvitationState::Expired
        } else if self.opened_at.is_some() {
            InvitationState::Opened
        } else {
            InvitationState::Sent
        }
    }
}

/// The first instant of the day, in UTC. For a person who did not agree to be linked, only this is
/// stored of when they opened or used an invitation: a finer time would lead to the response of
/// that time.
pub fn day_of(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis().div_euclid(DAY_MILLIS) * DAY_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_derived_from_the_times() {
        use InvitationState::{Completed, Expired, Opened, Revoked, Sent};
        let at = Timestamp::from_millis;
        let times = |expires: Option<i64>, opened: Option<i64>, completed, revoked| {
            let times = [expires, opened, completed, revoked].map(|time| time.map(at));
            let [expires_at, opened_at, completed_at, revoked_at] = times;
            InvitationTimes { expires_at, opened_at, completed_at, revoked_at }
        };
        for (of, now, state) in [
            (times(None, None, None, None), i64::MAX, Sent),
            (times(Some(10), None, None, None), 9, Sent),
            (times(Some(10), None, None, None), 10, Expired),
            (times(Some(10), Some(5), None, None), 9, Opened),
            (times(Some(10), Some(5), None, None), 10, Expired),
            (times(Some(10), Some(5), None, Some(3)), 4, Revoked),
            (times(Some(10), Some(5), None, Some(3)), 40, Revoked),
            (times(Some(10), None, Some(7), None), 40, Completed),
            (times(Some(10), None, Some(7), Some(8)), 40, Completed),
        ] {
            assert_eq!(of.state(at(now)), state, "{of:?} at {now}");
        }
    }

    #[test]
    fn only_an_open_invitation_accepts_a_response() {
        let codes = InvitationState::ALL.map(|state| state.refusal().map(Code::as_str));
        let ended = ["invitation_expired", "invitation_revoked", "invitation_used"].map(Some);
        assert_eq!(codes[..2], [None, None]);
        assert_eq!(codes[2..], ended);
    }

    #[test]
    fn an_invitee_has_a_valid_user_id_or_address() {
        let of = |user: Option<&str>, email: Option<&str>| Invitee {
            user_id: user.map(str::to_owned),
            email: email.map(str::to_owned),
        };
        let (long, local) = ("u".repeat(256), format!("{}@example.com", "a".repeat(243)));
        for (invitee, parts) in [
            (of(Some("7"), None), vec![]),
            (of(None, Some("ada@example.com")), vec![]),
            (of(Some("7"), Some("ada@example.com")), vec![]),
            (of(None, None), vec![InviteeField::Whole]),
            (of(Some(""), Some("nobody")), vec![InviteeField::UserId, InviteeField::Email]),
            (of(Some(&long), None), vec![InviteeField::UserId]),
            (of(None, Some(&local)), vec![InviteeField::Email]),
            (of(Some("a\0b"), None), vec![InviteeField::UserId]),
        ] {
            let faults = invitee.faults();
            let found: Vec<InviteeField> = faults.iter().map(|(field, _)| *field).collect();
            assert_eq!(found, parts, "{invitee:?}");
            let private = invitee.email.as_deref().unwrap_or("@");
            assert!(faults.iter().all(|(_, what)| !what.contains(private)), "{faults:?}");
        }
    }

    #[test]
    fn a_time_is_reduced_to_its_day() {
        let at: Timestamp = "2026-11-15T23:59:59.999Z".parse().unwrap();
        assert_eq!(day_of(at).to_string(), "2026-11-15T00:00:00.000Z");
        assert_eq!(day_of(day_of(at)), day_of(at));
    }
}
