//! The outbox: sends what is due, and tries again what the mail server did not accept.
//!
//! Every server does this. One takes an e-mail by moving its time into the future, in the
//! transaction that counts it towards the pace of the minute; if it stops before the outcome is
//! written, the e-mail becomes due again and any server takes it. Only the server that took it last
//! writes its outcome. Password links have a lane of their own: they wait neither for a slow reply to
//! another e-mail nor for the end of a minute whose pace invitations have used.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, MailEnd, MailKind, MailLane, MailRow, MailWrite, StoreError, StoreResult, User, Write,
};

use super::letter::Letter;
use super::subscription::{is_brief, made_brief};
use super::{MailOptions, SendError};
use crate::background::{is_final, keep_running_after};
use crate::core::Core;

/// How long a server waits while the mail server is away.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(15);
/// The e-mails that are read at a time.
const BATCH: usize = 20;
/// How long one attempt may take, and how long an e-mail belongs to the server that took it.
const SEND_MAX: Duration = Duration::from_secs(60);
pub(super) const LEASE_SECONDS: i64 = 180;
/// The minutes before the second attempt, the third and so on: three days in all.
const PAUSE_MINUTES: [i64; 9] = [1, 5, 15, 60, 180, 360, 720, 1440, 1440];
const MINUTE_MILLIS: i64 = 60_000;
/// One of this many e-mails of a minute is left for password links.
const RESERVED_PART: u32 = 10;
/// How often an outcome is written again because the row has changed meanwhile.
const SETTLE_MAX: usize = 5;
/// The pause of one that cannot be made because something of it cannot be read.
const FAILED_SECONDS: i64 = 15 * 60;

/// What one pass over the due e-mails did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Accepted by the mail server.
    pub sent: u32,
    /// Refused, or not sent for another reason; some of them are tried again.
    pub failed: u32,
    /// No longer to be sent.
    pub dropped: u32,
    /// Whether e-mails are left because the minute's are used up or another server took them.
    pub is_held: bool,
    pub is_unreachable: bool,
}

/// What is to be done with a due e-mail.
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
    /// A link to set a password, which is made when it is sent.
    Password(Box<User>),
}

impl Core {
    /// Sends e-mails as they become due, until the store is closed.
    pub(crate) async fn send_mails(self: Arc<Self>) {
        let Some(interval) = self.mail.as_ref().and_then(|it| it.interval) else { return };
        let lanes =
            [MailLane::Passwords, MailLane::Bulk].map(|lane| self.send_lane(lane, interval));
        let [passwords, bulk] = lanes;
        tokio::join!(passwords, bulk);
    }

