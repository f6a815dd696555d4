//! Requests by route and status, how long they took, and refusals by code.
//!
//! The routes that nearly all requests take are resolved once ([`RouteMetrics`]): a successful
//! request then costs a few additions and no lookup.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sluice_flow::time::Timestamp;

use super::histogram::Histogram;
use super::{CodeLabel, add, add_family};

/// In nanoseconds: 1 ms, 5 ms, 25 ms, 100 ms, 500 ms, 2.5 s, 10 s.
const BOUNDS_NANOS: &[u64] =
    &[1_000_000, 5_000_000, 25_000_000, 100_000_000, 500_000_000, 2_500_000_000, 10_000_000_000];

/// The classes of statuses: `1xx` to `5xx`.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
const OK: u16 = 200;

/// A request, by the route's template and the status of its reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabel {
    route: Cow<'static, str>,
    status: u16,
}

/// The same with the class of the status, so that there are fewer histograms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabel {
    route: Cow<'static, str>,
    status: &'static str,
}

type Durations = Family<DurationLabel, Histogram, fn() -> Histogram>;

#[derive(Debug)]
pub(super) struct RequestMetrics {
    requests: Family<RequestLabel, Counter>,
    durations: Durations,
    refusals: Family<CodeLabel, Counter>,
    /// Empty without TLS.
    certificate_expiry: Family<NoLabels, Gauge>,
}

/// For a metric that may be absent.
type NoLabels = [(&'static str, &'static str); 0];

/// The metrics of one route, resolved once.
#[derive(Debug)]
pub struct RouteMetrics {
    route: &'static str,
    ok: Counter,
    /// By class; created with the first request of that class.
    durations: [OnceLock<Histogram>; CLASSES.len()],
}

impl RouteMetrics {
    /// The template of the route.
    pub fn template(&self) -> &'static str {
        self.route
    }
}

impl RequestMetrics {
    pub(super) fn new(to: &mut Registry) -> Self {
        let requests = add(to, "http_requests", "Requests by route and status");
        let durations: Durations =
            Family::new_with_constructor(|| Histogram::for_nanos(BOUNDS_NANOS));
        let what = "Time from a request's headers to the reply, by route and class of status";
        to.register("http_request_duration_seconds", what, durations.clone());
        let what = "Replies that refuse a request, by code";
        let first = CodeLabel { code: "internal_error" };
        let refusals = add_family(to, "http_refusals", what, first);
        let what = "When the TLS certificate expires, in seconds since 1970";
        let certificate_expiry = add(to, "tls_certificate_expiry_timestamp_seconds", what);
        Self { requests, durations, refusals, certificate_expiry }
    }

    pub(super) fn set_certificate_expiry(&self, expires_at: Timestamp) {
        self.certificate_expiry.get_or_create(&[]).set(expires_at.as_millis() / 1_000);
    }

    pub(super) fn route(&self, route: &'static str) -> RouteMetrics {
        let label = RequestLabel { route: Cow::Borrowed(route), status: OK };
        let ok = self.requests.get_or_create(&label).clone();
        RouteMetrics { route, ok, durations: Default::default() }
    }

    pub(super) fn count_at(&self, at: &RouteMetrics, status: u16, took: Duration) {
        match status {
            OK => {
                at.ok.inc();
            }
            _ => {
                let label = RequestLabel { route: Cow::Borrowed(at.route), status };
                self.requests.get_or_create(&label).inc();
            }
        }
        let class = class_of(status);
        let duration = at.durations[class].get_or_init(|| {
            let label = DurationLabel { route: Cow::Borrowed(at.route), status: CLASSES[class] };
            self.durations.get_or_create(&label).clone()
        });
        duration.observe_time(took);
    }

    pub(super) fn count(&self, route: Cow<'static, str>, status: u16, took: Duration) {
        let label = DurationLabel { route: route.clone(), status: CLASSES[class_of(status)] };
        self.durations.get_or_create(&label).observe_time(took);
        self.requests.get_or_create(&RequestLabel { route, status }).inc();
    }

    pub(super) fn count_refusal(&self, code: &'static str) {
        self.refusals.get_or_create(&CodeLabel { code }).inc();
    }
}

/// The index in [`CLASSES`]; a status without a class counts as a server error.
fn class_of(status: u16) -> usize {
    usize::from(status / 100).wrapping_sub(1).min(CLASSES.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_class() {
        for (status, class) in [
            (101, "1xx"),
            (200, "2xx"),
            (207, "2xx"),
            (304, "3xx"),
            (429, "4xx"),
            (503, "5xx"),
            (0, "5xx"),
            (999, "5xx"),
        ] {
            assert_eq!(CLASSES[class_of(status)], class, "{status}");
        }
    }
}
