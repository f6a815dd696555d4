//! The distribution of the answers to a question: of all of them, or of several parts on one scale.

use sluice_engine::summary::{
    Bin, Distribution, OptionCount, QuestionSummary, RankCount, SCORE_ID,
};
use sluice_flow::question::NpsGroup;
use sluice_flow::time::Day;

use crate::chart::{
    self, Axis, Bar, BarChart, BarPart, Chart, Column, ColumnChart, Histogram, MatrixChart,
    Measure, MonthAxis, NpsChart, ROOM_ALONE, ROOM_COMPARED, ROOM_WIDE, Range, Ranked,
    RankingChart, RankingPart, Tone, by_mean_place,
};

const ANSWERS: (&str, &str) = ("answer", "answers");

/// What is counted: answers, or responses with a score.
pub(super) fn unit(question: &QuestionSummary) -> (&'static str, &'static str) {
    if question.id == SCORE_ID { ("response", "responses") } else { ANSWERS }
}

/// The steps between the labels of a scale.
const POINTS: &[i64] = &[1, 2, 5];

/// The distribution of the answers; none for text questions.
pub(super) fn distribution(question: &QuestionSummary) -> Option<Chart> {
    let chart = |room| charts(question, &[question], room)?.pop();
    let narrow = chart(ROOM_ALONE)?;
    Some(match &question.distribution {
        Distribution::Options { .. }
        | Distribution::Ranking { .. }
        | Distribution::Matrix { .. } => narrow.or_wide(chart(ROOM_WIDE)?),
        _ => narrow,
    })
}

/// The distribution in each part, all on one scale; none for text questions.
pub(super) fn distributions(
    whole: &QuestionSummary,
    parts: &[&QuestionSummary],
) -> Option<Vec<Chart>> {
    charts(whole, parts, ROOM_COMPARED)
}

fn charts(whole: &QuestionSummary, parts: &[&QuestionSummary], room: f64) -> Option<Vec<Chart>> {
    let title = whole.prompt.as_str();
    Some(match &whole.distribution {
        Distribution::Nps { .. } => {
            let charts = each(parts, |part| match *part {
                Distribution::Nps { points, promoters, passives, detractors, score } => {
                    Some(NpsChart { title, points, promoters, passives, detractors, score })
                }
                _ => None,
            });
            charts.iter().map(NpsChart::chart).collect()
        }
        Distribution::Scale { max, .. } => {
            let counts = each(parts, |part| match part {
                Distribution::Scale { points, .. } => {
                    Some(points.iter().map(|(_, count)| *count).collect())
                }
                _ => None,
            });
            let names: Vec<String> = (1..=*max).map(|point| point.to_string()).collect();
            let columns = names.iter().map(Column::new).collect();
            let axis = Axis::centred("Rating", 1, POINTS, names);
            columns_of(title, axis, unit(whole), columns, counts, room)
        }
        Distribution::Options { options, .. } => bars(title, options, parts, room).charts(),
        Distribution::Ranking { options } => ranking(title, options, parts, room).charts(),
        Distribution::Matrix { rows, columns, .. } => {
            let label = |(_, label): &(String, String)| label.clone();
            let cells = each(parts, |part| match part {
                Distribution::Matrix { cells, .. } => Some(cells.clone()),
                _ => None,
            });
            let (columns, rows) =
                (columns.iter().map(label).collect(), rows.iter().map(label).collect());
            MatrixChart { title, columns, rows, parts: cells, room }.charts()
        }
        Distribution::Numbers { .. } => {
            let range = |bin: &Bin| Range { from: bin.from, to: bin.to, count: bin.count };
            let values: Vec<Vec<Range>> = each(parts, |part| match part {
                Distribution::Numbers { values, .. } => Some(values.iter().map(range).collect()),
                _ => None,
            });
            let bins = Histogram::new(&values);
            columns_of(title, bins.axis(), unit(whole), bins.columns(), bins.parts, room)
        }
        Distribution::Dates { .. } => {
            let months: Vec<&Vec<(String, u64)>> = each(parts, |part| match part {
                Distribution::Dates { months } => Some(months),
                _ => None,
            });
            let all = months.iter().flat_map(|part| part.iter().map(|(month, _)| month.as_str()));
            let axis = MonthAxis::new(all);
            let counts = months.iter().map(|part| axis.counts(part)).collect();
            columns_of(title, axis.axis(), unit(whole), axis.columns(), counts, room)
        }
        Distribution::Text => return None,
    })
}

