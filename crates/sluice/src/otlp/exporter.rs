//! Sends spans to a receiver: OTLP over HTTP, as binary Protobuf.
//!
//! It never delays what it reports: spans wait in a bounded queue, and are lost if the receiver
//! does not take them in time. Failures are logged once a minute, with the number of lost spans.

use std::future::pending;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::resource::v1::Resource;
use percent_encoding::percent_decode_str;
use prost::Message as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use sluice_engine::SpanMetrics;
use sluice_engine::spans::Span;
use tokio::sync::{mpsc, watch};

use super::{OtlpSettings, messages};
use crate::failure::{Failure, with_cause};

/// The most spans in one request.
const BATCH_MAX: usize = 512;
/// How long the first span of a request waits for others.
const GATHER_MAX: Duration = Duration::from_secs(1);
/// The longest time for one request.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// The pauses before a request is sent again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// How much of a reply is read.
const REPLY_BYTES_MAX: usize = 64 * 1024;

pub(super) struct Exporter {
    client: Client,
    url: Url,
    headers: HeaderMap,
    resource: Resource,
}

/// Why spans were not taken.
struct Refused {
    reason: String,
    /// A later request may be taken.
    is_temporary: bool,
}

impl Exporter {
    pub(super) fn new(settings: &OtlpSettings) -> Result<Self, Failure> {
        let url = Url::parse(&settings.url).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or_else(|| {
            Failure::usage(
                "the address for traces is not an http or https URL",
                "write for example --otlp-endpoint http://127.0.0.1:4318",
            )
        })?;
        let client = sluice_web::client_builder()
            .redirect(Policy::none())
            .no_proxy()
            .timeout(REQUEST_MAX)
            .build();
        let client = client.map_err(|error| {
            let cause = with_cause(&error);
            Failure::new(format!("cannot prepare the export of traces: {cause}"), "")
        })?;
        let resource = messages::resource(resource_attributes(settings)?);
        Ok(Self { client, url, headers: headers(&settings.headers)?, resource })
    }

    /// Exports until `stop`, then what still waits.
    pub(super) async fn run(
        self,
        mut spans: mpsc::Receiver<Span>,
        metrics: SpanMetrics,
        stop: watch::Receiver<bool>,
    ) {
        let mut log = FailureLog::default();
        let mut is_stopping = false;
        loop {
            let mut batch = Vec::new();
            if !is_stopping {
                is_stopping = tokio::select! {
                    () = gather(&mut spans, &mut batch) => false,
                    () = stopped(stop.clone()) => true,
                };
            }
            while batch.len() < BATCH_MAX
                && let Ok(span) = spans.try_recv()
            {
                batch.push(span);
            }
            if batch.is_empty() {
                return;
            }
            let count = batch.len() as u64;
            match self.export(batch, &stop).await {
                Ok(rejected) => {
                    metrics.count_exported(count.saturating_sub(rejected));
                    metrics.count_failed(rejected);
                    log.note_success(rejected);
                }
                Err(reason) => {
                    metrics.count_failed(count);
                    log.note_failure(count, &reason);
                }
            }
        }
    }

