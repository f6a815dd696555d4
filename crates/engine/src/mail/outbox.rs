//! The outbox: sends one e-mail that is due, and decides when it is tried again ([`super::lanes`]
//! decides which ones, and when).
//!
//! A server takes an e-mail by moving its time into the future, in the transaction that counts it
//! towards the pace of the minute, and moves it again while it waits for the reply; if it stops
//! before the outcome is written, the e-mail becomes due again and any server takes it. Only the
//! server that took it last writes its outcome. A part of the pace is left for password links, and
//! for notices.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, MailEnd, MailKind, MailRow, MailWrite, StoreError, StoreResult, User, Write,
};

use super::letter::Letter;
use super::subscription::{is_brief, made_brief};
use super::{MailOptions, OutgoingMail, SendError};
use crate::background::is_final;
use crate::core::Core;

/// How long one attempt may take. A transport has its own limits, which are within this.
const SEND_MAX: Duration = Duration::from_secs(15 * 60);
/// How long the lease of a server on an e-mail lasts, unless it is renewed.
pub(super) const LEASE_SECONDS: i64 = 180;
/// When the lease is renewed, in seconds since it was taken, while the reply is awaited.
const RENEW_SECONDS: i64 = 60;
/// How often to check whether to renew it.
const RENEW_TICK: Duration = Duration::from_secs(1);
/// The error that is stored if the mail server gave no reply.
const UNANSWERED: &str = "no reply";
/// The minutes before the second attempt, the third and so on: three days in all.
const PAUSE_MINUTES: [i64; 9] = [1, 5, 15, 60, 180, 360, 720, 1440, 1440];
const MINUTE_MILLIS: i64 = 60_000;
/// One of this many e-mails per minute is reserved for kinds other than invitations.
const RESERVED_FOR_OTHERS: u32 = 10;
/// One of this many e-mails per minute is reserved for password links.
const RESERVED_FOR_PASSWORDS: u32 = 20;
/// How often an outcome is written again because the row has changed meanwhile.
const SETTLE_MAX: usize = 5;
/// Retry delay if the data of an e-mail cannot be read.
const FAILED_SECONDS: i64 = 15 * 60;

/// The result of one pass over the due e-mails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Accepted by the mail server.
    pub sent: u32,
    /// Refused, or not sent for another reason; some of them are tried again.
    pub failed: u32,
    /// No longer to be sent.
    pub dropped: u32,
    /// Whether e-mails are left because the limit per minute is used up.
    pub is_held: bool,
    pub is_unreachable: bool,
}

impl Delivered {
    pub(super) fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.is_held |= other.is_held;
        self.is_unreachable |= other.is_unreachable;
    }
}

/// What to do with a due e-mail.
pub(super) enum Plan {
    /// Nothing is sent, and its row becomes this.
    Settle(Box<MailRow>),
    Remove,
    Send(Box<Outgoing>),
}

/// An e-mail that is ready to be sent.
pub(super) struct Outgoing {
    pub(super) to: String,
    pub(super) content: Content,
    pub(super) unsubscribe: Option<String>,
    /// The row after it was sent.
    pub(super) after: MailRow,
}

pub(super) enum Content {
    Letter(Letter),
    /// A link to set a password, which is created when it is sent.
    Password(Box<User>),
}

