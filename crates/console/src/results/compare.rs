//! Compares groups of answers to the same question: by version, by the values of a tag, or by
//! period.

use sluice_engine::SummaryFilter;
use sluice_engine::summary::{QuestionSummary, Summary};
use sluice_flow::time::Day;

use super::picture::{self, Headline};
use super::report::Report;
use super::view::{Compare, Period, View, written};
use crate::chart::{Multiples, Panel};

/// More groups do not fit side by side.
const PARTS_MAX: usize = 6;
/// The length in days of the compared period, if the view's period has no start.
const DAYS_USUAL: i32 = 30;

/// One group of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) filter: SummaryFilter,
}

/// The groups that a view compares; empty without a comparison.
pub(super) fn parts(
    view: &View,
    filter: &SummaryFilter,
    summary: &Summary,
    today: Day,
) -> Vec<Part> {
    match &view.compare {
        None => Vec::new(),
        Some(Compare::Version) => by_version(filter, summary),
        // Counts are stored per tag: with two tags, one of them would be ignored.
        Some(Compare::Tag(_)) if view.tag.is_some() => Vec::new(),
        Some(Compare::Tag(name)) => by_tag(filter, summary, name),
        Some(Compare::Period) => by_period(view.period, filter, today),
    }
}

/// All days of a view that compares a period with the previous one; otherwise none.
pub(super) fn both_periods(
    view: &View,
    filter: &SummaryFilter,
    today: Day,
) -> Option<SummaryFilter> {
    let is_wanted = view.compare == Some(Compare::Period);
    let parts = is_wanted.then(|| by_period(view.period, filter, today))?;
    let (before, own) = (parts.first()?, parts.last()?);
    Some(SummaryFilter { from: before.filter.from, ..own.filter.clone() })
}

/// The newest versions with responses, in the order of publishing.
fn by_version(filter: &SummaryFilter, summary: &Summary) -> Vec<Part> {
    let mut versions: Vec<_> =
        summary.versions.iter().filter(|version| version.responses > 0).collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version.number));
    versions.truncate(PARTS_MAX);
    let part = |version: &&sluice_engine::summary::VersionCount| Part {
        name: format!("Version {}", version.number),
        filter: SummaryFilter { versions: vec![version.flow_version_id], ..filter.clone() },
    };
    versions.iter().rev().map(part).collect()
}

/// The most frequent values.
fn by_tag(filter: &SummaryFilter, summary: &Summary, name: &str) -> Vec<Part> {
    let Some(tag) = summary.tags.iter().find(|tag| tag.name == name) else { return Vec::new() };
    let part = |(value, _): &(String, u64)| Part {
        name: value.clone(),
        filter: SummaryFilter { tag: Some((name.to_owned(), value.clone())), ..filter.clone() },
    };
    tag.values.iter().take(PARTS_MAX).map(part).collect()
}

/// The period, and the same number of days before it.
fn by_period(period: Period, filter: &SummaryFilter, today: Day) -> Vec<Part> {
    let (from, to) = match period.days(today) {
        (Some(from), to) => (from, to.unwrap_or(today).max(from)),
        (None, to) => (to.unwrap_or(today).plus(1 - DAYS_USUAL), to.unwrap_or(today)),
    };
    let days = to.number() - from.number() + 1;
    let part = |from: Day, to: Day| Part {
        name: format!("{} to {}", written(from), written(to)),
        filter: SummaryFilter { from: Some(from), to: Some(to), ..filter.clone() },
    };
    vec![part(from.plus(-days), from.plus(-1)), part(from, to)]
}

/// The charts of a question for each group; none if it cannot be drawn.
pub(super) fn multiples<'r>(
    report: &'r Report,
    question: &'r QuestionSummary,
) -> Option<Multiples<'r>> {
    let by = match report.view.compare.as_ref()? {
        Compare::Version => "Version",
        Compare::Period => "Period",
        Compare::Tag(name) => name,
    };
    let panels: Vec<Panel> = report
        .parts
        .iter()
        .filter_map(|(part, summary)| {
            let own = summary.questions.iter().find(|other| is_same(question, other))?;
            let headline = Headline::of(own);
            Some(Panel {
                name: part.name.clone(),
                answers: own.answered,
                figure: Some(headline.figure),
                chart: picture::distribution(own)?,
            })
        })
        .collect();
    (!panels.is_empty()).then_some(Multiples { title: &question.prompt, by, panels })
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
            let parts = by_period(period, &SummaryFilter::default(), today);
            let days = |part: &Part| (part.filter.from.unwrap(), part.filter.to.unwrap());
            assert_eq!(days(&parts[0]), (day(before.0), day(before.1)), "{period:?}");
            assert_eq!(days(&parts[1]), (day(own.0), day(own.1)), "{period:?}");
        }
    }
}
