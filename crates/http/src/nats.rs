//! NATS JetStream: publishes events into a stream. Compiled only with the feature `nats`.
//!
//! The subject of an event is `<prefix>.<app>.<type>`, and its id is the header `Nats-Msg-Id`, by
//! which the stream drops what it already has. A message counts as published when the stream has
//! acknowledged it. After any fault a new connection is opened, so that no message waits in a
//! client and a renewed credentials file is read. Addresses and credentials are in no error,
//! because errors are logged.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::context::{
    CreateStreamErrorKind, GetStreamErrorKind, PublishAckFuture, PublishError, PublishErrorKind,
};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, StorageType};
use async_nats::jetstream::{self, Context, ErrorCode};
use async_nats::{ConnectOptions, ServerAddr};
use percent_encoding::percent_decode_str;
use sluice_engine::sink::{EventSink, PUBLISH_MAX, PublishFuture, SinkError, TooLarge};
use sluice_flow::event::EventType;
use sluice_flow::event::payload::Payload;
use sluice_flow::id::AppId;
use tokio::sync::Mutex;

const CONNECT_MAX: Duration = Duration::from_secs(4);
/// How long the stream may take to acknowledge a page of events.
const ACK_MAX: Duration = Duration::from_secs(5);
/// How long a request to JetStream itself may take.
const REQUEST_MAX: Duration = Duration::from_secs(2);
/// The most that headers add to the size of a message, without the name of the stream.
const HEADERS_BYTES_MAX: usize = 128;
const RAISE_PAYLOAD: &str = "raise max_payload of the NATS server";
const RAISE_MESSAGE: &str = "raise max_msg_size of the stream";

// A connection is made within the time of a page, too.
const _: () = assert!(CONNECT_MAX.as_secs() + 2 * REQUEST_MAX.as_secs() < PUBLISH_MAX.as_secs());
const _: () = assert!(ACK_MAX.as_secs() < PUBLISH_MAX.as_secs());

/// Where events are published.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsOptions {
    /// One or several servers, separated by commas.
    pub url: String,
    /// A file with a JWT and a seed, as `nsc` writes it.
    pub credentials: Option<PathBuf>,
    pub stream: String,
    /// The beginning of all subjects.
    pub subject: String,
}

impl fmt::Debug for NatsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NatsOptions(…)")
    }
}

/// A stream that takes events.
pub struct NatsSink {
    options: NatsOptions,
    /// Without users and passwords: the client writes addresses to its log.
    servers: Vec<ServerAddr>,
    /// A user and a password, or a token: the first that an address has is used for all servers.
    sign_in: Option<(String, Option<String>)>,
    name: String,
    /// Absent before the first event, while a page is published, and after a fault.
    connection: Mutex<Option<Connection>>,
}

struct Connection {
    context: Context,
    /// The most bytes of a message in the stream, if that is limited.
    message_bytes_max: Option<usize>,
}

impl fmt::Debug for NatsSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NatsSink").field(&self.name).finish()
    }
}

impl NatsSink {
    /// Refuses options that cannot work, with the name of the setting. Does not connect.
    pub fn new(options: NatsOptions) -> Result<Self, String> {
        let address = |text: &str| {
            let found = text.parse::<ServerAddr>().ok();
            let is_known = |it: &ServerAddr| matches!(it.scheme(), "nats" | "tls");
            found.filter(is_known).ok_or("nats-url is not a nats:// or tls:// URL")
        };
        let texts = options.url.split(',').map(str::trim).filter(|it| !it.is_empty());
        let servers = texts.map(address).collect::<Result<Vec<_>, _>>()?;
        if servers.is_empty() {
            return Err("nats-url is empty".to_owned());
        }
        let sign_in = |it: &ServerAddr| Some((decoded(it.username()?), it.password().map(decoded)));
        let sign_in = servers.iter().find_map(sign_in);
        let servers = servers.into_iter().map(without_sign_in).collect::<Result<Vec<_>, _>>()?;
        if let Some(path) = &options.credentials {
            std::fs::read_to_string(path).map_err(|error| format!("nats-credentials: {error}"))?;
        }
        if options.stream.is_empty() || options.stream.chars().any(|c| !is_plain(c) || c == '.') {
            return Err("nats-stream may have no space, full stop, *, >, / or \\".to_owned());
        }
        let is_token = |it: &str| !it.is_empty() && it.chars().all(is_plain);
        if options.subject.starts_with('$') || !options.subject.split('.').all(is_token) {
            return Err("nats-subject is not a subject without wildcards".to_owned());
        }
        let name = format!("nats/{}", options.stream);
        Ok(Self { options, servers, sign_in, name, connection: Mutex::default() })
    }

    /// The connection is only kept after a success: a call that is dropped leaves none.
    async fn publish_page(
        &self,
        app: AppId,
        events: &[Payload],
    ) -> Result<Vec<TooLarge>, SinkError> {
        let mut kept = self.connection.lock().await;
        let connection = match kept.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let published = self.send(&connection, app, events).await;
        if !matches!(published, Err(SinkError::Unavailable(_))) {
            *kept = Some(connection);
        }
        published
    }

