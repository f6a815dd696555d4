//! The outcomes of an endpoint's deliveries over time.

use maud::{Markup, html};
use sluice_engine::rows::DeliveryState;
use sluice_flow::time::{DAY_MILLIS, HOUR_MILLIS, Timestamp};

use super::super::super::chart::{Axis, Date, ROOM_ALONE, StackedColumns, StackedPart, Tone};

const MINUTE_MILLIS: i64 = 60_000;

/// The length of a column: the longest time that is shown with it, and the steps between labels.
struct Step {
    millis: i64,
    up_to: i64,
    name: &'static str,
    scale: &'static str,
    labels: &'static [i64],
}

static STEPS: [Step; 3] = [
    Step {
        millis: 10 * MINUTE_MILLIS,
        up_to: 4 * HOUR_MILLIS,
        name: "Ten minutes (UTC)",
        scale: "Deliveries per ten minutes",
        labels: &[1, 3, 6, 12],
    },
    Step {
        millis: HOUR_MILLIS,
        up_to: 2 * DAY_MILLIS,
        name: "Hour (UTC)",
        scale: "Deliveries per hour",
        labels: &[1, 2, 3, 6, 12, 24],
    },
    Step {
        millis: DAY_MILLIS,
        up_to: i64::MAX,
        name: "Day (UTC)",
        scale: "Deliveries per day",
        labels: &[1, 2, 5, 10, 20],
    },
];
/// The most columns: deliveries are kept for 30 days, and those that wait may be older.
const COLUMNS_MAX: i64 = 40;

/// The outcomes from the bottom of a column to its top.
const OUTCOMES: [(DeliveryState, &str, Tone); 3] = [
    (DeliveryState::Delivered, "delivered", Tone::Good),
    (DeliveryState::Waiting, "waiting", Tone::Middle),
    (DeliveryState::Failed, "failed", Tone::Bad),
];

/// Consecutive columns of the same length, up to now.
struct Columns {
    step: &'static Step,
    /// The number of the first column: it starts at this many steps.
    first: i64,
    last: i64,
}

impl Columns {
    fn new(sent: &[(DeliveryState, Timestamp)], now: Timestamp) -> Self {
        let now = now.as_millis();
        let oldest = sent.iter().map(|(_, at)| at.as_millis()).min().unwrap_or(now).min(now);
        let fits = |step: &&Step| now - oldest <= step.up_to;
        let step = STEPS.iter().find(fits).unwrap_or(&STEPS[2]);
        let last = now.div_euclid(step.millis);
        let first = oldest.div_euclid(step.millis).max(last - COLUMNS_MAX + 1);
        // A few columns show that nothing was sent before.
        Self { step, first: first.min(last - 11), last }
    }

    fn counts(&self, sent: &[(DeliveryState, Timestamp)], state: DeliveryState) -> Vec<u64> {
        let mut counts = vec![0; usize::try_from(self.last - self.first + 1).unwrap_or_default()];
        for (_, at) in sent.iter().filter(|(it, _)| *it == state) {
            let column = at.as_millis().div_euclid(self.step.millis).min(self.last) - self.first;
            let column = usize::try_from(column).ok();
            if let Some(count) = column.and_then(|at| counts.get_mut(at)) {
                *count += 1;
            }
        }
        counts
    }

    /// The short label of a column.
    fn label(&self, column: i64) -> String {
        let at = Timestamp::from_millis(column * self.step.millis).to_string();
        match self.step.millis {
            DAY_MILLIS => {
                let date = Date::from_day(column);
                format!("{} {}", date.day, date.month_name())
            }
            _ => at.get(11..16).unwrap_or_default().to_owned(),
        }
    }

    fn name(&self, column: i64) -> String {
        let day = Date::from_day((column * self.step.millis).div_euclid(DAY_MILLIS)).full();
        match self.step.millis {
            DAY_MILLIS => day,
            _ => format!("{day}, {}", self.label(column)),
        }
    }
}

/// The chart with its legend; nothing if no delivery is kept.
pub(super) fn card(sent: &[(DeliveryState, Timestamp)], now: Timestamp) -> Markup {
    if sent.is_empty() {
        return html! {};
    }
    let columns = Columns::new(sent, now);
    let part =
        |(state, name, tone)| StackedPart { name, tone, counts: columns.counts(sent, state) };
    let all = columns.first..=columns.last;
    let labels = all.clone().map(|column| columns.label(column)).collect();
    let chart = StackedColumns {
        title: "Deliveries by the time of their last attempt",
        axis: Axis::centred(columns.step.name, columns.first, columns.step.labels, labels),
        scale: columns.step.scale,
        unit: ("delivery", "deliveries"),
        names: all.map(|column| columns.name(column)).collect(),
        parts: OUTCOMES.map(part).into(),
        room: ROOM_ALONE,
    }
    .chart();
    html! {
        section.card {
            h2 { "Health" }
            ul.legend {
                li { span.dot.open {} "Delivered" }
                li { span.dot.middle {} "Waiting for another attempt" }
                li { span.dot.failing {} "Failed" }
            }
            (chart.figure("health", html! {}))
            p.muted { "Deliveries that wait, and the last 1,000 finished ones of up to 30 days, by the time of their last attempt in UTC." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_000_000_000;

    fn sent(ages: &[i64]) -> Vec<(DeliveryState, Timestamp)> {
        let at = |age: &i64| (DeliveryState::Delivered, Timestamp::from_millis(NOW - age));
        ages.iter().map(at).collect()
    }

    #[test]
    fn columns_are_as_long_as_the_deliveries_need() {
        for (ages, step, at_least) in [
            (&[0, 3 * HOUR_MILLIS][..], 10 * MINUTE_MILLIS, 18),
            (&[5 * HOUR_MILLIS, HOUR_MILLIS], HOUR_MILLIS, 5),
            (&[29 * DAY_MILLIS, 0], DAY_MILLIS, 30),
            (&[300 * DAY_MILLIS, 0], DAY_MILLIS, 40),
            (&[0], 10 * MINUTE_MILLIS, 12),
        ] {
            let sent = sent(ages);
            let columns = Columns::new(&sent, Timestamp::from_millis(NOW));
            assert_eq!(columns.step.millis, step, "{ages:?}");
            let counts = columns.counts(&sent, DeliveryState::Delivered);
            assert!(counts.len() >= at_least && counts.len() <= 50, "{ages:?}: {}", counts.len());
            let recent = ages.iter().filter(|age| **age < 40 * DAY_MILLIS).count() as u64;
            assert_eq!(counts.iter().sum::<u64>(), recent, "{ages:?}");
            assert_eq!(columns.counts(&sent, DeliveryState::Failed).iter().sum::<u64>(), 0);
        }
    }

    #[test]
    fn a_delivery_from_a_clock_ahead_is_in_the_last_column() {
        let sent = sent(&[-5 * MINUTE_MILLIS, -DAY_MILLIS]);
        let columns = Columns::new(&sent, Timestamp::from_millis(NOW));
        assert_eq!(columns.counts(&sent, DeliveryState::Delivered).last(), Some(&2));
    }

    #[test]
    fn columns_are_named_by_day_and_time() {
        let columns = Columns::new(&sent(&[HOUR_MILLIS]), Timestamp::from_millis(NOW));
        assert_eq!(columns.name(columns.last), "18 Nov 2026, 11:00");
        let days = Columns::new(&sent(&[9 * DAY_MILLIS]), Timestamp::from_millis(NOW));
        assert_eq!(
            (days.name(days.last), days.label(days.last)),
            ("18 Nov 2026".into(), "18 Nov".into())
        );
    }
}
