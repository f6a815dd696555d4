//! What the check of a token can come to, as callers are told and as operators count it.

use std::sync::atomic::{AtomicU64, Ordering};

use sluice_flow::time::Timestamp;

/// Why a token is not valid. The caller learns only that; which rule it broke is for operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// Too long, not three parts, no base64url, no JSON object, or a name twice.
    Malformed,
    /// A header that may not be there, or of the wrong kind.
    HeaderRefused,
    /// An algorithm that is unknown, or not that of the key.
    AlgorithmRefused,
    /// No active key fits, or there are several and the token names none.
    KeyUnknown,
    SignatureWrong,
    SubjectWrong,
    EmailWrong,
    AudienceWrong,
    IssuerWrong,
    /// `exp` or `iat` is missing or no time.
    TimesWrong,
    /// Issued for longer than the app allows.
    LifetimeTooLong,
    /// Issued in the future, or not valid before then.
    NotYetValid,
}

/// How one check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    Verified,
    Missing,
    Expired,
    /// A submission whose identities contradict its token.
    Mismatch,
    /// The keys could not be had.
    Unavailable,
    Invalid(Invalid),
}

impl Checked {
    pub const ALL: [Self; 17] = [
        Self::Verified,
        Self::Missing,
        Self::Expired,
        Self::Mismatch,
        Self::Unavailable,
        Self::Invalid(Invalid::Malformed),
        Self::Invalid(Invalid::HeaderRefused),
        Self::Invalid(Invalid::AlgorithmRefused),
        Self::Invalid(Invalid::KeyUnknown),
        Self::Invalid(Invalid::SignatureWrong),
        Self::Invalid(Invalid::SubjectWrong),
        Self::Invalid(Invalid::EmailWrong),
        Self::Invalid(Invalid::AudienceWrong),
        Self::Invalid(Invalid::IssuerWrong),
        Self::Invalid(Invalid::TimesWrong),
        Self::Invalid(Invalid::LifetimeTooLong),
        Self::Invalid(Invalid::NotYetValid),
    ];

    /// The word under which it is counted: an outcome, or the rule that an invalid token broke.
    pub fn word(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Missing => "missing",
            Self::Expired => "expired",
            Self::Mismatch => "mismatch",
            Self::Unavailable => "unavailable",
            Self::Invalid(why) => match why {
                Invalid::Malformed => "malformed",
                Invalid::HeaderRefused => "header_refused",
                Invalid::AlgorithmRefused => "algorithm_refused",
                Invalid::KeyUnknown => "key_unknown",
                Invalid::SignatureWrong => "signature_wrong",
                Invalid::SubjectWrong => "subject_wrong",
                Invalid::EmailWrong => "email_wrong",
                Invalid::AudienceWrong => "audience_wrong",
                Invalid::IssuerWrong => "issuer_wrong",
                Invalid::TimesWrong => "times_wrong",
                Invalid::LifetimeTooLong => "lifetime_too_long",
                Invalid::NotYetValid => "not_yet_valid",
            },
        }
    }

    pub fn is_invalid(self) -> bool {
        matches!(self, Self::Invalid(_))
    }

    fn place(self) -> usize {
        Self::ALL.iter().position(|one| *one == self).unwrap_or_default()
    }
}

/// How often each happened to one app, since this process first checked a token for it.
#[derive(Debug)]
pub struct Counts {
    pub since: Timestamp,
    counts: [AtomicU64; Checked::ALL.len()],
}

impl Counts {
    pub(crate) fn new(since: Timestamp) -> Self {
        Self { since, counts: Default::default() }
    }

    pub(crate) fn count(&self, checked: Checked) {
        self.counts[checked.place()].fetch_add(1, Ordering::Relaxed);
    }

    pub fn of(&self, checked: Checked) -> u64 {
        self.counts[checked.place()].load(Ordering::Relaxed)
    }
}
