//! Compares groups of answers to the same question: by version, by the values of a tag, or by
//! period.

use sluice_engine::SummaryFilter;
use sluice_engine::summary::{QuestionSummary, Summary, comparison};
use sluice_flow::time::Day;

use super::chance;
use super::headline::Headline;
use super::query::{Compare, Period, ResultsQuery, date_label};
use super::question_chart;
use crate::chart::{Chart, Panel, SmallMultiples};

/// More groups are hard to compare.
const GROUPS_MAX: usize = 8;
/// The length in days of the compared period, if the query's period has no start.
const DAYS_USUAL: i32 = 30;

/// One group of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ComparisonGroup {
    pub(super) name: String,
    pub(super) filter: SummaryFilter,
}

/// The groups that a query compares; empty without a comparison.
pub(super) fn groups(
    query: &ResultsQuery,
    filter: &SummaryFilter,
    summary: &Summary,
    today: Day,
) -> Vec<ComparisonGroup> {
    match &query.compare {
        None => Vec::new(),
        Some(Compare::Version) => by_version(filter, summary),
        // Counts are stored per tag: with two tags, one of them would be ignored.
        Some(Compare::Tag(_)) if query.tag.is_some() => Vec::new(),
        Some(Compare::Tag(name)) => by_tag(filter, summary, name),
        Some(Compare::Period) => by_period(query.period, filter, today),
    }
}

/// All days of a query that compares a period with the previous one; otherwise none.
pub(super) fn both_periods(
    query: &ResultsQuery,
    filter: &SummaryFilter,
    today: Day,
) -> Option<SummaryFilter> {
    let is_wanted = query.compare == Some(Compare::Period);
    let groups = is_wanted.then(|| by_period(query.period, filter, today))?;
    let (before, own) = (groups.first()?, groups.last()?);
    Some(SummaryFilter { from: before.filter.from, ..own.filter.clone() })
}

/// The newest versions with responses, in the order of publishing.
fn by_version(filter: &SummaryFilter, summary: &Summary) -> Vec<ComparisonGroup> {
    let mut versions: Vec<_> =
        summary.versions.iter().filter(|version| version.responses > 0).collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version.number));
    versions.truncate(GROUPS_MAX);
    let group = |version: &&sluice_engine::summary::VersionCount| ComparisonGroup {
        name: format!("Version {}", version.number),
        filter: SummaryFilter { versions: vec![version.flow_version_id], ..filter.clone() },
    };
    versions.iter().rev().map(group).collect()
}

/// The most frequent values.
fn by_tag(filter: &SummaryFilter, summary: &Summary, name: &str) -> Vec<ComparisonGroup> {
    let Some(tag) = summary.tags.iter().find(|tag| tag.name == name) else { return Vec::new() };
    let group = |(value, _): &(String, u64)| ComparisonGroup {
        name: value.clone(),
        filter: SummaryFilter { tags: vec![(name.to_owned(), value.clone())], ..filter.clone() },
    };
    tag.values.iter().take(GROUPS_MAX).map(group).collect()
}

/// The period, and the same number of days before it.
fn by_period(period: Period, filter: &SummaryFilter, today: Day) -> Vec<ComparisonGroup> {
    let (from, to) = match period.days(today) {
        (Some(from), to) => (from, to.unwrap_or(today).max(from)),
        (None, to) => (to.unwrap_or(today).plus(1 - DAYS_USUAL), to.unwrap_or(today)),
    };
    let days = to.number() - from.number() + 1;
    let group = |from: Day, to: Day| ComparisonGroup {
        name: format!("{} to {}", date_label(from), date_label(to)),
        filter: SummaryFilter { from: Some(from), to: Some(to), ..filter.clone() },
    };
    vec![group(from.plus(-days), from.plus(-1)), group(from, to)]
}

