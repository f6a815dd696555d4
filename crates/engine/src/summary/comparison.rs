//! Whether the answers of compared groups differ by more than chance: one test for each question,
//! over all groups together.
//!
//! Means (a score, marks, numbers, ranks) are tested with Welch's analysis of variance, which for
//! two groups is Welch's t-test; shares with the chi-square test. A question with several parts
//! (options that can be chosen together, options that are ranked, the rows of a matrix) is tested
//! part by part, and the smallest probability is multiplied by the number of tests (Bonferroni).
//!
//! Deliberately absent: tests of every pair of groups. Among many pairs, one would soon differ by
//! chance.

use std::collections::BTreeMap;

use super::significance::Significance;
use super::tails::f_tail;
use super::{Distribution, QuestionSummary};

/// Groups with fewer answers are left out of the test.
pub const ANSWERS_MIN: u64 = 10;
/// With fewer answers in a group, only large differences are noticed.
pub const FEW_ANSWERS: u64 = 30;
/// Answers that are rarer are tested together: the expected number in the smallest group.
const EXPECTED_MIN: f64 = 5.0;

/// The test of one question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupTest {
    /// The probability of differences at least this large, if there were none; `None` if there are
    /// too few answers to tell.
    pub p: Option<f64>,
    /// The number of groups that are tested.
    pub groups: usize,
    /// Whether groups are left out because they have few answers.
    pub leaves_out: bool,
    /// Whether a tested group has fewer than [`FEW_ANSWERS`].
    pub is_few: bool,
}

/// Tests the same question in several groups. `None` if there is nothing to compare: only one group
/// has answers, all answers are the same, or they are texts.
pub fn test(groups: &[&QuestionSummary]) -> Option<GroupTest> {
    let answered = groups.iter().filter(|it| it.answered > 0).count();
    let tested: Vec<&QuestionSummary> =
        groups.iter().copied().filter(|it| it.answered >= ANSWERS_MIN).collect();
    if answered < 2 || groups.iter().any(|it| it.distribution == Distribution::Text) {
        return None;
    }
    let outcome = if tested.len() < 2 { Outcome::TooFew } else { Outcome::from_groups(&tested) };
    Some(GroupTest {
        p: match outcome {
            Outcome::Nothing => return None,
            Outcome::TooFew => None,
            Outcome::P(p) => Some(p),
        },
        groups: tested.len(),
        leaves_out: tested.len() < answered,
        is_few: tested.iter().any(|it| it.answered < FEW_ANSWERS),
    })
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    /// There is nothing to compare.
    Nothing,
    TooFew,
    P(f64),
}

impl Outcome {
    fn from_groups(groups: &[&QuestionSummary]) -> Self {
        let each = |read: &dyn Fn(&QuestionSummary) -> Option<Moments>| {
            means(&groups.iter().filter_map(|it| read(it)).collect::<Vec<_>>())
        };
        match &groups[0].distribution {
            Distribution::Nps { .. } => each(&nps_moments),
            Distribution::Scale { .. } => each(&scale_moments),
            Distribution::Numbers { .. } => each(&number_moments),
            Distribution::Ranking { options } => {
                let option = |at| each(&|group| rank_moments(group, at));
                Self::strictest((0..options.len()).map(option))
            }
            Distribution::Options { options, several: true, .. } => {
                let option = |at| shares(&table(groups, |it| chosen_or_not(it, at)));
                // After the last option come free texts.
                Self::strictest((0..=options.len()).map(option))
            }
            Distribution::Options { .. } => shares(&table(groups, options)),
            Distribution::Matrix { rows, .. } => {
                let row = |at| shares(&table(groups, |it| matrix_row(it, at)));
                Self::strictest((0..rows.len()).map(row))
            }
            Distribution::Dates { .. } => shares(&months(groups)),
            Distribution::Text => Self::Nothing,
        }
    }

