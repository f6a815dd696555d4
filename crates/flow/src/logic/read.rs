//! Reads a condition of a draft: only about earlier questions, and only tests that fit their types.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::{Condition, Operand, Test};
use crate::date::is_date;
use crate::definition::limits::{
    CONDITION_DEPTH_MAX, CONDITION_ITEMS_MAX, CONDITION_TEXT_CHARS_MAX,
};
use crate::definition::reader::{Faults, ObjectReader};
use crate::question::choice::{Choice, OTHER, has, listed};
use crate::question::decimal::Decimal;
use crate::question::rules::Comparable;
use crate::question::types::QuestionType;
use crate::question::types::matrix::is_cell;

const COMBINATORS: &[&str] = &["all", "any", "not"];
const TESTS: &[&str] =
    &["equals", "in", "notIn", "includes", "answered", "lessThan", "greaterThan"];
const SCORE_TESTS: &[&str] = &["equals", "lessThan", "greaterThan"];

/// The questions before the current one.
#[derive(Debug)]
pub(crate) struct Earlier<'a> {
    /// By id; without a type if it could not be read.
    types: HashMap<&'a str, Option<QuestionType>>,
    all_ids: HashSet<&'a str>,
}

impl<'a> Earlier<'a> {
    pub(crate) fn new(all_ids: HashSet<&'a str>) -> Self {
        Self { types: HashMap::new(), all_ids }
    }

    /// Whether any question has this id, earlier or later.
    pub(crate) fn is_known(&self, id: &str) -> bool {
        self.all_ids.contains(id)
    }

    /// Whether an earlier question adds to the score. One that could not be read may.
    fn is_scored(&self) -> bool {
        let mut types = self.types.values();
        types.any(|it| it.as_ref().is_none_or(QuestionType::is_scored))
    }

    /// The type of an earlier question, if it could be read.
    pub(crate) fn question_type(&self, id: &str) -> Option<&QuestionType> {
        self.types.get(id)?.as_ref()
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.types.contains_key(id)
    }

    pub(crate) fn add(&mut self, id: &'a str, question_type: Option<QuestionType>) {
        self.types.insert(id, question_type);
    }
}

/// Reads the condition of question `own`.
pub(crate) fn read(
    value: &Value,
    pointer: &str,
    own: Option<&str>,
    earlier: &Earlier<'_>,
    faults: &Faults,
) -> Option<Condition> {
    Scope { own, earlier, faults }.condition(value, pointer.to_owned(), 1)
}

struct Scope<'s> {
    own: Option<&'s str>,
    earlier: &'s Earlier<'s>,
    faults: &'s Faults,
}

impl Scope<'_> {
    fn condition(&self, value: &Value, pointer: String, depth: usize) -> Option<Condition> {
        if depth > CONDITION_DEPTH_MAX {
            let message = format!("must not nest deeper than {CONDITION_DEPTH_MAX} levels");
            self.faults.add(pointer, message);
            return None;
        }
        let mut reader = ObjectReader::open(value, pointer, self.faults)?;
        let given = |names: &[&'static str]| -> Vec<&'static str> {
            names.iter().copied().filter(|name| value.get(name).is_some()).collect()
        };
        let (combinators, tests) = (given(COMBINATORS), given(TESTS));
        let condition = match (&combinators[..], &given(&["question", "score"])[..], &tests[..]) {
            ([name], [], []) => self.combination(&mut reader, name, depth),
            ([], ["question"], [test]) => self.answer(&mut reader, test),
            ([], ["score"], [test]) if SCORE_TESTS.contains(test) => self.score(&mut reader, test),
            _ => {
                let message = format!(
                    "must hold either one of {}, or question and one of {}, or score and one of {}",
                    COMBINATORS.join(", "),
                    TESTS.join(", "),
                    SCORE_TESTS.join(", ")
                );
                self.faults.add(reader.pointer.clone(), message);
                return None;
            }
        };
        reader.close();
        condition
    }

    fn combination(
        &self,
        reader: &mut ObjectReader<'_>,
        name: &'static str,
        depth: usize,
    ) -> Option<Condition> {
        if name == "not" {
            let value = reader.needed(name)?;
            let condition = self.condition(value, reader.at(name), depth + 1)?;
            return Some(Condition::Not(Box::new(condition)));
        }
        let items = reader.list(name, 1..=CONDITION_ITEMS_MAX);
        let conditions = items
            .into_iter()
            .filter_map(|(pointer, value)| self.condition(value, pointer, depth + 1))
            .collect();
        Some(if name == "all" { Condition::All(conditions) } else { Condition::Any(conditions) })
    }

    fn answer(&self, reader: &mut ObjectReader<'_>, test: &'static str) -> Option<Condition> {
        let id = reader.needed("question")?.as_str().unwrap_or_default();
        // Read even if the question is unknown, so that the field itself is not reported as
        // unknown.
        let value = reader.needed(test)?;
        let question_type = match self.earlier.types.get(id) {
            Some(question_type) => question_type.as_ref()?,
            None => {
                let message = if self.own == Some(id) {
                    "must be an earlier question, not the question itself"
                } else if self.earlier.all_ids.contains(id) {
                    "must be an earlier question; this one comes later"
                } else {
                    "must be the id of an earlier question"
                };
                reader.fault("question", message);
                return None;
            }
        };
        let test = read_test(reader, test, value, question_type)?;
        Some(Condition::Answer { question: id.to_owned(), test })
    }

    fn score(&self, reader: &mut ObjectReader<'_>, test: &'static str) -> Option<Condition> {
        if !reader.flag("score") {
            reader.fault("score", "must be true");
        }
        let value = reader.needed(test)?;
        if !self.earlier.is_scored() {
            reader.fault("score", "no question before this place has a score");
        }
        let operand = operand(Comparable::Number, value)
            .map_err(|message| reader.fault(test, message))
            .ok()?;
        let test = match test {
            "equals" => Test::Equals(operand),
            "lessThan" => Test::LessThan(operand),
            _ => Test::GreaterThan(operand),
        };
        Some(Condition::Score { test })
    }
}

