//! People of the console: users with roles, and their sessions.
//!
//! Reading order: `role` (what a role may do), `change` (how users are written), `users` (made,
//! changed, reset by an owner of the instance), `members` (the people of one app, by its owners),
//! `password` (its rule, and the work of a hash), `links` (the first password), `sessions` (who is
//! signed in), `own_sessions` (a user's list of them, and confirming who one is), `second_factor`
//! with `totp` (codes after the password), `subjects` (by way of an OpenID provider).
//!
//! What users do with their own accounts are methods of [`Accounts`]; there a password, a link or a
//! session is the proof. What others do with users are methods of handles.
//!
//! What is decided on users and grants is written at their revision, so that two who take away the
//! last but one owner at once do not take away the last. A session is checked again with each
//! request: a disabled user or a revoked token is signed out at once, on every node.

mod accounts;
mod change;
mod links;
mod members;
mod own_sessions;
pub(crate) mod password;
mod refusal;
mod role;
mod second_factor;
mod secret;
mod sessions;
mod subjects;
mod totp;
mod users;

pub use accounts::Accounts;
pub use change::LINK_HOURS;
pub use links::LinkOf;
pub use members::{Member, NewMember};
pub use own_sessions::{FRESH_MINUTES, OwnSession};
pub use password::{PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN};
pub use refusal::Refusal;
pub(crate) use second_factor::closed_second_factors;
pub use second_factor::{Enrolment, RECOVERY_CODES};
pub use secret::Secret;
pub use sessions::Session;
pub use users::{NewUser, UserDetail, UserPatch};
