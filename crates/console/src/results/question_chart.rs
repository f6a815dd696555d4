//! The charts of a question: its headline figure, the distribution, and the development over time.

use maud::{Markup, html};
use sluice_engine::summary::{Bin, DayValues, Distribution, OptionCount, QuestionSummary};
use sluice_flow::time::Day;

use crate::chart::{
    self, Bar, BarChart, Chart, Column, ColumnChart, LineChart, MatrixChart, MatrixRow, NpsChart,
    Point, RankedOption, RankingChart, Series, Tone, decimal, share, signed,
};
use crate::parts::number;

const ANSWERS: (&str, &str) = ("answer", "answers");

/// The headline figure, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Headline {
    pub(super) figure: String,
    pub(super) caption: String,
    pub(super) detail: Option<String>,
}

impl Headline {
    pub(super) fn new(question: &QuestionSummary) -> Self {
        let answered = question.answered;
        let none = |caption: &str| headline("–", caption, None);
        match &question.distribution {
            Distribution::Nps { score, .. } => {
                headline(score.map_or_else(|| "–".to_owned(), signed), "Net promoter score", None)
            }
            Distribution::Scale { mean, max, .. } => match mean {
                Some(mean) => headline(decimal(*mean, 2), format!("Mean of 1 to {max}"), None),
                None => none("Mean"),
            },
            Distribution::Options { options, other, .. } => match top_option(options, *other) {
                Some(TopOption { label, count, .. }) => {
                    headline(share(count, answered), label, Some(option_detail(options.len())))
                }
                None => none("No answer yet"),
            },
            Distribution::Ranking { options } => {
                let ranked = options.iter().filter_map(|option| Some((option.mean_place?, option)));
                match ranked.min_by(|a, b| a.0.total_cmp(&b.0)) {
                    Some((place, option)) => headline(
                        decimal(place, 2),
                        option.label.clone(),
                        Some("Best average rank".into()),
                    ),
                    None => none("Average rank"),
                }
            }
            Distribution::Numbers { mean, median, min, max, .. } => match mean {
                Some(mean) => headline(decimal(*mean, 2), "Mean", range(*median, *min, *max)),
                None => none("Mean"),
            },
            Distribution::Dates { months } => match months.iter().max_by_key(|(_, count)| *count) {
                Some((month, count)) if *count > 0 => headline(
                    share(*count, answered),
                    month_name(month),
                    Some("Most frequent month".into()),
                ),
                _ => none("No answer yet"),
            },
            Distribution::Matrix { .. } | Distribution::Text => {
                headline(number(answered), if answered == 1 { "Answer" } else { "Answers" }, None)
            }
        }
    }

    pub(super) fn markup(&self) -> Markup {
        html! {
            div.headline {
                p.big { (self.figure) }
                p.headline-caption dir="auto" { (self.caption) }
                @if let Some(detail) = &self.detail { p.hint { (detail) } }
            }
        }
    }
}

fn headline(
    figure: impl Into<String>,
    caption: impl Into<String>,
    detail: Option<String>,
) -> Headline {
    Headline { figure: figure.into(), caption: caption.into(), detail }
}

fn option_detail(options: usize) -> String {
    if options == 1 { "Of all answers".to_owned() } else { "Most frequent answer".to_owned() }
}

fn range(median: Option<f64>, min: Option<f64>, max: Option<f64>) -> Option<String> {
    let (median, min, max) = (median?, min?, max?);
    Some(format!("Median {} · from {} to {}", decimal(median, 2), decimal(min, 2), decimal(max, 2)))
}

/// The most frequent option.
struct TopOption<'q> {
    /// Its index among the options; "Other" comes after the last. Labels may be equal, so they do
    /// not identify an option.
    at: usize,
    label: &'q str,
    count: u64,
}

/// The first one if several are equal.
fn top_option(options: &[OptionCount], other: u64) -> Option<TopOption<'_>> {
    let all = options.iter().map(|option| (option.label.as_str(), option.count));
    let all = all.chain([("Other", other)]).enumerate();
    let all = all.map(|(at, (label, count))| TopOption { at, label, count });
    let chosen = all.filter(|option| option.count > 0);
    chosen.reduce(|best, option| if option.count > best.count { option } else { best })
}

/// The distribution of the answers; none for text questions.
pub(super) fn distribution(question: &QuestionSummary) -> Option<Chart> {
    let title = question.prompt.as_str();
    Some(match &question.distribution {
        Distribution::Nps { points, .. } => NpsChart { title, points: *points }.chart(),
        Distribution::Scale { points, .. } => {
            let columns =
                points.iter().map(|(point, count)| Column::new(point.to_string(), *count));
            columns_of(title, "Rating", columns.collect())
        }
        Distribution::Options { options, other, .. } => bars(question, options, *other),
        Distribution::Ranking { options } => {
            let ranked = |option: &sluice_engine::summary::RankCount| RankedOption {
                label: option.label.clone(),
                places: option.places.clone(),
                mean_place: option.mean_place,
            };
            RankingChart {
                title,
                answers: question.answered,
                options: options.iter().map(ranked).collect(),
            }
            .chart()
        }
        Distribution::Matrix { rows, columns, cells } => {
            let row = |((_, label), counts): (&(String, String), &Vec<u64>)| MatrixRow {
                label: label.clone(),
                counts: counts.clone(),
            };
            let columns = columns.iter().map(|(_, label)| label.clone()).collect();
            MatrixChart { title, columns, rows: rows.iter().zip(cells).map(row).collect() }.chart()
        }
        Distribution::Numbers { bins, .. } => {
            columns_of(title, "Number", bins.iter().map(bin).collect())
        }
        Distribution::Dates { months } => {
            let column = |(month, count): &(String, u64)| Column::new(month_name(month), *count);
            columns_of(title, "Month", months.iter().map(column).collect())
        }
        Distribution::Text => return None,
    })
}

