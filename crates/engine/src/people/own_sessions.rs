//! The sessions of one user, as they see them, and confirming their identity.
//!
//! Operations that could lock others out or grant lasting access (admin tokens, owners, links to
//! set a password) need proof of identity that is not older than [`FRESH_MINUTES`], so that an
//! unattended browser is not enough.

use serde_json::json;
use sluice_flow::id::UserId;
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, PeopleWrite, SecretHash, SessionHolder, SessionRow, StoreResult, UserKey, Write,
};

use super::accounts::Accounts;
use super::refusal::Refusal;
use crate::actor::Actor;
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::tokens::hash_of;

/// How long proof of identity is valid.
pub const FRESH_MINUTES: i64 = 10;
/// The maximum number of sessions in a list.
const LISTED_MAX: usize = 100;

/// A session of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnSession {
    /// Identifies the session, and cannot be used to sign in.
    pub id: String,
    pub created_at: Timestamp,
    pub used_at: Timestamp,
    /// Whether it is the caller's session.
    pub is_current: bool,
}

/// Whether proof from this time is still valid.
pub(super) fn is_fresh(proven_at: Timestamp, now: Timestamp) -> bool {
    now.as_millis() - proven_at.as_millis() < FRESH_MINUTES * 60 * 1000
}

impl Accounts<'_> {
    /// The active sessions of this session's user, the last used first. Empty for a token's
    /// session.
    #[boxed]
    pub async fn own_sessions(&self, secret: &str) -> StoreResult<Vec<OwnSession>> {
        let Some((current, user_id, epoch)) = self.user_session(secret).await? else {
            return Ok(Vec::new());
        };
        let now = self.core.now();
        let rows = self.core.store.list_sessions(user_id, epoch, LISTED_MAX).await?;
        let live = rows.into_iter().filter(|row| row.expires_at > now);
        let shown = live.map(|row| OwnSession {
            id: row.hash.iter().map(|byte| format!("{byte:02x}")).collect(),
            created_at: row.created_at,
            used_at: row.used_at,
            is_current: row.hash == current.hash,
        });
        Ok(shown.collect())
    }

    /// Ends another session of the same user. Ignores a session that has ended or belongs to
    /// another user.
    #[boxed]
    pub async fn end_own_session(&self, secret: &str, id: &str) -> StoreResult<()> {
        let Some((_, user_id, _)) = self.user_session(secret).await? else { return Ok(()) };
        let Some(hash) = hash_in(id) else { return Ok(()) };
        let found = self.core.store.find_session(&hash).await?;
        let is_own = found.is_some_and(
            |row| matches!(row.holder, SessionHolder::User { user_id: it, .. } if it == user_id),
        );
        if !is_own {
            return Ok(());
        }
        self.end_sessions(user_id, PeopleWrite::EndSession(hash), "one").await
    }

    /// Ends every other session of the same user.
    #[boxed]
    pub async fn end_other_sessions(&self, secret: &str) -> StoreResult<()> {
        let Some((row, user_id, _)) = self.user_session(secret).await? else { return Ok(()) };
        let end = PeopleWrite::EndOtherSessions { user_id, kept: row.hash };
        self.end_sessions(user_id, end, "all others").await
    }

    async fn end_sessions(&self, user: UserId, end: PeopleWrite, which: &str) -> StoreResult<()> {
        let found = self.core.store.find_user(&UserKey::Id(user)).await?;
        let Some(actor) = found.as_ref().map(Actor::from_user) else { return Ok(()) };
        let detail = json!({ "which": which });
        let audit = self.core.audit(&actor, None, AuditAction::SessionEnded, user, &detail);
        let rows = vec![Write::People(end), Write::Audit(audit)];
        self.core.apply(At::Instance, rows).await
    }

    /// Confirms the identity of a session's user by their password and, if they have a second
    /// factor, a code.
    #[boxed]
    pub async fn confirm_with_password(
        &self,
        secret: &str,
        password: &str,
        code: &str,
    ) -> Result<(), Refusal> {
        let session = self.user_session(secret).await?;
        let (row, id, epoch) = session.ok_or(Refusal::LinkOver)?;
        let user = self.core.store.find_user(&UserKey::Id(id)).await?.ok_or(Refusal::LinkOver)?;
        if !self.core.passwords.verify(password, user.row.password.clone()).await? {
            return Err(Refusal::Wrong(Some(id)));
        }
        if user.row.second_factor.is_some() {
            self.use_code(id, Some(epoch), code).await?;
        }
        Ok(self.confirm(row).await?)
    }

    /// Confirms the identity of a token session's holder by the token.
    #[boxed]
    pub async fn confirm_with_token(&self, secret: &str, token: &str) -> Result<(), Refusal> {
        let row = self.core.store.find_session(&hash_of(secret)).await?.ok_or(Refusal::LinkOver)?;
        match row.holder {
            SessionHolder::Token(held) if self.token_of(held, secret) == hash_of(token) => {
                Ok(self.confirm(row).await?)
            }
            _ => Err(Refusal::Wrong(None)),
        }
    }

    async fn confirm(&self, row: SessionRow) -> StoreResult<()> {
        let write = PeopleWrite::Confirm { hash: row.hash, confirmed_at: self.core.now() };
        let rows = vec![Write::People(write)];
        self.core.apply(At::Instance, rows).await
    }

    /// The row of an active session of a user, with the user and the epoch.
    async fn user_session(&self, secret: &str) -> StoreResult<Option<(SessionRow, UserId, u32)>> {
        let found = self.session_row(secret).await?;
        Ok(found.and_then(|(row, _)| match row.holder {
            SessionHolder::User { user_id, epoch } => Some((row, user_id, epoch)),
            SessionHolder::Token(_) => None,
        }))
    }
}

/// Parses the id of a session.
fn hash_in(id: &str) -> Option<SecretHash> {
    let mut hash = SecretHash::default();
    if id.len() != hash.len() * 2 || !id.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(id.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(hash)
}