/// The charts of a question for each group; none if it cannot be drawn. `responses` is the number
/// of all responses, in any group or none.
pub(super) fn multiples<'r>(
    compare: &'r Compare,
    groups: &'r [(ComparisonGroup, Summary)],
    question: &'r QuestionSummary,
    responses: u64,
) -> Option<SmallMultiples<'r>> {
    let by = match compare {
        Compare::Version => "Version",
        Compare::Period => "Period",
        Compare::Tag(name) => name,
    };
    let (names, parts): (Vec<&str>, Vec<&QuestionSummary>) = parts(groups, question).unzip();
    let charts = question_chart::distributions(question, &parts)?;
    let chance = match overlap(compare, groups, responses) {
        true => Some(OVERLAP.to_owned()),
        false => comparison::test(&parts).as_ref().map(chance::of_groups),
    };
    let measure = Headline::measure(question);
    let panel = |((name, part), chart): ((&str, &QuestionSummary), Chart)| {
        let Headline { figure, base, .. } = Headline::from_part(question, part);
        let figure = measure.is_some().then_some((figure, base));
        Panel { name: name.to_owned(), answers: part.answered, figure, chart }
    };
    let panels: Vec<Panel> = names.into_iter().zip(parts).zip(charts).map(panel).collect();
    let is_empty = panels.is_empty();
    let title = &question.prompt;
    (!is_empty).then_some(SmallMultiples { title, by, measure, chance, panels })
}

const OVERLAP: &str = "Some responses have several values of this tag and are in several groups, so the differences are not tested.";

/// Whether some responses are certainly in several groups.
fn overlap(compare: &Compare, groups: &[(ComparisonGroup, Summary)], responses: u64) -> bool {
    let sum: u64 = groups.iter().map(|(_, summary)| summary.responses).sum();
    matches!(compare, Compare::Tag(_)) && sum > responses
}

/// Each group that was asked the question, with its answers.
pub(super) fn parts<'r>(
    groups: &'r [(ComparisonGroup, Summary)],
    question: &QuestionSummary,
) -> impl Iterator<Item = (&'r str, &'r QuestionSummary)> {
    groups.iter().filter_map(|(group, summary)| {
        let mut all = summary.questions.iter().chain(&summary.score);
        let own = all.find(|other| is_same(question, other))?;
        Some((group.name.as_str(), own))
    })
}

/// Whether two summaries are of the same question. A scale with another maximum is a different
/// question.
fn is_same(one: &QuestionSummary, other: &QuestionSummary) -> bool {
    use sluice_engine::summary::Distribution::Scale;
    let scale = |question: &QuestionSummary| match &question.distribution {
        Scale { max, .. } => Some(*max),
        _ => None,
    };
    one.id == other.id && one.question_type == other.question_type && scale(one) == scale(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_compared_with_as_many_days_before() {
        let day = |text: &str| text.parse::<Day>().unwrap();
        let today = day("2026-11-15");
        for (period, before, own) in [
            (Period::Last(7), ("2026-11-02", "2026-11-08"), ("2026-11-09", "2026-11-15")),
            (Period::All, ("2026-09-17", "2026-10-16"), ("2026-10-17", "2026-11-15")),
            (
                Period::Between(Some(day("2026-11-01")), Some(day("2026-11-01"))),
                ("2026-10-31", "2026-10-31"),
                ("2026-11-01", "2026-11-01"),
            ),
            (
                Period::Between(Some(day("2026-11-14")), None),
                ("2026-11-12", "2026-11-13"),
                ("2026-11-14", "2026-11-15"),
            ),
        ] {
            let groups = by_period(period, &SummaryFilter::default(), today);
            let days =
                |group: &ComparisonGroup| (group.filter.from.unwrap(), group.filter.to.unwrap());
            assert_eq!(days(&groups[0]), (day(before.0), day(before.1)), "{period:?}");
            assert_eq!(days(&groups[1]), (day(own.0), day(own.1)), "{period:?}");
        }
    }
}
