//! Metrics for operators, in the Prometheus text format.
//!
//! Labels are few and bounded: a route template, a status, an outcome; never an id, key or address.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};
use sluice_flow::time::Timestamp;
use sluice_store::{Backlog, DeliveryState, DiskSpace, IdentityVerification};

use crate::verify::Checked;

/// The outcome of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// An HTTP request, by the route's template and the response status.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabel {
    route: Cow<'static, str>,
    status: u16,
}

/// A token check: the app's mode and the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabel {
    mode: &'static str,
    outcome: &'static str,
    /// The rule that an invalid token broke; empty for any other outcome.
    reason: &'static str,
}

/// The limit that a request reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabel {
    reason: &'static str,
}

/// The outcome of a submission, as metrics count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubmissionOutcome {
    Stored,
    Replayed,
    Refused,
    Malformed,
    Shed,
    Failed,
    /// Its client went away before it was written; nothing is stored.
    Abandoned,
}

impl SubmissionOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Replayed => "replayed",
            Self::Refused => "refused",
            Self::Malformed => "malformed",
            Self::Shed => "shed",
            Self::Failed => "failed",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Creates and registers a metric.
fn add<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

/// Free space, the reserve, and the length of the log; unregistered if another machine stores.
fn disk_gauges(to: &mut Registry, has_disk: bool) -> (Gauge, Gauge, Gauge) {
    if !has_disk {
        return Default::default();
    }
    let reserve = "Free space below which submissions are refused";
    (
        add(to, "disk_free_bytes", "Free space on the disk of the database"),
        add(to, "disk_reserve_bytes", reserve),
        add(to, "log_bytes", "Length of the write-ahead log of the database"),
    )
}

/// The offset of the clock; unregistered if this machine's is used.
fn clock_gauge(to: &mut Registry, has_store_clock: bool) -> Gauge<f64, AtomicU64> {
    if !has_store_clock {
        return Gauge::default();
    }
    let what = "How far the clock of the database is ahead of this machine's";
    add(to, "clock_offset_seconds", what)
}

/// For a metric that may be absent.
type NoLabels = [(&'static str, &'static str); 0];

/// All metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    submissions: [Counter; 7],
    requests: Family<RequestLabel, Counter>,
    token_checks: Family<TokenLabel, Counter>,
    limited: Family<LimitLabel, Counter>,
    disk_free: Gauge,
    disk_reserve: Gauge,
    log_bytes: Gauge,
    clock_offset: Gauge<f64, AtomicU64>,
    /// Empty without TLS.
    certificate_expiry: Family<NoLabels, Gauge>,
    pub(crate) queued: Gauge,
    batch_rows: Histogram,
    /// Writes of responses, for those who need the load of the store.
    writes: AtomicU64,
    pub(crate) commit_seconds: Histogram,
    pub(crate) queue_seconds: Histogram,
    pub(crate) expired_responses: Counter,
    pub(crate) expired_respondents: Counter,
    mails: Family<OutcomeLabel, Counter>,
    connections_refused: Counter,
    pub(crate) dropped_visit_steps: Counter,
    pub(crate) scrub: ScrubMetrics,
    damaged: Gauge,
    pub(crate) deliveries: DeliveryMetrics,
    pub(crate) sink: SinkMetrics,
}

/// Attempts to deliver events to webhook endpoints.
#[derive(Debug)]
pub(crate) struct DeliveryMetrics {
    attempts: Family<OutcomeLabel, Counter>,
    waiting: Gauge,
    oldest_seconds: Gauge<f64, AtomicU64>,
}

impl DeliveryMetrics {
    fn new(to: &mut Registry) -> Self {
        let waiting = "Failed webhook deliveries that wait for another attempt, on all nodes";
        let oldest = "Age of the oldest webhook delivery that waits for another attempt";
        Self {
            attempts: add(to, "webhook_attempts", "Attempts to deliver webhooks, by outcome"),
            waiting: add(to, "webhook_deliveries_waiting", waiting),
            oldest_seconds: add(to, "webhook_oldest_waiting_seconds", oldest),
        }
    }

