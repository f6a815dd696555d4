//! Console sessions: started at sign-in, ended after twelve idle hours or a week.
//!
//! A session is identified by 256 random bits; the store has their hash. Each use extends it, but
//! is written at most once a minute. Each sign-in deletes some expired rows, so that the table does
//! not grow without bound.

use serde_json::json;
use sha2::{Digest as _, Sha256};
use sluice_flow::email::is_email;
use sluice_flow::id::UserId;
use sluice_flow::time::{DAY_MILLIS, HOUR_MILLIS, Timestamp};
use sluice_store::{
    At, PeopleWrite, SessionHolder, SessionRow, StoreResult, TokenHash, User, UserKey, Write,
};

use super::accounts::Accounts;
use super::own_sessions::is_fresh;
use super::refusal::Refusal;
use super::secret::Secret;
use crate::actor::Actor;
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::tokens::hash_of;

/// A session ends after this long without a request.
const IDLE_MILLIS: i64 = 12 * HOUR_MILLIS;
/// A session ends after this long in any case.
const LIFE_MILLIS: i64 = 7 * DAY_MILLIS;
/// How often the use of a session is written.
const TOUCH_MILLIS: i64 = 60 * 1000;
/// The maximum number of expired sessions that a sign-in removes.
const SWEEP_MAX: usize = 100;

/// A signed-in user or token holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub actor: Actor,
    /// The name of the user, or of the token.
    pub who: String,
    /// The e-mail address of a user; `None` for a token.
    pub email: Option<String>,
    pub user_id: Option<UserId>,
    pub expires_at: Timestamp,
}