    /// The outcome of several tests of one question.
    fn strictest(tests: impl Iterator<Item = Self>) -> Self {
        let tests: Vec<Self> = tests.filter(|it| *it != Self::Nothing).collect();
        let ps = tests.iter().filter_map(|it| if let Self::P(p) = it { Some(*p) } else { None });
        let smallest = ps.clone().reduce(f64::min);
        match smallest {
            Some(p) => Self::P((p * ps.count() as f64).min(1.0)),
            None if tests.is_empty() => Self::Nothing,
            None => Self::TooFew,
        }
    }
}

/// The number of answers of a group, their mean and their variance.
#[derive(Debug, Clone, Copy)]
struct Moments {
    answers: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    /// From values, each with the width of the range that it stands for, and its count.
    fn new(values: impl Iterator<Item = (f64, f64, u64)> + Clone) -> Option<Self> {
        let answers = values.clone().map(|(.., count)| count).sum::<u64>();
        if answers < ANSWERS_MIN {
            return None;
        }
        let answers = answers as f64;
        let sum: f64 = values.clone().map(|(value, _, count)| value * count as f64).sum();
        let mean = sum / answers;
        // Within a range, values are taken as evenly distributed.
        let squares: f64 = values
            .map(|(value, width, count)| {
                count as f64 * ((value - mean).powi(2) + width * width / 12.0)
            })
            .sum();
        Some(Self { answers, mean, variance: squares / (answers - 1.0) })
    }
}

fn nps_moments(group: &QuestionSummary) -> Option<Moments> {
    let Distribution::Nps { promoters, passives, detractors, .. } = &group.distribution else {
        return None;
    };
    let values = [(100.0, 0.0, *promoters), (0.0, 0.0, *passives), (-100.0, 0.0, *detractors)];
    Moments::new(values.into_iter())
}

fn scale_moments(group: &QuestionSummary) -> Option<Moments> {
    let Distribution::Scale { points, .. } = &group.distribution else { return None };
    Moments::new(points.iter().map(|(mark, count)| (f64::from(*mark), 0.0, *count)))
}

/// The mean is exact; the variance is that of the ranges in which numbers are counted.
fn number_moments(group: &QuestionSummary) -> Option<Moments> {
    let Distribution::Numbers { values, mean, .. } = &group.distribution else { return None };
    let values = values.iter();
    let moments =
        Moments::new(values.map(|bin| ((bin.from + bin.to) / 2.0, bin.to - bin.from, bin.count)))?;
    Some(Moments { mean: (*mean)?, ..moments })
}

/// The ranks of one option.
fn rank_moments(group: &QuestionSummary, at: usize) -> Option<Moments> {
    let Distribution::Ranking { options } = &group.distribution else { return None };
    let places = options.get(at)?.places.iter();
    Moments::new((1..).zip(places).map(|(place, count): (u32, _)| (place.into(), 0.0, *count)))
}

/// Welch's analysis of variance.
fn means(groups: &[Moments]) -> Outcome {
    if groups.len() < 2 {
        return Outcome::TooFew;
    }
    let largest = groups.iter().map(|it| it.variance).fold(0.0, f64::max);
    if largest <= 0.0 {
        // Within each group, all answers are the same.
        let is_same = groups.iter().all(|it| it.mean == groups[0].mean);
        return if is_same { Outcome::Nothing } else { Outcome::P(0.0) };
    }
    // A few equal answers do not prove that all others would be equal too: they are taken to vary
    // as much as those of all groups do.
    let freedom = |it: &Moments| it.answers - 1.0;
    let squares: f64 = groups.iter().map(|it| freedom(it) * it.variance).sum();
    let pooled = squares / groups.iter().map(freedom).sum::<f64>();
    let variance = |it: &Moments| if it.variance > 0.0 { it.variance } else { pooled };
    let weight = |it: &Moments| it.answers / variance(it);
    let all: f64 = groups.iter().map(weight).sum();
    let mean = groups.iter().map(|it| weight(it) * it.mean).sum::<f64>() / all;
    let between: f64 = groups.iter().map(|it| weight(it) * (it.mean - mean).powi(2)).sum();
    let spread: f64 =
        groups.iter().map(|it| (1.0 - weight(it) / all).powi(2) / (it.answers - 1.0)).sum();
    let count = groups.len() as f64;
    let squared = count * count - 1.0;
    let f = between / (count - 1.0) / (1.0 + 2.0 * (count - 2.0) / squared * spread);
    Outcome::P(f_tail(f, count - 1.0, squared / (3.0 * spread)))
}

