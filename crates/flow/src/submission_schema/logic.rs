//! A condition as a schema of the answers.
//!
//! A schema cannot add, so a test of the score is unknown. A condition therefore has two schemas:
//! of the answers with which it may hold, and of those with which it must hold, whatever the score
//! is. Without such a test, both are the same and exact for valid answers; an invalid one is
//! refused anyway.

use serde_json::{Value, json};

use super::{decimals, patterns};
use crate::logic::{Condition, Operand, Test};
use crate::question::choice::OTHER_PREFIX;

/// How tests of the score count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Possibly,
    Certainly,
}

impl Holds {
    fn negated(self) -> Self {
        match self {
            Self::Possibly => Self::Certainly,
            Self::Certainly => Self::Possibly,
        }
    }
}

pub(super) fn schema(condition: &Condition, holds: Holds) -> Value {
    let each = |conditions: &[Condition]| -> Vec<Value> {
        conditions.iter().map(|condition| schema(condition, holds)).collect()
    };
    match condition {
        Condition::All(conditions) => json!({"allOf": each(conditions)}),
        Condition::Any(conditions) => json!({"anyOf": each(conditions)}),
        Condition::Not(condition) => json!({"not": schema(condition, holds.negated())}),
        Condition::Answer { question, test } => of_answer(question, test),
        Condition::Score { .. } => Value::Bool(holds == Holds::Possibly),
    }
}

fn of_answer(question: &str, test: &Test) -> Value {
    let answer = |schema: Value| json!({"required": [question], "properties": {question: schema}});
    let one = |text: Value| {
        let list = json!({"type": "array", "items": text, "minItems": 1, "maxItems": 1});
        answer(json!({"anyOf": [text, list]}))
    };
    match test {
        Test::Answered(true) => answer(json!({"$ref": "#/$defs/answered"})),
        Test::Answered(false) => json!({"not": answer(json!({"$ref": "#/$defs/answered"}))}),
        Test::Equals(operand) => one(equal(operand)),
        Test::In(operands) => one(any(operands)),
        Test::NotIn(operands) => {
            one(json!({"type": "string", "minLength": 1, "not": any(operands)}))
        }
        Test::Includes(operand) => {
            let text = equal(operand);
            answer(json!({"anyOf": [text, {"type": "array", "contains": text}]}))
        }
        Test::LessThan(operand) => one(less(operand)),
        Test::GreaterThan(operand) => one(greater(operand)),
    }
}

fn any(operands: &[Operand]) -> Value {
    json!({"anyOf": operands.iter().map(equal).collect::<Vec<_>>()})
}

fn equal(operand: &Operand) -> Value {
    match operand {
        Operand::Text(text) | Operand::Date(text) => json!({"const": text}),
        Operand::Number(number) => decimals::equal(number),
        Operand::Other => json!({"type": "string", "pattern": format!("^{OTHER_PREFIX}")}),
    }
}

/// Only numbers and dates are compared in this way ([`crate::logic`] reads no other).
fn less(operand: &Operand) -> Value {
    match operand {
        Operand::Number(number) => decimals::less(number),
        Operand::Date(date) => patterns::before(date),
        Operand::Text(_) | Operand::Other => Value::Bool(false),
    }
}

fn greater(operand: &Operand) -> Value {
    match operand {
        Operand::Number(number) => decimals::greater(number),
        Operand::Date(date) => patterns::after(date),
        Operand::Text(_) | Operand::Other => Value::Bool(false),
    }
}
