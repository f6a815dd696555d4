//! Turns the counts of a question into its distribution.

use sluice_flow::counts::{CountMethod, OTHERS, QuestionCounts, month_of};
use sluice_flow::question::NpsGroup;
use sluice_flow::question::choice::Choice;
use sluice_flow::time::Day;

use super::numbers::{self, ratio};
use super::{DayValues, Distribution, OptionCount, RankCount, count};

/// The number of keys reserved per row or option: more than a definition may have columns or ranks.
pub(super) const ROOM: u32 = 1 << 16;

/// How the answers to a question are numbered over all its versions, with their labels.
pub(super) enum AnswerKind {
    Nps,
    Scale { max: u32 },
    Words(&'static [&'static str]),
    Options { choices: Choices, several: bool },
    Ranking(Choices),
    Matrix { rows: Choices, columns: Choices },
    Numbers,
    Dates,
    Text,
}

/// The options of all versions, those of the newest first.
#[derive(Default)]
pub(super) struct Choices(Vec<KnownChoice>);

pub(super) struct KnownChoice {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) still_offered: bool,
}

impl Choices {
    fn new(newest: &[Choice]) -> Self {
        let mut choices = Self::default();
        newest.iter().for_each(|choice| choices.add(choice, true));
        choices
    }

    pub(super) fn add(&mut self, choice: &Choice, still_offered: bool) {
        let (id, label) = (choice.id.clone(), choice.label.clone());
        self.0.push(KnownChoice { id, label, still_offered });
    }

    pub(super) fn index_of(&self, id: &str) -> Option<u32> {
        self.0.iter().position(|it| it.id == id).and_then(|index| u32::try_from(index).ok())
    }

    /// The index of the option that has this index in one version.
    fn index_in(&self, theirs: &[Choice], index: u32) -> Option<u32> {
        self.index_of(&theirs.get(index as usize)?.id)
    }

    fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &KnownChoice> {
        self.0.iter()
    }

    fn labels(&self) -> Vec<(String, String)> {
        self.0.iter().map(|it| (it.id.clone(), it.label.clone())).collect()
    }
}

impl AnswerKind {
    /// `None` for a question without answers, such as a statement.
    pub(super) fn from_count_method(counted: CountMethod<'_>) -> Option<Self> {
        Some(match counted {
            CountMethod::Never => return None,
            CountMethod::Presence => Self::Text,
            CountMethod::Nps => Self::Nps,
            CountMethod::Scale { max } => Self::Scale { max },
            CountMethod::Words(words) => Self::Words(words),
            CountMethod::Options { options, several } => {
                Self::Options { choices: Choices::new(options), several }
            }
            CountMethod::Ranking(options) => Self::Ranking(Choices::new(options)),
            CountMethod::Matrix { rows, columns } => {
                Self::Matrix { rows: Choices::new(rows), columns: Choices::new(columns) }
            }
            CountMethod::Number => Self::Numbers,
            CountMethod::Date => Self::Dates,
        })
    }

    /// Whether values on both scales mean the same.
    pub(super) fn has_scale_of(&self, other: CountMethod<'_>) -> bool {
        match (self, other) {
            (Self::Scale { max }, CountMethod::Scale { max: theirs }) => *max == theirs,
            _ => true,
        }
    }

    /// Maps a key of one version's counts to the key over all versions.
    pub(super) fn key(&self, counted: CountMethod<'_>, key: u32) -> Option<u32> {
        // The values behind this key are unknown: they count as answers only.
        if key == OTHERS {
            return None;
        }
        match (self, counted) {
            (Self::Options { choices, .. }, CountMethod::Options { options, .. }) => {
                match key as usize == options.len() {
                    true => Some(choices.len()),
                    false => choices.index_in(options, key),
                }
            }
            (Self::Ranking(choices), CountMethod::Ranking(options)) => {
                let count = u32::try_from(options.len()).ok()?;
                let index = choices.index_in(options, key.checked_div(count)?)?;
                Some(index * ROOM + key % count)
            }
            (
                Self::Matrix { rows, columns },
                CountMethod::Matrix { rows: theirs, columns: across },
            ) => {
                let count = u32::try_from(across.len()).ok()?;
                let row = rows.index_in(theirs, key.checked_div(count)?)?;
                Some(row * ROOM + columns.index_in(across, key % count)?)
            }
            _ => Some(key),
        }
    }