    /// Sends all events, then waits for all acknowledgements.
    async fn send(
        &self,
        to: &Connection,
        app: AppId,
        events: &[Payload],
    ) -> Result<Vec<TooLarge>, SinkError> {
        let client = to.context.client();
        if client.connection_state() != State::Connected {
            return Err(unavailable("the connection was lost"));
        }
        let limits = [(client.max_payload(), RAISE_PAYLOAD)].into_iter();
        let limits = limits.chain(to.message_bytes_max.map(|most| (most, RAISE_MESSAGE)));
        let (most, advice) = limits.min().unwrap_or((usize::MAX, RAISE_PAYLOAD));
        let most = most.saturating_sub(HEADERS_BYTES_MAX + self.options.stream.len());
        let mut too_large = Vec::new();
        let mut sent: Vec<PublishAckFuture> = Vec::with_capacity(events.len());
        for event in events {
            let mut body = written(event)?;
            if body.len() > most {
                let bytes = body.len();
                body = written(&event.without_contents())?;
                let is_skipped = body.len() > most;
                let event = event.id;
                too_large.push(TooLarge { event, bytes, bytes_max: most, is_skipped, advice });
                if is_skipped {
                    continue;
                }
            }
            let message = PublishMessage::build()
                .payload(body.into())
                .message_id(event.id.to_string())
                .expected_stream(&self.options.stream);
            let subject = self.subject(&app.to_string(), event.kind);
            let publishing = to.context.send_publish(subject, message).await;
            sent.push(publishing.map_err(|error| self.fault(&error))?);
        }
        let acknowledged = async {
            for ack in sent {
                ack.await?;
            }
            Ok(())
        };
        match tokio::time::timeout(ACK_MAX, acknowledged).await {
            Ok(Ok(())) => Ok(too_large),
            Ok(Err(error)) => Err(self.fault(&error)),
            Err(_) => Err(unavailable("it did not acknowledge in time")),
        }
    }

    fn subject(&self, app: &str, kind: EventType) -> String {
        format!("{}.{app}.{}", self.options.subject, kind.as_str())
    }

    /// Connects, and finds or creates the stream.
    async fn connect(&self) -> Result<Connection, SinkError> {
        let mut options = ConnectOptions::new()
            .name("sluice")
            .connection_timeout(CONNECT_MAX)
            .request_timeout(Some(REQUEST_MAX))
            .max_reconnects(self.servers.len());
        options = match self.sign_in.clone() {
            Some((user, Some(password))) => options.user_and_password(user, password),
            Some((token, None)) => options.token(token),
            None => options,
        };
        if let Some(path) = &self.options.credentials {
            options = options
                .credentials_file(path)
                .await
                .map_err(|error| unavailable(&format!("the credentials file: {error}")))?;
        }
        let client = options
            .connect(self.servers.as_slice())
            .await
            .map_err(|error| unavailable(&format!("cannot connect: {error}")))?;
        let mut context = jetstream::new(client);
        context.set_timeout(REQUEST_MAX);
        let message_bytes_max = self.find_stream(&context).await?;
        tracing::info!(sink = self.name, "connected");
        Ok(Connection { context, message_bytes_max })
    }

    /// Returns the most bytes of a message, if that is limited.
    async fn find_stream(&self, context: &Context) -> Result<Option<usize>, SinkError> {
        let NatsOptions { stream, subject, .. } = &self.options;
        let found = match context.get_stream(stream).await {
            Ok(found) => found,
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(why)
                    if why.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    return self.create_stream(context).await.map(|()| None);
                }
                GetStreamErrorKind::JetStream(why) => {
                    return Err(unavailable(&format!("the stream {stream} cannot be read: {why}")));
                }
                _ => return Err(unavailable(NO_JETSTREAM)),
            },
        };
        let Config { subjects: patterns, max_message_size, .. } = &found.cached_info().config;
        let is_taken = |kind: EventType| {
            let subject = self.subject("app", kind);
            patterns.iter().any(|pattern| covers(pattern, &subject))
        };
        match EventType::logged().all(is_taken) {
            // Without a limit it is -1.
            true => Ok(usize::try_from(*max_message_size).ok().filter(|it| *it > 0)),
            false => Err(unavailable(&format!(
                "the stream {stream} does not take all subjects of events: add '{subject}.>' to \
                 its subjects, or choose another stream with --nats-stream"
            ))),
        }
    }

    async fn create_stream(&self, context: &Context) -> Result<(), SinkError> {
        let NatsOptions { stream, subject, .. } = &self.options;
        let config = Config {
            name: stream.clone(),
            subjects: vec![format!("{subject}.>")],
            storage: StorageType::File,
            description: Some("Events of Sluice".to_owned()),
            ..Config::default()
        };
        let why = match context.create_stream(config).await {
            Ok(_) => {
                tracing::info!(stream, "the stream was created");
                return Ok(());
            }
            Err(error) => match error.kind() {
                CreateStreamErrorKind::JetStream(why) => why.to_string(),
                other => other.to_string(),
            },
        };
        Err(unavailable(&format!(
            "the stream {stream} does not exist and cannot be created ({why}): create it with \
             'nats stream add {stream} --subjects \"{subject}.>\" --defaults'"
        )))
    }

    /// Limits that were lowered meanwhile are known after the next connect.
    fn fault(&self, error: &PublishError) -> SinkError {
        let NatsOptions { stream, subject, .. } = &self.options;
        match error.kind() {
            PublishErrorKind::StreamNotFound => unavailable(&format!(
                "no stream takes '{subject}.>': was the stream {stream} deleted?"
            )),
            PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => {
                unavailable("it did not acknowledge in time")
            }
            kind => {
                let source = std::error::Error::source(error).map(ToString::to_string);
                unavailable(&source.unwrap_or_else(|| kind.to_string()))
            }
        }
    }
}

