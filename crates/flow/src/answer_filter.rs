//! Filters by an answer: `answer.nps=7`, `answer.nps[lt]=7`.
//!
//! One rule for lists, results and exports: a filter is read from a query parameter
//! ([`AnswerFilter::read`]) and judges an answer ([`AnswerFilter::holds`]). Stores may use it to
//! skip rows, but have no separate rule.
//!
//! Only `answered=false` matches a response without an answer. Stored texts are compared, whatever
//! type their version has: a text that is not a number compares as false, a number compares as a
//! number; both count as answered, and differ from any other value.

use std::cmp::Ordering;

use crate::date::is_date;
use crate::folding::folded;
use crate::question::choice::{OTHER, OTHER_PREFIX};
use crate::question::decimal::Decimal;
use crate::question::rules::Comparable;
use crate::question::types::QuestionType;
use crate::submission::entry;
use crate::text_map::Texts;

/// The maximum length of the text of `contains`, in characters.
pub const CONTAINS_CHARS_MAX: usize = 200;

/// A condition on the answer to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerFilter {
    pub question: String,
    pub test: AnswerTest,
}

/// What the answer must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerTest {
    /// This value, or a list that contains it. The value `other` also matches every free text
    /// that begins with `other:`.
    Is(String),
    /// Answered, but not [`Self::Is`].
    IsNot(String),
    Less(Bound),
    AtMost(Bound),
    Greater(Bound),
    AtLeast(Bound),
    /// The text contains this one, which is [`folded`].
    Contains(String),
    /// The free text after `other:` contains this one, which is [`folded`].
    OtherContains(String),
    /// Whether there is an answer.
    Answered(bool),
}

/// The number or date to compare an answer with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    Number(Decimal),
    Date(String),
}

/// How an answer is compared, as written in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Written without brackets.
    Is,
    IsNot,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Contains,
    Answered,
}

impl Operator {
    pub const ALL: &[Self] = &[
        Self::Is,
        Self::IsNot,
        Self::Less,
        Self::AtMost,
        Self::Greater,
        Self::AtLeast,
        Self::Contains,
        Self::Answered,
    ];

    /// Its name in a query; empty for [`Self::Is`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Is => "",
            Self::IsNot => "ne",
            Self::Less => "lt",
            Self::AtMost => "lte",
            Self::Greater => "gt",
            Self::AtLeast => "gte",
            Self::Contains => "contains",
            Self::Answered => "answered",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operator| operator.as_str() == name)
    }

    /// Whether it applies to the answers of a type.
    pub fn fits(self, question_type: &QuestionType) -> bool {
        let comparable = question_type.comparable();
        match self {
            _ if matches!(comparable, Comparable::Never) => false,
            Self::Is | Self::IsNot | Self::Answered => true,
            Self::Less | Self::AtMost | Self::Greater | Self::AtLeast => {
                matches!(comparable, Comparable::Number | Comparable::Date)
            }
            Self::Contains => match comparable {
                Comparable::Text => true,
                Comparable::OneOf { other, .. } | Comparable::SomeOf { other, .. } => other,
                _ => false,
            },
        }
    }
}

/// The question and the operator of a parameter's name, such as `nps[lt]`; without brackets, the
/// operator is empty.
pub fn split_name(name: &str) -> (&str, &str) {
    match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
        // Empty brackets name no operator; they do not stand for equality.
        Some((question, "")) => (question, "[]"),
        Some((question, operator)) => (question, operator),
        None => (name, ""),
    }
}

/// The name of a parameter: the reverse of [`split_name`].
pub fn joined_name(question: &str, operator: Operator) -> String {
    match operator.as_str() {
        "" => question.to_owned(),
        operator => format!("{question}[{operator}]"),
    }
}

impl AnswerFilter {
    /// The question was answered with this value, or with a list that contains it.
    pub fn is(question: impl Into<String>, value: impl Into<String>) -> Self {
        Self { question: question.into(), test: AnswerTest::Is(value.into()) }
    }