fn read_test(
    reader: &mut ObjectReader<'_>,
    name: &'static str,
    value: &Value,
    question_type: &QuestionType,
) -> Option<Test> {
    let comparable = question_type.comparable();
    let fitting = fitting_tests(comparable);
    if !fitting.contains(&name) {
        let type_name = question_type.name();
        let message = match fitting.join(", ") {
            tests if tests.is_empty() => format!("a {type_name} has no answer to ask about"),
            tests => format!("does not fit a {type_name} question; {tests} would"),
        };
        reader.fault(name, message);
        return None;
    }
    if name == "answered" {
        return Some(Test::Answered(reader.flag(name)));
    }
    if matches!(name, "in" | "notIn") {
        let mut operands = Vec::new();
        for (pointer, value) in reader.list(name, 1..=CONDITION_ITEMS_MAX) {
            match operand(comparable, value) {
                Ok(operand) => operands.push(operand),
                Err(message) => reader.faults.add(pointer, message),
            }
        }
        return Some(if name == "in" { Test::In(operands) } else { Test::NotIn(operands) });
    }
    let operand = operand(comparable, value).map_err(|message| reader.fault(name, message)).ok()?;
    Some(match name {
        "equals" => Test::Equals(operand),
        "includes" => Test::Includes(operand),
        "lessThan" => Test::LessThan(operand),
        _ => Test::GreaterThan(operand),
    })
}

/// The tests that apply to an answer.
fn fitting_tests(comparable: Comparable<'_>) -> &'static [&'static str] {
    match comparable {
        Comparable::Never => &[],
        Comparable::Presence => &["answered"],
        Comparable::Text | Comparable::Words(_) | Comparable::OneOf { .. } => {
            &["equals", "in", "notIn", "answered"]
        }
        Comparable::Number | Comparable::Date => {
            &["equals", "in", "notIn", "lessThan", "greaterThan", "answered"]
        }
        Comparable::SomeOf { .. } | Comparable::Cells { .. } => &["includes", "answered"],
    }
}

/// Reads the value to compare an answer with; the error states what it must be.
fn operand(comparable: Comparable<'_>, value: &Value) -> Result<Operand, String> {
    let text = value.as_str();
    let checked = |fits: bool, message: String| match text {
        Some(text) if fits => Ok(Operand::Text(text.to_owned())),
        _ => Err(message),
    };
    match comparable {
        Comparable::Number => Decimal::from_json(value)
            .map(Operand::Number)
            .ok_or_else(|| "must be a number from -1e15 to 1e15".to_owned()),
        Comparable::Date => match text {
            Some(text) if is_date(text) => Ok(Operand::Date(text.to_owned())),
            _ => Err("must be a date as YYYY-MM-DD".to_owned()),
        },
        Comparable::OneOf { options, other } | Comparable::SomeOf { options, other } => {
            if other && text == Some(OTHER) {
                return Ok(Operand::Other);
            }
            checked(text.is_some_and(|text| has(options, text)), option_rule(options, other))
        }
        Comparable::Cells { rows, columns } => checked(
            text.is_some_and(|text| is_cell(rows, columns, text)),
            "must be <row>:<column> of that question".to_owned(),
        ),
        Comparable::Words(words) => checked(
            text.is_some_and(|text| words.contains(&text)),
            format!("must be one of {}", words.join(", ")),
        ),
        Comparable::Text | Comparable::Presence | Comparable::Never => checked(
            text.is_some_and(|text| {
                !text.is_empty() && text.chars().count() <= CONDITION_TEXT_CHARS_MAX
            }),
            format!("must be a text of 1 to {CONDITION_TEXT_CHARS_MAX} characters"),
        ),
    }
}

fn option_rule(options: &[Choice], other: bool) -> String {
    let other = if other { ", or other for a free-text answer" } else { "" };
    format!("must be an option of that question: {}{other}", listed(options))
}

/// The JSON Schema of a condition, placed under `$defs/condition`.
pub(crate) fn schema() -> Value {
    let value = json!({"type": ["string", "number"]});
    let values = json!({
        "type": "array", "items": value, "minItems": 1, "maxItems": CONDITION_ITEMS_MAX
    });
    let conditions = json!({
        "type": "array", "items": {"$ref": "#/$defs/condition"},
        "minItems": 1, "maxItems": CONDITION_ITEMS_MAX
    });
    let only = |name: &str, schema: &Value| {
        json!({
            "type": "object",
            "properties": {name: schema},
            "required": [name],
            "additionalProperties": false,
        })
    };
    let mut forms = vec![
        only("all", &conditions),
        only("any", &conditions),
        only("not", &json!({"$ref": "#/$defs/condition"})),
    ];
    for &test in TESTS {
        let mut form = only(
            test,
            match test {
                "in" | "notIn" => &values,
                _ => &value,
            },
        );
        if test == "answered" {
            form["properties"][test] = json!({"type": "boolean"});
        }
        form["properties"]["question"] = json!({"type": "string"});
        form["required"] = json!(["question", test]);
        forms.push(form);
    }
    for &test in SCORE_TESTS {
        let mut form = only(test, &json!({"type": "number"}));
        form["properties"]["score"] = json!({"const": true});
        form["required"] = json!(["score", test]);
        forms.push(form);
    }
    json!({"oneOf": forms})
}