impl Accounts<'_> {
    /// The session with this secret, if it is active. Each use extends it.
    #[boxed]
    pub async fn session(&self, secret: &str) -> StoreResult<Option<Session>> {
        let Some((row, session)) = self.session_row(secret).await? else { return Ok(None) };
        let now = self.core.now();
        if now.as_millis() - row.used_at.as_millis() >= TOUCH_MILLIS {
            self.touch(&row, now).await;
        }
        Ok(Some(session))
    }

    /// The same for a page's automatic requests: they do not extend the session.
    #[boxed]
    pub async fn session_unused(&self, secret: &str) -> StoreResult<Option<Session>> {
        Ok(self.session_row(secret).await?.map(|(_, session)| session))
    }

    pub(super) async fn session_row(
        &self,
        secret: &str,
    ) -> StoreResult<Option<(SessionRow, Session)>> {
        let Some(row) = self.core.store.find_session(&hash_of(secret)).await? else {
            return Ok(None);
        };
        let now = self.core.now();
        if row.expires_at <= now {
            return Ok(None);
        }
        let session = match row.holder {
            SessionHolder::User { user_id, epoch } => {
                let user = self.core.store.find_user(&UserKey::Id(user_id)).await?;
                let user = user.filter(|it| it.row.disabled_at.is_none() && it.row.epoch == epoch);
                user.map(|user| Session {
                    actor: Actor {
                        is_fresh: is_fresh(row.confirmed_at, now),
                        ..Actor::from_user(&user)
                    },
                    who: user.row.name,
                    email: Some(user.row.email),
                    user_id: Some(user_id),
                    expires_at: row.expires_at,
                })
            }
            SessionHolder::Token(hash) => {
                self.core.holder_of(&self.token_of(hash, secret)).await?.map(|(actor, who)| {
                    Session {
                        actor: Actor { is_fresh: is_fresh(row.confirmed_at, now), ..actor },
                        who,
                        email: None,
                        user_id: None,
                        expires_at: row.expires_at,
                    }
                })
            }
        };
        Ok(session.map(|session| (row, session)))
    }

    /// Starts a session of an admin token's holder; ends the browser's previous one.
    #[boxed]
    pub async fn sign_in_with_token(
        &self,
        token: &str,
        replaces: Option<&str>,
    ) -> Result<Secret, Refusal> {
        let hash = hash_of(token);
        let (actor, _) = self.core.holder_of(&hash).await?.ok_or(Refusal::Wrong(None))?;
        let secret = Secret::random();
        // A person may have chosen the environment's token, so its hash could be brute-forced.
        let is_chosen = self.core.environment_token == Some(hash);
        let held = if is_chosen { fingerprint(&hash, &secret.0) } else { hash };
        let row = new_row(&secret, SessionHolder::Token(held), self.core.now());
        Ok(self.begin(secret, row, &actor, "token", replaces).await?)
    }

    /// The hash of the token that a session belongs to.
    pub(super) fn token_of(&self, held: TokenHash, secret: &str) -> TokenHash {
        let environment = self.core.environment_token.as_ref();
        environment.copied().filter(|hash| fingerprint(hash, secret) == held).unwrap_or(held)
    }

    /// Starts a session of a user; ends the browser's previous one. If the user has a second
    /// factor, the refusal is [`Refusal::CodeNeeded`], and [`Accounts::sign_in_with_code`] starts
    /// the session.
    #[boxed]
    pub async fn sign_in_with_password(
        &self,
        email: &str,
        password: &str,
        replaces: Option<&str>,
    ) -> Result<Secret, Refusal> {
        // A text that is no address belongs to no user, and costs the same time.
        let email = email.trim();
        let user = match is_email(email) {
            true => self.core.store.find_user(&UserKey::Email(email.to_owned())).await?,
            false => None,
        };
        let hash = user.as_ref().and_then(|user| user.row.password.clone());
        let is_right = self.core.passwords.verify(password, hash).await?;
        let tried = user.as_ref().map(|user| user.row.user_id);
        let user = user.filter(|user| is_right && user.row.disabled_at.is_none());
        let user = user.ok_or(Refusal::Wrong(tried))?;
        if user.row.second_factor.is_some() {
            return Err(Refusal::CodeNeeded(self.ticket(&user)?));
        }
        Ok(self.begin_user_session(&user, "password", replaces).await?)
    }

    /// Ends a session at once; a session that has already ended is no error.
    #[boxed]
    pub async fn sign_out(&self, secret: &str) -> StoreResult<()> {
        let Some(session) = self.session(secret).await? else { return Ok(()) };
        let name = session.actor.name.clone();
        let audit =
            self.core.audit(&session.actor, None, AuditAction::SessionEnded, name, &json!({}));
        let end = PeopleWrite::EndSession(hash_of(secret));
        let rows = vec![Write::People(end), Write::Audit(audit)];
        self.core.apply(At::Instance, rows).await
    }

    pub(super) async fn begin_user_session(
        &self,
        user: &User,
        by: &str,
        replaces: Option<&str>,
    ) -> StoreResult<Secret> {
        self.begin_session_confirmed(user, by, replaces, self.core.now()).await
    }

    /// The same for a user who proved their identity at another time.
    pub(super) async fn begin_session_confirmed(
        &self,
        user: &User,
        by: &str,
        replaces: Option<&str>,
        confirmed_at: Timestamp,
    ) -> StoreResult<Secret> {
        let holder = SessionHolder::User { user_id: user.row.user_id, epoch: user.row.epoch };
        let (secret, now) = (Secret::random(), self.core.now());
        let row = SessionRow { confirmed_at, ..new_row(&secret, holder, now) };
        self.begin(secret, row, &Actor::from_user(user), by, replaces).await
    }

    async fn begin(
        &self,
        secret: Secret,
        row: SessionRow,
        actor: &Actor,
        by: &str,
        replaces: Option<&str>,
    ) -> StoreResult<Secret> {
        let detail = json!({ "by": by });
        let audit = self.core.audit(actor, None, AuditAction::SessionStarted, &actor.name, &detail);
        let ended = replaces.map(|old| PeopleWrite::EndSession(hash_of(old)));
        let sweep = PeopleWrite::Sweep { before: row.created_at, limit: SWEEP_MAX };
        let writes = [PeopleWrite::Session(row), sweep].into_iter().chain(ended);
        let mut rows: Vec<_> = writes.map(Write::People).collect();
        rows.push(Write::Audit(audit));
        self.core.apply(At::Instance, rows).await?;
        Ok(secret)
    }

    /// Records that a session is used. If that fails, the session ends a little earlier; that is no
    /// reason to refuse the request.
    async fn touch(&self, row: &SessionRow, now: Timestamp) {
        let end = later(row.created_at, LIFE_MILLIS);
        let expires_at = later(now, IDLE_MILLIS).min(end);
        let touch = PeopleWrite::Touch { hash: row.hash, used_at: now, expires_at };
        let rows = vec![Write::People(touch)];
        if let Err(error) = self.core.apply(At::Instance, rows).await {
            tracing::warn!(%error, "the use of a session could not be recorded");
        }
    }
}

/// A session that starts now, of a holder who has just proved their identity.
fn new_row(secret: &Secret, holder: SessionHolder, now: Timestamp) -> SessionRow {
    SessionRow {
        hash: hash_of(&secret.0),
        holder,
        created_at: now,
        used_at: now,
        expires_at: later(now, IDLE_MILLIS),
        confirmed_at: now,
    }
}

/// A token hash that only the holder of the session's secret can recompute; the database alone is
/// not enough.
fn fingerprint(token: &TokenHash, secret: &str) -> TokenHash {
    let mut hash = Sha256::new();
    hash.update(token);
    hash.update(secret);
    hash.finalize().into()
}

fn later(time: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millis(time.as_millis() + millis)
}
