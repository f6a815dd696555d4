//! Metrics of what leaves this server: webhooks, e-mails, events for a sink, and traces.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sluice_flow::time::Timestamp;
use sluice_store::{Backlog, DeliveryState, MailBacklog};

use super::{OutcomeLabel, add, add_family};

/// Attempts to deliver events to webhook endpoints.
#[derive(Debug)]
pub(crate) struct DeliveryMetrics {
    attempts: Family<OutcomeLabel, Counter>,
    waiting: Gauge,
    oldest_seconds: Gauge<f64, AtomicU64>,
}

impl DeliveryMetrics {
    pub(super) fn new(to: &mut Registry) -> Self {
        let waiting = "Failed webhook deliveries that wait for another attempt, on all nodes";
        let oldest = "Age of the oldest webhook delivery that waits for another attempt";
        let attempts = add_family(
            to,
            "webhook_attempts",
            "Attempts to deliver webhooks, by outcome",
            OutcomeLabel { outcome: "delivered" },
        );
        // It starts at 0, so that Prometheus sees the first one as an increase.
        drop(attempts.get_or_create(&OutcomeLabel { outcome: "failed" }));
        Self {
            attempts,
            waiting: add(to, "webhook_deliveries_waiting", waiting),
            oldest_seconds: add(to, "webhook_oldest_waiting_seconds", oldest),
        }
    }

    /// A test event that fails is not a delivery that was given up.
    pub(crate) fn count(&self, state: DeliveryState, is_test: bool) {
        let outcome = match state {
            DeliveryState::Delivered => "delivered",
            DeliveryState::Waiting => "retried",
            DeliveryState::Failed if is_test => "test_failed",
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

/// E-mails.
#[derive(Debug)]
pub(crate) struct MailMetrics {
    sent: Family<OutcomeLabel, Counter>,
    due: Gauge,
    retrying: Gauge,
    oldest_due_seconds: Gauge<f64, AtomicU64>,
}

impl MailMetrics {
    pub(super) fn new(to: &mut Registry) -> Self {
        let retrying = "E-mails that are being sent, or wait for another attempt, on all nodes";
        let oldest = "How long the oldest e-mail that is due has been due";
        Self {
            sent: add_family(
                to,
                "mails",
                "E-mails handed to the mail server, by outcome",
                OutcomeLabel { outcome: "sent" },
            ),
            due: add(to, "mails_due", "E-mails to be sent now, on all nodes"),
            retrying: add(to, "mails_retrying", retrying),
            oldest_due_seconds: add(to, "mail_oldest_due_seconds", oldest),
        }
    }

    /// Counts an attempt to send an e-mail.
    pub(crate) fn count(&self, outcome: &'static str) {
        self.sent.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    pub(crate) fn set_backlog(&self, backlog: MailBacklog, now: Timestamp) {
        self.due.set(i64::try_from(backlog.due).unwrap_or(i64::MAX));
        self.retrying.set(i64::try_from(backlog.retrying).unwrap_or(i64::MAX));
        let age = backlog.due_since.map_or(0, |since| now.as_millis() - since.as_millis());
        self.oldest_due_seconds.set(age.max(0) as f64 / 1_000.0);
    }
}

/// Events that are published to another system.
#[derive(Debug)]
pub(crate) struct SinkMetrics {
    events: Family<OutcomeLabel, Counter>,
    lag_seconds: Gauge<f64, AtomicU64>,
}

impl SinkMetrics {
    pub(super) fn new(to: &mut Registry) -> Self {
        let lag = "Age of the oldest event that was read and not published; 0 on nodes that do not";
        Self {
            events: add_family(
                to,
                "sink_events",
                "Events given to the sink, by outcome",
                OutcomeLabel { outcome: "published" },
            ),
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

/// Spans of traces.
#[derive(Debug, Clone)]
pub struct SpanMetrics {
    by_outcome: Family<OutcomeLabel, Counter>,
    exported: Counter,
    failed: Counter,
    dropped: Counter,
}

impl Default for SpanMetrics {
    fn default() -> Self {
        let by_outcome: Family<OutcomeLabel, Counter> = Family::default();
        let [exported, failed, dropped] = ["exported", "failed", "dropped"]
            .map(|outcome| by_outcome.get_or_create(&OutcomeLabel { outcome }).clone());
        Self { by_outcome, exported, failed, dropped }
    }
}

impl SpanMetrics {
    pub(super) fn register(&self, to: &mut Registry) {
        let what = "Spans of traces by outcome; dropped ones found the queue full";
        to.register("trace_spans", what, self.by_outcome.clone());
    }

    /// Counts spans that the receiver has accepted.
    pub fn count_exported(&self, spans: u64) {
        self.exported.inc_by(spans);
    }

    /// Counts spans that could not be exported.
    pub fn count_failed(&self, spans: u64) {
        self.failed.inc_by(spans);
    }

    pub(crate) fn count_dropped(&self) {
        self.dropped.inc();
    }

    /// How many spans were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.get()
    }
}
