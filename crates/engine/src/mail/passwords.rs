//! Password links by e-mail. The link is made when it is sent, so its secret is stored nowhere.

use std::sync::Arc;

use sluice_store::{At, MailRow, PeopleWrite, StoreResult, User, UserKey, Write};

use super::letter::{Letter, Part};
use super::outbox::{Content, Outgoing, Plan};
use super::words::{Words, fill};
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::mail_queue::{PasswordDetail, queued_password};
use crate::people::{Accounts, Secret, new_link};

impl Core {
    /// Sends a link to a user who forgot their password. What happens, and how long it takes, is
    /// not shown to the caller: nobody learns which addresses have an account.
    pub(crate) fn forgot_password(self: &Arc<Self>, email: &str, language: Option<&str>) {
        if !self.sends_mail() {
            return;
        }
        let (core, email) = (Arc::clone(self), email.trim().to_owned());
        let language = language.map(str::to_owned);
        tokio::spawn(async move {
            if let Err(error) = core.queue_forgotten(&email, language.as_deref()).await {
                tracing::warn!(%error, "a password link was not queued");
            }
        });
    }

    /// One link at a time: while an e-mail waits, no other is added.
    pub(crate) async fn queue_forgotten(
        &self,
        email: &str,
        language: Option<&str>,
    ) -> StoreResult<()> {
        let Some(user) = self.store.find_user(&UserKey::Email(email.to_owned())).await? else {
            return Ok(());
        };
        let id = user.row.user_id;
        let waiting = self.store.list_mails_to(id, None).await?;
        // Who signs in with an organisation's account has no password that could be forgotten.
        let has_none = user.row.subject.is_some() && user.row.password.is_none();
        let is_waiting = waiting.iter().any(|row| row.next_at.is_some());
        if user.row.disabled_at.is_some() || has_none || is_waiting {
            return Ok(());
        }
        self.apply(At::Instance, vec![queued_password(id, language, self.now())]).await
    }

    pub(super) async fn plan_password(&self, row: &MailRow) -> StoreResult<Plan> {
        let Some(id) = row.user_id else { return Ok(Plan::Remove) };
        let user = self.store.find_user(&UserKey::Id(id)).await?;
        let Some(user) = user.filter(|user| user.row.disabled_at.is_none()) else {
            return Ok(Plan::Remove);
        };
        let to = user.row.email.clone();
        let content = Content::Password(Box::new(user));
        Ok(Plan::Send(Box::new(Outgoing { to, content, unsubscribe: None, after: None })))
    }

    /// Makes the link, which replaces any other link of the user; absent if there is no such user
    /// any more.
    pub(super) async fn password_letter(
        &self,
        row: &MailRow,
        user: &User,
    ) -> StoreResult<Option<Letter>> {
        let id = user.row.user_id;
        let made: StoreResult<Option<Secret>> = retry_on_conflict(|_| async move {
            let expected = self.store.people_revision().await?;
            let found = self.store.find_user(&UserKey::Id(id)).await?;
            if found.is_none_or(|user| user.row.disabled_at.is_some()) {
                return Ok(None);
            }
            let (secret, link) = new_link(id, self.now());
            let rows = vec![Write::People(PeopleWrite::Link(link))];
            self.apply(At::People { expected }, rows).await?;
            Ok(Some(secret))
        })
        .await;
        let Some(secret) = made? else { return Ok(None) };
        let detail = row.detail.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let detail: PasswordDetail = detail.unwrap_or_default();
        let words = Words::for_language(detail.language.as_deref().unwrap_or("en"));
        let (subject, text) = match user.row.password.is_some() {
            true => (words.reset_subject, words.reset_text),
            false => (words.welcome_subject, words.welcome_text),
        };
        let url = Accounts::new(self).welcome_url(&secret);
        Ok(Some(Letter {
            words,
            subject: subject.to_owned(),
            parts: vec![
                Part::Text(fill(text, &[("url", &self.public_url)])),
                Part::Button { label: words.set_password.to_owned(), url },
                Part::Text(words.once.to_owned()),
            ],
            footer: vec![Part::Text(words.ignore.to_owned())],
        }))
    }
}
