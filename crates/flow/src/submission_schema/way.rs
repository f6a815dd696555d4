//! Which required questions the answers must contain: those that are visible.
//!
//! The questions are divided into stretches that are entered as a whole: one begins where a jump
//! leads, and after a question with jumps. The schema of a stretch requires what is visible in it
//! and continues with the stretch that the answers lead to, as `if`, `then` and `else`. So a
//! validator follows one way, however many there are. From a place where only the score decides how
//! it continues, nothing more is required.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::answers;
use super::logic::{Holds, schema as condition_schema};
use crate::definition::Definition;
use crate::logic::Condition;
use crate::question::{Question, Target};

pub(super) fn schema(definition: &Definition, defs: &mut Map<String, Value>) -> Value {
    let questions = definition.questions();
    let starts = starts(definition);
    for (at, &start) in starts.iter().enumerate().skip(1) {
        let end = starts.get(at + 1).copied().unwrap_or(questions.len());
        let stretch = stretch(definition, start, end);
        defs.insert(name(start), stretch);
    }
    let end = starts.get(1).copied().unwrap_or(questions.len());
    stretch(definition, 0, end)
}

/// The indices at which stretches begin, in order.
fn starts(definition: &Definition) -> Vec<usize> {
    let questions = definition.questions();
    let mut starts = BTreeSet::from([0]);
    for (at, question) in questions.iter().enumerate().filter(|(_, it)| !it.next.is_empty()) {
        starts.insert(at + 1);
        for jump in &question.next {
            if let Target::Question(id) = &jump.to {
                starts.extend(definition.position(id));
            }
        }
    }
    starts.into_iter().filter(|&at| at == 0 || at < questions.len()).collect()
}

fn name(start: usize) -> String {
    format!("from.{start}")
}

fn stretch(definition: &Definition, start: usize, end: usize) -> Value {
    let questions = definition.questions();
    let inside = questions.get(start..end).unwrap_or_default();
    let mut all: Vec<Value> = inside.iter().filter_map(required).collect();
    all.extend(match inside.last() {
        Some(last) if !last.next.is_empty() => Some(after(definition, last, end)),
        _ => continued(definition, end),
    });
    // A list of no schemas is not valid.
    if all.is_empty() { Value::Bool(true) } else { json!({"allOf": all}) }
}

/// What a question requires; nothing if it is never certain that it is visible.
fn required(question: &Question) -> Option<Value> {
    let required = question.required.then(|| answers::required(question))?;
    let Some(condition) = &question.visible_if else { return Some(required) };
    match condition_schema(condition, Holds::Certainly) {
        Value::Bool(false) => None,
        visible => Some(json!({"if": visible, "then": required})),
    }
}

/// The stretch at this index; absent at the end.
fn continued(definition: &Definition, at: usize) -> Option<Value> {
    let is_question = at < definition.questions().len();
    is_question.then(|| json!({"$ref": format!("#/$defs/{}", name(at))}))
}

/// Where the jumps of a question lead, which is followed by the one at `next`.
fn after(definition: &Definition, question: &Question, next: usize) -> Value {
    let at = |index| continued(definition, index).unwrap_or(Value::Bool(true));
    let mut way = at(next);
    for jump in question.next.iter().rev() {
        let target = match &jump.to {
            Target::Question(id) => definition.position(id).map_or(Value::Bool(true), at),
            Target::End | Target::Ending(_) => Value::Bool(true),
        };
        way = branch(jump.when.as_ref(), target, way);
    }
    branch(question.visible_if.as_ref(), way, at(next))
}

/// `then` if the condition holds, `otherwise` if not; everything is accepted if that is unknown.
fn branch(condition: Option<&Condition>, then: Value, otherwise: Value) -> Value {
    let Some(condition) = condition else { return then };
    let possibly = condition_schema(condition, Holds::Possibly);
    if !condition.reads_score() {
        return json!({"if": possibly, "then": then, "else": otherwise});
    }
    let certainly = condition_schema(condition, Holds::Certainly);
    let known = json!({"if": certainly, "then": then});
    json!({"if": possibly, "then": known, "else": otherwise})
}
