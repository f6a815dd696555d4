//! Password links by e-mail. The link is created when it is sent, so its secret is stored nowhere.
//! Earlier links, which may still be on their way, stay valid; setting a password ends all of them.

use std::sync::Arc;

use sluice_flow::phrase::fill;
use sluice_flow::time::Timestamp;
use sluice_store::{At, MailRow, MailWrite, PeopleWrite, StoreResult, User, UserKey, Write};
use tokio::task::JoinHandle;

use super::letter::{Letter, LetterPart};
use super::outbox::{Content, LEASE_SECONDS, Outgoing, Plan};
use super::words::Words;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::mail_queue::{PasswordDetail, queued_password};
use crate::people::{Accounts, Secret, new_link, welcome_url};

/// An account gets at most one e-mail in this time, however many are requested.
const FORGOTTEN_SECONDS: i64 = 10 * 60;

/// What a request for a link does.
#[derive(Debug, PartialEq, Eq)]
enum Requested {
    /// An e-mail was sent a moment ago, or is about to be sent.
    Nothing,
    /// Sends an e-mail that waits for another attempt now, and as if it were the first.
    Hasten(MailRow),
    /// Adds an e-mail, and removes these.
    Add(Vec<MailRow>),
}

/// What a request does, given the e-mails that the user asked for. Those from before a hold may
/// never be sent, so they do not stand for this request.
fn requested(rows: &[MailRow], now: Timestamp, held_at: Option<Timestamp>) -> Requested {
    let recent = now.plus_seconds(-FORGOTTEN_SECONDS);
    let is_recent = |row: &MailRow| row.sent_at.unwrap_or(row.created_at) > recent;
    if rows.iter().any(|row| row.next_at.is_none() && is_recent(row)) {
        return Requested::Nothing;
    }
    // One that a server is sending is due within the time that it may take.
    let soon = now.plus_seconds(LEASE_SECONDS);
    let is_new = |row: &MailRow| held_at.is_none_or(|held_at| row.created_at >= held_at);
    let mut waiting = rows.iter().filter(|row| row.next_at.is_some() && is_new(row));
    if waiting.clone().any(|row| row.next_at <= Some(soon)) {
        return Requested::Nothing;
    }
    match waiting.next() {
        Some(row) => Requested::Hasten(MailRow { next_at: Some(now), attempts: 0, ..row.clone() }),
        None => Requested::Add(rows.to_vec()),
    }
}

impl Accounts<'_> {
    /// Sends a link to a user who forgot their password. What happens, and how long it takes, is
    /// not shown to the caller: nobody learns which addresses have an account. Only tests wait for
    /// the end.
    pub fn forgot_password(self, email: &str, language: Option<&str>) -> JoinHandle<()> {
        let (core, email) = (Arc::clone(self.core), email.trim().to_owned());
        let language = language.map(str::to_owned);
        tokio::spawn(async move {
            if !core.sends_mail() {
                return;
            }
            if let Err(error) = core.queue_forgotten(&email, language.as_deref()).await {
                tracing::warn!(%error, "a password link was not queued");
            }
        })
    }
}

impl Core {
    async fn queue_forgotten(&self, email: &str, language: Option<&str>) -> StoreResult<()> {
        let Some(user) = self.store.find_user(&UserKey::Email(email.to_owned())).await? else {
            return Ok(());
        };
        let id = user.row.user_id;
        // A user who signs in with an organisation's account has no password to forget.
        let has_none = user.row.subject.is_some() && user.row.password.is_none();
        if user.row.disabled_at.is_some() || has_none {
            return Ok(());
        }
        let detail = &PasswordDetail::new(language, true);
        retry_on_conflict(|_| async move {
            let expected = self.store.people_revision().await?;
            let (now, mut rows) = (self.now(), self.store.list_mails_to(id, None).await?);
            rows.retain(|row| PasswordDetail::from_row(row).is_requested);
            let held_at = self.outbound.held_at(&*self.store).await?;
            let writes = match requested(&rows, now, held_at) {
                Requested::Nothing => return Ok(()),
                Requested::Hasten(row) => {
                    let (detail, revision) = (detail.to_detail(), row.revision);
                    let row = MailRow { detail, ..row };
                    vec![Write::Mail(MailWrite::Settle { row, revision })]
                }
                Requested::Add(old) => {
                    let old = old.iter().map(|row| MailWrite::Remove(row.app_id, row.mail_id));
                    let mut writes: Vec<_> = old.map(Write::Mail).collect();
                    writes.push(queued_password(id, detail, now));
                    writes
                }
            };
            // Of several requests at once, on whatever server, one finds this state.
            self.apply(At::People { expected }, writes).await
        })
        .await
    }

