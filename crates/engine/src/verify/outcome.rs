//! The outcomes of a token check, as reported to callers and counted for operators.

use std::sync::atomic::{AtomicU64, Ordering};

use sluice_flow::time::Timestamp;

/// Why a token is invalid. Callers do not learn which rule it broke; operators do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invalid {
    /// Too long, not three parts, invalid base64url, not a JSON object, or a duplicate name.
    Malformed,
    /// A header that is not allowed, or of the wrong type.
    HeaderRefused,
    /// An algorithm that is unknown, or differs from the key's.
    AlgorithmRefused,
    /// No active key matches, or there are several and the token names none.
    KeyUnknown,
    SignatureWrong,
    SubjectWrong,
    EmailWrong,
    AudienceWrong,
    IssuerWrong,
    /// `exp` or `iat` is missing or not a time.
    TimesWrong,
    /// Its lifetime is longer than the app allows.
    LifetimeTooLong,
    /// `iat` or `nbf` is in the future.
    NotYetValid,
}

/// The outcome of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenOutcome {
    Verified,
    Missing,
    Expired,
    /// The identities in the submission contradict the token.
    Mismatch,
    /// The keys were not available.
    Unavailable,
    Invalid(Invalid),
}

impl TokenOutcome {
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

    /// The name in metrics: an outcome, or the rule that an invalid token broke.
    pub fn as_str(self) -> &'static str {
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

    fn index(self) -> usize {
        Self::ALL.iter().position(|one| *one == self).unwrap_or_default()
    }
}

/// The outcomes for one app, counted since this process first checked a token for it.
#[derive(Debug)]
pub struct CheckCounts {
    pub since: Timestamp,
    counts: [AtomicU64; TokenOutcome::ALL.len()],
}

impl CheckCounts {
    pub(crate) fn new(since: Timestamp) -> Self {
        Self { since, counts: Default::default() }
    }

    pub(crate) fn count(&self, checked: TokenOutcome) {
        self.counts[checked.index()].fetch_add(1, Ordering::Relaxed);
    }

    pub fn get(&self, checked: TokenOutcome) -> u64 {
        self.counts[checked.index()].load(Ordering::Relaxed)
    }
}