    async fn send_lane(&self, lane: MailLane, interval: Duration) {
        loop {
            let pause = match self.deliver_lane(lane).await {
                Ok(Delivered { is_unreachable: true, .. }) => UNREACHABLE_PAUSE,
                Ok(Delivered { is_held: false, sent, .. }) if sent > 0 => Duration::ZERO,
                Ok(_) => interval,
                Err(error) => {
                    if !keep_running_after(&error, "e-mails were not sent", &self.lost) {
                        return;
                    }
                    UNREACHABLE_PAUSE
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Sends what is due now: one pass over each lane.
    pub(crate) async fn deliver_mails(&self) -> StoreResult<Delivered> {
        let passwords = self.deliver_lane(MailLane::Passwords).await?;
        let bulk = self.deliver_lane(MailLane::Bulk).await?;
        Ok(Delivered {
            sent: passwords.sent + bulk.sent,
            failed: passwords.failed + bulk.failed,
            dropped: passwords.dropped + bulk.dropped,
            is_held: passwords.is_held || bulk.is_held,
            is_unreachable: passwords.is_unreachable || bulk.is_unreachable,
        })
    }

    async fn deliver_lane(&self, lane: MailLane) -> StoreResult<Delivered> {
        let mut done = Delivered::default();
        let Some(options) = &self.mail else { return Ok(done) };
        if self.outbound.is_held(&*self.store).await? {
            return Ok(done);
        }
        for row in self.store.list_due_mails(lane, self.now(), BATCH).await? {
            match self.deliver(options, row.clone(), &mut done).await {
                Ok(()) => {}
                // Another server took it, or the minute's are used up.
                Err(StoreError::Conflict) => done.is_held = true,
                Err(error) if is_final(&error) => return Err(error),
                // One that cannot be made now must not hold up the others.
                Err(error) => {
                    let (mail, kind) = (row.mail_id, row.kind);
                    tracing::warn!(?mail, ?kind, %error, "an e-mail is tried again later");
                    let next_at = Some(self.now().plus_seconds(FAILED_SECONDS));
                    let revision = row.revision;
                    match self.settle_mail(MailRow { next_at, ..row }, revision).await {
                        // If this server has taken it, it becomes due again by itself.
                        Ok(()) | Err(StoreError::Conflict) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            if done.is_held || done.is_unreachable {
                break;
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
                return self.settle_mail(*settled, row.revision).await;
            }
            Plan::Remove => {
                done.dropped += 1;
                return self.write_mail(vec![MailWrite::Remove(row.app_id, row.mail_id)]).await;
            }
            Plan::Send(outgoing) => outgoing,
        };
        let row = self.take(options, row).await?;
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
        let sending = tokio::time::timeout(SEND_MAX, options.transport.send(mail)).await;
        let late = || Err(SendError::Unreachable("it did not answer in time".to_owned()));
        let outcome = sending.unwrap_or_else(|_| late());
        self.metrics.count_mail(match &outcome {
            Ok(()) => "sent",
            Err(SendError::Bounced(_)) => "bounced",
            Err(_) => "delayed",
        });
        match outcome {
            Ok(()) => {
                done.sent += 1;
                self.settle_taken(&row, after).await
            }
            Err(error) => {
                done.failed += 1;
                done.is_unreachable = matches!(error, SendError::Unreachable(_));
                let kind = row.kind;
                tracing::warn!(?kind, attempt = row.attempts, %error, "an e-mail was not sent");
                self.settle_taken(&row, refused(&row, error, self.now())).await
            }
        }
    }

    /// Takes an e-mail, and counts it towards the minute.
    async fn take(&self, options: &MailOptions, row: MailRow) -> StoreResult<MailRow> {
        let max = match row.kind {
            MailKind::Password => options.per_minute,
            _ => options.per_minute - options.per_minute / RESERVED_PART,
        };
        // The clock of the store, if several servers share it.
        let now = self.now();
        let minute = now.as_millis().div_euclid(MINUTE_MILLIS);
        let until = now.plus_seconds(LEASE_SECONDS);
        let claim = MailWrite::Claim { read: row.clone(), until };
        self.write_mail(vec![claim, MailWrite::Pace { minute, max }]).await?;
        let (attempts, revision) = (row.attempts + 1, row.revision + 1);
        Ok(MailRow { attempts, revision, next_at: Some(until), ..row })
    }

    /// Writes the outcome of an e-mail that this server has taken. If it was changed meanwhile and
    /// is still this server's, because other reminders were chosen, these apply.
    async fn settle_taken(&self, taken: &MailRow, settled: MailRow) -> StoreResult<()> {
        let mut revision = taken.revision;
        let mut settled = settled;
        for _ in 0..SETTLE_MAX {
            match self.settle_mail(settled.clone(), revision).await {
                Err(StoreError::Conflict) => {}
                written => return written,
            }
            let Some(now) = self.store.find_mail(taken.mail_id).await? else { return Ok(()) };
            let is_ours = (now.attempts, now.next_at) == (taken.attempts, taken.next_at);
            if !is_ours || now.ended.is_some() {
                return Ok(());
            }
            revision = now.revision;
            settled = self.with_new_reminders(settled).await?;
        }
        Ok(())
    }

    /// Writes what became of an e-mail. A conflict if it has changed since.
    async fn settle_mail(&self, row: MailRow, revision: u32) -> StoreResult<()> {
        self.write_mail(vec![MailWrite::Settle { row, revision }]).await
    }

    pub(super) async fn write_mail(&self, writes: Vec<MailWrite>) -> StoreResult<()> {
        let writes: Vec<_> = writes.into_iter().map(Write::Mail).collect();
        self.apply(At::Instance, writes).await
    }
}

/// The row of an e-mail of which nothing more is sent.
pub(super) fn ended(row: &MailRow, why: MailEnd) -> MailRow {
    MailRow { next_at: None, ended: Some(why), ..row.clone() }
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
        SendError::Unreachable(_) => None,
    };
    let tried = usize::try_from(row.attempts).unwrap_or(usize::MAX);
    let pause = PAUSE_MINUTES.get(tried.saturating_sub(1));
    match pause.or(PAUSE_MINUTES.last().filter(|_| is_notice)) {
        Some(minutes) => MailRow { reply, next_at: Some(now.plus_seconds(minutes * 60)), ..row },
        None => MailRow { reply, ..ended(&row, MailEnd::Failed) },
    }
}

/// The same for every attempt of one e-mail, and another one for the next of its series; `up_to` says
/// what a notice contains. It does not reveal the id, which unsubscribes its recipient.
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
    fn attempts_share_a_message_id_and_reminders_have_another() {
        let first = message_id(&row(1), None);
        assert_eq!(first, message_id(&row(2), None));
        assert_ne!(first, message_id(&row(2), Some("more")));
        assert_ne!(first, message_id(&MailRow { sent: 1, ..row(1) }, None));
        assert!(!first.contains(&format!("{:032x}", row(1).mail_id.uuid().as_u128())));
    }
}
