//! What superjson adds to the JSON of a submission.
//!
//! A client with a superjson transformer sends `{"json":…,"meta":…}`. `meta.values` names each
//! value with a type that JSON lacks. `undefined` is sent as null, which means absent in a
//! submission anyway; every other type is refused, since its JSON form is internal to superjson.
//! Unknown fields are ignored whatever their type, and so is the type of a value in `context`,
//! which never causes a refusal.
//!
//! `meta.referentialEqualities` lists the paths that hold the same object. A client created with
//! `dedupe` sends null in all of them but the first, so these are filled in here; the number of
//! bytes copied is limited. Deliberately absent: an object that contains itself. It stays null.

use super::node::{DEPTH_MAX, Node, Object};
use super::report::{Quoted, Report};
use super::rules::FIELDS;
use crate::issue::{Code, Issue, Step};

/// The most values of a refused type that are reported.
const TYPES_REPORTED_MAX: usize = 20;
/// The most repeated objects that are filled in: more than a valid submission can have.
const REPEATS_MAX: usize = 500;
/// The most bytes copied for repeated objects.
const COPIED_BYTES_MAX: usize = 16 * 1024;
/// The cost of a value besides its text, in bytes.
const NODE_BYTES: usize = 8;

/// Refuses the types that a submission does not have, and fills in repeated objects.
pub(super) fn apply<'a>(meta: &Node<'a>, submission: &mut Node<'a>, report: &mut Report) {
    let Node::Object(meta) = meta else { return };
    for (key, value) in meta.pairs() {
        match (key.as_ref(), value) {
            ("values", types) => {
                let mut left = TYPES_REPORTED_MAX;
                check_types(types, &mut Vec::new(), submission, &mut left, report);
            }
            ("referentialEqualities", Node::Object(repeats)) => {
                fill_in(repeats, submission, report)
            }
            // The first item lists where the submission itself occurs within itself.
            ("referentialEqualities", Node::List(items)) => {
                if let Some(Node::Object(repeats)) = items.get(1) {
                    fill_in(repeats, submission, report);
                }
            }
            _ => {}
        }
    }
}

/// A tree of types: `[type]` or `[type, tree]` for a value, an object of trees by path otherwise.
fn check_types(
    types: &Node<'_>,
    path: &mut Vec<String>,
    submission: &mut Node<'_>,
    left: &mut usize,
    report: &mut Report,
) {
    match types {
        Node::Object(children) => {
            for (key, child) in children.pairs() {
                let outer = path.len();
                path.extend(steps(key));
                check_types(child, path, submission, left, report);
                path.truncate(outer);
            }
        }
        Node::List(items) => {
            if let Some(kind) = items.first().and_then(type_name)
                && kind != "undefined"
                && is_refused(path)
                && *left > 0
            {
                *left -= 1;
                report.push(wrong_type(kind, path, submission));
            }
            if let Some(children) = items.get(1) {
                check_types(children, path, submission, left, report);
            }
        }
        _ => {}
    }
}

/// The name of a type: `"Date"`, or `["class","Money"]` for a client-defined one.
fn type_name<'n>(kind: &'n Node<'_>) -> Option<&'n str> {
    match kind {
        Node::Text(name) => Some(name),
        Node::List(items) => items.first().and_then(type_name),
        _ => None,
    }
}

fn is_refused(path: &[String]) -> bool {
    path.first().is_none_or(|field| field != "context" && FIELDS.contains(&field.as_str()))
}

fn wrong_type(kind: &str, path: &[String], submission: &mut Node<'_>) -> Issue {
    let place = if path.is_empty() { "The submission".to_owned() } else { path.join(".") };
    let message = format!(
        "{} is a superjson \"{}\"; a submission is plain JSON, so convert it to a string or an \
         array of strings first.",
        Quoted(&place),
        Quoted(kind),
    );
    let mut at = Some(submission);
    let path = path.iter().map(|step| {
        let index = step.parse::<usize>().ok().filter(|_| matches!(at, Some(Node::List(_))));
        at = at.take().and_then(|node| node.child_mut(step));
        index.map_or_else(|| Step::from(Quoted(step).to_string()), Step::from)
    });
    Issue::new(Code::InvalidType, path.collect(), message)
}

/// Copies each repeated object to the paths that hold null instead.
fn fill_in<'a>(repeats: &Object<'a>, submission: &mut Node<'a>, report: &mut Report) {
    let mut bytes_left = COPIED_BYTES_MAX;
    let mut repeats_left = REPEATS_MAX;
    for (first, others) in repeats.pairs() {
        let Node::List(others) = others else { continue };
        let first = steps(first);
        for other in others {
            let Node::Text(other) = other else { continue };
            let Some(left) = repeats_left.checked_sub(1) else { return };
            repeats_left = left;
            let other = steps(other);
            if !matches!(find(submission, &other), Some(Node::Null)) {
                continue;
            }
            let Some(source) = find(submission, &first) else {
                if is_refused(&other) {
                    return report.push(unknown_reference(&other));
                }
                continue;
            };
            let Some(left) = bytes_left.checked_sub(size(source)) else {
                return report.push(too_much_repeated());
            };
            bytes_left = left;
            let copy = source.clone();
            if let Some(place) = find(submission, &other) {
                *place = copy;
            }
        }
    }
}

fn unknown_reference(path: &[String]) -> Issue {
    let place = path.join(".");
    let message = format!(
        "{} refers to an object that was not sent. Send the submission without superjson's dedupe \
         option.",
        Quoted(&place)
    );
    Issue::new(Code::InvalidValue, path.iter().cloned().map(Step::from).collect(), message)
}

fn too_much_repeated() -> Issue {
    let message = format!(
        "The submission repeats the same objects too often; at most {COPIED_BYTES_MAX} bytes are \
         copied. Send it without superjson's dedupe option."
    );
    Issue::new(Code::TooLong, Vec::new(), message)
}

fn find<'n, 'a>(root: &'n mut Node<'a>, path: &[String]) -> Option<&'n mut Node<'a>> {
    path.iter().try_fold(root, |node, step| node.child_mut(step))
}

fn size(node: &Node<'_>) -> usize {
    NODE_BYTES
        + match node {
            Node::Text(text) => text.len(),
            Node::List(items) => items.iter().map(size).sum(),
            Node::Object(object) => {
                object.pairs().iter().map(|(key, node)| key.len() + size(node)).sum()
            }
            Node::Null | Node::Bool | Node::Number => 0,
        }
}

/// The steps of a path: separated by dots; a backslash escapes a dot or a backslash. Steps deeper
/// than a submission can be are dropped.
fn steps(path: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut step = String::new();
    let mut chars = path.chars();
    while let Some(char) = chars.next() {
        match char {
            '.' if steps.len() == DEPTH_MAX => break,
            '.' => steps.push(std::mem::take(&mut step)),
            '\\' => step.extend(chars.next()),
            char => step.push(char),
        }
    }
    steps.push(step);
    steps
}
