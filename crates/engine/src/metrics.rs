//! What operators watch, in the text form that Prometheus reads.
//!
//! Labels are few and bounded: a route template, a status, an outcome; never an id, key or address.

use std::borrow::Cow;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sluice_store::IdentityVerification;

use crate::verify::Checked;

/// How a submission ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// One HTTP exchange, by the route's template and the reply's status.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabel {
    route: Cow<'static, str>,
    status: u16,
}

/// One check of a token: the mode it was made in, and what it came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TokenLabel {
    mode: &'static str,
    outcome: &'static str,
    /// The rule that an invalid token broke; empty for any other outcome.
    reason: &'static str,
}

/// How a submission ended, as operators count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Stored,
    Replayed,
    Refused,
    Malformed,
    Shed,
    Failed,
}

impl Counted {
    fn word(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Replayed => "replayed",
            Self::Refused => "refused",
            Self::Malformed => "malformed",
            Self::Shed => "shed",
            Self::Failed => "failed",
        }
    }
}

/// All the counters of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    submissions: [Counter; 6],
    requests: Family<RequestLabel, Counter>,
    token_checks: Family<TokenLabel, Counter>,
    pub(crate) queued: Gauge,
    pub(crate) batch_rows: Histogram,
    pub(crate) commit_seconds: Histogram,
    pub(crate) expired_responses: Counter,
    pub(crate) expired_respondents: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    pub fn new() -> Self {
        let submissions = Family::<OutcomeLabel, Counter>::default();
        let requests = Family::default();
        let token_checks = Family::default();
        let queued = Gauge::default();
        let batch_rows = Histogram::new([1., 2., 4., 8., 16., 32., 64., 128., 256., 512., 1024.]);
        let commit_seconds =
            Histogram::new([0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1., 5.]);
        let mut registry = Registry::with_prefix("sluice");
        registry.register("submissions", "Submissions by how they ended", submissions.clone());
        registry.register("http_requests", "Requests by route and status", requests.clone());
        registry.register(
            "identity_token_checks",
            "Checks of identity tokens by mode and outcome",
            token_checks.clone(),
        );
        registry.register(
            "queued_submissions",
            "Submissions that wait to be stored",
            queued.clone(),
        );
        registry.register("commit_rows", "Responses made durable by one write", batch_rows.clone());
        registry.register("commit_seconds", "Time of one durable write", commit_seconds.clone());
        let (expired_responses, expired_respondents) = (Counter::default(), Counter::default());
        registry.register(
            "expired_responses",
            "Responses deleted because they were kept long enough",
            expired_responses.clone(),
        );
        registry.register(
            "expired_respondents",
            "Respondents deleted with the last of what was kept of them",
            expired_respondents.clone(),
        );
        // The counters of the main road are looked up once, not at each submission.
        let counter = |outcome: Counted| {
            submissions.get_or_create(&OutcomeLabel { outcome: outcome.word() }).clone()
        };
        let submissions = [
            counter(Counted::Stored),
            counter(Counted::Replayed),
            counter(Counted::Refused),
            counter(Counted::Malformed),
            counter(Counted::Shed),
            counter(Counted::Failed),
        ];
        Self {
            registry,
            submissions,
            requests,
            token_checks,
            queued,
            batch_rows,
            commit_seconds,
            expired_responses,
            expired_respondents,
        }
    }

    pub(crate) fn count(&self, outcome: Counted) {
        self.submissions[outcome as usize].inc();
    }

    /// How many responses this process has stored.
    pub(crate) fn stored(&self) -> u64 {
        self.submissions[Counted::Stored as usize].get()
    }

    /// Counts one HTTP exchange; `route` is the template, never the path itself.
    pub fn count_request(&self, route: Cow<'static, str>, status: u16) {
        self.requests.get_or_create(&RequestLabel { route, status }).inc();
    }

    pub(crate) fn count_token(&self, mode: IdentityVerification, checked: Checked) {
        let mode = match mode {
            IdentityVerification::Off => "off",
            IdentityVerification::Observe => "observe",
            IdentityVerification::Enforce => "enforce",
        };
        let label = match checked.is_invalid() {
            true => TokenLabel { mode, outcome: "invalid", reason: checked.word() },
            false => TokenLabel { mode, outcome: checked.word(), reason: "" },
        };
        self.token_checks.get_or_create(&label).inc();
    }

    /// Everything, as text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
