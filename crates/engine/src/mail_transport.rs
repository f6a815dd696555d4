//! The mail server, as the engine sees it: a trait that hands over one e-mail.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sluice_flow::time::Timestamp;

/// One e-mail as it is handed to the mail server.
#[derive(Clone, PartialEq, Eq)]
pub struct OutgoingMail {
    pub to: String,
    /// The part before the `@`.
    pub message_id: String,
    pub date: Timestamp,
    /// One line.
    pub subject: String,
    pub text: String,
    pub html: String,
    /// The URL at which a POST unsubscribes the recipient (RFC 8058).
    pub unsubscribe: Option<String>,
}

impl fmt::Debug for OutgoingMail {
    /// Neither the address nor a link in the text may be in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OutgoingMail(…)")
    }
}

/// Why an e-mail was not accepted. The texts have no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Permanently, because of its recipient or content: the code of the reply.
    #[error("the mail server refused it: {0}")]
    Bounced(String),
    /// For now: the code of the reply.
    #[error("the mail server did not accept it yet: {0}")]
    Delayed(String),
    /// The server has the whole e-mail and gave no reply to it: whether it was accepted is unknown.
    #[error("the mail server gave no reply to the e-mail in time")]
    Unanswered,
    /// The mail server cannot be used: what is wrong with the connection or the sign-in.
    #[error("the mail server cannot be used: {0}")]
    Unreachable(String),
}

/// Hands e-mails to a mail server.
pub trait Transport: fmt::Debug + Send + Sync {
    /// Returns when the server has accepted or refused it, within a limited time.
    fn send(
        &self,
        mail: OutgoingMail,
    ) -> Pin<Box<dyn Future<Output = Result<(), SendError>> + Send + '_>>;
}

/// How e-mails are sent.
#[derive(Debug, Clone)]
pub struct MailOptions {
    pub transport: Arc<dyn Transport>,
    /// The most e-mails in one minute, of all servers on one database together.
    pub per_minute: u32,
    /// How often this server checks for due e-mails; absent if it sends only on demand.
    pub interval: Option<Duration>,
}