/// Counts by group, then by answer.
type Table = Vec<Vec<u64>>;

fn table(groups: &[&QuestionSummary], row: impl Fn(&QuestionSummary) -> Vec<u64>) -> Table {
    groups.iter().map(|group| row(group)).collect()
}

fn options(group: &QuestionSummary) -> Vec<u64> {
    let Distribution::Options { options, other, .. } = &group.distribution else {
        return Vec::new();
    };
    options.iter().map(|option| option.count).chain([*other]).collect()
}

fn chosen_or_not(group: &QuestionSummary, at: usize) -> Vec<u64> {
    let chosen = options(group).get(at).copied().unwrap_or(0);
    vec![chosen, group.answered.saturating_sub(chosen)]
}

fn matrix_row(group: &QuestionSummary, at: usize) -> Vec<u64> {
    let Distribution::Matrix { cells, .. } = &group.distribution else { return Vec::new() };
    cells.get(at).cloned().unwrap_or_default()
}

/// Each group has only the months of its own answers.
fn months(groups: &[&QuestionSummary]) -> Table {
    let own = |group: &QuestionSummary| match &group.distribution {
        Distribution::Dates { months } => months.iter().cloned().collect(),
        _ => BTreeMap::new(),
    };
    let own: Vec<BTreeMap<String, u64>> = groups.iter().map(|group| own(group)).collect();
    let all: BTreeMap<&String, ()> =
        own.iter().flat_map(|it| it.keys().map(|key| (key, ()))).collect();
    own.iter()
        .map(|it| all.keys().map(|key| it.get(*key).copied().unwrap_or(0)).collect())
        .collect()
}

/// The chi-square test, with rare answers counted together.
fn shares(table: &Table) -> Outcome {
    match Significance::test(&without_rare(table)) {
        Significance::NotTested => Outcome::Nothing,
        Significance::TooFew => Outcome::TooFew,
        Significance::Tested { p, .. } => Outcome::P(p),
    }
}

