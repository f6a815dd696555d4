//! People of the console as they are stored: users, what each may do where, sessions, links.
//!
//! No secret is here that would let anybody in: of a password its hash, of a session and of a link
//! the SHA-256 of random bits. A session bears the epoch of its user, so that all sessions of a
//! user end with one number, whatever is written at the same moment.

use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, UserId};
use sluice_flow::time::Timestamp;

use crate::TokenHash;

/// SHA-256 of the secret of a session, or of a link.
pub type SecretHash = [u8; 32];

/// What a user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Viewer,
    Editor,
    Owner,
}

/// Somebody who signs in by e-mail. No two have the same address, the case of ASCII letters aside.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    pub user_id: UserId,
    pub email: String,
    pub name: String,
    /// The hash of the password in the PHC string format; absent where none was set.
    pub password: Option<String>,
    /// Who they are at an OpenID provider, once they came from there.
    pub subject: Option<Subject>,
    /// What is asked for after the password.
    pub second_factor: Option<SecondFactor>,
    /// Sessions of an earlier epoch are over.
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
#[derive(Clone, PartialEq, Eq)]
pub struct SecondFactor {
    /// The shared secret, sealed with the master key.
    pub sealed: String,
    /// The last time step that a code was accepted for; codes of this step and earlier ones are
    /// refused.
    pub used_step: i64,
    /// The SHA-256 of the recovery codes that were not used yet.
    pub recovery: Vec<SecretHash>,
}

impl std::fmt::Debug for SecondFactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecondFactor(…)")
    }
}

impl SecondFactor {
    /// The three columns of a user; none where there is no second factor.
    pub(crate) fn columns(factor: Option<&Self>) -> (Option<&str>, Option<i64>, Option<Vec<u8>>) {
        let sealed = factor.map(|it| it.sealed.as_str());
        (sealed, factor.map(|it| it.used_step), factor.map(|it| it.recovery.concat()))
    }

    /// The second factor of the columns; an error where they do not fit together.
    pub(crate) fn from_columns(
        (sealed, used_step, recovery): (Option<String>, Option<i64>, Option<Vec<u8>>),
    ) -> Result<Option<Self>, &'static str> {
        match (sealed, used_step, recovery) {
            (None, None, None) => Ok(None),
            (Some(sealed), Some(used_step), Some(recovery)) => {
                let (recovery, []) = recovery.as_chunks() else {
                    return Err("recovery codes are not whole");
                };
                Ok(Some(Self { sealed, used_step, recovery: recovery.to_vec() }))
            }
            _ => Err("a second factor is not whole"),
        }
    }
}

/// A person as an OpenID provider names them: unique together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub issuer: String,
    pub subject: String,
}

/// A role of a user in one app, or in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantRow {
    pub user_id: UserId,
    /// Absent means all apps, and the instance itself.
    pub app_id: Option<AppId>,
    pub role: Role,
}

/// A user with all their grants: that of all apps first, then by app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub row: UserRow,
    pub grants: Vec<GrantRow>,
}

/// What a user can be found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserKey {
    Id(UserId),
    /// The case of ASCII letters does not matter.
    Email(String),
    Subject(Subject),
}

/// A link with which its holder sets the password of a user, once. A user has one at the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRow {
    pub user_id: UserId,
    pub hash: SecretHash,
    pub expires_at: Timestamp,
}

/// Who signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    User {
        user_id: UserId,
        epoch: u32,
    },
    /// The holder of an admin token, by its hash: also of one that is not stored.
    Token(TokenHash),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRow {
    pub hash: SecretHash,
    pub holder: Holder,
    pub created_at: Timestamp,
    pub used_at: Timestamp,
    pub expires_at: Timestamp,
    /// When the holder last proved who they are in this session.
    pub confirmed_at: Timestamp,
}

/// One write about people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeopleWrite {
    User(UserRow),
    Grant(GrantRow),
    /// Takes a grant away.
    Ungrant {
        user_id: UserId,
        app_id: Option<AppId>,
    },
    /// In the place of any other link of the user.
    Link(LinkRow),
    Unlink(UserId),
    Session(SessionRow),
    /// Of a session that is there; one that has ended is not brought back.
    Touch {
        hash: SecretHash,
        used_at: Timestamp,
        expires_at: Timestamp,
    },
    /// The holder of a session that is there has proved again who they are.
    Confirm {
        hash: SecretHash,
        confirmed_at: Timestamp,
    },
    EndSession(SecretHash),
    /// Ends all sessions of a user but one.
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

/// Joins rows of users, each with one of its grants or none, in the order of users.
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