    pub(crate) fn count(&self, state: DeliveryState) {
        let outcome = match state {
            DeliveryState::Delivered => "delivered",
            DeliveryState::Waiting => "retried",
            DeliveryState::Failed => "failed",
        };
        self.attempts.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    pub(crate) fn set_backlog(&self, backlog: Backlog, now: Timestamp) {
        self.waiting.set(i64::try_from(backlog.waiting).unwrap_or(i64::MAX));
        let age = backlog.oldest.map_or(0, |oldest| now.as_millis() - oldest.as_millis());
        self.oldest_seconds.set(age.max(0) as f64 / 1_000.0);
    }
}

/// Events that are published to another system.
#[derive(Debug)]
pub(crate) struct SinkMetrics {
    events: Family<OutcomeLabel, Counter>,
    lag_seconds: Gauge<f64, AtomicU64>,
}

impl SinkMetrics {
    fn new(to: &mut Registry) -> Self {
        let lag = "Age of the oldest event that was read and not published; 0 on nodes that do not";
        Self {
            events: add(to, "sink_events", "Events given to the sink, by outcome"),
            lag_seconds: add(to, "sink_lag_seconds", lag),
        }
    }

    pub(crate) fn count_published(&self, events: usize) {
        self.events.get_or_create(&OutcomeLabel { outcome: "published" }).inc_by(events as u64);
    }

    pub(crate) fn count_failed(&self, events: usize) {
        self.events.get_or_create(&OutcomeLabel { outcome: "failed" }).inc_by(events as u64);
    }

    /// An event that the sink could not take as a whole.
    pub(crate) fn count_too_large(&self, is_skipped: bool) {
        let outcome = if is_skipped { "skipped" } else { "without_contents" };
        self.events.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    pub(crate) fn set_lag(&self, millis: i64) {
        self.lag_seconds.set(millis as f64 / 1_000.0);
    }
}

/// What the background check has found.
#[derive(Debug)]
pub(crate) struct ScrubMetrics {
    pub(crate) records: Counter,
    pub(crate) damaged: Counter,
    pub(crate) unreadable: Counter,
}

impl ScrubMetrics {
    fn new(to: &mut Registry) -> Self {
        let damaged = "Records that were found damaged in the background";
        let unreadable = "Records found in the background that this build cannot read";
        Self {
            records: add(to, "scrubbed_records", "Records checked in the background"),
            damaged: add(to, "damaged_records", damaged),
            unreadable: add(to, "unreadable_records", unreadable),
        }
    }
}

impl Metrics {
    /// `has_disk`: whether this process stores data on a local disk; `has_store_clock`: whether it
    /// follows the clock of the database.
    pub(crate) fn new(has_disk: bool, has_store_clock: bool) -> Self {
        let mut registry = Registry::with_prefix("sluice");
        let to = &mut registry;
        let submissions: Family<OutcomeLabel, Counter> =
            add(to, "submissions", "Submissions by outcome");
        let requests = add(to, "http_requests", "Requests by route and status");
        let token_checks =
            add(to, "identity_token_checks", "Checks of identity tokens by mode and outcome");
        let limited = add(to, "limited_requests", "Requests refused by a limit, by reason");
        let queued = add(to, "queued_submissions", "Submissions waiting to be stored");
        let batch_rows = Histogram::new([1., 2., 4., 8., 16., 32., 64., 128., 256., 512., 1024.]);
        to.register("commit_rows", "Responses made durable by one write", batch_rows.clone());
        let commit_seconds =
            Histogram::new([0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1., 5.]);
        to.register("commit_seconds", "Time of one durable write", commit_seconds.clone());
        let queue_seconds = Histogram::new([0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1., 2., 5.]);
        let what = "Longest wait of a submission for the write that stored it";
        to.register("queue_seconds", what, queue_seconds.clone());
        let expired_responses = add(to, "expired_responses", "Responses deleted by retention");
        let what = "Respondents deleted by retention with the last of their data";
        let expired_respondents = add(to, "expired_respondents", what);
        let what = "Connections closed at once because their address had too many open";
        let connections_refused = add(to, "connections_refused", what);
        let what = "Steps of visits that were not counted because memory for counts was full";
        let dropped_visit_steps = add(to, "dropped_visit_steps", what);
        let what = "E-mails handed to the mail server, by outcome";
        let mails = add(to, "mails", what);
        let scrub = ScrubMetrics::new(to);
        let deliveries = DeliveryMetrics::new(to);
        let sink = SinkMetrics::new(to);
        let what = "Whether damage was found in the database: submissions are refused";
        let damaged = add(to, "damaged", what);
        let (disk_free, disk_reserve, log_bytes) = disk_gauges(to, has_disk);
        let clock_offset = clock_gauge(to, has_store_clock);
        let what = "When the TLS certificate expires, in seconds since 1970";
        let certificate_expiry = add(to, "tls_certificate_expiry_timestamp_seconds", what);
        // The counters of submissions are resolved once, not for each submission.
        let counter = |outcome: SubmissionOutcome| {
            submissions.get_or_create(&OutcomeLabel { outcome: outcome.as_str() }).clone()
        };
        use SubmissionOutcome::{Abandoned, Failed, Malformed, Refused, Replayed, Shed, Stored};
        let submissions =
            [Stored, Replayed, Refused, Malformed, Shed, Failed, Abandoned].map(counter);
        Self {
            registry,
            submissions,
            requests,
            token_checks,
            limited,
            disk_free,
            disk_reserve,
            log_bytes,
            clock_offset,
            certificate_expiry,
            queued,
            batch_rows,
            writes: AtomicU64::new(0),
            commit_seconds,
            queue_seconds,
            expired_responses,
            expired_respondents,
            mails,
            connections_refused,
            dropped_visit_steps,
            scrub,
            damaged,
            deliveries,
            sink,
        }
    }

