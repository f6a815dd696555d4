//! The mail server: hands e-mails over by SMTP, with TLS unless the operator states otherwise.
//!
//! The address and the password of the server are in its settings only; neither they nor the
//! recipient are in an error, because errors are logged. A reply is kept as its code alone: servers
//! repeat the recipient in its text.

mod exchange;
mod message;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use lettre::address::Address;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use percent_encoding::percent_decode_str;
use sluice_engine::mail::{OutgoingMail, SendError, Transport};
use sluice_flow::email::is_email;
use url::Url;

/// How long the server may take to connect, and to be ready for an e-mail after that. Every e-mail
/// has its own connection, so one that hangs leaves nothing behind.
const CONNECT_MAX: Duration = Duration::from_secs(10);
const READY_MAX: Duration = Duration::from_secs(25);
const LATE: &str = "it did not answer in time";
/// A connection that ends within a reply.
const CLOSED: &str = "it closed the connection, or does not speak SMTP";
/// Refusals that concern the sign-in, not the recipient.
const SIGN_IN_CODES: [u16; 4] = [530, 534, 535, 538];

/// The sender: an address, with or without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    pub name: Option<String>,
    pub address: String,
}

impl std::str::FromStr for Sender {
    type Err = String;

    /// Reads `ann@example.com` or `Ann Smith <ann@example.com>`.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (name, address) = match text.strip_suffix('>').and_then(|it| it.rsplit_once('<')) {
            Some((name, address)) => (name.trim().trim_matches('"'), address),
            None => ("", text),
        };
        if !is_email(address) || !address.is_ascii() || name.chars().any(char::is_control) {
            return Err(format!("{text:?} is not an address such as Acme <mail@example.com>"));
        }
        let name = (!name.is_empty()).then(|| name.to_owned());
        Ok(Self { name, address: address.to_owned() })
    }
}

impl Sender {
    fn domain(&self) -> &str {
        self.address.rsplit('@').next().unwrap_or_default()
    }
}

/// Sends e-mails through one mail server.
pub struct SmtpTransport {
    host: String,
    port: u16,
    tls: Tls,
    credentials: Option<Credentials>,
    sender: Sender,
}

impl fmt::Debug for SmtpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SmtpTransport(…)")
    }
}

impl SmtpTransport {
    /// The server of `smtp://user:password@host:587`, which must offer STARTTLS, or of `smtps://`,
    /// with TLS from the start. `?tls=none` sends without TLS, for a server on the same machine.
    /// `password` replaces the one in the URL. The error says what is wrong without repeating it.
    pub fn new(url: &str, password: Option<String>, sender: Sender) -> Result<Self, String> {
        // Fails if an earlier client already installed the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let form = || "must be smtp://USER:PASSWORD@HOST:PORT or smtps://…".to_owned();
        let parsed = Url::parse(url).map_err(|_| form())?;
        let host = parsed.host_str().filter(|host| !host.is_empty()).ok_or_else(form)?;
        let tls = parsed.query_pairs().map(|(name, value)| format!("{name}={value}"));
        let tls = match (parsed.scheme(), tls.collect::<Vec<_>>().join("&").as_str()) {
            ("smtp", "" | "tls=starttls") => Tls::Required(trusted(host)?),
            ("smtps", "") => Tls::Wrapper(trusted(host)?),
            ("smtp", "tls=none") => Tls::None,
            ("smtp" | "smtps", _) => return Err("may only end with ?tls=none".to_owned()),
            _ => return Err(form()),
        };
        let port = parsed.port().unwrap_or(match tls {
            Tls::Wrapper(_) => 465,
            Tls::Required(_) => 587,
            _ => 25,
        });
        let decoded = |text: &str| {
            percent_decode_str(text).decode_utf8().map(|it| it.into_owned()).map_err(|_| form())
        };
        let user = decoded(parsed.username())?;
        let in_url = parsed.password().map(decoded).transpose()?;
        let credentials = match (user.is_empty(), password.or(in_url)) {
            (false, Some(password)) => Some(Credentials::new(user, password)),
            (true, None) => None,
            (false, None) => return Err("names a user, but there is no password".to_owned()),
            (true, Some(_)) => return Err("has a password, but names no user".to_owned()),
        };
        Ok(Self { host: host.to_owned(), port, tls, credentials, sender })
    }

    async fn hand_over(&self, mail: OutgoingMail) -> Result<(), SendError> {
        let address = |text: &str| {
            text.parse::<Address>().map_err(|_| SendError::Bounced("invalid address".to_owned()))
        };
        let (from, to) = (address(&self.sender.address)?, address(&mail.to)?);
        let bytes = message::encode(&mail, &self.sender);
        let connecting = tokio::time::timeout(READY_MAX, self.connection()).await;
        let connected = connecting.map_err(|_| SendError::Unreachable(LATE.to_owned()))?;
        let connection = connected.map_err(|error| refusal(&error, ReplyTo::Session))?;
        exchange::hand_over(connection, from, to, &bytes).await
    }

