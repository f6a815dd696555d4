//! Error messages for answers in the reader's language, and the limits of a question for the
//! script.
//!
//! The engine judges an answer and returns an issue with a code and a message for programs. Here
//! the code and the question's input select a sentence that says what to do.

use sluice_flow::issue::{Code, Issue, Step};
use sluice_flow::phrase::fill;
use sluice_flow::question::{Decimal, Format, Input, Question};

use super::words::Words;

/// The limits of a question that the script checks before it sends.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    pub(super) min: Option<String>,
    pub(super) max: Option<String>,
    pub(super) min_length: Option<u32>,
    pub(super) max_length: Option<u32>,
    pub(super) integer: bool,
}

impl Bounds {
    pub(super) fn new(input: Input<'_>) -> Self {
        let between =
            |min: Option<String>, max: Option<String>| Self { min, max, ..Self::default() };
        match input {
            Input::Line { length, .. } | Input::Paragraph { length } => Self {
                min_length: length.min_length,
                max_length: length.max_length,
                ..Self::default()
            },
            Input::Number { min, max, integer } => {
                let text = |bound: Option<&Decimal>| bound.map(ToString::to_string);
                Self { integer, ..between(text(min), text(max)) }
            }
            Input::Date { min, max } => between(min.map(str::to_owned), max.map(str::to_owned)),
            Input::SomeOf { min, max, .. } => {
                between(min.map(|n| n.to_string()), max.map(|n| n.to_string()))
            }
            Input::Scale { low, high, .. } => {
                between(Some(low.to_string()), Some(high.to_string()))
            }
            Input::Nothing
            | Input::OneOf { .. }
            | Input::Order { .. }
            | Input::Grid { .. }
            | Input::YesNo
            | Input::Tick { .. } => Self::default(),
        }
    }

    /// The last number of the range, which decides about plural forms.
    fn last(&self) -> u64 {
        let bound = self.max.as_ref().or(self.min.as_ref()).and_then(|bound| bound.parse().ok());
        let length = self.max_length.or(self.min_length).map(u64::from);
        bound.or(length).unwrap_or_default()
    }

    /// The range as text, if there is one.
    fn range(&self, words: &Words) -> Option<String> {
        let (least, most) =
            (self.min_length.map(|n| n.to_string()), self.max_length.map(|n| n.to_string()));
        let (min, max) =
            (self.min.as_ref().or(least.as_ref()), self.max.as_ref().or(most.as_ref()));
        let rule = &words.rule;
        match (min, max) {
            (Some(min), Some(max)) => Some(fill(rule.between, &[("min", min), ("max", max)])),
            (Some(min), None) => Some(fill(rule.at_least, &[("min", min)])),
            (None, Some(max)) => Some(fill(rule.at_most, &[("max", max)])),
            (None, None) => None,
        }
    }
}

/// The sentence that says what the answer must be, if there are limits or a format.
pub(super) fn rule(words: &Words, input: Input<'_>) -> Option<String> {
    let (rule, bounds) = (&words.rule, Bounds::new(input));
    let range = bounds.range(words);
    let with_range = |sentence: &str| match &range {
        Some(range) => fill(rule.ranged, &[("rule", sentence), ("range", range)]),
        None => fill(rule.sentence, &[("rule", sentence)]),
    };
    match input {
        Input::Line { format: Format::Email, .. } => Some(rule.email.to_owned()),
        Input::Line { format: Format::Url, .. } => Some(rule.url.to_owned()),
        Input::Line { format: Format::Phone, .. } => Some(rule.phone.to_owned()),
        Input::Line { format: Format::Text, .. } | Input::Paragraph { .. } => {
            range.map(|range| words.length(&range, bounds.last()))
        }
        Input::Number { integer: true, .. } => Some(with_range(rule.whole_number)),
        Input::Number { integer: false, .. } => Some(with_range(rule.number)),
        Input::Date { .. } => Some(with_range(rule.date)),
        Input::Order { .. } => Some(rule.ranking.to_owned()),
        Input::SomeOf { .. } => range.map(|range| words.selected(&range, bounds.last())),
        Input::Nothing
        | Input::OneOf { .. }
        | Input::Grid { .. }
        | Input::Scale { .. }
        | Input::YesNo
        | Input::Tick { .. } => None,
    }
}

/// The message for an issue with the answer to this question.
pub(super) fn error_message(
    words: &Words,
    question: &Question,
    issue: &Issue,
    has_answer: bool,
) -> String {
    let (texts, input) = (&words.rule, question.question_type.input());
    let is_choice = matches!(input, Input::OneOf { .. } | Input::SomeOf { .. });
    let has_format =
        matches!(input, Input::Line { format: Format::Email | Format::Url | Format::Phone, .. });
    let text = match issue.code {
        Code::AnswerRequired if has_answer => texts.every_row,
        Code::AnswerRequired => texts.required,
        Code::InvalidFormat if is_choice => texts.other,
        Code::TooLong => texts.too_long,
        Code::OutOfRange if has_format => {
            let bounds = Bounds::new(input);
            return words.length(&bounds.range(words).unwrap_or_default(), bounds.last());
        }
        Code::InvalidFormat | Code::OutOfRange | Code::InvalidSelection => {
            return rule(words, input).unwrap_or_else(|| texts.option.to_owned());
        }
        _ => texts.option,
    };
    text.to_owned()
}

/// The question that an issue is about.
pub(super) fn question_of(issue: &Issue) -> Option<&str> {
    match issue.path.as_slice() {
        [Step::Key(field), Step::Key(id), ..] if field == "answers" => Some(id),
        _ => None,
    }
}
