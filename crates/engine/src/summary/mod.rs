//! Summarises the answers to a flow: by question, over its versions, by day and by tag.
//!
//! Everything is added up from counts that the store updates with every write; no response is read,
//! so a summary costs the same for a thousand responses and for ten million. A question is
//! identified over the versions by its id and its type: an edited question keeps its history, and a
//! removed one is still reported.

pub mod comparison;
pub mod crosstab;
mod distribution;
mod numbers;
mod questions;
pub mod significance;
pub mod summing;
mod tails;
#[cfg(test)]
mod tests;
pub(crate) mod versions;

use std::collections::BTreeMap;

use sluice_flow::counts::{self, Counts, DailyCounts};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::submission::Admission;
use sluice_flow::time::{Day, Timestamp};
use sluice_store::DayTotal;

pub use self::questions::SCORE_ID;
use self::versions::Version;
pub use crate::computed::cache::{ReadProgress, Results};

/// The responses of a flow to summarise. Days are UTC, and both ends are included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryFilter {
    pub from: Option<Day>,
    pub to: Option<Day>,
    /// Only these versions; empty means all.
    pub versions: Vec<FlowVersionId>,
    /// Only responses with each of these tag values, or with a tag list that contains it.
    pub tags: Vec<(String, String)>,
    pub admission: Option<Admission>,
    /// As in [`crate::ResponseFilter`].
    pub answers: Vec<(String, String)>,
}

impl SummaryFilter {
    /// Whether stored counts answer it. Otherwise, responses are read in the background.
    pub fn is_counted(&self) -> bool {
        self.tags.len() <= 1 && self.admission.is_none() && self.answers.is_empty()
    }
}

/// A summary of the responses that pass the filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub responses: u64,
    /// The number of those that are linked to a respondent (`admitted`).
    pub admitted: u64,
    /// From the first day with a response to the last, including days without any.
    pub days: Vec<DayCount>,
    /// The time span of an entry in `days` and `over_time`.
    pub step: Step,
    /// The first and the last day with a response.
    pub ends: Option<(Day, Day)>,
    /// Every published version, newest first, with its responses, even if the filter excludes it.
    pub versions: Vec<VersionCount>,
    /// The tags of the filter's versions and days, regardless of its tag.
    pub tags: Vec<TagCount>,
    /// In the order of the newest version; questions that it no longer asks are last.
    pub questions: Vec<QuestionSummary>,
    /// The score over the versions that have scores, like a number question; absent without one.
    pub score: Option<QuestionSummary>,
    /// Some responses with the filter's tag may be missing: on some day its value was not counted
    /// separately.
    pub partial: bool,
    /// Present while responses are still being counted that were stored before there were counts,
    /// or imported.
    pub counting: Option<CountingProgress>,
    /// If it was computed from the responses: all that were stored by then are in it.
    pub as_of: Option<Timestamp>,
}

/// More than 200 days are summarised by week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Day,
    /// Starts on Monday; an entry has the date of the Monday.
    Week,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayCount {
    pub day: Day,
    pub responses: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionCount {
    pub flow_version_id: FlowVersionId,
    pub number: u32,
    pub published_at: Timestamp,
    pub responses: u64,
}

/// How often a tag had each value, most frequent first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagCount {
    pub name: String,
    pub values: Vec<(String, u64)>,
    /// Responses with a value that is not counted separately: there are too many, or it is too
    /// long.
    pub others: u64,
}

/// The progress of counting responses that were not counted when they were stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountingProgress {
    /// Responses received up to this time are counted; `None` if none are yet.
    pub counted_until: Option<Timestamp>,
}

/// One question, over the versions that ask it.
///
/// A question with a changed type or scale counts as a different question.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionSummary {
    pub id: String,
    pub question_type: &'static str,
    /// The text in the newest version that asks it.
    pub prompt: String,
    pub asked: AskedUntil,
    /// Earlier texts, newest first, each with the last version that had it.
    pub worded_before: Vec<(u32, String)>,
    pub answered: u64,
    /// Responses to versions that ask it.
    pub of: u64,
    pub distribution: Distribution,
    /// The days (or weeks) on which it was answered.
    pub over_time: Vec<DayValues>,
}

/// The last version that asks a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedUntil {
    /// The newest published version.
    Now,
    /// An earlier one, by its number: it is no longer asked.
    Version(u32),
}