    pub(super) async fn plan_password(&self, row: &MailRow) -> StoreResult<Plan> {
        let Some(id) = row.user_id else { return Ok(Plan::Remove) };
        let user = self.store.find_user(&UserKey::Id(id)).await?;
        let Some(user) = user.filter(|user| user.row.disabled_at.is_none()) else {
            return Ok(Plan::Remove);
        };
        let to = user.row.email.clone();
        let content = Content::Password(Box::new(user));
        // The row stays after sending, so that every server knows when that was.
        let (sent, sent_at) = (row.sent + 1, Some(self.now()));
        let (next_at, reply) = (None, None);
        let after = MailRow { sent, sent_at, next_at, attempts: 0, reply, ..row.clone() };
        Ok(Plan::Send(Box::new(Outgoing { to, content, unsubscribe: None, after })))
    }

    /// Creates the link; absent if there is no such user any more, or if the e-mail was removed
    /// because the user has set a password.
    pub(super) async fn password_letter(
        &self,
        row: &MailRow,
        user: &User,
    ) -> StoreResult<Option<Letter>> {
        let id = user.row.user_id;
        let made: StoreResult<Option<Secret>> = retry_on_conflict(|_| async move {
            let expected = self.store.people_revision().await?;
            let found = self.store.find_user(&UserKey::Id(id)).await?;
            let is_wanted = self.store.find_mail(row.mail_id).await?.is_some();
            if !is_wanted || found.is_none_or(|user| user.row.disabled_at.is_some()) {
                return Ok(None);
            }
            let now = self.now();
            let (secret, link) = new_link(id, now);
            let rows = vec![Write::People(PeopleWrite::AnotherLink { link, now })];
            self.apply(At::People { expected }, rows).await?;
            Ok(Some(secret))
        })
        .await;
        let Some(secret) = made? else { return Ok(None) };
        let words =
            Words::for_language(PasswordDetail::from_row(row).language.as_deref().unwrap_or("en"));
        let (subject, text) = match user.row.password.is_some() {
            true => (words.reset_subject, words.reset_text),
            false => (words.welcome_subject, words.welcome_text),
        };
        let url = welcome_url(self, &secret);
        Ok(Some(Letter {
            words,
            subject: subject.to_owned(),
            parts: vec![
                LetterPart::Text(fill(text, &[("url", &self.admin_url)])),
                LetterPart::Button { label: words.set_password.to_owned(), url },
                LetterPart::Text(words.once.to_owned()),
            ],
            footer: vec![LetterPart::Text(words.ignore.to_owned())],
        }))
    }
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::MailId;
    use sluice_store::{MailEnd, MailKind};

    use super::*;

    const NOW: i64 = 1_000_000_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(NOW).plus_seconds(seconds)
    }

    /// One that was asked for this many seconds before.
    fn row(age: i64) -> MailRow {
        MailRow::new(MailId::from_random(7), MailKind::Password, at(-age))
    }

    #[test]
    fn an_account_gets_one_link_in_ten_minutes() {
        let sent =
            |age: i64| MailRow { sent: 1, sent_at: Some(at(-age)), next_at: None, ..row(9_000) };
        assert_eq!(requested(&[], at(0), None), Requested::Add(vec![]));
        assert_eq!(requested(&[sent(599)], at(0), None), Requested::Nothing);
        assert_eq!(requested(&[sent(600)], at(0), None), Requested::Add(vec![sent(600)]));
        assert_eq!(requested(&[sent(9_000), sent(9)], at(0), None), Requested::Nothing);
        let bounced = |age| MailRow { next_at: None, ended: Some(MailEnd::Bounced), ..row(age) };
        assert_eq!(requested(&[bounced(599)], at(0), None), Requested::Nothing);
        assert_eq!(requested(&[bounced(600)], at(0), None), Requested::Add(vec![bounced(600)]));
    }

    #[test]
    fn a_request_while_held_is_not_dropped_with_one_from_before() {
        let old = row(500);
        assert_eq!(
            requested(std::slice::from_ref(&old), at(0), Some(at(-499))),
            Requested::Add(vec![old])
        );
        assert_eq!(requested(&[row(500)], at(0), Some(at(-500))), Requested::Nothing);
    }

    #[test]
    fn a_request_is_not_swallowed_by_an_e_mail_that_waits_for_another_attempt() {
        assert_eq!(requested(&[row(3)], at(0), None), Requested::Nothing, "it is due");
        let tried = |wait| MailRow { attempts: 4, next_at: Some(at(wait)), ..row(500) };
        assert_eq!(
            requested(&[tried(180)], at(0), None),
            Requested::Nothing,
            "maybe it is being sent"
        );
        let now = MailRow { attempts: 0, next_at: Some(at(0)), ..tried(181) };
        assert_eq!(requested(&[tried(181)], at(0), None), Requested::Hasten(now));
    }
}