/// One value of each part. All parts have the kind of distribution of the whole.
fn each<'q, T>(
    parts: &[&'q QuestionSummary],
    value: impl Fn(&'q Distribution) -> Option<T>,
) -> Vec<T> {
    parts.iter().filter_map(|part| value(&part.distribution)).collect()
}

fn columns_of(
    title: &str,
    axis: Axis,
    unit: (&'static str, &'static str),
    columns: Vec<Column>,
    parts: Vec<Vec<u64>>,
    room: f64,
) -> Vec<Chart> {
    ColumnChart { title, axis, unit, measure: Measure::Share, columns, parts, room }.charts()
}

/// Next to the gauge of a net promoter score: how often each score was given.
pub(super) fn points(question: &QuestionSummary) -> Option<Chart> {
    let Distribution::Nps { points, .. } = &question.distribution else { return None };
    let tone = |point: u32| match NpsGroup::from_point(point) {
        NpsGroup::Detractors => Tone::Bad,
        NpsGroup::Passives => Tone::Middle,
        NpsGroup::Promoters => Tone::Good,
    };
    let names: Vec<String> = (0..points.len()).map(|point| point.to_string()).collect();
    let column = |(point, name): (u32, &String)| Column { tone: tone(point), ..Column::new(name) };
    let columns = (0..).zip(&names).map(column).collect();
    let axis = Axis::centred("Answer", 0, POINTS, names);
    let parts = vec![points.to_vec()];
    columns_of("Answers from 0 to 10", axis, ANSWERS, columns, parts, ROOM_ALONE).pop()
}

fn bars<'q>(
    title: &'q str,
    options: &[OptionCount],
    parts: &[&QuestionSummary],
    room: f64,
) -> BarChart<'q> {
    let parts = parts.iter().filter_map(|part| match &part.distribution {
        Distribution::Options { options, other, .. } => Some((part.answered, options, *other)),
        _ => None,
    });
    let parts: Vec<(u64, &Vec<OptionCount>, u64)> = parts.collect();
    let count = |options: &[OptionCount], id: &str| {
        options.iter().find(|option| option.id == id).map_or(0, |option| option.count)
    };
    // An option that was removed is left out if no part has it.
    let is_chosen = |id: &str| parts.iter().any(|(_, options, _)| count(options, id) > 0);
    let shown: Vec<&OptionCount> =
        options.iter().filter(|option| option.still_offered || is_chosen(&option.id)).collect();
    let has_other = parts.iter().any(|(.., other)| *other > 0);
    let bar = |option: &&OptionCount| Bar {
        label: option.label.clone(),
        note: (!option.still_offered).then_some("no longer offered"),
    };
    let other = has_other.then(|| Bar { label: "Other".to_owned(), note: None });
    let part = |(of, options, other): &(u64, &Vec<OptionCount>, u64)| {
        let counts = shown.iter().map(|option| count(options, &option.id));
        BarPart { of: *of, counts: counts.chain(has_other.then_some(*other)).collect() }
    };
    BarChart {
        title,
        unit: ANSWERS,
        bars: shown.iter().map(bar).chain(other).collect(),
        parts: parts.iter().map(part).collect(),
        room,
    }
}

fn ranking<'q>(
    title: &'q str,
    options: &[RankCount],
    parts: &[&QuestionSummary],
    room: f64,
) -> RankingChart<'q> {
    let ranked = |option: &RankCount| Ranked {
        places: option.places.clone(),
        mean_place: option.mean_place,
    };
    let all: Vec<Ranked> = options.iter().map(ranked).collect();
    let part = |part: &&QuestionSummary| match &part.distribution {
        Distribution::Ranking { options } => Some(RankingPart {
            answers: part.answered,
            options: options.iter().map(ranked).collect(),
        }),
        _ => None,
    };
    RankingChart {
        title,
        labels: options.iter().map(|option| option.label.clone()).collect(),
        order: by_mean_place(&all),
        parts: parts.iter().filter_map(part).collect(),
        room,
    }
}

/// `2026-11` as Nov 2026; any other text unchanged.
pub(super) fn month_name(month: &str) -> String {
    match format!("{month}-01").parse::<Day>() {
        Ok(day) => {
            let date = chart::Date::from_day(day.number().into());
            format!("{} {}", date.month_name(), date.year)
        }
        Err(_) => month.to_owned(),
    }
}
