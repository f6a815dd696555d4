//! `rating`: a value from 1 to `max`.

use std::ops::Not;

use serde::{Serialize, Serializer};

use crate::question::field::{Field, FieldKind};
use crate::question::input::{Input, Marks};

use crate::counts::count_method::CountMethod;
use crate::definition::limits::LABEL_CHARS_MAX;
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::{Problems, one};
use crate::question::rules::{Comparable, Label, Rules, Scoring};
use crate::text_map::Texts;

const RATING_MAX_DEFAULT: u32 = 5;
const WORDS: [(&str, Marks); 3] =
    [("star", Marks::Star), ("number", Marks::Number), ("emoji", Marks::Emoji)];

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Rating {
    pub max: u32,
    pub shape: Marks,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_label: Option<String>,
    /// Whether an answer adds its value to the score.
    #[serde(skip_serializing_if = "Not::not", serialize_with = "write_score")]
    pub score: bool,
}

/// The author-facing names of the shapes of the steps.
const SHAPES: &[(&str, &str)] = &[("star", "Stars"), ("number", "Numbers"), ("emoji", "Faces")];

impl Rules for Rating {
    const ICON: &str = "m12 3 2.7 5.7 6.3.8-4.6 4.3 1.2 6.2-5.6-3-5.6 3 1.2-6.2L3 9.5l6.3-.8z";

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self {
            max: reader.count("max", 3..=10).unwrap_or(RATING_MAX_DEFAULT),
            shape: reader.choice("shape", &WORDS).unwrap_or_default(),
            low_label: reader.text("lowLabel", LABEL_CHARS_MAX),
            high_label: reader.text("highLabel", LABEL_CHARS_MAX),
            score: read_score(reader),
        }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        if let Some(text) = one(answer, problems) {
            judge_mark(text, 1, self.max, problems);
        }
    }

    fn input(&self) -> Input<'_> {
        Input::Scale {
            low: 1,
            high: self.max,
            marks: self.shape,
            low_label: self.low_label.as_deref(),
            high_label: self.high_label.as_deref(),
            is_scored: self.score,
        }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Scale { max: self.max }
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
        let count = FieldKind::Count { min: 3, max: 10, default: Some(RATING_MAX_DEFAULT) };
        let [low, high] = end_fields();
        vec![
            Field::new("max", "Number of steps", count).hint("3 to 10; default 5"),
            Field::new("shape", "Style", FieldKind::Word { words: SHAPES }),
            low,
            high,
            SCORE,
        ]
    }
}

/// The field that adds the value of an answer to the score.
pub(super) const SCORE: Field = Field::new(
    "score",
    "Score",
    FieldKind::Word { words: &[("none", "Not scored"), ("value", "The answer adds its value")] },
);

pub(super) fn read_score(reader: &mut ObjectReader<'_>) -> bool {
    reader.choice("score", &[("none", false), ("value", true)]).unwrap_or_default()
}

/// Only written if it is set.
pub(super) fn write_score<S: Serializer>(_: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("value")
}

/// Judges a whole number on a scale.
pub(super) fn judge_mark(text: &str, low: u32, high: u32, problems: &mut Problems<'_>) {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    let code = if !plain || padded {
        Code::InvalidFormat
    } else if text.parse().is_ok_and(|mark: u32| (low..=high).contains(&mark)) {
        return;
    } else {
        Code::OutOfRange
    };
    problems.add(code, format_args!("takes a whole number from {low} to {high}"));
}

/// The fields for the labels of a scale's ends.
pub(super) fn end_fields() -> [Field; 2] {
    let label = FieldKind::Text { chars_max: LABEL_CHARS_MAX };
    [
        Field::new("lowLabel", "Label of the low end", label),
        Field::new("highLabel", "Label of the high end", label),
    ]
}

/// The labels of a scale's ends, if set.
pub(super) fn end_labels(
    low: Option<&String>,
    high: Option<&String>,
) -> Vec<(&'static str, Label<'static>)> {
    let ends = [("lowLabel", low), ("highLabel", high)];
    ends.into_iter().filter(|(_, end)| end.is_some()).map(|(name, _)| (name, Label::One)).collect()
}
