//! Console users as stored: users, their roles, sessions, links and saved views.
//!
//! Nothing stored here is enough to sign in: a password is kept as its hash, sessions and links as
//! the SHA-256 of random bits. A session carries the epoch of its user, so raising the epoch ends
//! all sessions of the user, whatever is written concurrently.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, FlowId, UserId};
use sluice_flow::time::Timestamp;

use crate::TokenHash;

/// SHA-256 of the secret of a session or a link.
pub type SecretHash = [u8; 32];

/// What a user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Viewer,
    Editor,
    Owner,
}

/// A user who signs in by e-mail. Addresses are unique, ignoring the case of ASCII letters.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRow {
    pub user_id: UserId,
    pub email: String,
    pub name: String,
    /// The password hash in the PHC string format; absent if no password was set.
    pub password: Option<String>,
    /// Their identity at an OpenID provider, once they have signed in with it.
    pub subject: Option<Subject>,
    /// Required after the password.
    pub second_factor: Option<SecondFactor>,
    /// Sessions of an earlier epoch have ended.
    pub epoch: u32,
    pub created_at: Timestamp,
    pub disabled_at: Option<Timestamp>,
}

impl std::fmt::Debug for UserRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserRow").field("user_id", &self.user_id).finish_non_exhaustive()
    }
}

/// A second factor: one-time codes by time (TOTP), and recovery codes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondFactor {
    /// The shared secret, sealed with the master key.
    pub sealed: String,
    /// The last time step that a code was accepted for; codes of this step and earlier ones are
    /// refused.
    pub used_step: i64,
    /// The SHA-256 of the unused recovery codes.
    #[serde(with = "crate::hex")]
    pub recovery: Vec<SecretHash>,
}

impl std::fmt::Debug for SecondFactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecondFactor(…)")
    }
}

impl SecondFactor {
    /// The three columns of a user; all `None` without a second factor.
    pub(crate) fn columns(factor: Option<&Self>) -> (Option<&str>, Option<i64>, Option<Vec<u8>>) {
        let sealed = factor.map(|it| it.sealed.as_str());
        (sealed, factor.map(|it| it.used_step), factor.map(|it| it.recovery.concat()))
    }

    /// The second factor from its columns; an error if they do not fit together.
    pub(crate) fn from_columns(
        (sealed, used_step, recovery): (Option<String>, Option<i64>, Option<Vec<u8>>),
    ) -> Result<Option<Self>, &'static str> {
        match (sealed, used_step, recovery) {
            (None, None, None) => Ok(None),
            (Some(sealed), Some(used_step), Some(recovery)) => {
                let (recovery, []) = recovery.as_chunks() else {
                    return Err("recovery codes are truncated");
                };
                Ok(Some(Self { sealed, used_step, recovery: recovery.to_vec() }))
            }
            _ => Err("a second factor is incomplete"),
        }
    }
}

/// A person as named by an OpenID provider; the two fields together are unique.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub issuer: String,
    pub subject: String,
}

/// A user's role in one app, or in all apps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRow {
    pub user_id: UserId,
    /// Absent means all apps, and the instance itself.
    pub app_id: Option<AppId>,
    pub role: Role,
}

/// A view of the responses of a flow that a user has named. Names are unique for a user and a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedViewRow {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub user_id: UserId,
    pub name: String,
    /// The query of the page's address, without the question mark.
    pub query: String,
    /// Whether the list of responses opens with it.
    pub is_default: bool,
}

/// A user with all grants: the one for all apps first, then by app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub row: UserRow,
    pub grants: Vec<GrantRow>,
}

/// The keys by which a user can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserKey {
    Id(UserId),
    /// The case of ASCII letters is ignored.
    Email(String),
    Subject(Subject),
}

/// A single-use link to set a user's password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRow {
    pub user_id: UserId,
    pub hash: SecretHash,
    pub expires_at: Timestamp,
}

/// Who signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionHolder {
    User {
        user_id: UserId,
        epoch: u32,
    },
    /// The holder of an admin token, by its hash; the token need not be stored.
    Token(TokenHash),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRow {
    pub hash: SecretHash,
    pub holder: SessionHolder,
    pub created_at: Timestamp,
    pub used_at: Timestamp,
    pub expires_at: Timestamp,
    /// When the holder last proved their identity in this session.
    pub confirmed_at: Timestamp,
}

/// One write to users, grants, links, saved views or sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeopleWrite {
    User(UserRow),
    Grant(GrantRow),
    /// Removes a grant.
    Ungrant {
        user_id: UserId,
        app_id: Option<AppId>,
    },
    /// Replaces any other link of the user.
    Link(LinkRow),
    /// Adds a link, and removes those of the user that have expired. Others stay valid: they may be
    /// in e-mails that are still on their way.
    AnotherLink {
        link: LinkRow,
        now: Timestamp,
    },
    /// Removes all links of a user.
    Unlink(UserId),
    SavedView(SavedViewRow),
    RemoveSavedView {
        app_id: AppId,
        flow_id: FlowId,
        user_id: UserId,
        name: String,
    },
    Session(SessionRow),
    /// Updates an existing session; an ended one is not revived.
    Touch {
        hash: SecretHash,
        used_at: Timestamp,
        expires_at: Timestamp,
    },
    /// The holder of an existing session has proved their identity again.
    Confirm {
        hash: SecretHash,
        confirmed_at: Timestamp,
    },
    EndSession(SecretHash),
    /// Ends all sessions of a user except one.
    EndOtherSessions {
        user_id: UserId,
        kept: SecretHash,
    },
    /// Removes sessions that ended before a time, up to a limit.
    Sweep {
        before: Timestamp,
        limit: usize,
    },
}

/// Groups rows, sorted by user and each with at most one grant, into users.
pub(crate) fn joined(rows: Vec<(UserRow, Option<GrantRow>)>) -> Vec<User> {
    let mut users: Vec<User> = Vec::new();
    for (row, grant) in rows {
        match users.last_mut() {
            Some(last) if last.row.user_id == row.user_id => last.grants.extend(grant),
            _ => users.push(User { row, grants: grant.into_iter().collect() }),
        }
    }
    users
}