    pub(crate) fn count(&self, outcome: SubmissionOutcome) {
        self.submissions[outcome as usize].inc();
    }

    /// The number of responses that this process has stored.
    pub(crate) fn stored(&self) -> u64 {
        self.submissions[SubmissionOutcome::Stored as usize].get()
    }

    /// Counts a write with this many responses.
    pub(crate) fn count_write(&self, responses: usize) {
        self.batch_rows.observe(responses as f64);
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of writes of responses by this process.
    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Counts an HTTP request; `route` is the template, never the path itself.
    pub fn count_request(&self, route: Cow<'static, str>, status: u16) {
        self.requests.get_or_create(&RequestLabel { route, status }).inc();
    }

    pub fn count_refused_connection(&self) {
        self.connections_refused.inc();
    }

    pub(crate) fn count_token(&self, mode: IdentityVerification, checked: Checked) {
        let mode = match mode {
            IdentityVerification::Off => "off",
            IdentityVerification::Observe => "observe",
            IdentityVerification::Enforce => "enforce",
        };
        let label = match checked.is_invalid() {
            true => TokenLabel { mode, outcome: "invalid", reason: checked.as_str() },
            false => TokenLabel { mode, outcome: checked.as_str(), reason: "" },
        };
        self.token_checks.get_or_create(&label).inc();
    }

    /// Counts an attempt to send an e-mail.
    pub(crate) fn count_mail(&self, outcome: &'static str) {
        self.mails.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    /// Counts a request that a limit refused.
    pub fn count_limited(&self, reason: &'static str) {
        self.limited.get_or_create(&LimitLabel { reason }).inc();
    }

    pub(crate) fn set_damaged(&self, is_damaged: bool) {
        self.damaged.set(i64::from(is_damaged));
    }

    pub(crate) fn set_disk_space(&self, space: DiskSpace) {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.disk_free.set(signed(space.free_bytes));
        self.disk_reserve.set(signed(space.reserve_bytes));
        self.log_bytes.set(signed(space.log_bytes));
    }

    pub(crate) fn set_clock_offset(&self, millis: i64) {
        self.clock_offset.set(millis as f64 / 1_000.0);
    }

    /// Records when the certificate in use expires.
    pub fn set_certificate_expiry(&self, expires_at: Timestamp) {
        self.certificate_expiry.get_or_create(&[]).set(expires_at.as_millis() / 1_000);
    }

    /// All metrics as text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
