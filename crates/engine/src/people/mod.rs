//! Users of the console, with roles and sessions.
//!
//! Reading order: `role` (what a role may do), `change` (how users are written), `users` (created,
//! changed, reset by an owner of the instance), `members` (the users of one app, managed by its
//! owners), `password` (the rules, and the cost of a hash), `links` (the first password),
//! `sessions` (who is signed in), `own_sessions` (a user's own sessions, and confirming their
//! identity), `second_factor` with `totp` (codes after the password), `subjects` (sign-in with an
//! OpenID provider).
//!
//! Operations of users on their own accounts are methods of [`Accounts`]; there a password, a link
//! or a session is the proof. Operations of others on users are methods of handles.
//!
//! Changes to users and grants are written at their revision, so that two concurrent removals
//! cannot remove the last two owners. A session is checked with each request: a disabled user or a
//! revoked token is signed out at once, on every node.

mod accounts;
mod change;
mod guessing;
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
pub(crate) use change::new_link;
pub(crate) use links::welcome_url;
pub use members::{Member, NewMember};
pub use own_sessions::{FRESH_MINUTES, OwnSession};
pub use refusal::Refusal;
pub(crate) use second_factor::closed_second_factors;
pub use second_factor::{Enrolment, RECOVERY_CODES};
pub use secret::Secret;
pub use sessions::Session;
pub use users::{NewUser, UserDetail, UserPatch};
