//! Metrics for operators, in the Prometheus text format.
//!
//! Labels are few and bounded: a route template, a status, an outcome; never an id, key or address.
//! Counters that every submission updates are resolved once and take no lock.

mod histogram;
mod outgoing;
mod process;
mod requests;
mod store;
mod text;

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Metric, Registry};
use sluice_flow::issue::{Code, Issue};
use sluice_flow::time::Timestamp;
use sluice_store::{DiskSpace, IdentityVerification, Partitions, StoreStatus};

use crate::verify::TokenOutcome;
use histogram::Histogram;
pub use outgoing::SpanMetrics;
pub(crate) use outgoing::{DeliveryMetrics, MailMetrics, SinkMetrics};
use process::ProcessCollector;
use requests::RequestMetrics;
pub use requests::RouteMetrics;
use store::StoreMetrics;
use text::to_plain_text;

/// In nanoseconds: from 0.5 ms to 5 s.
const COMMIT_BOUNDS: &[u64] = &[
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    5_000_000_000,
];
/// In nanoseconds: from 1 ms to 5 s.
const QUEUE_BOUNDS: &[u64] = &[
    1_000_000,
    5_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
];
/// In responses.
const ROWS_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The outcome of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// A token check: the app's mode and the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabel {
    mode: &'static str,
    outcome: &'static str,
    /// The rule that an invalid token broke; empty for any other outcome.
    reason: &'static str,
}

/// The code of a refusal, as in the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabel {
    code: &'static str,
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

/// The same for a family. A series exists from the start, so that the metric is always there.
fn add_family<L>(registry: &mut Registry, name: &str, help: &str, first: L) -> Family<L, Counter>
where
    L: Clone + std::hash::Hash + Eq + std::fmt::Debug + EncodeLabelSet + Send + Sync + 'static,
{
    let family: Family<L, Counter> = add(registry, name, help);
    drop(family.get_or_create(&first));
    family
}

/// All metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Metrics under names that all programs share.
    shared_names: Registry,
    submissions: [Counter; 7],
    /// By [`Code`].
    issues: Vec<Counter>,
    http: RequestMetrics,
    token_checks: Family<TokenLabel, Counter>,
    limited: Family<LimitLabel, Counter>,
    store: StoreMetrics,
    ready: Gauge,
    pub(crate) queued: Gauge,
    queue_oldest: Gauge<f64, AtomicU64>,
    commits_in_progress: Gauge,
    batch_rows: Histogram,
    /// Writes of responses, as a measure of the store's load.
    writes: AtomicU64,
    commit_seconds: Histogram,
    queue_seconds: Histogram,
    pub(crate) expired_responses: Counter,
    pub(crate) expired_respondents: Counter,
    pub(crate) mails: MailMetrics,
    connections_refused: Counter,
    pub(crate) dropped_visit_steps: Counter,
    pub(crate) scrub: ScrubMetrics,
    damaged: Gauge,
    pub(crate) deliveries: DeliveryMetrics,
    pub(crate) sink: SinkMetrics,
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

/// The counters of submissions, resolved once and not for each submission.
fn submission_counters(to: &mut Registry) -> [Counter; 7] {
    use SubmissionOutcome::{Abandoned, Failed, Malformed, Refused, Replayed, Shed, Stored};
    let by_outcome: Family<OutcomeLabel, Counter> =
        add(to, "submissions", "Submissions by outcome");
    [Stored, Replayed, Refused, Malformed, Shed, Failed, Abandoned].map(|outcome| {
        by_outcome.get_or_create(&OutcomeLabel { outcome: outcome.as_str() }).clone()
    })
}

/// The counters of limits. That of the daily bytes starts at 0, so that Prometheus sees the first
/// refusal as an increase.
fn limit_counters(to: &mut Registry) -> Family<LimitLabel, Counter> {
    let what = "Requests refused by a limit, by reason";
    let limited = add_family(to, "limited_requests", what, LimitLabel { reason: "app" });
    drop(limited.get_or_create(&LimitLabel { reason: "bytes" }));
    limited
}

/// The state of the queue of submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueState {
    /// How long the oldest waiting submission has waited.
    pub(crate) oldest: Duration,
    /// The writes in progress.
    pub(crate) in_progress: usize,
}