/// The distribution of the answers to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    Nps {
        points: [u64; 11],
        promoters: u64,
        passives: u64,
        detractors: u64,
        /// From -100 to 100; `None` without answers.
        score: Option<f64>,
    },
    Scale {
        points: Vec<(u8, u64)>,
        mean: Option<f64>,
        max: u8,
    },
    /// Also used for yes/no and consent questions.
    Options {
        options: Vec<OptionCount>,
        /// Free-text answers.
        other: u64,
        /// Whether one answer may select several options.
        several: bool,
    },
    Ranking {
        options: Vec<RankCount>,
    },
    Matrix {
        rows: Vec<(String, String)>,
        columns: Vec<(String, String)>,
        /// By row, then by column.
        cells: Vec<Vec<u64>>,
    },
    /// The mean is computed from the answers with six decimals. All other values have two
    /// significant digits, or are exact if they are whole and below a thousand.
    Numbers {
        bins: Vec<Bin>,
        /// What the bins were made of, smallest first: for bins that several summaries share.
        values: Vec<Bin>,
        mean: Option<f64>,
        median: Option<f64>,
        min: Option<f64>,
        max: Option<f64>,
    },
    /// `YYYY-MM`, or `YYYY` outside 1900 to 2099; earliest first.
    Dates {
        months: Vec<(String, u64)>,
    },
    /// Only the number of answers.
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionCount {
    pub id: String,
    /// The label in the newest version that offers it.
    pub label: String,
    pub count: u64,
    /// Whether the newest version that asks the question offers it.
    pub still_offered: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RankCount {
    pub id: String,
    pub label: String,
    /// How often it was ranked first, second, …
    pub places: Vec<u64>,
    /// Starts at 1.
    pub mean_place: Option<f64>,
}

/// Answers in a range of numbers. If both ends are equal, the bin is a single number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    pub from: f64,
    pub to: f64,
    pub count: u64,
}

/// The answers to a question on one day, or in one week.
#[derive(Debug, Clone, PartialEq)]
pub struct DayValues {
    pub day: Day,
    pub answered: u64,
    /// For a scale or numbers.
    pub mean: Option<f64>,
    pub nps: Option<f64>,
    /// In the order of the distribution: each option and then the others, or each point of a scale;
    /// otherwise empty.
    pub parts: Vec<u64>,
}

/// A flow in a list: all its responses, and those of the last days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spark {
    pub flow_id: FlowId,
    pub responses: u64,
    /// One entry for each requested day; the last is today.
    pub days: Vec<u64>,
}

/// A summary with more days is by week.
const DAYS_MAX: i32 = 200;

/// The counts of each version and day; the same day may occur several times.
type AllDailyCounts<'c> = [(FlowVersionId, Day, &'c DailyCounts)];

/// Adds up the counts of the filter's versions and days. Counts are by one tag: the first.
fn add_up(versions: &[Version], daily: &AllDailyCounts<'_>, filter: &SummaryFilter) -> Summary {
    let tag = filter.tags.first();
    let segment = tag.map(|(name, value)| counts::segment(name, value));
    let is_within = |day: Day| {
        filter.from.is_none_or(|from| day >= from) && filter.to.is_none_or(|to| day <= to)
    };
    let is_chosen = |id: &FlowVersionId| filter.versions.is_empty() || filter.versions.contains(id);
    let (mut of_version, mut of_day) = (BTreeMap::new(), BTreeMap::new());
    let (mut all, mut tags, mut day_counts) = (Counts::default(), TagSums::default(), Vec::new());
    let mut partial = false;
    for (version, day, daily) in daily.iter().filter(|(_, day, _)| is_within(*day)) {
        if is_chosen(version) {
            tags.add(daily);
            partial |= tag.is_some_and(|(name, value)| daily.may_hide(name, value));
        }
        let counts = match &segment {
            None => daily.all(),
            Some(segment) => match daily.of_segment(segment) {
                Some(counts) => counts,
                None => continue,
            },
        };
        *of_version.entry(*version).or_default() += counts.responses;
        if is_chosen(version) {
            all.responses += counts.responses;
            all.admitted += counts.admitted;
            *of_day.entry(*day).or_default() += counts.responses;
            day_counts.push((*version, *day, counts));
        }
    }
    // Counts are zero after a deletion.
    of_day.retain(|_, responses| *responses > 0);
    let (step, days) = gap_free(&of_day);
    let ends = of_day.keys().next().copied().zip(of_day.keys().next_back().copied());
    let chosen: Vec<&Version> =
        versions.iter().filter(|it| is_chosen(&it.flow_version_id)).collect();
    Summary {
        responses: count(all.responses),
        admitted: count(all.admitted),
        days,
        step,
        ends,
        versions: versions.iter().map(|version| version_count(version, &of_version)).collect(),
        tags: tags.counts(),
        questions: questions::summed(versions, &chosen, &day_counts, step),
        score: questions::score(versions, &chosen, &day_counts, step),
        partial,
        counting: None,
        as_of: None,
    }
}

