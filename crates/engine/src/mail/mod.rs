//! E-mail: invitations with their reminders, password links, notices of new responses and of
//! disabled endpoints.
//!
//! Reading order: `letter` (one e-mail as text and HTML) with `words` (its texts, one file per
//! language), `lanes` (what is sent next), `outbox` (one e-mail is sent, at the pace of the
//! instance, and tried again), `invitations`, `passwords`, `notices` with `subscription`, and
//! `endpoints` (what each kind says and to whom), `unsubscribe`.
//!
//! An e-mail to send is a row that is written in the transaction of its cause. It has no address
//! and no secret: the worker reads the recipient when it sends, and creates a password link then.
//! An e-mail is sent at least once; twice only if the process ends between the reply of the mail
//! server and the write. Its `Message-ID` stays the same, so that receivers can recognise the
//! duplicate. Without a mail server nothing is queued.

mod endpoints;
mod invitations;
mod lanes;
mod letter;
mod notices;
mod outbox;
mod passwords;
mod subscription;
mod unsubscribe;
pub(crate) mod words;

use std::time::Duration;

use sluice_flow::definition::Fault;
use sluice_flow::email::is_email;

use crate::admin::AdminResult;
use crate::boxed;
use crate::core::Core;
use crate::fault::faultless;
use crate::ids::random_bits;
use crate::instance::InstanceHandle;
use crate::mail_queue::no_mail_server;
use crate::outbound_hold::held;

pub use crate::mail_queue::MailStatus;
pub use crate::mail_transport::{MailOptions, OutgoingMail, SendError, Transport};
pub use outbox::Delivered;
pub use subscription::NoticeFrequency;
pub use unsubscribe::Unsubscription;

use letter::{Letter, LetterPart};
use sluice_flow::time::Timestamp;
use sluice_store::{MailEnd, MailKind, MailRow};
use words::Words;

/// How long a caller waits for the outcome of a test.
const TEST_MAX: Duration = Duration::from_secs(25);

/// The row of an e-mail that is not sent: one of a copy, from before it was held. A subscription to
/// notices continues with responses that were stored since then.
pub(crate) fn dropped(row: MailRow, held_at: Timestamp, now: Timestamp) -> MailRow {
    match row.kind {
        MailKind::Notice => subscription::skipped(row, held_at, now),
        MailKind::Invitation | MailKind::Password | MailKind::Endpoint => {
            outbox::ended(&row, MailEnd::Stopped)
        }
    }
}

impl InstanceHandle {
    /// Sends a test e-mail, at once and without the outbox. Returns why the mail server did not
    /// accept it.
    #[boxed]
    pub async fn send_test_mail(&self, to: &str) -> AdminResult<Result<(), String>> {
        let (core, to) = (self.core(), to.trim());
        let what = "must be an e-mail address such as ann@example.com";
        faultless((!is_email(to)).then(|| Fault::new("/address", what)))?;
        let Some(options) = &core.mail else { return Ok(Err(no_mail_server().to_string())) };
        if core.outbound.is_held(&*core.store).await? {
            return Ok(Err(held().to_string()));
        }
        let letter = Letter {
            words: Words::english(),
            subject: "Test from Sluice".to_owned(),
            parts: vec![LetterPart::Text("This server can send e-mail.".to_owned())],
            footer: vec![LetterPart::Text(core.public_url.clone())],
        };
        let id = format!("{:032x}", random_bits());
        let mail = letter.to_mail(to.to_owned(), id, core.now(), None);
        core.begin_effect().await?;
        let sending = tokio::time::timeout(TEST_MAX, options.transport.send(mail)).await;
        let late = || Err(SendError::Unreachable("it did not answer in time".to_owned()));
        let sent = sending.unwrap_or_else(|_| late());
        Ok(sent.map_err(|error| in_plain_words(&error)))
    }
}

/// What a refusal means, with the code of the reply.
fn in_plain_words(error: &SendError) -> String {
    let (SendError::Bounced(reply) | SendError::Delayed(reply)) = error else {
        return error.to_string();
    };
    let is_about = |class: &str| reply.split(' ').any(|code| code.starts_with(class));
    let meaning = if is_about("5.1.") {
        "the mail server does not know the address"
    } else if is_about("5.2.") {
        "the mailbox of the address accepts no e-mail"
    } else if is_about("5.7.") {
        "the mail server does not allow this sender or this content"
    } else if matches!(error, SendError::Bounced(_)) {
        "the mail server refused the address"
    } else if reply.starts_with('4') {
        "the mail server does not accept it for now; try again in a few minutes"
    } else {
        "the mail server refused it"
    };
    format!("{meaning} (its reply: {reply})")
}

impl Core {
    /// Whether e-mails can be sent.
    pub(crate) fn sends_mail(&self) -> bool {
        self.mail.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_explained_with_its_code() {
        for (error, words) in [
            (SendError::Bounced("550 5.1.1".into()), "does not know the address"),
            (SendError::Bounced("550 5.2.2".into()), "accepts no e-mail"),
            (SendError::Bounced("550".into()), "refused the address"),
            (SendError::Delayed("554 5.7.1".into()), "does not allow this sender"),
            (SendError::Delayed("451 4.7.1".into()), "for now"),
            (SendError::Delayed("554".into()), "refused it"),
        ] {
            let text = in_plain_words(&error);
            let (SendError::Bounced(code) | SendError::Delayed(code)) = &error else { continue };
            assert!(text.contains(words) && text.contains(code.as_str()), "{text}");
        }
        let away = SendError::Unreachable("there is no connection".into());
        assert_eq!(in_plain_words(&away), away.to_string());
    }
}
