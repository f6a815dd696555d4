//! The development over time: of the number of responses, and of the headline figure of a question.
//! All charts of a page have the same days.

use sluice_engine::summary::{DayValues, Distribution, QuestionSummary};
use sluice_flow::time::Day;

use super::headline::{TopOption, top_option};
use crate::chart::{
    Chart, Column, ColumnChart, CountedDays, DayValue, LineChart, Measure, Point, ROOM_ALONE,
    Series,
};

/// The days of all charts of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days {
    /// The first and the last that are shown.
    pub(super) shown: (Day, Day),
    /// The selected ones; open ends are all days until today.
    pub(super) selected: (Option<Day>, Option<Day>),
    pub(super) today: Day,
}

impl Days {
    /// The series of some data over these days, and at least from one day to another.
    fn series(self, days: &[DayValue], with: Option<(Day, Day)>) -> Series {
        let number = |day: Day| i64::from(day.number());
        let (mut from, mut to) = self.shown;
        if let Some((first, last)) = with {
            (from, to) = (from.min(first), to.max(last));
        }
        let counted = CountedDays {
            from: self.selected.0.map(number),
            to: self.selected.1.map(number),
            today: number(self.today),
        };
        Series::new(days, number(from), number(to)).counting(counted)
    }
}

/// Which columns of the responses are not complete, if there are any.
pub(super) fn incomplete(days: &[DayValue], shown: Days) -> Option<String> {
    let series = shown.series(days, None);
    let buckets = series.buckets.iter().filter(|it| it.count > 0 && !series.is_complete(it));
    let names: Vec<String> = buckets.map(|bucket| series.name(bucket)).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("The dashed column is not complete: {one}.")),
        all => Some(format!("The dashed columns are not complete: {}.", all.join(" and "))),
    }
}

/// The number of responses in each time bucket.
pub(super) fn responses(days: &[DayValue], shown: Days) -> Chart {
    let series = shown.series(days, None);
    let column = |bucket: &DayValue| Column {
        is_complete: series.is_complete(bucket),
        ..Column::new(series.name(bucket))
    };
    let chart = ColumnChart {
        title: "Responses",
        axis: series.axis(),
        unit: ("response", "responses"),
        measure: Measure::Count,
        columns: series.buckets.iter().map(column).collect(),
        parts: vec![series.buckets.iter().map(|bucket| bucket.count).collect()],
        room: ROOM_ALONE,
    };
    chart.charts().swap_remove(0)
}

/// The headline figure over time. None if there is no such figure, or all answers are from one day.
pub(super) fn headline(question: &QuestionSummary, shown: Days) -> Option<Chart> {
    let (first, last) = (question.over_time.first()?.day, question.over_time.last()?.day);
    let figure = figure(question)?;
    if first == last {
        return None;
    }
    let day = |it: &DayValues| DayValue {
        day: it.day.number().into(),
        count: it.answered,
        value: (figure.of)(it),
    };
    let days: Vec<DayValue> = question.over_time.iter().map(day).collect();
    let series = shown.series(&days, Some((first, last)));
    let point = |bucket: &DayValue| Point {
        name: series.name(bucket),
        count: bucket.count,
        value: bucket.value,
    };
    let chart = LineChart {
        title: &figure.title,
        measure: figure.name,
        unit: figure.unit,
        axis: series.axis(),
        limits: figure.limits,
        points: series.buckets.iter().map(point).collect(),
        room: ROOM_ALONE,
    };
    Some(chart.chart())
}

/// What the line of a question shows.
struct Figure<'q> {
    title: String,
    name: &'static str,
    unit: &'static str,
    limits: Option<(f64, f64)>,
    of: DayFigure<'q>,
}

/// The value of a day.
type DayFigure<'q> = Box<dyn Fn(&DayValues) -> Option<f64> + 'q>;

fn figure(question: &QuestionSummary) -> Option<Figure<'_>> {
    let mean = |limits: Option<(f64, f64)>| Figure {
        title: "Mean over time".to_owned(),
        name: "Mean",
        unit: "",
        limits,
        of: Box::new(|day: &DayValues| day.mean),
    };
    Some(match &question.distribution {
        Distribution::Nps { .. } => Figure {
            title: "Net promoter score over time".to_owned(),
            name: "Score",
            unit: "",
            limits: Some((-100.0, 100.0)),
            of: Box::new(|day| day.nps),
        },
        Distribution::Scale { max, .. } => mean(Some((1.0, f64::from(*max)))),
        Distribution::Numbers { .. } => mean(None),
        Distribution::Options { options, other, .. } => {
            let TopOption { at, label, .. } = top_option(options, *other)?;
            Figure {
                title: format!("Share of “{label}” over time"),
                name: "Share of answers",
                unit: "%",
                limits: Some((0.0, 100.0)),
                of: Box::new(move |day| {
                    let part = *day.parts.get(at)? as f64;
                    (day.answered > 0).then(|| 100.0 * part / day.answered as f64)
                }),
            }
        }
        Distribution::Ranking { .. }
        | Distribution::Matrix { .. }
        | Distribution::Dates { .. }
        | Distribution::Text => return None,
    })
}

/// The heading of the chart.
pub(super) fn heading(question: &QuestionSummary) -> &'static str {
    match &question.distribution {
        Distribution::Nps { .. } => "Score over time",
        Distribution::Scale { .. } | Distribution::Numbers { .. } => "Mean over time",
        _ => "Share of the most frequent answer over time",
    }
}