    /// Reads a parameter without its prefix, such as `nps[lt]` and `7`. `types` are the types of
    /// the question in all versions that ask it; without any, the question is unknown. The error
    /// says what is possible.
    pub fn read(name: &str, value: &str, types: &[&QuestionType]) -> Result<Self, String> {
        let (question, operator) = split_name(name);
        if types.is_empty() {
            return Err("no version of this flow asks this question".to_owned());
        }
        let fitting = |operator: &Operator| types.iter().any(|it| operator.fits(it));
        let possible = || {
            let names = Operator::ALL.iter().filter(|it| fitting(it)).map(|it| match it {
                Operator::Is => "=".to_owned(),
                other => format!("[{}]=", other.as_str()),
            });
            names.collect::<Vec<_>>().join(", ")
        };
        let Some(operator) = Operator::named(operator) else {
            return Err(format!("has an unknown operator; possible are {}", possible()));
        };
        if !fitting(&operator) {
            let type_name = types.last().map_or("", |it| it.name());
            return Err(match possible() {
                none if none.is_empty() => format!("a {type_name} takes no answer"),
                some => format!("does not fit a {type_name} question; possible are {some}"),
            });
        }
        let bound = || Bound::read(value, types);
        let is_text = types.iter().any(|it| matches!(it.comparable(), Comparable::Text));
        let test = match operator {
            Operator::Is => AnswerTest::Is(value.to_owned()),
            Operator::IsNot => AnswerTest::IsNot(value.to_owned()),
            Operator::Less => AnswerTest::Less(bound()?),
            Operator::AtMost => AnswerTest::AtMost(bound()?),
            Operator::Greater => AnswerTest::Greater(bound()?),
            Operator::AtLeast => AnswerTest::AtLeast(bound()?),
            Operator::Contains => match value.chars().count() {
                1..=CONTAINS_CHARS_MAX if is_text => AnswerTest::Contains(folded(value)),
                1..=CONTAINS_CHARS_MAX => AnswerTest::OtherContains(folded(value)),
                _ => return Err(format!("must be a text of 1 to {CONTAINS_CHARS_MAX} characters")),
            },
            Operator::Answered => match value {
                "true" => AnswerTest::Answered(true),
                "false" => AnswerTest::Answered(false),
                _ => return Err("must be true or false".to_owned()),
            },
        };
        Ok(Self { question: question.to_owned(), test })
    }

    /// Whether stored answers pass; unreadable ones do not.
    pub fn holds_in(&self, answers: &str) -> bool {
        entry(answers, &self.question).is_ok_and(|answer| self.holds(answer.as_ref()))
    }

    /// Whether the answer to the question passes; `None` if the response has none.
    pub fn holds(&self, answer: Option<&Texts<'_>>) -> bool {
        self.test.holds(answer.filter(|answer| !answer.is_absent()))
    }
}

impl AnswerTest {
    /// Whether only a response with an answer can pass.
    pub fn needs_answer(&self) -> bool {
        *self != Self::Answered(false)
    }

    fn holds(&self, answer: Option<&Texts<'_>>) -> bool {
        let Some(answer) = answer else { return !self.needs_answer() };
        let texts = answer.as_slice();
        let compared = |bound: &Bound, wanted: &[Ordering]| {
            let ordering = texts.first().and_then(|text| bound.compare(text));
            ordering.is_some_and(|ordering| wanted.contains(&ordering))
        };
        match self {
            Self::Is(value) => texts.iter().any(|text| is(value, text)),
            Self::IsNot(value) => !texts.iter().any(|text| is(value, text)),
            Self::Less(bound) => compared(bound, &[Ordering::Less]),
            Self::AtMost(bound) => compared(bound, &[Ordering::Less, Ordering::Equal]),
            Self::Greater(bound) => compared(bound, &[Ordering::Greater]),
            Self::AtLeast(bound) => compared(bound, &[Ordering::Greater, Ordering::Equal]),
            Self::Contains(part) => texts.iter().any(|text| contains(text, part)),
            Self::OtherContains(part) => {
                let mut own = texts.iter().filter_map(|text| text.strip_prefix(OTHER_PREFIX));
                own.any(|text| contains(text, part))
            }
            Self::Answered(wanted) => *wanted,
        }
    }
}

fn is(value: &str, text: &str) -> bool {
    text == value || (value == OTHER && text.starts_with(OTHER_PREFIX))
}

fn contains(text: &str, part: &str) -> bool {
    folded(text).contains(part)
}

impl Bound {
    fn read(value: &str, types: &[&QuestionType]) -> Result<Self, String> {
        let is =
            |wanted: fn(&Comparable<'_>) -> bool| types.iter().any(|it| wanted(&it.comparable()));
        let takes_number = is(|it| matches!(it, Comparable::Number));
        let takes_date = is(|it| matches!(it, Comparable::Date));
        let number = Decimal::parse(value).filter(|_| takes_number).map(Self::Number);
        let date = || (takes_date && is_date(value)).then(|| Self::Date(value.to_owned()));
        number.or_else(date).ok_or_else(|| match (takes_number, takes_date) {
            (true, true) => "must be a number, or a date as YYYY-MM-DD".to_owned(),
            (true, false) => "must be a number such as 7 or -0.5".to_owned(),
            _ => "must be a date as YYYY-MM-DD".to_owned(),
        })
    }

    /// How a text compares with this; `None` if it is of another kind.
    fn compare(&self, text: &str) -> Option<Ordering> {
        match self {
            Self::Number(bound) => bound.compare(text),
            Self::Date(bound) => is_date(text).then(|| text.cmp(bound)),
        }
    }
}
