//! The headline figure of a question, with its unit and the number of answers that it comes from.
//!
//! Compared parts have the same figure: the share of the answer that is the most frequent of all,
//! not the one that is the most frequent in each part.

use maud::{Markup, html};
use sluice_engine::summary::{Distribution, OptionCount, QuestionSummary};

use super::question_chart::{month_name, unit};
use crate::chart::{count, decimal, share, signed};
use crate::parts::number;

/// A longer figure is smaller, so that it stays in one line.
const FIGURE_CHARS: usize = 6;

/// The headline figure, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Headline {
    pub(super) figure: String,
    /// The unit and the base, such as "of 230 answers".
    pub(super) base: String,
    /// What is measured, such as an option.
    caption: Option<String>,
    detail: Option<String>,
}

impl Headline {
    pub(super) fn new(question: &QuestionSummary) -> Self {
        Self::from_part(question, question)
    }

    /// The figure of a part of the answers, for what matters most in the whole.
    pub(super) fn from_part(whole: &QuestionSummary, part: &QuestionSummary) -> Self {
        let (one, many) = unit(part);
        let answers = count(part.answered, one, many);
        let figure = |figure: Option<String>, base: String| Self {
            figure: figure.unwrap_or_else(|| "–".to_owned()),
            base,
            caption: None,
            detail: None,
        };
        let of_answers = || format!("of {answers}");
        match (&whole.distribution, &part.distribution) {
            (_, Distribution::Nps { score, .. }) => {
                figure(score.map(signed), format!("from {answers}"))
                    .about(Some("Net promoter score".to_owned()), None)
            }
            (_, Distribution::Scale { mean, max, .. }) => {
                let mean = mean.map(|mean| decimal(mean, 2));
                figure(mean, format!("mean of {answers}"))
                    .about(Some(format!("On a scale of 1 to {max}")), None)
            }
            (
                Distribution::Options { options: all, other: all_other, .. },
                Distribution::Options { options, other, .. },
            ) => {
                let Some(top) = top_option(all, *all_other) else {
                    return figure(None, of_answers());
                };
                let chosen = options.get(top.at).map_or(*other, |option| option.count);
                figure(Some(share(chosen, part.answered)), of_answers())
                    .about(Some(top.label.to_owned()), Some("Most frequent answer".to_owned()))
            }
            (Distribution::Ranking { options: all }, Distribution::Ranking { options }) => {
                let ranked =
                    all.iter().enumerate().filter_map(|(at, it)| Some((at, it.mean_place?)));
                let Some((at, _)) = ranked.min_by(|one, other| one.1.total_cmp(&other.1)) else {
                    return figure(None, format!("average rank in {answers}"));
                };
                let mean = options.get(at).and_then(|option| option.mean_place);
                figure(mean.map(|mean| decimal(mean, 2)), format!("average rank in {answers}"))
                    .about(
                        Some(all[at].label.clone()),
                        Some(format!("Best average rank of {} options", number(all.len() as u64))),
                    )
            }
            (_, Distribution::Numbers { mean, median, min, max, .. }) => {
                let mean = mean.map(|mean| decimal(mean, 2));
                figure(mean, format!("mean of {answers}")).about(None, range(*median, *min, *max))
            }
            (Distribution::Dates { months: all }, Distribution::Dates { months }) => {
                let most = all.iter().rev().max_by_key(|(_, count)| *count);
                let Some((month, _)) = most.filter(|(_, count)| *count > 0) else {
                    return figure(None, of_answers());
                };
                let own = months.iter().find(|(own, _)| own == month);
                let period = if month.contains('-') { "month" } else { "year" };
                figure(Some(share(own.map_or(0, |(_, count)| *count), part.answered)), of_answers())
                    .about(Some(month_name(month)), Some(format!("Most frequent {period}")))
            }
            _ => {
                let unit = if part.answered == 1 { "answer" } else { "answers" };
                figure(Some(number(part.answered)), unit.to_owned())
            }
        }
    }

    fn about(self, caption: Option<String>, detail: Option<String>) -> Self {
        Self { caption, detail, ..self }
    }

    /// What the figures of compared parts are; none if they are only the numbers of answers.
    pub(super) fn measure(question: &QuestionSummary) -> Option<String> {
        let caption = Self::new(question).caption;
        match &question.distribution {
            Distribution::Nps { .. } => Some("Net promoter score".to_owned()),
            Distribution::Scale { max, .. } => Some(format!("Mean, on a scale of 1 to {max}")),
            Distribution::Numbers { .. } => Some("Mean".to_owned()),
            Distribution::Options { .. } => caption.map(|it| format!("Share of “{it}”")),
            Distribution::Ranking { .. } => caption.map(|it| format!("Average rank of “{it}”")),
            Distribution::Dates { .. } => caption.map(|it| format!("Share of {it}")),
            Distribution::Matrix { .. } | Distribution::Text => None,
        }
    }

