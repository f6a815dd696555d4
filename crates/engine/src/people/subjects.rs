//! Signing in with an OpenID provider: only existing users are allowed.
//!
//! The first time, a user is identified by the address that the provider has verified; afterwards
//! by the provider's subject, so that an address that is reassigned there gives no access here.
//! From then on the provider is the only way to sign in, until an owner sends a link.

use serde_json::json;
use sluice_flow::time::Timestamp;
use sluice_store::{PeopleWrite, StoreError, Subject, User, UserKey, UserRow};

use super::accounts::Accounts;
use super::change::{PeopleAuditEntry, write_people_with};
use super::own_sessions::is_fresh;
use super::refusal::Refusal;
use super::secret::Secret;
use crate::actor::Actor;
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::mail_queue::waiting_passwords;
use crate::verify::IdClaims;

impl Accounts<'_> {
    /// Starts a session of the user in an ID token; ends the browser's previous one. The session is
    /// as fresh as the sign-in at the provider; if the provider does not return that time, it is
    /// not fresh.
    #[boxed]
    pub async fn sign_in_with_subject(
        &self,
        claims: &IdClaims,
        replaces: Option<&str>,
    ) -> Result<Secret, Refusal> {
        let user = self.user_of_subject(claims).await?;
        let user =
            user.filter(|user| user.row.disabled_at.is_none()).ok_or(Refusal::Wrong(None))?;
        let confirmed_at = claims.authenticated_at.unwrap_or(Timestamp::from_millis(0));
        Ok(self.begin_session_confirmed(&user, "openid", replaces, confirmed_at).await?)
    }

    /// Whether an ID token proves that the user has just signed in at the provider.
    pub fn is_fresh_proof(&self, claims: &IdClaims) -> bool {
        claims.authenticated_at.is_some_and(|at| is_fresh(at, self.core.now()))
    }

    async fn user_of_subject(&self, claims: &IdClaims) -> Result<Option<User>, StoreError> {
        let IdClaims { issuer, subject, verified_email, .. } = claims;
        let subject = Subject { issuer: issuer.clone(), subject: subject.clone() };
        retry_on_conflict(|_| async {
            let revision = self.core.store.people_revision().await?;
            if let Some(known) =
                self.core.store.find_user(&UserKey::Subject(subject.clone())).await?
            {
                return Ok(Some(known));
            }
            let Some(email) = verified_email else { return Ok(None) };
            let found = self.core.store.find_user(&UserKey::Email(email.clone())).await?;
            // A different subject with the same address must not sign in as this user.
            let Some(user) = found.filter(|it| it.row.subject.is_none()) else { return Ok(None) };
            if user.row.disabled_at.is_some() {
                return Ok(None);
            }
            // Invalidates credentials that someone else may have created for this address:
            // password, link, an e-mail that would create a link, and sessions.
            let row = UserRow {
                subject: Some(subject.clone()),
                password: None,
                second_factor: None,
                epoch: user.row.epoch + 1,
                ..user.row.clone()
            };
            let entry = PeopleAuditEntry {
                action: AuditAction::UserSubjectBound,
                app_id: None,
                detail: json!({ "issuer": issuer }),
            };
            let (actor, id) = (Actor::from_user(&user), row.user_id);
            let writes = vec![PeopleWrite::User(row.clone()), PeopleWrite::Unlink(id)];
            let waiting = waiting_passwords(self.core.store.list_mails_to(id, None).await?);
            write_people_with(self.core, &actor, revision, id, writes, entry, waiting).await?;
            Ok(Some(User { row, grants: user.grants }))
        })
        .await
    }
}
