//! E-mail: invitations with their reminders, password links, notices of new responses and of disabled
//! endpoints.
//!
//! Reading order: `letter` (one e-mail as text and HTML) with `words` (its texts, one file per
//! language), `outbox` (what is due is sent, at the pace of the instance, and tried again),
//! `invitations`, `passwords`, `notices` and `endpoints` (what each kind says and to whom), `unsubscribe`.
//!
//! What is to be sent is a row that is written in the transaction of its cause. It has no address
//! and no secret: the worker reads the recipient when it sends, and makes a password link then. An
//! e-mail is sent at least once; twice only if the process ends between the reply of the mail server
//! and the write. Its `Message-ID` stays the same, so that receivers can tell. Without a mail server
//! nothing is queued.

mod endpoints;
mod invitations;
mod letter;
mod notices;
mod outbox;
mod passwords;
mod unsubscribe;
mod words;

use sluice_flow::email::is_email;

use crate::admin::AdminResult;
use crate::core::Core;
use crate::fault::{fault, faultless};
use crate::ids::random_bits;
use crate::instance::InstanceHandle;
use crate::mail_queue::no_mail_server;

pub use crate::mail_queue::MailStatus;
pub use crate::mail_transport::{MailOptions, OutgoingMail, SendError, Transport};
pub use notices::NoticeFrequency;
pub use outbox::Delivered;
pub use unsubscribe::Unsubscription;

use letter::{Letter, Part};
use words::Words;

impl InstanceHandle {
    /// Sends an e-mail that says that sending works, at once and without the outbox. Returns why the
    /// mail server did not accept it.
    pub async fn send_test_mail(&self, to: &str) -> AdminResult<Result<(), String>> {
        let (core, to) = (self.core(), to.trim());
        let what = "must be an e-mail address such as ann@example.com";
        faultless((!is_email(to)).then(|| fault("/address", what)))?;
        let Some(options) = &core.mail else { return Ok(Err(no_mail_server().to_string())) };
        let letter = Letter {
            words: Words::english(),
            subject: "Test from Sluice".to_owned(),
            parts: vec![Part::Text("This server can send e-mail.".to_owned())],
            footer: vec![Part::Text(core.public_url.clone())],
        };
        let id = format!("{:032x}", random_bits());
        let mail = letter.to_mail(to.to_owned(), id, core.now(), None);
        Ok(options.transport.send(mail).await.map_err(|error| error.to_string()))
    }
}

impl Core {
    /// Whether e-mails can be sent.
    pub(crate) fn sends_mail(&self) -> bool {
        self.mail.is_some()
    }
}
