//! Why a sign-in is refused.

use sluice_flow::definition::Fault;
use sluice_flow::id::UserId;
use sluice_store::StoreError;

use super::secret::Secret;
use crate::conflict::MayBeConflict;

/// Why a sign-in is refused, or a password is not set.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The name, the password, the code or the token is wrong, or the user is disabled; the reply
    /// does not say which. The user whose account was tried is only for the log.
    #[error("invalid credentials")]
    Wrong(Option<UserId>),
    /// The password is right, but a code of the second factor is needed, with this ticket.
    #[error("a code is needed")]
    CodeNeeded(Secret),
    /// The link was used, replaced or has expired.
    #[error("this link is no longer valid; ask for another")]
    LinkOver,
    #[error("the request has {} fault{}", .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Invalid(Vec<Fault>),
    /// Too many passwords are being checked at once.
    #[error("too many people sign in at this moment; try again shortly")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MayBeConflict for Refusal {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}