/// A count as reported. Only a counting error makes it negative.
fn count(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

fn version_count(version: &Version, of_version: &BTreeMap<FlowVersionId, i64>) -> VersionCount {
    VersionCount {
        flow_version_id: version.flow_version_id,
        number: version.number,
        published_at: version.published_at,
        responses: count(of_version.get(&version.flow_version_id).copied().unwrap_or(0)),
    }
}

impl Step {
    /// The day that represents the step: the day itself, or the Monday of its week.
    fn start_of(self, day: Day) -> Day {
        match self {
            Self::Day => day,
            Self::Week => day.monday(),
        }
    }

    fn days(self) -> usize {
        match self {
            Self::Day => 1,
            Self::Week => 7,
        }
    }
}

/// All days, or weeks, from the first to the last.
fn gap_free(of_day: &BTreeMap<Day, i64>) -> (Step, Vec<DayCount>) {
    let ends = of_day.first_key_value().zip(of_day.last_key_value());
    let Some(((first, _), (last, _))) = ends else { return (Step::Day, Vec::new()) };
    let step = match last.number() - first.number() >= DAYS_MAX {
        true => Step::Week,
        false => Step::Day,
    };
    let mut sums: BTreeMap<Day, i64> = BTreeMap::new();
    for (day, responses) in of_day {
        *sums.entry(step.start_of(*day)).or_default() += responses;
    }
    // By number: no day follows the last one of the year 9999.
    let days = (step.start_of(*first).number()..=last.number()).step_by(step.days());
    let of_day = days
        .map(Day::from_number)
        .map(|day| DayCount { day, responses: count(sums.get(&day).copied().unwrap_or(0)) });
    (step, of_day.collect())
}

fn sparks(totals: &[DayTotal], today: Day, days: u32) -> Vec<Spark> {
    let length = i32::try_from(days).unwrap_or(i32::MAX);
    let mut sparks: Vec<Spark> = Vec::new();
    for total in totals {
        if sparks.last().is_none_or(|it| it.flow_id != total.flow_id) {
            let days = vec![0; days as usize];
            sparks.push(Spark { flow_id: total.flow_id, responses: 0, days });
        }
        let Some(spark) = sparks.last_mut() else { continue };
        spark.responses += count(total.responses);
        let back = today.number() - total.day.number();
        if let Ok(at) = usize::try_from(length - 1 - back)
            && let Some(day) = spark.days.get_mut(at)
        {
            *day += count(total.responses);
        }
    }
    sparks
}

/// The maximum number of tags in a summary, those with most values first, and of values per tag.
const TAGS_MAX: usize = 50;
const TAG_VALUES_MAX: usize = 100;

/// Tags over versions and days.
#[derive(Default)]
struct TagSums(BTreeMap<String, (BTreeMap<String, i64>, i64)>);

impl TagSums {
    fn from_daily<'c>(all: impl Iterator<Item = &'c DailyCounts>) -> Self {
        let mut sums = Self::default();
        all.for_each(|daily| sums.add(daily));
        sums
    }

    fn add(&mut self, daily: &DailyCounts) {
        for (name, tag) in daily.tags() {
            let (values, others) = self.0.entry(name.to_owned()).or_default();
            for (value, count) in &tag.values {
                *values.entry(value.clone()).or_default() += count;
            }
            *others += tag.others.unwrap_or(0);
        }
    }

    fn counts(self) -> Vec<TagCount> {
        let tag_count = |(name, (values, others)): (String, (BTreeMap<String, i64>, i64))| {
            let values = values.into_iter().map(|(value, times)| (value, count(times)));
            let mut values: Vec<_> = values.collect();
            // Stable, so that values with equal counts stay in text order.
            values.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
            let rest = values.split_off(values.len().min(TAG_VALUES_MAX));
            let others = count(others) + rest.iter().map(|(_, times)| times).sum::<u64>();
            TagCount { name, values, others }
        };
        let mut tags: Vec<_> = self.0.into_iter().map(tag_count).collect();
        if tags.len() > TAGS_MAX {
            let all = |tag: &TagCount| tag.values.iter().map(|(_, times)| times).sum::<u64>();
            tags.sort_by_key(|tag| std::cmp::Reverse(all(tag) + tag.others));
            tags.truncate(TAGS_MAX);
            tags.sort_by(|one, other| one.name.cmp(&other.name));
        }
        tags
    }
}
