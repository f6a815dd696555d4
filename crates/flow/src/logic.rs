//! Conditions on answers and scores: when a question is visible (`visibleIf`), where a jump leads,
//! which ending is shown. [`crate::route`] applies them.
//!
//! A condition reads all answers that were sent, including those to hidden questions: every answer
//! counts, and the result does not depend on the order of evaluation. A comparison with an
//! unanswered question is false, also for `notIn`; only `answered` and `not` can test for a missing
//! answer. An answer in the wrong format compares as false.
//!
//! Logic decides only whether `required` applies; it never refuses an answer.

mod read;
pub(crate) mod words;

use std::cmp::Ordering;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::date::is_date;
use crate::question::choice::{OTHER, OTHER_PREFIX};
use crate::question::decimal::Decimal;
use crate::score::Score;
use crate::text_map::{TextMap, Texts};

pub(crate) use self::read::{Earlier, read, schema};

/// When a question is shown, a jump is taken, or an ending is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    /// A test of the answer to an earlier question.
    Answer {
        question: String,
        test: Test,
    },
    /// A test of the score so far.
    Score {
        test: Test,
    },
}

/// A test of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    Equals(Operand),
    In(Vec<Operand>),
    NotIn(Vec<Operand>),
    Includes(Operand),
    Answered(bool),
    LessThan(Operand),
    GreaterThan(Operand),
}

/// The value to compare an answer with.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    Text(String),
    Number(Decimal),
    Date(String),
    /// Any `other:<text>`.
    Other,
}

impl Condition {
    /// Whether these answers satisfy a condition that does not read the score.
    pub fn holds(&self, answers: &TextMap<'_>) -> bool {
        self.holds_at(answers, Score::default())
    }

    /// Whether these answers satisfy the condition, at a place where they have this score.
    pub fn holds_at(&self, answers: &TextMap<'_>, score: Score) -> bool {
        match self {
            Self::All(conditions) => conditions.iter().all(|each| each.holds_at(answers, score)),
            Self::Any(conditions) => conditions.iter().any(|each| each.holds_at(answers, score)),
            Self::Not(condition) => !condition.holds_at(answers, score),
            Self::Answer { question, test } => {
                test.holds(answers.get(question.as_str()).filter(|answer| !answer.is_absent()))
            }
            Self::Score { test } => test.holds(Some(&Texts::One(score.to_string().into()))),
        }
    }

    /// Whether it reads only answers to questions with known answers.
    pub(crate) fn is_decided_by(&self, is_known: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::All(conditions) | Self::Any(conditions) => {
                conditions.iter().all(|each| each.is_decided_by(is_known))
            }
            Self::Not(condition) => condition.is_decided_by(is_known),
            Self::Answer { question, .. } => is_known(question),
            Self::Score { .. } => false,
        }
    }

    /// Whether it depends on the score.
    pub(crate) fn reads_score(&self) -> bool {
        match self {
            Self::All(conditions) | Self::Any(conditions) => {
                conditions.iter().any(Self::reads_score)
            }
            Self::Not(condition) => condition.reads_score(),
            Self::Answer { .. } => false,
            Self::Score { .. } => true,
        }
    }
}

impl Test {
    fn holds(&self, answer: Option<&Texts<'_>>) -> bool {
        if let Self::Answered(wanted) = self {
            return answer.is_some() == *wanted;
        }
        let Some(answer) = answer else { return false };
        let one = || answer.as_slice().first().map_or("", |text| text);
        match self {
            Self::Equals(operand) => operand.equals(one()),
            Self::In(operands) => operands.iter().any(|operand| operand.equals(one())),
            Self::NotIn(operands) => !operands.iter().any(|operand| operand.equals(one())),
            Self::Includes(operand) => answer.as_slice().iter().any(|text| operand.equals(text)),
            Self::LessThan(operand) => operand.compare(one()) == Some(Ordering::Less),
            Self::GreaterThan(operand) => operand.compare(one()) == Some(Ordering::Greater),
            Self::Answered(_) => false,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Equals(_) => "equals",
            Self::In(_) => "in",
            Self::NotIn(_) => "notIn",
            Self::Includes(_) => "includes",
            Self::Answered(_) => "answered",
            Self::LessThan(_) => "lessThan",
            Self::GreaterThan(_) => "greaterThan",
        }
    }
}

impl Operand {
    fn equals(&self, text: &str) -> bool {
        self.compare(text) == Some(Ordering::Equal)
    }

    /// How a text compares with this; `None` if it is of another kind.
    fn compare(&self, text: &str) -> Option<Ordering> {
        match self {
            Self::Text(operand) => Some(text.cmp(operand)),
            Self::Number(operand) => operand.compare(text),
            Self::Date(operand) => is_date(text).then(|| text.cmp(operand)),
            Self::Other => text.starts_with(OTHER_PREFIX).then_some(Ordering::Equal),
        }
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::All(conditions) => map.serialize_entry("all", conditions)?,
            Self::Any(conditions) => map.serialize_entry("any", conditions)?,
            Self::Not(condition) => map.serialize_entry("not", condition)?,
            Self::Answer { question, test } => {
                map.serialize_entry("question", question)?;
                test.serialize_into(&mut map)?;
            }
            Self::Score { test } => {
                map.serialize_entry("score", &true)?;
                test.serialize_into(&mut map)?;
            }
        }
        map.end()
    }
}

impl Test {
    fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Answered(wanted) => map.serialize_entry(self.name(), wanted),
            Self::In(operands) | Self::NotIn(operands) => {
                map.serialize_entry(self.name(), operands)
            }
            Self::Equals(operand)
            | Self::Includes(operand)
            | Self::LessThan(operand)
            | Self::GreaterThan(operand) => map.serialize_entry(self.name(), operand),
        }
    }
}

impl Serialize for Operand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) | Self::Date(text) => serializer.serialize_str(text),
            Self::Number(number) => number.serialize(serializer),
            Self::Other => serializer.serialize_str(OTHER),
        }
    }
}