const NO_JETSTREAM: &str = "JetStream does not answer: it must be enabled (nats-server -js), and \
     this user must be allowed to use it";

fn written(event: &Payload) -> Result<Vec<u8>, SinkError> {
    serde_json::to_vec(event).map_err(|error| SinkError::Refused(format!("{}: {error}", event.id)))
}

fn unavailable(why: &str) -> SinkError {
    SinkError::Unavailable(why.to_owned())
}

fn without_sign_in(address: ServerAddr) -> Result<ServerAddr, &'static str> {
    let mut url = address.into_inner();
    // These fail only for URLs without a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    ServerAddr::from_url(url).map_err(|_| "nats-url is not a nats:// or tls:// URL")
}

/// A part of a URL as text.
fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

fn is_plain(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !matches!(c, '*' | '>' | '/' | '\\')
}

/// Whether a stream with this pattern takes a subject: `*` stands for one part, `>` for the rest.
fn covers(pattern: &str, subject: &str) -> bool {
    let (mut pattern, mut subject) = (pattern.split('.'), subject.split('.'));
    loop {
        match (pattern.next(), subject.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some(part), Some(given)) if part == "*" || part == given => {}
            _ => return false,
        }
    }
}

impl EventSink for NatsSink {
    fn name(&self) -> &str {
        &self.name
    }

    fn publish<'s>(&'s self, app: AppId, events: &'s [Payload]) -> PublishFuture<'s> {
        Box::pin(self.publish_page(app, events))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_subjects_by_their_parts() {
        for (pattern, subject, expected) in [
            ("sluice.events.>", "sluice.events.app.flow.closed", true),
            ("sluice.>", "sluice.events.app.flow.closed", true),
            (">", "sluice.events.app.flow.closed", true),
            ("sluice.events.*.flow.closed", "sluice.events.app.flow.closed", true),
            ("sluice.events.*.flow", "sluice.events.app.flow.closed", false),
            ("sluice.events.*.flow.closed.>", "sluice.events.app.flow.closed", false),
            ("sluice.event.>", "sluice.events.app.flow.closed", false),
        ] {
            assert_eq!(covers(pattern, subject), expected, "{pattern}");
        }
    }

    #[test]
    fn options_that_cannot_work_are_refused_without_their_secrets() {
        let options = |url: &str, stream: &str, subject: &str| NatsOptions {
            url: url.to_owned(),
            credentials: None,
            stream: stream.to_owned(),
            subject: subject.to_owned(),
        };
        for url in ["nats://a.example", "a.example:4222, tls://b.example", "nats://u:p@[::1]:1"] {
            assert!(NatsSink::new(options(url, "S", "a.b")).is_ok(), "{url}");
        }
        for (url, stream, subject) in [
            ("http://u:canary-word@h.example", "S", "a"),
            ("nats://h.example, ws://u:canary-word@h.example", "S", "a"),
            (" , ", "S", "a"),
            ("nats://u:canary-word@h.example", "a.b", "a"),
            ("nats://u:canary-word@h.example", "", "a"),
            ("nats://u:canary-word@h.example", "S", "a..b"),
            ("nats://u:canary-word@h.example", "S", "a.>"),
            ("nats://u:canary-word@h.example", "S", "$JS.API"),
        ] {
            let why = NatsSink::new(options(url, stream, subject)).unwrap_err();
            assert!(why.starts_with("nats-") && !why.contains("canary-word"), "{why}");
        }
        let missing = NatsOptions {
            credentials: Some("no such file".into()),
            ..options("nats://h.example", "S", "a")
        };
        assert!(NatsSink::new(missing).unwrap_err().starts_with("nats-credentials: "));
        let shown = format!("{:?}", options("nats://u:canary-word@h.example", "S", "a"));
        assert!(!shown.contains("canary-word"));
    }
}