/// Next to the gauge of a net promoter score: how often each score was given.
pub(super) fn points(question: &QuestionSummary) -> Option<Chart> {
    let Distribution::Nps { points, .. } = &question.distribution else { return None };
    let tone = |point: usize| match point {
        0..=6 => Tone::Bad,
        7 | 8 => Tone::Middle,
        _ => Tone::Good,
    };
    let column = |(point, count): (usize, &u64)| Column {
        tone: tone(point),
        ..Column::new(point.to_string(), *count)
    };
    let columns = points.iter().enumerate().map(column).collect();
    Some(columns_of("Answers from 0 to 10", "Answer", columns))
}

fn columns_of(title: &str, axis: &str, columns: Vec<Column>) -> Chart {
    ColumnChart { title, axis, unit: ANSWERS, counted: false, ends: None, columns }.chart()
}

fn bars(question: &QuestionSummary, options: &[OptionCount], other: u64) -> Chart {
    let bar = |option: &OptionCount| Bar {
        label: option.label.clone(),
        note: (!option.still_offered).then_some("no longer offered"),
        count: option.count,
    };
    // An option that was removed and never chosen is left out.
    let mut bars: Vec<Bar> =
        options.iter().filter(|option| option.still_offered || option.count > 0).map(bar).collect();
    if other > 0 {
        bars.push(Bar { label: "Other".to_owned(), note: None, count: other });
    }
    BarChart { title: &question.prompt, unit: ANSWERS, of: question.answered, bars }.chart()
}

fn bin(bin: &Bin) -> Column {
    let (from, to) = (decimal(bin.from, 2), decimal(bin.to, 2));
    let name = if bin.from == bin.to { from.clone() } else { format!("{from} to {to}") };
    Column { label: from, name, count: bin.count, tone: Tone::Accent }
}

/// `2026-11` as Nov 2026; any other text unchanged.
fn month_name(month: &str) -> String {
    match format!("{month}-01").parse::<Day>() {
        Ok(day) => {
            let date = chart::Date::from_day(day.number().into());
            format!("{} {}", date.month_name(), date.year)
        }
        Err(_) => month.to_owned(),
    }
}

/// The headline figure over time. None if there is no such figure, or all answers are from one day.
pub(super) fn over_time(question: &QuestionSummary) -> Option<Chart> {
    let (first, last) = (question.over_time.first()?.day, question.over_time.last()?.day);
    let measure = measure(question)?;
    if first == last {
        return None;
    }
    let day = |it: &DayValues| chart::DayValue {
        day: it.day.number().into(),
        count: it.answered,
        value: (measure.of)(it),
    };
    let days: Vec<chart::DayValue> = question.over_time.iter().map(day).collect();
    let series = Series::new(&days, first.number().into(), last.number().into());
    Some(line(&series, &measure))
}

/// The value of a day.
type DayMeasure<'q> = Box<dyn Fn(&DayValues) -> Option<f64> + 'q>;

/// What a line over time shows.
struct Measure<'q> {
    title: String,
    name: String,
    limits: Option<(f64, f64)>,
    of: DayMeasure<'q>,
}

fn measure(question: &QuestionSummary) -> Option<Measure<'_>> {
    Some(match &question.distribution {
        Distribution::Nps { .. } => Measure {
            title: "Net promoter score over time".to_owned(),
            name: "Score".to_owned(),
            limits: Some((-100.0, 100.0)),
            of: Box::new(|day| day.nps),
        },
        Distribution::Scale { max, .. } => Measure {
            title: "Mean over time".to_owned(),
            name: "Mean".to_owned(),
            limits: Some((1.0, f64::from(*max))),
            of: Box::new(|day| day.mean),
        },
        Distribution::Numbers { .. } => Measure {
            title: "Mean over time".to_owned(),
            name: "Mean".to_owned(),
            limits: None,
            of: Box::new(|day| day.mean),
        },
        Distribution::Options { options, other, .. } => {
            let TopOption { at, label, .. } = top_option(options, *other)?;
            Measure {
                title: format!("Share of “{label}” over time, in percent"),
                name: "Percent".to_owned(),
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

fn line(series: &Series, measure: &Measure<'_>) -> Chart {
    let point = |bucket: &chart::DayValue| {
        let (label, name) = series.names(bucket);
        Point { label, name, count: bucket.count, value: bucket.value }
    };
    LineChart {
        title: &measure.title,
        measure: &measure.name,
        axis: series.step.name(),
        limits: measure.limits,
        points: series.buckets.iter().map(point).collect(),
    }
    .chart()
}

/// The number of responses in each time bucket.
pub(super) fn over_days(title: &str, unit: (&str, &str), series: &Series) -> Chart {
    let column = |bucket: &chart::DayValue| {
        let (label, name) = series.names(bucket);
        Column { label, name, count: bucket.count, tone: Tone::Accent }
    };
    let columns = series.buckets.iter().map(column).collect();
    ColumnChart { title, axis: series.step.name(), unit, counted: true, ends: None, columns }
        .chart()
}
