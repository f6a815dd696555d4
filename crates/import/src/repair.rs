//! The last step: what still breaks a rule of `sluice_flow` is removed and reported.
//!
//! The formats and [`crate::assemble`] keep the rules that they know. This step holds the promise
//! that a definition is valid whatever the file contained, also when rules are added.

use serde_json::Value;
use sluice_flow::definition::{self, Fault};
use sluice_flow::pointer::unescaped;

use crate::Imported;
use crate::report::{EntryId, Report};

/// Each round removes at least one value.
const ROUNDS_MAX: usize = 1_000;

/// The definition. `entries` are the elements of its questions, in their order.
pub(crate) fn repaired(
    mut whole: Value,
    mut entries: Vec<EntryId>,
    mut report: Report,
) -> Result<Imported, String> {
    for _ in 0..ROUNDS_MAX {
        let faults = match definition::check_new(&whole) {
            Ok(definition) => return Ok(Imported { definition, report }),
            Err(faults) => faults,
        };
        // One at a time: the next fault may be a consequence of this one.
        let Some(fault) = faults.first() else { break };
        if !removed(&mut whole, fault, &mut entries, &mut report) {
            return Err(format!("cannot be mapped: {}: {}", fault.pointer, fault.message));
        }
    }
    Err("breaks too many rules of a flow".to_owned())
}

fn removed(
    whole: &mut Value,
    fault: &Fault,
    entries: &mut Vec<EntryId>,
    report: &mut Report,
) -> bool {
    let parts: Vec<&str> = fault.pointer.split('/').skip(1).collect();
    let Fault { message, .. } = fault;
    match parts.as_slice() {
        ["questions", at, field, rest @ ..] => {
            let Ok(at) = at.parse::<usize>() else { return false };
            let Some(&entry) = entries.get(at) else { return false };
            match (*field, rest) {
                ("id" | "type" | "prompt" | "rows" | "columns", _) | ("options", []) => {
                    report.lost(entry, format!("{field} {message}"));
                    entries.remove(at);
                    take(whole, &["questions", parts[1]])
                }
                ("options", [number, field @ ("score" | "fixed"), ..]) => {
                    report.change(entry, format!("{field} of an option is left out: it {message}"));
                    take(whole, &["questions", parts[1], "options", number, field])
                }
                ("options", [number, ..]) => {
                    report.change(entry, format!("an option is left out: it {message}"));
                    take(whole, &["questions", parts[1], "options", number])
                }
                ("next", [number, ..]) => {
                    report.change(entry, format!("a jump is left out: it {message}"));
                    take(whole, &["questions", parts[1], "next", number])
                }
                (field, _) => {
                    report.change(entry, format!("{field} is left out: it {message}"));
                    take(whole, &["questions", parts[1], field])
                }
            }
        }
        [] | ["title" | "questions"] => false,
        parts => {
            let entry = report.add("", format!("/{}", parts.join("/")));
            report.lost(entry, format!("it {message}"));
            let depth = match parts {
                ["endings" | "sections", _, "redirectUrl" | "title" | "body", ..] => 3,
                ["endings" | "sections", ..] => 2,
                parts => parts.len(),
            };
            take(whole, &parts[..depth.min(parts.len())])
        }
    }
}

/// Removes the value at a path; whether there was one.
fn take(whole: &mut Value, path: &[&str]) -> bool {
    let Some((last, path)) = path.split_last() else { return false };
    let mut at = whole;
    for part in path {
        let next = match at {
            Value::Object(map) => map.get_mut(&unescaped(part)),
            Value::Array(items) => part.parse::<usize>().ok().and_then(|it| items.get_mut(it)),
            _ => None,
        };
        let Some(next) = next else { return false };
        at = next;
    }
    match at {
        Value::Object(map) => map.remove(&unescaped(last)).is_some(),
        Value::Array(items) => match last.parse::<usize>() {
            Ok(number) if number < items.len() => {
                items.remove(number);
                true
            }
            _ => false,
        },
        _ => false,
    }
}
