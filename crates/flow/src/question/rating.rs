//! `rating`: a mark from 1 to `max`.

use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{Problems, one};
use super::rules::{Comparable, Label, Rules};
use crate::counts::counted::Counted;
use crate::definition::limits::LABEL_CHARS_MAX;
use crate::definition::reader::{Reader, text_schema};
use crate::issue::Code;
use crate::text_map::Texts;

const RATING_MAX_DEFAULT: u32 = 5;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Rating {
    pub max: u32,
    pub shape: Shape,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high_label: Option<String>,
}

/// What the marks look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Shape {
    #[default]
    Star,
    Number,
    Emoji,
}

impl Shape {
    const WORDS: &[(&str, Self)] =
        &[("star", Self::Star), ("number", Self::Number), ("emoji", Self::Emoji)];
}

impl Rules for Rating {
    fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            max: reader.count("max", 3..=10).unwrap_or(RATING_MAX_DEFAULT),
            shape: reader.word("shape", Shape::WORDS).unwrap_or_default(),
            low_label: reader.text("lowLabel", LABEL_CHARS_MAX),
            high_label: reader.text("highLabel", LABEL_CHARS_MAX),
        }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        if let Some(text) = one(answer, problems) {
            judge_mark(text, 1, self.max, problems);
        }
    }

    fn counted(&self) -> Counted<'_> {
        Counted::Scale { max: self.max }
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Number
    }

    fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        end_labels(self.low_label.as_ref(), self.high_label.as_ref())
    }

    fn schema() -> Value {
        json!({
            "max": {"type": "integer", "minimum": 3, "maximum": 10, "default": RATING_MAX_DEFAULT},
            "shape": {"enum": ["star", "number", "emoji"], "default": "star"},
            "lowLabel": text_schema(LABEL_CHARS_MAX),
            "highLabel": text_schema(LABEL_CHARS_MAX),
        })
    }
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

/// The labels of a scale's ends, where it has them.
pub(super) fn end_labels(
    low: Option<&String>,
    high: Option<&String>,
) -> Vec<(&'static str, Label<'static>)> {
    let ends = [("lowLabel", low), ("highLabel", high)];
    ends.into_iter().filter(|(_, end)| end.is_some()).map(|(name, _)| (name, Label::One)).collect()
}