    pub(super) fn distribution(&self, counts: &QuestionCounts) -> Distribution {
        let times = |key: u32| times(counts, key);
        match self {
            Self::Text => Distribution::Text,
            Self::Nps => nps(counts),
            Self::Scale { max } => Distribution::Scale {
                points: (1..=*max).map(|mark| (mark as u8, times(mark))).collect(),
                mean: mean_mark(counts),
                max: *max as u8,
            },
            Self::Words(words) => {
                let option = |(key, word): (u32, &&str)| OptionCount {
                    id: (*word).to_owned(),
                    label: capitalised(word),
                    count: times(key),
                    still_offered: true,
                };
                let options = (0..).zip(words.iter()).map(option).collect();
                Distribution::Options { options, other: 0, several: false }
            }
            Self::Options { choices, several } => {
                let option = |(key, it): (u32, &KnownChoice)| OptionCount {
                    id: it.id.clone(),
                    label: it.label.clone(),
                    count: times(key),
                    still_offered: it.still_offered,
                };
                let options = (0..).zip(&choices.0).map(option).collect();
                Distribution::Options { options, other: times(choices.len()), several: *several }
            }
            Self::Ranking(choices) => ranking(choices, counts),
            Self::Matrix { rows, columns } => Distribution::Matrix {
                rows: rows.labels(),
                columns: columns.labels(),
                cells: (0..rows.len())
                    .map(|row| (0..columns.len()).map(|it| times(row * ROOM + it)).collect())
                    .collect(),
            },
            Self::Numbers => numbers::distribution(counts),
            Self::Dates => {
                let months = counts.keys.iter().filter(|(_, times)| **times > 0);
                let months = months.map(|(key, times)| (month_of(*key), count(*times)));
                Distribution::Dates { months: months.collect() }
            }
        }
    }

    pub(super) fn on_day(&self, day: Day, counts: &QuestionCounts) -> DayValues {
        let parts = |keys: std::ops::Range<u32>| keys.map(|key| times(counts, key)).collect();
        let (mean, nps, parts) = match self {
            Self::Nps => (None, nps_score(counts), parts(0..11)),
            Self::Scale { max } => (mean_mark(counts), None, parts(1..max + 1)),
            Self::Words(words) => (None, None, parts(0..u32::try_from(words.len()).unwrap_or(0))),
            Self::Options { choices, .. } => (None, None, parts(0..choices.len() + 1)),
            Self::Numbers => (numbers::mean(counts), None, Vec::new()),
            Self::Ranking(_) | Self::Matrix { .. } | Self::Dates | Self::Text => {
                (None, None, Vec::new())
            }
        };
        DayValues { day, answered: count(counts.answered), mean, nps, parts }
    }
}

fn times(counts: &QuestionCounts, key: u32) -> u64 {
    count(counts.keys.get(&key).copied().unwrap_or(0))
}

pub(super) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The net promoter score: promoters less detractors, per 100 answers.
fn nps_score(counts: &QuestionCounts) -> Option<f64> {
    let [detractors, passives, promoters] = nps_groups(counts);
    let answers = detractors + passives + promoters;
    ratio(100.0 * (promoters as f64 - detractors as f64), answers)
}

/// The number of answers in each of [`NpsGroup::ALL`].
fn nps_groups(counts: &QuestionCounts) -> [u64; 3] {
    NpsGroup::ALL.map(|group| group.points().map(|point| times(counts, point)).sum())
}

fn nps(counts: &QuestionCounts) -> Distribution {
    let mut points = [0; 11];
    for (key, point) in (0..).zip(&mut points) {
        *point = times(counts, key);
    }
    let [detractors, passives, promoters] = nps_groups(counts);
    Distribution::Nps { points, promoters, passives, detractors, score: nps_score(counts) }
}

fn mean_mark(counts: &QuestionCounts) -> Option<f64> {
    let marks = counts.keys.iter();
    let sum: u64 = marks.map(|(mark, times)| u64::from(*mark) * count(*times)).sum();
    ratio(sum as f64, counts.keys.values().map(|times| count(*times)).sum())
}

fn ranking(choices: &Choices, counts: &QuestionCounts) -> Distribution {
    let ranked = counts.keys.keys().map(|key| key % ROOM + 1).max().unwrap_or(0);
    let ranks = ranked.max(choices.0.iter().filter(|it| it.still_offered).count() as u32);
    let option = |(index, it): (u32, &KnownChoice)| {
        let places: Vec<u64> = (0..ranks).map(|rank| times(counts, index * ROOM + rank)).collect();
        let sum: u64 = (1..).zip(&places).map(|(rank, times): (u64, _)| rank * times).sum();
        let mean_place = ratio(sum as f64, places.iter().sum());
        RankCount { id: it.id.clone(), label: it.label.clone(), places, mean_place }
    };
    Distribution::Ranking { options: (0..).zip(&choices.0).map(option).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_promoters_minus_detractors_in_percent() {
        let score = |given: &[(u32, i64)]| {
            let keys = given.iter().copied().collect();
            nps_score(&QuestionCounts { keys, ..QuestionCounts::default() })
        };
        assert_eq!(score(&[]), None);
        assert_eq!(score(&[(10, 3), (9, 2)]), Some(100.0));
        assert_eq!(score(&[(0, 1), (6, 1)]), Some(-100.0));
        assert_eq!(score(&[(7, 4), (8, 1)]), Some(0.0));
        assert_eq!(score(&[(9, 5), (7, 3), (6, 2)]), Some(30.0));
    }
}
