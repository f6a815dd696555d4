//! What is wrong with an answer, in the reader's words; and the bounds of a question, for the script.
//!
//! The judgement is the engine's, an issue with a code; its message is for programs. Here the code and the
//! question's type choose a sentence that says what to do.

use sluice_flow::issue::{Code, Issue, Step};
use sluice_flow::question::{Question, QuestionType};

use super::words::{Words, fill};

/// The bounds of a question that the script checks before it sends.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    pub(super) min: Option<String>,
    pub(super) max: Option<String>,
    pub(super) min_length: Option<u32>,
    pub(super) max_length: Option<u32>,
    pub(super) integer: bool,
}

impl Bounds {
    pub(super) fn of(question_type: &QuestionType) -> Self {
        let text = |bound: Option<&dyn std::fmt::Display>| bound.map(ToString::to_string);
        match question_type {
            QuestionType::Number(it) => Self {
                min: it.min.as_ref().map(ToString::to_string),
                max: it.max.as_ref().map(ToString::to_string),
                integer: it.integer,
                ..Self::default()
            },
            QuestionType::Date(it) => {
                Self { min: it.min.clone(), max: it.max.clone(), ..Self::default() }
            }
            QuestionType::MultipleChoice(it) => Self {
                min: text(it.min_selected.as_ref().map(|it| it as _)),
                max: text(it.max_selected.as_ref().map(|it| it as _)),
                ..Self::default()
            },
            QuestionType::Rating(it) => {
                Self { min: Some("1".to_owned()), max: Some(it.max.to_string()), ..Self::default() }
            }
            other => match length_of(other) {
                Some((min_length, max_length)) => {
                    Self { min_length, max_length, ..Self::default() }
                }
                None => Self::default(),
            },
        }
    }

    /// The range in words, if there is one.
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

fn length_of(question_type: &QuestionType) -> Option<(Option<u32>, Option<u32>)> {
    let length = match question_type {
        QuestionType::ShortText(it) => it.length,
        QuestionType::LongText(it) => {
            return Some((it.length.min_length, Some(it.chars_max())));
        }
        QuestionType::Email(it) => it.length,
        QuestionType::Url(it) => it.length,
        QuestionType::Phone(it) => it.length,
        _ => return None,
    };
    Some((length.min_length, length.max_length))
}

/// The one sentence that says what the answer must be, where the type has bounds or a format.
pub(super) fn rule(words: &Words, question_type: &QuestionType) -> Option<String> {
    let (rule, range) = (&words.rule, Bounds::of(question_type).range(words));
    let with_range = |sentence: &str| match &range {
        Some(range) => format!("{sentence}: {range}."),
        None => format!("{sentence}."),
    };
    match question_type {
        QuestionType::Email(_) => Some(rule.email.to_owned()),
        QuestionType::Url(_) => Some(rule.url.to_owned()),
        QuestionType::Phone(_) => Some(rule.phone.to_owned()),
        QuestionType::Number(it) if it.integer => Some(with_range(rule.whole_number)),
        QuestionType::Number(_) => Some(with_range(rule.number)),
        QuestionType::Date(_) => Some(with_range(rule.date)),
        QuestionType::Ranking(_) => Some(rule.ranking.to_owned()),
        QuestionType::MultipleChoice(_) => {
            range.map(|range| fill(rule.selected, &[("range", &range)]))
        }
        QuestionType::ShortText(_) | QuestionType::LongText(_) => {
            range.map(|range| fill(rule.length, &[("range", &range)]))
        }
        _ => None,
    }
}

/// What to say of an issue with the answer to this question.
pub(super) fn complaint(
    words: &Words,
    question: &Question,
    issue: &Issue,
    has_answer: bool,
) -> String {
    let (texts, kind) = (&words.rule, &question.question_type);
    let is_choice = matches!(
        kind,
        QuestionType::SingleChoice(_) | QuestionType::Dropdown(_) | QuestionType::MultipleChoice(_)
    );
    let has_format =
        matches!(kind, QuestionType::Email(_) | QuestionType::Url(_) | QuestionType::Phone(_));
    let text = match issue.code {
        Code::AnswerRequired if has_answer => texts.every_row,
        Code::AnswerRequired => texts.required,
        Code::InvalidFormat if is_choice => texts.other,
        Code::TooLong => texts.too_long,
        Code::OutOfRange if has_format => {
            let range = Bounds::of(kind).range(words).unwrap_or_default();
            return fill(texts.length, &[("range", &range)]);
        }
        Code::InvalidFormat | Code::OutOfRange | Code::InvalidSelection => {
            return rule(words, kind).unwrap_or_else(|| texts.option.to_owned());
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
