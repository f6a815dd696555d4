//! A histogram of plain counters: an observation is two additions and takes no lock, since every
//! request makes one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

const NANOS_PER_SECOND: f64 = 1e9;

/// Observations by interval. Cloning returns another handle to the same counters.
#[derive(Debug, Clone)]
pub(super) struct Histogram(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The upper bounds, ascending.
    bounds: &'static [u64],
    /// How many units of the bounds are one of the metric's.
    per_unit: f64,
    /// One more than there are bounds.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// Of numbers.
    pub(super) fn for_numbers(bounds: &'static [u64]) -> Self {
        Self::new(bounds, 1.0)
    }

    /// Of durations: the bounds are in nanoseconds, the metric is in seconds.
    pub(super) fn for_nanos(bounds: &'static [u64]) -> Self {
        Self::new(bounds, NANOS_PER_SECOND)
    }

    fn new(bounds: &'static [u64], per_unit: f64) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Inner { bounds, per_unit, counts, sum: AtomicU64::new(0) }))
    }

    pub(super) fn observe(&self, value: u64) {
        let Inner { bounds, counts, sum, .. } = &*self.0;
        let interval = bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len());
        counts[interval].fetch_add(1, Ordering::Relaxed);
        sum.fetch_add(value, Ordering::Relaxed);
    }

    pub(super) fn observe_time(&self, took: Duration) {
        self.observe(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Replaces the counts by others with the same bounds.
    pub(super) fn set(&self, counts: &[u64], sum: u64) {
        for (counter, count) in self.0.counts.iter().zip(counts) {
            counter.store(*count, Ordering::Relaxed);
        }
        self.0.sum.store(sum, Ordering::Relaxed);
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Inner { bounds, per_unit, counts, sum } = &*self.0;
        let bounds = bounds.iter().map(|bound| *bound as f64 / per_unit).chain([f64::INFINITY]);
        let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = sum.load(Ordering::Relaxed) as f64 / per_unit;
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    fn text(histogram: &Histogram) -> String {
        let mut registry = Registry::default();
        registry.register("x", "X", histogram.clone());
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn an_observation_counts_in_every_bucket_that_it_does_not_exceed() {
        let histogram = Histogram::for_nanos(&[1_000_000, 500_000_000]);
        for millis in [1, 2, 500, 501] {
            histogram.observe_time(Duration::from_millis(millis));
        }
        let text = text(&histogram);
        for line in [
            "# TYPE x histogram",
            "x_sum 1.004",
            "x_count 4",
            "x_bucket{le=\"0.001\"} 1",
            "x_bucket{le=\"0.5\"} 3",
            "x_bucket{le=\"+Inf\"} 4",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
    }

    #[test]
    fn counts_of_elsewhere_replace_its_own() {
        let histogram = Histogram::for_numbers(&[1, 10]);
        histogram.observe(5);
        histogram.set(&[3, 0, 1], 44);
        let text = text(&histogram);
        assert!(text.contains("x_sum 44.0\nx_count 4\nx_bucket{le=\"1.0\"} 3\n"), "{text}");
    }
}
