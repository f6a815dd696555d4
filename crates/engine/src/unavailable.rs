//! Temporary failures of the service.

/// The service cannot do this now; the caller may retry after `retry_after_seconds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unavailable {
    pub reason: &'static str,
    pub retry_after_seconds: u32,
}

/// Why a submission cannot be stored now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReady {
    /// Free disk space is below the reserve.
    DiskReserve,
    /// The store fails, does not answer, or has stopped.
    StoreFails,
}

const OVERLOADED: &str = "The service is overloaded and stored nothing. Try again shortly.";

impl Unavailable {
    pub(crate) const fn overloaded(retry_after_seconds: u32) -> Self {
        Self { reason: OVERLOADED, retry_after_seconds }
    }

    pub(crate) fn is_overload(&self) -> bool {
        self.reason == OVERLOADED
    }

    /// The code under which metrics and traces count it. It is not part of replies.
    pub fn code(&self) -> &'static str {
        match *self {
            Self::DISK_RESERVE => "disk_reserve",
            Self::OPENING => "opening",
            Self::OUTCOME_UNKNOWN => "outcome_unknown",
            it if it.is_overload() => "overloaded",
            _ => "store_unavailable",
        }
    }

    /// The version may be open on another node.
    pub(crate) const OPENING: Self = Self {
        reason: "This survey opens now, and nothing was stored. Try again shortly.",
        retry_after_seconds: 1,
    };
    pub(crate) const DISK_RESERVE: Self = Self {
        reason: "The service is short of disk space and stored nothing. Try again later.",
        retry_after_seconds: 30,
    };
    pub(crate) const STORE_DOWN: Self = Self {
        reason: "The service cannot reach its store. Try again shortly.",
        retry_after_seconds: 2,
    };
    pub(crate) const OUTCOME_UNKNOWN: Self = Self {
        reason: "The service cannot say whether this was stored. \
                 Try again with the same Idempotency-Key.",
        retry_after_seconds: 2,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_temporary_failure_has_its_code() {
        for (failure, code) in [
            (Unavailable::DISK_RESERVE, "disk_reserve"),
            (Unavailable::OPENING, "opening"),
            (Unavailable::OUTCOME_UNKNOWN, "outcome_unknown"),
            (Unavailable::STORE_DOWN, "store_unavailable"),
            (Unavailable::overloaded(1), "overloaded"),
            (Unavailable::overloaded(7), "overloaded"),
        ] {
            assert_eq!(failure.code(), code, "{failure}");
        }
    }
}
