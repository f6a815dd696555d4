//! The outbox: sends what is due, and tries again what the mail server did not accept.
//!
//! Every server does this. One takes an e-mail by moving its time into the future, in the
//! transaction that counts it towards the pace of the minute; if it stops before the outcome is
//! written, the e-mail becomes due again and any server takes it. Only the server that took it last
//! writes its outcome.

use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, MailEnd, MailKind, MailRow, MailWrite, StoreError, StoreResult, User, Write,
};

use super::letter::Letter;
use super::{MailOptions, SendError};
use crate::background::{is_final, keep_running_after};
use crate::core::Core;

/// How long a server waits while the mail server is away.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(15);
/// The e-mails that are read at a time.
const BATCH: usize = 20;
/// How long one attempt may take, and how long an e-mail belongs to the server that took it.
const SEND_MAX: Duration = Duration::from_secs(60);
const LEASE_SECONDS: i64 = 180;
/// The minutes before the second attempt, the third and so on: three days in all.
const PAUSE_MINUTES: [i64; 9] = [1, 5, 15, 60, 180, 360, 720, 1440, 1440];
const MINUTE_MILLIS: i64 = 60_000;
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
    /// The row after it was sent; absent if it is then removed.
    pub(super) after: Option<MailRow>,
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
        loop {
            let pause = match self.deliver_mails().await {
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

    /// Sends what is due now: one pass.
    pub(crate) async fn deliver_mails(&self) -> StoreResult<Delivered> {
        let mut done = Delivered::default();
        let Some(options) = &self.mail else { return Ok(done) };
        for row in self.store.list_due_mails(self.now(), BATCH).await? {
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
                    let attempts = row.attempts;
                    self.settle_mail(MailRow { next_at, ..row }, attempts).await?;
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
                return self.settle_mail(*settled, row.attempts).await;
            }
            Plan::Remove => {
                done.dropped += 1;
                return self.write_mail(vec![MailWrite::Remove(row.app_id, row.mail_id)]).await;
            }
            Plan::Send(outgoing) => outgoing,
        };
        let now = self.now();
        let minute = now.as_millis().div_euclid(MINUTE_MILLIS);
        let claim = MailWrite::Claim { read: row.clone(), until: now.plus_seconds(LEASE_SECONDS) };
        self.write_mail(vec![claim, MailWrite::Pace { minute, max: options.per_minute }]).await?;
        let row = MailRow { attempts: row.attempts + 1, ..row };
        let Outgoing { to, content, unsubscribe, after } = *outgoing;
        let letter = match content {
            Content::Letter(letter) => letter,
            Content::Password(user) => match self.password_letter(&row, &user).await? {
                Some(letter) => letter,
                None => return self.settle_mail(ended(&row, MailEnd::Stopped), row.attempts).await,
            },
        };
        let up_to = after.as_ref().and_then(|after| after.detail.as_deref());
        let mail = letter.to_mail(to, message_id(&row, up_to), now, unsubscribe);
        let sending = tokio::time::timeout(SEND_MAX, options.transport.send(mail)).await;
        let late = || Err(SendError::Unreachable("it did not answer in time".to_owned()));
        let outcome = sending.unwrap_or_else(|_| late());
        self.metrics.count_mail(match &outcome {
            Ok(()) => "sent",
            Err(SendError::Bounced(_)) => "bounced",
            Err(_) => "delayed",
        });
        match (outcome, after) {
            (Ok(()), Some(after)) => {
                done.sent += 1;
                self.settle_mail(after, row.attempts).await
            }
            (Ok(()), None) => {
                done.sent += 1;
                self.write_mail(vec![MailWrite::Remove(row.app_id, row.mail_id)]).await
            }
            (Err(error), _) => {
                done.failed += 1;
                done.is_unreachable = matches!(error, SendError::Unreachable(_));
                let kind = row.kind;
                tracing::warn!(?kind, attempt = row.attempts, %error, "an e-mail was not sent");
                self.settle_mail(refused(&row, error, self.now()), row.attempts).await
            }
        }
    }

    /// Writes what became of an e-mail, unless another server has taken it since.
    async fn settle_mail(&self, row: MailRow, attempts: u32) -> StoreResult<()> {
        self.write_mail(vec![MailWrite::Settle { row, attempts }]).await
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

/// The row after an attempt that failed.
fn refused(row: &MailRow, error: SendError, now: Timestamp) -> MailRow {
    let reply = match error {
        SendError::Bounced(code) => {
            return MailRow { reply: Some(code), ..ended(row, MailEnd::Bounced) };
        }
        SendError::Delayed(code) => Some(code),
        SendError::Unreachable(_) => None,
    };
    let tried = usize::try_from(row.attempts).unwrap_or(usize::MAX);
    match PAUSE_MINUTES.get(tried.saturating_sub(1)) {
        Some(minutes) => {
            MailRow { reply, next_at: Some(now.plus_seconds(minutes * 60)), ..row.clone() }
        }
        _ => MailRow { reply, ..ended(row, MailEnd::Failed) },
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