impl Metrics {
    /// `has_disk`: whether this process stores data on a local disk; `has_store_clock`: whether it
    /// follows the clock of the database.
    pub(crate) fn new(status: &StoreStatus, has_disk: bool, has_store_clock: bool) -> Self {
        let mut registry = Registry::with_prefix("sluice");
        let to = &mut registry;
        let submissions = submission_counters(to);
        let what = "Refused submissions by the code of an issue; one may have several";
        let issues: Family<CodeLabel, Counter> = add(to, "submission_issues", what);
        // In the order of the codes, which are the indexes.
        let counter =
            |code: &Code| issues.get_or_create(&CodeLabel { code: code.as_str() }).clone();
        let issues = Code::ALL.iter().map(counter).collect();
        let http = RequestMetrics::new(to);
        let what = "Checks of identity tokens by mode and outcome";
        let first = TokenLabel { mode: "enforce", outcome: "verified", reason: "" };
        let token_checks = add_family(to, "identity_token_checks", what, first);
        let limited = limit_counters(to);
        let queued = add(to, "queued_submissions", "Submissions waiting to be stored");
        let what = "Age of the oldest submission that waits to be stored";
        let queue_oldest = add(to, "queue_oldest_seconds", what);
        let commits_in_progress = add(to, "commits_in_progress", "Writes of responses in progress");
        let batch_rows = Histogram::for_numbers(ROWS_BOUNDS);
        to.register("commit_rows", "Responses made durable by one write", batch_rows.clone());
        let commit_seconds = Histogram::for_nanos(COMMIT_BOUNDS);
        to.register("commit_seconds", "Time of one durable write", commit_seconds.clone());
        let queue_seconds = Histogram::for_nanos(QUEUE_BOUNDS);
        let what = "Longest wait of a submission for the write that stored it";
        to.register("queue_seconds", what, queue_seconds.clone());
        let expired_responses = add(to, "expired_responses", "Responses deleted by retention");
        let what = "Respondents deleted by retention with the last of their data";
        let expired_respondents = add(to, "expired_respondents", what);
        let what = "Connections closed at once because their address had too many open";
        let connections_refused = add(to, "connections_refused", what);
        let what = "Steps of visits that were not counted because memory for counts was full";
        let dropped_visit_steps = add(to, "dropped_visit_steps", what);
        let mails = MailMetrics::new(to);
        let scrub = ScrubMetrics::new(to);
        let deliveries = DeliveryMetrics::new(to);
        let sink = SinkMetrics::new(to);
        let what = "Whether damage was found in the database: submissions are refused";
        let damaged = add(to, "damaged", what);
        let ready = add(to, "ready", "Whether a submission could be stored now, as in /readyz");
        let store = StoreMetrics::new(to, status, has_disk, has_store_clock);
        let mut shared_names = Registry::default();
        shared_names.register_collector(Box::new(ProcessCollector::new()));
        Self {
            registry,
            shared_names,
            submissions,
            issues,
            http,
            token_checks,
            limited,
            store,
            ready,
            queued,
            queue_oldest,
            commits_in_progress,
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

    /// Adds those of traces, which only a process with a tracer has.
    pub(crate) fn add_spans(&mut self, spans: &SpanMetrics) {
        spans.register(&mut self.registry);
    }

    pub(crate) fn count(&self, outcome: SubmissionOutcome) {
        self.submissions[outcome as usize].inc();
    }

    /// The number of responses that this process has stored.
    pub(crate) fn stored(&self) -> u64 {
        self.submissions[SubmissionOutcome::Stored as usize].get()
    }

    /// Counts the issues of a refused submission.
    pub(crate) fn count_issues(&self, issues: &[Issue]) {
        for (index, issue) in issues.iter().enumerate() {
            // A code counts once, however many answers it is about.
            if issues[..index].iter().all(|earlier| earlier.code != issue.code)
                && let Some(counter) = self.issues.get(issue.code as usize)
            {
                counter.inc();
            }
        }
    }

    /// Counts a write with this many responses.
    pub(crate) fn count_write(&self, responses: usize, took: Duration) {
        self.batch_rows.observe(responses as u64);
        self.commit_seconds.observe_time(took);
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of writes of responses by this process.
    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Records the longest wait of the submissions that a write takes.
    pub(crate) fn note_wait(&self, waited: Duration) {
        self.queue_seconds.observe_time(waited);
    }

    /// The metrics of a route, to be kept: [`Self::count_request_to`] is then quick.
    pub fn route(&self, template: &'static str) -> RouteMetrics {
        self.http.route(template)
    }

    /// Counts a request to a route that is known in advance.
    pub fn count_request_to(&self, route: &RouteMetrics, status: u16, took: Duration) {
        self.http.count_at(route, status, took);
    }

    /// Counts an HTTP request; `route` is the template, never the path itself.
    pub fn count_request(&self, route: Cow<'static, str>, status: u16, took: Duration) {
        self.http.count(route, status, took);
    }

    /// Counts a reply that refuses a request; `code` is one of those that are documented.
    pub fn count_refusal(&self, code: &'static str) {
        self.http.count_refusal(code);
    }

    pub fn count_refused_connection(&self) {
        self.connections_refused.inc();
    }

    pub(crate) fn count_token(&self, mode: IdentityVerification, checked: TokenOutcome) {
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

    /// Counts a request that a limit refused.
    pub fn count_limited(&self, reason: &'static str) {
        self.limited.get_or_create(&LimitLabel { reason }).inc();
    }

    pub(crate) fn set_damaged(&self, is_damaged: bool) {
        self.damaged.set(i64::from(is_damaged));
    }

    pub(crate) fn set_ready(&self, is_ready: bool) {
        self.ready.set(i64::from(is_ready));
    }

    pub(crate) fn set_queue(&self, queue: QueueState) {
        self.queue_oldest.set(queue.oldest.as_secs_f64());
        self.commits_in_progress.set(i64::try_from(queue.in_progress).unwrap_or(i64::MAX));
    }

    pub(crate) fn set_store(&self, status: &StoreStatus, space: Option<DiskSpace>) {
        self.store.set_status(status);
        if let Some(space) = space {
            self.store.set_disk_space(space);
        }
    }

    pub(crate) fn set_partitions(&self, partitions: Partitions) {
        self.store.set_partitions(partitions);
    }

    /// Records when the certificate in use expires.
    pub fn set_certificate_expiry(&self, expires_at: Timestamp) {
        self.http.set_certificate_expiry(expires_at);
    }

    pub(crate) fn set_clock_offset(&self, millis: i64) {
        self.store.set_clock_offset(millis);
    }

    /// All metrics, as OpenMetrics.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode_registry(&mut text, &self.registry);
        let _ = encode_registry(&mut text, &self.shared_names);
        let _ = encode_eof(&mut text);
        text
    }

    /// The same in the older text format of Prometheus.
    pub fn render_plain(&self) -> String {
        to_plain_text(&self.render())
    }
}
