//! Converts conditions of the source to those of Sluice.
//!
//! A condition is mapped as a whole or not at all: half of one would show questions at the wrong
//! time. The error says why, for the report.

use serde_json::{Value, json};
use sluice_flow::definition::limits::{CONDITION_DEPTH_MAX, CONDITION_ITEMS_MAX};

use crate::condition::{Cond, Test};
use crate::draft::{Choice, Kind, Options};
use crate::report::quoted;

/// A question that conditions may read: its id, its type, and the ids of its choices.
#[derive(Debug)]
pub(crate) struct ReadableQuestion<'d> {
    pub(crate) id: &'d str,
    pub(crate) kind: &'d Kind,
    /// The ids of options or rows, in their order.
    pub(crate) options: &'d [String],
    /// The ids of columns.
    pub(crate) columns: &'d [String],
}

/// The condition in Sluice. `find` returns a question by its name in the source, or why a condition
/// cannot read it.
pub(crate) fn resolve<'d>(
    cond: &Cond,
    find: &impl Fn(&str) -> Result<ReadableQuestion<'d>, String>,
) -> Result<Value, String> {
    let value = resolve_at(cond, find, 1)?;
    if depth(&value) > CONDITION_DEPTH_MAX {
        return Err(format!("conditions nest at most {CONDITION_DEPTH_MAX} levels deep"));
    }
    Ok(value)
}

/// How deep the source may nest.
const NESTING_MAX: usize = 64;

fn resolve_at<'d>(
    cond: &Cond,
    find: &impl Fn(&str) -> Result<ReadableQuestion<'d>, String>,
    level: usize,
) -> Result<Value, String> {
    if level > NESTING_MAX {
        return Err("the condition is nested too deeply".to_owned());
    }
    let each = |all: &[Cond]| -> Result<Vec<Value>, String> {
        all.iter().map(|cond| resolve_at(cond, find, level + 1)).collect()
    };
    match cond {
        Cond::All(all) => joined("all", each(all)?),
        Cond::Any(all) => joined("any", each(all)?),
        Cond::Not(inner) => Ok(negated(resolve_at(inner, find, level + 1)?)),
        Cond::Answer { key, row, test } => answer(&find(key)?, row.as_deref(), test),
        Cond::Score(test) => score(test),
        Cond::Unsupported(reason) => Err(reason.clone()),
    }
}

fn joined(name: &str, mut all: Vec<Value>) -> Result<Value, String> {
    match all.len() {
        0 => Err("the condition is empty".to_owned()),
        1 => Ok(all.remove(0)),
        2..=CONDITION_ITEMS_MAX => Ok(json!({name: all})),
        _ => Err(format!("a condition has at most {CONDITION_ITEMS_MAX} parts")),
    }
}

fn negated(value: Value) -> Value {
    if let (Some(question), Some(flag)) = (value.get("question"), value["answered"].as_bool()) {
        return json!({"question": question, "answered": !flag});
    }
    match value {
        Value::Object(mut map) if map.contains_key("not") => map.remove("not").unwrap_or_default(),
        value => json!({"not": value}),
    }
}

fn depth(value: &Value) -> usize {
    let inner = ["all", "any", "not"].iter().find_map(|name| value.get(name));
    match inner {
        Some(Value::Array(all)) => 1 + all.iter().map(depth).max().unwrap_or_default(),
        Some(one) => 1 + depth(one),
        None => 1,
    }
}

fn score(test: &Test) -> Result<Value, String> {
    let is = |name: &str, text: &str| Ok(json!({"score": true, name: number(text, 0.0)?}));
    match test {
        Test::Is(text) => is("equals", text),
        Test::Less(text) => is("lessThan", text),
        Test::Greater(text) => is("greaterThan", text),
        Test::LessOrEqual(text) => joined("any", vec![is("lessThan", text)?, is("equals", text)?]),
        Test::GreaterOrEqual(text) => {
            joined("any", vec![is("greaterThan", text)?, is("equals", text)?])
        }
        Test::OneOf(_) | Test::AllOf(_) | Test::Contains(_) | Test::Answered => {
            Err("the score can only be compared with a number".to_owned())
        }
    }
}