    /// The number of spans that the receiver rejected, or why it took none.
    async fn export(&self, batch: Vec<Span>, stop: &watch::Receiver<bool>) -> Result<u64, String> {
        let body = messages::request(&self.resource, batch).encode_to_vec();
        let mut pauses = PAUSES.iter();
        loop {
            let refused = match self.post(body.clone()).await {
                Ok(rejected) => return Ok(rejected),
                Err(refused) => refused,
            };
            let pause = pauses.next().filter(|_| refused.is_temporary && !*stop.borrow());
            let Some(pause) = pause else { return Err(refused.reason) };
            tokio::select! {
                () = tokio::time::sleep(*pause) => {}
                () = stopped(stop.clone()) => {}
            }
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<u64, Refused> {
        // The error text may contain the URL, and the URL a password.
        let failed = |error: reqwest::Error| Refused {
            reason: with_cause(&error.without_url()),
            is_temporary: true,
        };
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let mut reply = request.body(body).send().await.map_err(failed)?;
        let status = reply.status().as_u16();
        if !reply.status().is_success() {
            let is_temporary = matches!(status, 429 | 502 | 503 | 504);
            let reason = format!("the receiver answered with status {status}");
            return Err(Refused { reason, is_temporary });
        }
        let mut bytes = Vec::new();
        while let Ok(Some(chunk)) = reply.chunk().await
            && bytes.len() < REPLY_BYTES_MAX
        {
            bytes.extend_from_slice(&chunk);
        }
        // They have been taken, whatever the reply says besides.
        let reply = ExportTraceServiceResponse::decode(bytes.as_slice()).unwrap_or_default();
        let rejected = reply.partial_success.map_or(0, |it| it.rejected_spans);
        Ok(u64::try_from(rejected).unwrap_or(0))
    }
}

/// Waits for spans, and a little for more of them.
async fn gather(spans: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>) {
    if spans.recv_many(batch, BATCH_MAX).await == 0 {
        // No more can come; what remains is to stop.
        pending::<()>().await;
    }
    let more = async {
        while batch.len() < BATCH_MAX {
            if spans.recv_many(batch, BATCH_MAX - batch.len()).await == 0 {
                return;
            }
        }
    };
    let _full_or_late = tokio::time::timeout(GATHER_MAX, more).await;
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the process ends.
    let _ = stop.wait_for(|&is_stopping| is_stopping).await;
}

/// Logs failures, at most one in a minute.
#[derive(Default)]
struct FailureLog {
    logged_at: Option<Instant>,
    lost: u64,
    is_failing: bool,
}

impl FailureLog {
    fn note_failure(&mut self, spans: u64, reason: &str) {
        self.is_failing = true;
        self.lost += spans;
        if self.logged_at.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
            tracing::warn!(spans = self.lost, reason, "traces could not be exported");
            (self.logged_at, self.lost) = (Some(Instant::now()), 0);
        }
    }

    fn note_success(&mut self, rejected: u64) {
        if rejected > 0 {
            return self.note_failure(rejected, "the receiver rejected spans");
        }
        if std::mem::take(&mut self.is_failing) {
            tracing::info!(spans = self.lost, "traces are exported again");
            self.lost = 0;
        }
    }
}

fn headers(list: &str) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
    for (name, value) in pairs("OTEL_EXPORTER_OTLP_HEADERS", list)? {
        let name = HeaderName::try_from(name);
        let value = HeaderValue::try_from(value);
        let (Ok(name), Ok(mut value)) = (name, value) else {
            return Err(unreadable("OTEL_EXPORTER_OTLP_HEADERS"));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn resource_attributes(settings: &OtlpSettings) -> Result<Vec<(String, String)>, Failure> {
    let mut attributes = pairs("OTEL_RESOURCE_ATTRIBUTES", &settings.resource)?;
    let mut set = |key: &str, value: &str, is_default: bool| match attributes
        .iter_mut()
        .find(|(known, _)| known == key)
    {
        Some(_) if is_default => {}
        Some((_, known)) => value.clone_into(known),
        None => attributes.push((key.to_owned(), value.to_owned())),
    };
    set(
        "service.name",
        settings.service.as_deref().unwrap_or("sluice"),
        settings.service.is_none(),
    );
    set("service.version", env!("CARGO_PKG_VERSION"), true);
    Ok(attributes)
}

/// A list such as `a=b,c=d`, whose values are percent-encoded.
fn pairs(variable: &str, list: &str) -> Result<Vec<(String, String)>, Failure> {
    let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim().to_owned(), value.into_owned()))
    };
    parts.map(|part| pair(part).ok_or_else(|| unreadable(variable))).collect()
}

/// The value may be a secret, so it is not repeated.
fn unreadable(variable: &str) -> Failure {
    Failure::usage(
        format!("{variable} cannot be read"),
        "write pairs such as name=value,other=value, with special characters as %20",
    )
}
