//! Requests to other servers in traces: webhooks, e-mails, key sets, and events for a sink.
//!
//! Each is wrapped where the server is put together, so that the code that sends them does not
//! depend on tracing. A span has the outcome of a request, not its destination or contents.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use sluice_engine::mail::{MailOptions, OutgoingMail, SendError, Transport};
use sluice_engine::sink::{EventSink, PublishFuture, SinkOptions};
use sluice_engine::spans::{Part, Tracer, Value};
use sluice_engine::verify::KeySource;
use sluice_engine::webhooks::{SendFuture, WebhookRequest, WebhookSender};
use sluice_flow::event::payload::Payload;
use sluice_flow::id::AppId;

const STATUS: &str = "http.response.status_code";
const OUTCOME: &str = "sluice.outcome";
const BATCH_SIZE: &str = "sluice.batch.size";

/// Something that sends, whose requests are recorded.
struct Traced<T: ?Sized> {
    tracer: Tracer,
    inner: Arc<T>,
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for Traced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

pub(crate) fn webhooks(
    tracer: Option<&Tracer>,
    inner: Arc<dyn WebhookSender>,
) -> Arc<dyn WebhookSender> {
    match tracer.cloned() {
        Some(tracer) => Arc::new(Traced { tracer, inner }),
        None => inner,
    }
}

pub(crate) fn key_sets(tracer: Option<&Tracer>, inner: Arc<dyn KeySource>) -> Arc<dyn KeySource> {
    match tracer.cloned() {
        Some(tracer) => Arc::new(Traced { tracer, inner }),
        None => inner,
    }
}

pub(crate) fn mail(tracer: Option<&Tracer>, mut options: MailOptions) -> MailOptions {
    if let Some(tracer) = tracer.cloned() {
        options.transport = Arc::new(Traced { tracer, inner: options.transport });
    }
    options
}

pub(crate) fn sink(tracer: Option<&Tracer>, mut options: SinkOptions) -> SinkOptions {
    if let Some(tracer) = tracer.cloned() {
        options.sink = Arc::new(Traced { tracer, inner: options.sink });
    }
    options
}

impl WebhookSender for Traced<dyn WebhookSender> {
    fn permits(&self, url: &str) -> Result<(), String> {
        self.inner.permits(url)
    }

    fn send(&self, request: WebhookRequest) -> SendFuture<'_> {
        let Some(span) = self.tracer.outgoing("webhook") else { return self.inner.send(request) };
        Box::pin(async move {
            let reply = self.inner.send(request).await;
            let attributes = match &reply {
                Ok(reply) => vec![(STATUS, Value::Number(i64::from(reply.status)))],
                Err(_) => vec![(OUTCOME, Value::Text("no reply"))],
            };
            let has_failed = !reply.as_ref().is_ok_and(|it| (200..300).contains(&it.status));
            span.end(Part { attributes, has_failed });
            reply
        })
    }
}

impl KeySource for Traced<dyn KeySource> {
    fn permits(&self, url: &str) -> Result<(), String> {
        self.inner.permits(url)
    }

    fn fetch(
        &self,
        url: String,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + '_>> {
        let Some(span) = self.tracer.outgoing("key set") else { return self.inner.fetch(url) };
        Box::pin(async move {
            let fetched = self.inner.fetch(url).await;
            span.end(Part { attributes: Vec::new(), has_failed: fetched.is_err() });
            fetched
        })
    }
}

impl Transport for Traced<dyn Transport> {
    fn send(
        &self,
        mail: OutgoingMail,
    ) -> Pin<Box<dyn Future<Output = Result<(), SendError>> + Send + '_>> {
        let Some(span) = self.tracer.outgoing("e-mail") else { return self.inner.send(mail) };
        Box::pin(async move {
            let sent = self.inner.send(mail).await;
            let outcome = match &sent {
                Ok(()) => "sent",
                Err(SendError::Bounced(_)) => "bounced",
                Err(SendError::Delayed(_)) => "delayed",
                Err(SendError::Unanswered) => "unanswered",
                Err(SendError::Unreachable(_)) => "unreachable",
            };
            let attributes = vec![(OUTCOME, Value::Text(outcome))];
            span.end(Part { attributes, has_failed: sent.is_err() });
            sent
        })
    }
}

impl EventSink for Traced<dyn EventSink> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn publish<'s>(&'s self, app: AppId, events: &'s [Payload]) -> PublishFuture<'s> {
        let Some(span) = self.tracer.outgoing("publish events") else {
            return self.inner.publish(app, events);
        };
        Box::pin(async move {
            let published = self.inner.publish(app, events).await;
            let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
            let attributes = vec![(BATCH_SIZE, Value::Number(count))];
            span.end(Part { attributes, has_failed: published.is_err() });
            published
        })
    }
}