    /// A connection that is ready for an e-mail.
    async fn connection(&self) -> Result<AsyncSmtpConnection, Error> {
        let hello = ClientId::default();
        let from_start = match &self.tls {
            Tls::Wrapper(parameters) => Some(parameters.clone()),
            _ => None,
        };
        let server = (self.host.as_str(), self.port);
        let limit = Some(CONNECT_MAX);
        let mut connection =
            AsyncSmtpConnection::connect_tokio1(server, limit, &hello, from_start, None).await?;
        if let Tls::Required(parameters) = &self.tls {
            connection.starttls(parameters.clone(), &hello).await?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

fn trusted(host: &str) -> Result<TlsParameters, String> {
    TlsParameters::new(host.to_owned()).map_err(|error| format!("cannot be used with TLS: {error}"))
}

impl Transport for SmtpTransport {
    fn send(
        &self,
        mail: OutgoingMail,
    ) -> Pin<Box<dyn Future<Output = Result<(), SendError>> + Send + '_>> {
        Box::pin(self.hand_over(mail))
    }
}

/// What a reply answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyTo {
    /// The connection, the sign-in, or the sender.
    Session,
    Recipient,
    Content,
}

/// What an error means for the e-mail. The text of a reply may name the recipient, so only its
/// codes are kept.
fn refusal(error: &Error, reply_to: ReplyTo) -> SendError {
    let Some(status) = error.status() else {
        let what = match error {
            error if error.is_timeout() => LATE,
            error if error.is_tls() => "its certificate or TLS was not accepted",
            error if error.is_client() => "it does not offer STARTTLS, or no known way to sign in",
            error if error.is_response() => CLOSED,
            _ => "there is no connection",
        };
        return SendError::Unreachable(what.to_owned());
    };
    let code = u16::from(status);
    let text = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let codes = match enhanced_code(&text) {
        Some(enhanced) => format!("{code} {enhanced}"),
        None => code.to_string(),
    };
    if SIGN_IN_CODES.contains(&code) {
        return SendError::Unreachable(format!("it refused to sign in ({codes})"));
    }
    match error.is_permanent() && is_about_recipient(reply_to, code, enhanced_code(&text)) {
        true => SendError::Bounced(codes),
        false => SendError::Delayed(codes),
    }
}

/// Whether a refusal is about the address. Others are about the sender, the content or the server,
/// and may be gone later.
fn is_about_recipient(reply_to: ReplyTo, code: u16, enhanced: Option<&str>) -> bool {
    match (reply_to, enhanced) {
        (ReplyTo::Session, _) | (ReplyTo::Content, None) => false,
        (ReplyTo::Recipient, None) => [550, 551, 553].contains(&code),
        // Those two are about the address of the sender.
        (_, Some("5.1.7" | "5.1.8")) => false,
        (_, Some(enhanced)) => enhanced.starts_with("5.1.") || enhanced.starts_with("5.2."),
    }
}

/// The code of RFC 3463 at the start of a reply's text, such as `5.1.1`.
fn enhanced_code(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?;
    let is_number = |part: &str| {
        (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    (word.split('.').count() == 3 && word.split('.').all(is_number)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> Sender {
        "Acme <mail@acme.example>".parse().unwrap()
    }

    #[test]
    fn a_sender_is_an_address_with_or_without_a_name() {
        for (text, name, address) in [
            ("mail@acme.example", None, "mail@acme.example"),
            (" Acme <mail@acme.example> ", Some("Acme"), "mail@acme.example"),
            ("\"Ann & Co\" <a@b.example>", Some("Ann & Co"), "a@b.example"),
            ("Ünal <a@b.example>", Some("Ünal"), "a@b.example"),
        ] {
            let read: Sender = text.parse().unwrap();
            assert_eq!((read.name.as_deref(), read.address.as_str()), (name, address), "{text}");
        }
        for text in ["", "acme", "Acme <acme>", "a@b.example\r\nBcc: c@d.example", "ü@b.example"] {
            assert!(text.parse::<Sender>().is_err(), "{text}");
        }
        assert!("A\r\nBcc: x <a@b.example>".parse::<Sender>().is_err());
    }

    #[test]
    fn the_url_of_a_server_has_a_scheme_a_host_and_complete_credentials() {
        for (url, password, fits) in [
            ("smtp://mail.example", None, true),
            ("smtps://u:p@mail.example", None, true),
            ("smtp://u%40b.example:p%3A%2F@mail.example:2525?tls=starttls", None, true),
            ("smtp://u@mail.example", Some("secret"), true),
            ("smtp://localhost:25?tls=none", None, true),
            ("smtp://mail.example?tls=opportunistic", None, false),
            ("smtps://mail.example?tls=none", None, false),
            ("smtp://u@mail.example", None, false),
            ("smtp://mail.example", Some("secret"), false),
            ("http://mail.example", None, false),
            ("mail.example:25", None, false),
            ("", None, false),
        ] {
            let made = SmtpTransport::new(url, password.map(str::to_owned), sender());
            assert_eq!(made.is_ok(), fits, "{url}");
        }
        let failed = SmtpTransport::new("ftp://u:canary-word@h", None, sender()).unwrap_err();
        assert!(!failed.contains("canary"), "{failed}");
    }

    #[test]
    fn only_a_code_is_kept_of_a_reply() {
        for (text, code) in [
            ("5.1.1 <ada@mail.example>: unknown", Some("5.1.1")),
            ("ada@mail.example unknown", None),
            ("5.1", None),
            ("4.7.1234 x", None),
            ("", None),
        ] {
            assert_eq!(enhanced_code(text), code, "{text}");
        }
    }
}