/// Adds up the rarest answers until each column can be expected often enough in every group.
fn without_rare(table: &Table) -> Table {
    let groups: Vec<u64> = table.iter().map(|row| row.iter().sum()).collect();
    let all = groups.iter().sum::<u64>() as f64;
    let smallest = groups.iter().filter(|sum| **sum > 0).min().copied().unwrap_or(0) as f64;
    let sum = |column: &[u64]| column.iter().sum::<u64>();
    let width = table.first().map_or(0, Vec::len);
    let mut columns: Vec<Vec<u64>> = (0..width)
        .map(|at| table.iter().map(|row| row.get(at).copied().unwrap_or(0)).collect())
        .collect();
    columns.retain(|column| sum(column) > 0);
    columns.sort_by_key(|column| std::cmp::Reverse(sum(column)));
    let is_rare = |column: &Vec<u64>| sum(column) as f64 * smallest / all < EXPECTED_MIN;
    while columns.len() > 2 && columns.last().is_some_and(is_rare) {
        let rarest = columns.pop().unwrap_or_default();
        let Some(next) = columns.last_mut() else { break };
        next.iter_mut().zip(rarest).for_each(|(count, more)| *count += more);
        columns.sort_by_key(|column| std::cmp::Reverse(sum(column)));
    }
    (0..table.len()).map(|at| columns.iter().map(|column| column[at]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{AskedUntil, Bin, OptionCount, RankCount};
    use super::*;

    fn question(answered: u64, distribution: Distribution) -> QuestionSummary {
        QuestionSummary {
            id: "q".to_owned(),
            question_type: "rating",
            prompt: "How?".to_owned(),
            asked: AskedUntil::Now,
            worded_before: Vec::new(),
            answered,
            of: answered,
            distribution,
            over_time: Vec::new(),
        }
    }

    fn scale(counts: [u64; 5]) -> QuestionSummary {
        let points = (1..).zip(counts).collect();
        question(counts.iter().sum(), Distribution::Scale { points, mean: None, max: 5 })
    }

    fn nps(detractors: u64, passives: u64, promoters: u64) -> QuestionSummary {
        let nps =
            Distribution::Nps { points: [0; 11], promoters, passives, detractors, score: None };
        question(detractors + passives + promoters, nps)
    }

    fn chosen(answered: u64, counts: &[u64], several: bool) -> QuestionSummary {
        let option = |count: &u64| OptionCount {
            id: String::new(),
            label: String::new(),
            count: *count,
            still_offered: true,
        };
        let options = counts.iter().map(option).collect();
        question(answered, Distribution::Options { options, other: 0, several })
    }

    fn one_of(counts: &[u64]) -> QuestionSummary {
        chosen(counts.iter().sum(), counts, false)
    }

    fn ranking(places: [[u64; 3]; 3]) -> QuestionSummary {
        let option = |places: [u64; 3]| RankCount {
            id: String::new(),
            label: String::new(),
            places: places.to_vec(),
            mean_place: None,
        };
        let options = places.into_iter().map(option).collect();
        question(places[0].iter().sum(), Distribution::Ranking { options })
    }

    fn numbers(counts: [u64; 5]) -> QuestionSummary {
        let values = [1.0, 2.0, 3.0, 10.0, 20.0];
        let answered: u64 = counts.iter().sum();
        let sum: f64 = values.iter().zip(counts).map(|(it, count)| it * count as f64).sum();
        let bin = |(value, count): (f64, u64)| Bin { from: value, to: value, count };
        let distribution = Distribution::Numbers {
            bins: Vec::new(),
            values: values.into_iter().zip(counts).map(bin).collect(),
            mean: Some(sum / answered as f64),
            median: None,
            min: None,
            max: None,
        };
        question(answered, distribution)
    }

    fn matrix(cells: [[u64; 2]; 2]) -> QuestionSummary {
        let names = || vec![(String::new(), String::new()); 2];
        let answered = cells[0].iter().sum();
        let cells = cells.map(|row| row.to_vec()).to_vec();
        question(answered, Distribution::Matrix { rows: names(), columns: names(), cells })
    }

    fn dates(months: &[(&str, u64)]) -> QuestionSummary {
        let months: Vec<_> = months.iter().map(|(it, count)| ((*it).to_owned(), *count)).collect();
        let answered = months.iter().map(|(_, count)| count).sum();
        question(answered, Distribution::Dates { months })
    }

    fn tested(groups: &[QuestionSummary]) -> Option<GroupTest> {
        test(&groups.iter().collect::<Vec<_>>())
    }

    /// The probabilities were computed with SciPy.
    #[test]
    fn probabilities_agree_with_another_implementation() {
        let (a, b, c) =
            (scale([2, 3, 10, 20, 15]), scale([5, 9, 14, 11, 6]), scale([1, 1, 4, 5, 9]));
        for (groups, p) in [
            // Welch's t-test, and Welch's analysis of variance.
            (vec![a.clone(), b.clone()], 0.001_343_634_929_894_320_4),
            (vec![a, b, c], 0.002_681_363_602_092_569_4),
            (vec![nps(30, 40, 50), nps(20, 30, 70)], 0.014_066_731_911_528_225),
            (vec![nps(3, 4, 8), nps(6, 5, 4)], 0.132_678_668_348_974_65),
            (
                vec![numbers([10, 10, 10, 5, 5]), numbers([5, 5, 10, 10, 10])],
                0.030_969_382_319_407_06,
            ),
            // All answers of one group are the same: its variance is that of both groups.
            (vec![scale([0, 0, 0, 0, 12]), scale([0, 0, 3, 4, 8])], 0.022_874_212_043_635_63),
            // Three t-tests, the smallest probability three times.
            (
                vec![
                    ranking([[20, 10, 10], [12, 18, 10], [8, 12, 20]]),
                    ranking([[8, 12, 20], [15, 15, 10], [17, 13, 10]]),
                ],
                3.0 * 0.003_466_325_367_364_38,
            ),
            // Chi-square tests.
            (vec![one_of(&[30, 50, 20]), one_of(&[45, 35, 40])], 0.005_034_186_836_828_942_5),
            (
                vec![chosen(100, &[60, 30, 20], true), chosen(120, &[50, 40, 24], true)],
                3.0 * 0.006_768_741_146_915_494,
            ),
            (
                vec![matrix([[40, 60], [50, 50]]), matrix([[60, 40], [50, 50]])],
                2.0 * 0.004_677_734_981_047_266,
            ),
            // The rare months are counted with the next frequent one.
            (
                vec![
                    dates(&[("2026-01", 40), ("2026-02", 18), ("2026-04", 2)]),
                    dates(&[("2026-01", 20), ("2026-02", 44), ("2026-03", 1)]),
                ],
                2.543663512112272e-05,
            ),
        ] {
            let found = tested(&groups).and_then(|it| it.p).unwrap();
            assert!((found - p).abs() < p * 1e-5, "{found}, not {p}: {:?}", groups[0].distribution);
        }
    }

    #[test]
    fn groups_with_few_answers_are_left_out_or_marked() {
        let big = || scale([10, 20, 30, 20, 10]);
        let outcome = |groups: &[QuestionSummary]| {
            let test = tested(groups).unwrap();
            (test.p.is_some(), test.groups, test.leaves_out, test.is_few)
        };
        assert_eq!(outcome(&[big(), big()]), (true, 2, false, false));
        assert_eq!(outcome(&[big(), scale([2, 2, 2, 2, 2])]), (true, 2, false, true));
        assert_eq!(outcome(&[big(), big(), scale([9, 0, 0, 0, 0])]), (true, 2, true, false));
        assert_eq!(outcome(&[big(), scale([9, 0, 0, 0, 0])]), (false, 1, true, false));
        // Nobody can tell whether one of ten and none of ninety differ.
        assert_eq!(outcome(&[one_of(&[1, 9]), one_of(&[0, 90])]), (false, 2, false, true));
    }

    #[test]
    fn nothing_is_tested_without_two_groups_or_two_answers() {
        for groups in [
            vec![],
            vec![scale([9, 9, 9, 9, 9])],
            vec![scale([9, 9, 9, 9, 9]), scale([0; 5])],
            vec![scale([0, 0, 40, 0, 0]), scale([0, 0, 60, 0, 0])],
            vec![one_of(&[40, 0]), one_of(&[60, 0])],
            vec![question(40, Distribution::Text), question(60, Distribution::Text)],
        ] {
            assert_eq!(tested(&groups), None);
        }
    }

    /// Ten of ten promoters are no surprise where eight of ten are.
    #[test]
    fn a_few_equal_answers_do_not_make_a_difference_certain() {
        let p = tested(&[nps(0, 0, 10), nps(50, 150, 800)]).and_then(|it| it.p).unwrap();
        assert!(p > 0.05, "{p}");
        // Two ranks of the last option are too few.
        let few = ranking([[5, 4, 3], [5, 4, 3], [0, 0, 2]]);
        let many = ranking([[15, 12, 9], [15, 12, 9], [36, 0, 0]]);
        let p = tested(&[few, many]).and_then(|it| it.p).unwrap();
        assert!(p > 0.9, "{p}");
    }

    #[test]
    fn equal_answers_are_chance_and_opposite_ones_are_not() {
        let p = |groups: &[QuestionSummary]| tested(groups).and_then(|it| it.p).unwrap();
        assert!(p(&[scale([3, 4, 5, 4, 3]), scale([6, 8, 10, 8, 6])]) > 0.999);
        assert_eq!(p(&[scale([40, 0, 0, 0, 0]), scale([0, 0, 0, 0, 40])]), 0.0);
        assert!(p(&[one_of(&[40, 0]), one_of(&[0, 40])]) < 1e-9);
    }
}