fn answer(known: &ReadableQuestion<'_>, row: Option<&str>, test: &Test) -> Result<Value, String> {
    let question = known.id;
    if let (Test::Answered, None) = (test, row) {
        return match known.kind {
            Kind::Statement => Err("the condition reads a text without an answer".to_owned()),
            _ => Ok(json!({"question": question, "answered": true})),
        };
    }
    match known.kind {
        Kind::Statement => Err("the condition reads a text without an answer".to_owned()),
        Kind::Ranking(_) => Err("Sluice cannot compare a ranking".to_owned()),
        Kind::Matrix { rows, columns } => {
            let row = row.ok_or("Sluice compares single rows of a matrix")?;
            let row = id_of(rows, known.options, row)?;
            let cell = |text: &String| {
                let column = id_of(columns, known.columns, text)?;
                Ok(json!({"question": question, "includes": format!("{row}:{column}")}))
            };
            several(test, cell)
        }
        _ if row.is_some() => Err("the condition reads a part of an answer".to_owned()),
        Kind::Multiple { options, .. } => several(test, |text| {
            Ok(json!({"question": question, "includes": option(options, known.options, text)?}))
        }),
        Kind::Consent => match test {
            Test::Is(text) => Ok(json!({"question": question, "answered": truth(text)?})),
            _ => Err("an agreement is given or not".to_owned()),
        },
        Kind::YesNo => {
            single(question, test, |text| Ok(Value::from(if truth(text)? { "yes" } else { "no" })))
        }
        Kind::Single { options, .. } => match by_value(options, known.options, test) {
            Some(ids) if ids.is_empty() => Err("no option satisfies the comparison".to_owned()),
            Some(ids) => Ok(json!({"question": question, "in": ids})),
            None => single(question, test, |text| {
                Ok(Value::from(option(options, known.options, text)?))
            }),
        },
        Kind::Text { .. } => match test {
            Test::Is(text) if text.is_empty() => {
                Ok(json!({"question": question, "answered": false}))
            }
            _ => single(question, test, |text| Ok(Value::from(text.as_str()))),
        },
        Kind::Number { .. } => ordered(question, test, |text| number(text, 0.0)),
        Kind::Rating(scale) | Kind::Nps(scale) => {
            ordered(question, test, |text| number(text, scale.shift))
        }
        Kind::Date { .. } => ordered(question, test, |text| {
            let date = text.get(..10).unwrap_or_default();
            let is_date = date.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
            let fits = is_date && date.len() == 10;
            fits.then(|| Value::from(date)).ok_or_else(|| format!("{} is no date", quoted(text)))
        }),
    }
}

/// A test of a list of answers.
fn several(
    test: &Test,
    includes: impl Fn(&String) -> Result<Value, String>,
) -> Result<Value, String> {
    let each = |texts: &[String]| texts.iter().map(&includes).collect::<Result<Vec<_>, _>>();
    match test {
        Test::Is(text) => includes(text),
        Test::OneOf(texts) => joined("any", each(texts)?),
        Test::AllOf(texts) | Test::Contains(texts) => joined("all", each(texts)?),
        _ => Err("several answers cannot be compared by size".to_owned()),
    }
}

/// A test of one answer that has no order.
fn single(
    question: &str,
    test: &Test,
    operand: impl Fn(&String) -> Result<Value, String>,
) -> Result<Value, String> {
    match test {
        Test::Is(text) => Ok(json!({"question": question, "equals": operand(text)?})),
        Test::OneOf(texts) if texts.is_empty() => Err("the list of values is empty".to_owned()),
        Test::OneOf(texts) => {
            let operands = texts.iter().map(operand).collect::<Result<Vec<_>, _>>()?;
            Ok(json!({"question": question, "in": operands}))
        }
        Test::AllOf(texts) => match texts.as_slice() {
            [text] => Ok(json!({"question": question, "equals": operand(text)?})),
            _ => Err("one answer cannot have several values".to_owned()),
        },
        // It would be true for a part of the answer.
        Test::Contains(_) => {
            Err(format!("Sluice has no test {} of one answer", quoted("contains")))
        }
        _ => Err("answers of this type have no order".to_owned()),
    }
}