    pub(super) fn markup(&self) -> Markup {
        html! {
            div.headline {
                p.big.long[self.figure.chars().count() > FIGURE_CHARS] { (self.figure) }
                p.headline-base { (self.base) }
                @if let Some(caption) = &self.caption { p.headline-caption dir="auto" { (caption) } }
                @if let Some(detail) = &self.detail { p.hint { (detail) } }
            }
        }
    }
}

fn range(median: Option<f64>, min: Option<f64>, max: Option<f64>) -> Option<String> {
    let (median, min, max) = (median?, min?, max?);
    Some(format!("Median {} · from {} to {}", decimal(median, 2), decimal(min, 2), decimal(max, 2)))
}

/// The most frequent option.
pub(super) struct TopOption<'q> {
    /// Its index among the options; "Other" comes after the last. Labels may be equal, so they do
    /// not identify an option.
    pub(super) at: usize,
    pub(super) label: &'q str,
    count: u64,
}

/// The first one if several are equal.
pub(super) fn top_option(options: &[OptionCount], other: u64) -> Option<TopOption<'_>> {
    let all = options.iter().map(|option| (option.label.as_str(), option.count));
    let all = all.chain([("Other", other)]).enumerate();
    let all = all.map(|(at, (label, count))| TopOption { at, label, count });
    let chosen = all.filter(|option| option.count > 0);
    chosen.reduce(|best, option| if option.count > best.count { option } else { best })
}

#[cfg(test)]
mod tests {
    use sluice_engine::summary::{AskedUntil, RankCount};

    use super::*;

    fn question(answered: u64, distribution: Distribution) -> QuestionSummary {
        QuestionSummary {
            id: "q".to_owned(),
            question_type: "singleChoice",
            prompt: "Which?".to_owned(),
            asked: AskedUntil::Now,
            worded_before: Vec::new(),
            answered,
            of: answered,
            distribution,
            over_time: Vec::new(),
        }
    }

    fn options(counts: [u64; 2], other: u64) -> QuestionSummary {
        let option = |(label, count): (&str, u64)| OptionCount {
            id: label.to_owned(),
            label: label.to_owned(),
            count,
            still_offered: true,
        };
        let options = ["A", "B"].into_iter().zip(counts).map(option).collect();
        let answered = counts.iter().sum::<u64>() + other;
        question(answered, Distribution::Options { options, other, several: false })
    }

    fn check(whole: &QuestionSummary, part: &QuestionSummary, figure: &str, base: &str) {
        let headline = Headline::from_part(whole, part);
        assert_eq!((headline.figure.as_str(), headline.base.as_str()), (figure, base));
    }

    #[test]
    fn a_figure_has_its_unit_and_its_number_of_answers() {
        let one = options([1, 3], 0);
        check(&one, &one, "75%", "of 4 answers");
        let none = options([0, 0], 0);
        check(&none, &none, "–", "of 0 answers");
        let numbers = question(
            1,
            Distribution::Numbers {
                bins: vec![],
                values: vec![],
                mean: Some(2.5),
                median: Some(2.5),
                min: Some(2.5),
                max: Some(2.5),
            },
        );
        check(&numbers, &numbers, "2.5", "mean of 1 answer");
        let text = question(1_200, Distribution::Text);
        check(&text, &text, "1,200", "answers");
    }

    #[test]
    fn compared_parts_show_the_same_answer() {
        let whole = options([7, 5], 0);
        assert_eq!(Headline::measure(&whole).unwrap(), "Share of “A”");
        check(&whole, &options([6, 1], 0), "86%", "of 7 answers");
        // B is the most frequent here, but the figure is still that of A.
        check(&whole, &options([1, 4], 0), "20%", "of 5 answers");
        let other = options([1, 1], 3);
        assert_eq!(Headline::measure(&other).unwrap(), "Share of “Other”");
        check(&other, &options([1, 1], 2), "50%", "of 4 answers");
        let months = |months: &[(&str, u64)]| {
            let sum = months.iter().map(|(_, count)| count).sum();
            let months = months.iter().map(|(month, count)| ((*month).to_owned(), *count));
            question(sum, Distribution::Dates { months: months.collect() })
        };
        let whole = months(&[("2026-01", 3), ("2026-02", 2)]);
        check(&whole, &months(&[("2026-02", 2)]), "0%", "of 2 answers");
    }

    #[test]
    fn compared_parts_show_the_rank_of_the_same_option() {
        let ranking = |means: [f64; 2]| {
            let option = |mean: f64| RankCount {
                id: mean.to_string(),
                label: mean.to_string(),
                places: vec![1, 1],
                mean_place: Some(mean),
            };
            question(2, Distribution::Ranking { options: means.map(option).to_vec() })
        };
        let (whole, part) = (ranking([1.8, 1.2]), ranking([1.25, 1.75]));
        check(&whole, &whole, "1.2", "average rank in 2 answers");
        check(&whole, &part, "1.75", "average rank in 2 answers");
    }
}
