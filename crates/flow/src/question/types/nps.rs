//! `nps`: how likely the respondent is to recommend, from 0 to 10.

use std::ops::{Not, RangeInclusive};

use serde::Serialize;

use crate::question::field::Field;
use crate::question::input::{Input, Marks};

use super::rating::{SCORE, end_fields, end_labels, judge_mark, read_score, write_score};
use crate::counts::count_method::CountMethod;
use crate::definition::limits::LABEL_CHARS_MAX;
use crate::definition::reader::ObjectReader;
use crate::question::answer::{Problems, one};
use crate::question::rules::{Comparable, Label, Rules, Scoring};
use crate::text_map::Texts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Nps {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_label: Option<String>,
    /// Whether an answer adds its value to the score.
    #[serde(skip_serializing_if = "Not::not", serialize_with = "write_score")]
    pub score: bool,
}

/// The groups of respondents that a net promoter score is computed from, by their answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NpsGroup {
    Detractors,
    Passives,
    Promoters,
}

impl NpsGroup {
    /// From the lowest answers to the highest.
    pub const ALL: [Self; 3] = [Self::Detractors, Self::Passives, Self::Promoters];

    /// The answers of this group.
    pub fn points(self) -> RangeInclusive<u32> {
        match self {
            Self::Detractors => 0..=6,
            Self::Passives => 7..=8,
            Self::Promoters => 9..=10,
        }
    }

    /// The group that this answer belongs to.
    pub fn from_point(point: u32) -> Self {
        let reaches = |group: &Self| point <= *group.points().end();
        Self::ALL.into_iter().find(reaches).unwrap_or(Self::Promoters)
    }
}

impl Rules for Nps {
    const ICON: &str = "M4 18a9 9 0 1 1 16 0M12 16l4-6";

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self {
            low_label: reader.text("lowLabel", LABEL_CHARS_MAX),
            high_label: reader.text("highLabel", LABEL_CHARS_MAX),
            score: read_score(reader),
        }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        if let Some(text) = one(answer, problems) {
            judge_mark(text, 0, 10, problems);
        }
    }

    fn input(&self) -> Input<'_> {
        Input::Scale {
            low: 0,
            high: 10,
            marks: Marks::Number,
            low_label: self.low_label.as_deref(),
            high_label: self.high_label.as_deref(),
            is_scored: self.score,
        }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Nps
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Number
    }

    fn scoring(&self) -> Scoring<'_> {
        if self.score { Scoring::Value } else { Scoring::Nothing }
    }

    fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        end_labels(self.low_label.as_ref(), self.high_label.as_ref())
    }

    fn fields() -> Vec<Field> {
        let [low, high] = end_fields();
        vec![low, high, SCORE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_in_one_group() {
        for point in 0..=10 {
            let groups = NpsGroup::ALL.into_iter().filter(|it| it.points().contains(&point));
            assert_eq!(groups.collect::<Vec<_>>(), [NpsGroup::from_point(point)], "{point}");
        }
    }
}