fn ordered(
    question: &str,
    test: &Test,
    operand: impl Fn(&String) -> Result<Value, String>,
) -> Result<Value, String> {
    let is = |name: &str, text: &String| Ok(json!({"question": question, name: operand(text)?}));
    match test {
        Test::Is(text) if text.is_empty() => Ok(json!({"question": question, "answered": false})),
        Test::Less(text) => is("lessThan", text),
        Test::Greater(text) => is("greaterThan", text),
        Test::LessOrEqual(text) => joined("any", vec![is("lessThan", text)?, is("equals", text)?]),
        Test::GreaterOrEqual(text) => {
            joined("any", vec![is("greaterThan", text)?, is("equals", text)?])
        }
        test => single(question, test, operand),
    }
}

/// The options whose values contain a text, or are numbers that satisfy a comparison by size.
fn by_value(options: &Options, ids: &[String], test: &Test) -> Option<Vec<String>> {
    if let Test::Contains(texts) = test {
        let [text] = texts.as_slice() else { return None };
        let contains = |choice: &Choice| choice.keys.first().is_some_and(|key| key.contains(text));
        let chosen = options.choices.iter().zip(ids).filter(|(choice, _)| contains(choice));
        return Some(chosen.map(|(_, id)| id.clone()).collect());
    }
    let (bound, fits): (&str, fn(f64, f64) -> bool) = match test {
        Test::Less(text) => (text, |value, bound| value < bound),
        Test::LessOrEqual(text) => (text, |value, bound| value <= bound),
        Test::Greater(text) => (text, |value, bound| value > bound),
        Test::GreaterOrEqual(text) => (text, |value, bound| value >= bound),
        _ => return None,
    };
    let bound: f64 = bound.trim().parse().ok()?;
    let value = |choice: &Choice| choice.keys.first()?.trim().parse::<f64>().ok();
    let chosen = options.choices.iter().zip(ids);
    let chosen = chosen.filter(|(choice, _)| value(choice).is_some_and(|it| fits(it, bound)));
    Some(chosen.map(|(_, id)| id.clone()).collect())
}

fn option(options: &Options, ids: &[String], text: &str) -> Result<String, String> {
    match id_of(&options.choices, ids, text) {
        Err(_) if options.other && text.eq_ignore_ascii_case("other") => Ok("other".to_owned()),
        found => found,
    }
}

/// The id of a choice by one of its names, or by its label.
fn id_of(choices: &[Choice], ids: &[String], text: &str) -> Result<String, String> {
    let named = |choice: &Choice| choice.keys.iter().any(|key| key == text);
    let labelled = |choice: &Choice| choice.label.shown().trim() == text.trim();
    let at = choices.iter().position(named).or_else(|| choices.iter().position(labelled));
    let id = at.and_then(|at| ids.get(at)).cloned();
    id.ok_or_else(|| format!("the question has no option {}", quoted(text)))
}

fn truth(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" | "accepted" | "ok" => Ok(true),
        "false" | "no" | "0" | "dismissed" | "" => Ok(false),
        _ => Err(format!("{} is neither yes nor no", quoted(text))),
    }
}

fn number(text: &str, shift: f64) -> Result<Value, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.ok_or_else(|| format!("{} is no number", quoted(text)))?;
    Ok(plain_number(number + shift))
}

/// A number as JSON, without a fraction if it is whole.
pub(crate) fn plain_number(number: f64) -> Value {
    const EXACT_MAX: f64 = 1e15;
    if number.fract() == 0.0 && number.abs() <= EXACT_MAX {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}
