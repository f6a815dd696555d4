//! The part of a draft that can be shown in the author's preview.
//!
//! A page can only be rendered from a definition, and an unfinished draft is not one. So faults are
//! repaired for display: a missing text gets a placeholder, and anything else is removed, with as
//! little around it as possible. The result is never stored or published.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::{Definition, check};
use crate::pointer::steps;

/// The placeholder for a missing text.
const PLACEHOLDER: &str = "…";
/// How many rounds of repairs are made: each repair may invalidate something else.
const ROUNDS_MAX: usize = 12;

/// The definition closest to this draft, and the ids of the questions that were left out. `None` if
/// not even the rest can be shown.
pub fn presentable(draft: &Value) -> Option<(Definition, Vec<String>)> {
    let mut repaired = draft.clone();
    let mut left_out = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let faults = match check(&repaired) {
            Ok(definition) => return Some((definition, left_out)),
            Err(faults) => faults,
        };
        // From last to first, so that removing a list item does not shift those still to be
        // removed.
        let mut pointers: Vec<Vec<String>> = faults.iter().map(|it| steps(&it.pointer)).collect();
        pointers.sort_by_key(|pointer| Reverse(place_of(pointer)));
        pointers.dedup();
        let mut last = None;
        for pointer in pointers {
            // A question with several faults is removed once.
            let question = whole_question(&pointer);
            if question.is_some() && question == last {
                continue;
            }
            last = question;
            if let Some(at) = question {
                left_out.extend(id_of(&repaired, at));
            }
            repair(&mut repaired, &pointer);
        }
    }
    None
}

/// A sort key for a pointer, with numbers in numeric order.
fn place_of(pointer: &[String]) -> Vec<(usize, String)> {
    pointer.iter().map(|step| (step.parse().unwrap_or(usize::MAX), step.clone())).collect()
}

/// The index of the question that must be removed because of a fault here, if any.
fn whole_question(pointer: &[String]) -> Option<usize> {
    match pointer {
        [list, at, rest @ ..] if list == "questions" && !is_repairable(rest) => at.parse().ok(),
        _ => None,
    }
}

/// Whether a fault at this path within a question can be repaired without removing the question.
fn is_repairable(rest: &[String]) -> bool {
    match rest.first().map(String::as_str) {
        None | Some("id" | "type") => false,
        Some("options" | "rows" | "columns") => rest
            .get(2)
            .is_some_and(|field| matches!(&**field, "label" | "score" | "fixed" | "image")),
        Some(_) => true,
    }
}

fn id_of(draft: &Value, at: usize) -> Option<String> {
    draft["questions"].get(at)?.get("id")?.as_str().map(str::to_owned)
}

fn repair(draft: &mut Value, pointer: &[String]) {
    let Some(last) = pointer.last() else {
        *draft = json!({"title": PLACEHOLDER, "questions": []});
        return;
    };
    if let Some(at) = whole_question(pointer) {
        take(draft, &["questions".to_owned()], &at.to_string());
        return;
    }
    let (parent, is_question) = (&pointer[..pointer.len() - 1], pointer[0] == "questions");
    match last.as_str() {
        "title" if pointer.len() == 1 => draft["title"] = json!(PLACEHOLDER),
        "questions" if pointer.len() == 1 => draft["questions"] = json!([]),
        "prompt" | "label" if is_question => {
            if let Some(Value::Object(fields)) = at(draft, parent) {
                fields.insert(last.clone(), json!(PLACEHOLDER));
            }
        }
        // Without its faulty part, an ending or a section would mean something else.
        _ if matches!(&*pointer[0], "endings" | "sections") && pointer.len() > 1 => {
            take(draft, &pointer[..1], &pointer[1].clone());
        }
        "score" | "fixed" if is_question && pointer.len() == 5 => take(draft, parent, last),
        _ if is_question && pointer.get(4).is_some_and(|field| field == "image") => {
            take(draft, &pointer[..4], "image");
        }
        // Removes the whole condition: a part of it would mean something else.
        _ if is_question && pointer.len() > 2 => take(draft, &pointer[..2], &pointer[2].clone()),
        _ => take(draft, parent, last),
    }
}

fn at<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        other => other.get_mut(step.as_str()),
    })
}

fn take(draft: &mut Value, parent: &[String], step: &str) {
    match at(draft, parent) {
        Some(Value::Object(fields)) => drop(fields.remove(step)),
        Some(Value::Array(items)) => {
            if let Some(at) = step.parse::<usize>().ok().filter(|at| *at < items.len()) {
                items.remove(at);
            }
        }
        _ => {}
    }
}