impl Core {
    /// Sends one e-mail that is due. An error of the store that concerns this e-mail alone delays
    /// it.
    pub(super) async fn attempt_mail(
        &self,
        options: &MailOptions,
        row: MailRow,
    ) -> StoreResult<Delivered> {
        let mut done = Delivered::default();
        match self.deliver(options, row.clone(), &mut done).await {
            Ok(()) => {}
            // It was changed meanwhile, or another server took it.
            Err(StoreError::Conflict) => {}
            Err(error) if is_final(&error) => return Err(error),
            // An e-mail that cannot be built now must not delay the others.
            Err(error) => {
                // The id is not logged: it is the secret of the unsubscribe link.
                let kind = row.kind;
                tracing::warn!(?kind, %error, "an e-mail is tried again later");
                let next_at = Some(self.now().plus_seconds(FAILED_SECONDS));
                let revision = row.revision;
                match self.settle_mail(MailRow { next_at, ..row }, revision).await {
                    // If this server has taken it, it becomes due again by itself.
                    Ok(()) | Err(StoreError::Conflict) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(done)
    }

    async fn deliver(
        &self,
        options: &MailOptions,
        row: MailRow,
        done: &mut Delivered,
    ) -> StoreResult<()> {
        let plan = match row.kind {
            MailKind::Invitation => self.plan_invitation(&row).await?,
            MailKind::Password => self.plan_password(&row).await?,
            MailKind::Notice => self.plan_notice(&row).await?,
            MailKind::Endpoint => self.plan_disabled(&row).await?,
        };
        let outgoing = match plan {
            Plan::Settle(settled) => {
                done.dropped += u32::from(settled.ended.is_some());
                let waits_for_opening = settled.ended == Some(MailEnd::Closed);
                self.settle_mail(*settled, row.revision).await?;
                if waits_for_opening {
                    self.recheck_opening(&row).await?;
                }
                return Ok(());
            }
            Plan::Remove => {
                done.dropped += 1;
                return self.write_mail(vec![MailWrite::Remove(row.app_id, row.mail_id)]).await;
            }
            Plan::Send(outgoing) => outgoing,
        };
        let Some(mut row) = self.take(options, row).await? else {
            done.is_held = true;
            return Ok(());
        };
        let Outgoing { to, content, unsubscribe, after } = *outgoing;
        let letter = match content {
            Content::Letter(letter) => letter,
            Content::Password(user) => match self.password_letter(&row, &user).await? {
                Some(letter) => letter,
                None => return self.settle_mail(ended(&row, MailEnd::Stopped), row.revision).await,
            },
        };
        let up_to = after.detail.as_deref().filter(|_| row.kind == MailKind::Notice);
        let mail = letter.to_mail(to, message_id(&row, up_to), self.now(), unsubscribe);
        let (outcome, is_changed) = self.hand_over(options, &mut row, mail).await;
        self.metrics.mails.count(match &outcome {
            Ok(()) => "sent",
            Err(SendError::Bounced(_)) => "bounced",
            Err(_) => "delayed",
        });
        match outcome {
            Ok(()) => {
                done.sent += 1;
                self.settle_taken(&row, after, is_changed).await
            }
            Err(error) => {
                done.failed += 1;
                done.is_unreachable = matches!(error, SendError::Unreachable(_));
                let kind = row.kind;
                tracing::warn!(?kind, attempt = row.attempts, %error, "an e-mail was not sent");
                let settled = match is_unanswered_again(&row, &error) && kind == MailKind::Notice {
                    // The subscription continues with newer responses.
                    true => after,
                    false => refused(&row, error, self.now()),
                };
                self.settle_taken(&row, settled, is_changed).await
            }
        }
    }

    /// Sends an e-mail and renews its claim until the mail server replies. Returns also whether its
    /// row was changed by another process or request.
    async fn hand_over(
        &self,
        options: &MailOptions,
        row: &mut MailRow,
        mail: OutgoingMail,
    ) -> (Result<(), SendError>, bool) {
        let mut is_changed = false;
        let sending = tokio::time::timeout(SEND_MAX, options.transport.send(mail));
        let mut sending = std::pin::pin!(sending);
        loop {
            tokio::select! {
                outcome = &mut sending => {
                    return (outcome.unwrap_or(Err(SendError::Unanswered)), is_changed);
                }
                () = tokio::time::sleep(RENEW_TICK) => {}
            }
            let renew_at =
                row.next_at.map(|until| until.plus_seconds(RENEW_SECONDS - LEASE_SECONDS));
            if renew_at.is_none_or(|at| self.now() < at) {
                continue;
            }
            match self.renew(row).await {
                Ok(has_changed) => is_changed |= has_changed,
                // The next turn tries again, and the outcome is written only if it is still ours.
                Err(error) => {
                    tracing::warn!(%error, "cannot renew the claim on an e-mail being sent")
                }
            }
        }
    }

    /// Renews this server's claim on an e-mail. Returns whether the row was changed by another
    /// process or request.
    async fn renew(&self, row: &mut MailRow) -> StoreResult<bool> {
        let mut has_changed = false;
        for _ in 0..SETTLE_MAX {
            let next_at = Some(self.now().plus_seconds(LEASE_SECONDS));
            let longer = MailRow { next_at, ..row.clone() };
            match self.settle_mail(longer.clone(), row.revision).await {
                Ok(()) => {
                    *row = MailRow { revision: row.revision + 1, ..longer };
                    break;
                }
                Err(StoreError::Conflict) => match self.still_taken(row).await? {
                    Some(now) => (*row, has_changed) = (now, true),
                    None => break,
                },
                Err(error) => return Err(error),
            }
        }
        Ok(has_changed)
    }

    /// Takes an e-mail, and counts it towards the minute; absent if the minute is used up.
    async fn take(&self, options: &MailOptions, row: MailRow) -> StoreResult<Option<MailRow>> {
        let reserved = match row.kind {
            MailKind::Password => 0,
            MailKind::Notice | MailKind::Endpoint => options.per_minute / RESERVED_FOR_PASSWORDS,
            MailKind::Invitation => options.per_minute / RESERVED_FOR_OTHERS,
        };
        let max = options.per_minute - reserved;
        // The clock of the store, if several servers share it.
        let now = self.now();
        let minute = now.as_millis().div_euclid(MINUTE_MILLIS);
        let until = now.plus_seconds(LEASE_SECONDS);
        let claim = MailWrite::Claim { read: row.clone(), until };
        match self.write_mail(vec![claim, MailWrite::Pace { minute, max }]).await {
            Ok(()) => {}
            Err(StoreError::Conflict) => {
                let found = self.store.find_mail(row.mail_id).await?;
                return match found.is_some_and(|found| found.revision == row.revision) {
                    true => Ok(None),
                    false => Err(StoreError::Conflict),
                };
            }
            Err(error) => return Err(error),
        }
        let (attempts, revision) = (row.attempts + 1, row.revision + 1);
        Ok(Some(MailRow { attempts, revision, next_at: Some(until), ..row }))
    }

    /// Writes the outcome of an e-mail that this server has taken. If it was changed meanwhile and
    /// is still this server's, because other reminders were chosen, these apply.
    async fn settle_taken(
        &self,
        taken: &MailRow,
        settled: MailRow,
        is_changed: bool,
    ) -> StoreResult<()> {
        let mut revision = taken.revision;
        let mut settled = match is_changed {
            true => self.with_new_reminders(settled).await?,
            false => settled,
        };
        for _ in 0..SETTLE_MAX {
            match self.settle_mail(settled.clone(), revision).await {
                Err(StoreError::Conflict) => {}
                written => return written,
            }
            let Some(now) = self.still_taken(taken).await? else { return Ok(()) };
            revision = now.revision;
            settled = self.with_new_reminders(settled).await?;
        }
        Ok(())
    }

    /// The row of an e-mail as it is now, if this server still has it.
    async fn still_taken(&self, taken: &MailRow) -> StoreResult<Option<MailRow>> {
        let found = self.store.find_mail(taken.mail_id).await?;
        Ok(found.filter(|now| {
            let is_ours = (now.attempts, now.next_at) == (taken.attempts, taken.next_at);
            is_ours && now.ended.is_none()
        }))
    }

    /// Writes the outcome of an e-mail. A conflict if it has changed since. Nobody reads the
    /// outcome of one about an endpoint, so its row is removed when nothing more is sent.
    async fn settle_mail(&self, row: MailRow, revision: u32) -> StoreResult<()> {
        let is_over = row.kind == MailKind::Endpoint && row.next_at.is_none();
        let remove = is_over.then_some(MailWrite::Remove(row.app_id, row.mail_id));
        let settle = MailWrite::Settle { row, revision };
        self.write_mail([settle].into_iter().chain(remove).collect()).await
    }

    pub(super) async fn write_mail(&self, writes: Vec<MailWrite>) -> StoreResult<()> {
        let writes: Vec<_> = writes.into_iter().map(Write::Mail).collect();
        self.apply(At::Instance, writes).await
    }
}

/// The row of an e-mail that is not sent again.
pub(super) fn ended(row: &MailRow, why: MailEnd) -> MailRow {
    MailRow { next_at: None, ended: Some(why), ..row.clone() }
}

/// Whether the last attempt got no reply.
fn is_unanswered(row: &MailRow) -> bool {
    row.reply.as_deref() == Some(UNANSWERED)
}

/// Whether a server that has the whole e-mail gave no reply for the second time: it may have two of
/// them, and gets no more.
fn is_unanswered_again(row: &MailRow, error: &SendError) -> bool {
    is_unanswered(row) && *error == SendError::Unanswered
}

/// The row after an attempt that failed. A subscription to notices ends only if the address is
/// refused: a notice that is refused otherwise is tried without the answers that it quotes, and an
/// outage delays it, however long it is.
fn refused(row: &MailRow, error: SendError, now: Timestamp) -> MailRow {
    let is_notice = row.kind == MailKind::Notice;
    let mut row = row.clone();
    let reply = match error {
        SendError::Bounced(code) if is_notice && !is_brief(&row) => {
            row.detail = made_brief(&row);
            Some(code)
        }
        SendError::Bounced(code) => {
            return MailRow { reply: Some(code), ..ended(&row, MailEnd::Bounced) };
        }
        SendError::Delayed(code) => {
            if is_notice && code.starts_with('5') {
                row.detail = made_brief(&row);
            }
            Some(code)
        }
        SendError::Unanswered if is_unanswered(&row) => {
            return MailRow { reply: Some(UNANSWERED.to_owned()), ..ended(&row, MailEnd::Failed) };
        }
        SendError::Unanswered => Some(UNANSWERED.to_owned()),
        // A lost connection does not undo that an earlier attempt had no reply.
        SendError::Unreachable(_) => row.reply.clone().filter(|it| it == UNANSWERED),
    };
    let tried = usize::try_from(row.attempts).unwrap_or(usize::MAX);
    let pause = PAUSE_MINUTES.get(tried.saturating_sub(1));
    match pause.or(PAUSE_MINUTES.last().filter(|_| is_notice)) {
        Some(minutes) => MailRow { reply, next_at: Some(now.plus_seconds(minutes * 60)), ..row },
        None => MailRow { reply, ..ended(&row, MailEnd::Failed) },
    }
}

/// The `Message-ID`: the same for every attempt of one e-mail, and different for the next of its
/// series; `up_to` identifies what a notice contains. It does not reveal the id, which unsubscribes
/// its recipient.
fn message_id(row: &MailRow, up_to: Option<&str>) -> String {
    let hash = Sha256::new()
        .chain_update(b"sluice message id")
        .chain_update(row.mail_id.uuid().as_bytes())
        .chain_update(row.sent.to_be_bytes())
        .chain_update(up_to.unwrap_or_default())
        .finalize();
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::MailId;

    use super::*;

    fn row(attempts: u32) -> MailRow {
        let at = Timestamp::from_millis(0);
        MailRow { attempts, ..MailRow::new(MailId::from_random(7), MailKind::Invitation, at) }
    }

    #[test]
    fn an_e_mail_is_tried_ten_times_with_growing_pauses() {
        let now = Timestamp::from_millis(1_000);
        let mut waited = 0;
        for attempt in 1..=9 {
            let after = refused(&row(attempt), SendError::Delayed("451".into()), now);
            let minutes = PAUSE_MINUTES[attempt as usize - 1];
            assert_eq!(after.next_at, Some(now.plus_seconds(minutes * 60)), "{attempt}");
            assert_eq!((after.ended, after.reply.as_deref()), (None, Some("451")));
            waited += minutes;
        }
        assert_eq!(waited / 60, 70, "hours");
        let last = refused(&row(10), SendError::Unreachable("away".into()), now);
        assert_eq!((last.next_at, last.ended), (None, Some(MailEnd::Failed)));
    }

    #[test]
    fn a_permanent_refusal_ends_it_at_once() {
        let after = refused(&row(1), SendError::Bounced("550 5.1.1".into()), row(1).created_at);
        assert_eq!((after.next_at, after.ended), (None, Some(MailEnd::Bounced)));
        assert_eq!(after.reply.as_deref(), Some("550 5.1.1"));
    }

    #[test]
    fn a_server_that_gives_no_reply_gets_an_e_mail_twice_at_most() {
        let now = Timestamp::from_millis(1_000);
        let once = refused(&row(1), SendError::Unanswered, now);
        assert_eq!((once.next_at, once.ended), (Some(now.plus_seconds(60)), None));
        assert_eq!(once.reply.as_deref(), Some("no reply"));
        let twice = refused(&MailRow { attempts: 2, ..once }, SendError::Unanswered, now);
        assert_eq!((twice.next_at, twice.ended), (None, Some(MailEnd::Failed)));
        assert_eq!(twice.reply.as_deref(), Some("no reply"));
    }

    #[test]
    fn attempts_share_a_message_id_and_reminders_have_another() {
        let first = message_id(&row(1), None);
        assert_eq!(first, message_id(&row(2), None));
        assert_ne!(first, message_id(&row(2), Some("more")));
        assert_ne!(first, message_id(&MailRow { sent: 1, ..row(1) }, None));
        assert!(!first.contains(&format!("{:032x}", row(1).mail_id.uuid().as_u128())));
    }
}
