//! People of the console: users with roles, and their sessions.
//!
//! Reading order: `role` (what a role may do), `users` (made, changed, reset by whoever holds the instance),
//! `members` (the people of one app, by its owners), `password` (its rule, and the work of a hash), `links` (the
//! first password), `sessions` (who is signed in), `own_sessions` (a user's list of them, and confirming who one is),
//! `second_factor` with `totp` (codes after the password), `subjects` (by way of an OpenID provider).
//!
//! What is decided on users and grants is written at their revision, so that two who take away the last but one
//! owner at once do not take away the last. A session is looked at anew with each request: whoever is disabled,
//! or whose token is revoked, is out at once, on every node.

mod links;
mod members;
mod own_sessions;
mod password;
mod role;
mod second_factor;
mod sessions;
mod subjects;
mod totp;
mod users;

use sluice_flow::definition::Fault;
use sluice_flow::id::{UserId, base62};
use sluice_store::StoreError;

use crate::ids::random_bits;

pub use links::{LINK_HOURS, LinkOf};
pub use members::{Member, NewMember};
pub use own_sessions::{FRESH_MINUTES, OwnSession};
pub(crate) use password::Passwords;
pub use password::{PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN};
pub use second_factor::{Enrolment, RECOVERY_CODES};
pub use sessions::Session;
pub use users::{NewUser, UserDetail, UserPatch};

/// What lets somebody in: told once, and stored as a hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl Secret {
    /// 256 bits that nobody can guess.
    fn random() -> Self {
        Self(format!("{}{}", base62(random_bits()), base62(random_bits())))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why somebody is not let in, or a password is not set.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The name, the password, the code or the token is wrong, or the user is disabled; the reply does not say which. The user whose
    /// account was tried is for the log alone.
    #[error("this does not match anybody who may sign in")]
    Wrong(Option<UserId>),
    /// The password is right, and a code of the second factor is needed, with this ticket.
    #[error("a code is needed")]
    CodeNeeded(Secret),
    /// The link was used, replaced or has expired.
    #[error("this link is no longer valid; ask for another")]
    LinkOver,
    #[error("the request has {} fault(s)", .0.len())]
    Invalid(Vec<Fault>),
    /// Too many passwords are being checked at once.
    #[error("too many people sign in at this moment; try again shortly")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
}
