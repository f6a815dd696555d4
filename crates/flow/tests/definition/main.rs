//! Definitions: every rule of publishing with its fault, and properties of all valid definitions.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod draft;
mod faults;
mod logic;
mod properties;
mod question_faults;
mod routing;
mod schema;
mod translation_faults;

use serde_json::{Value, json};
use sluice_flow::definition::check;

/// Checks that the faults of a draft, in order, have these pointers, and these words in the
/// message.
fn refused(draft: &Value, expected: &[(&str, &str)]) {
    let Err(faults) = check(draft) else { panic!("{draft:#} was accepted") };
    let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    let wanted: Vec<&str> = expected.iter().map(|(pointer, _)| *pointer).collect();
    assert_eq!(pointers, wanted, "{draft:#}\n{faults:#?}");
    for (fault, (_, words)) in faults.iter().zip(expected) {
        assert!(fault.message.contains(words), "{fault:?} does not say {words:?}");
    }
}

fn accepted(draft: &Value) {
    if let Err(faults) = check(draft) {
        panic!("{draft:#}\n{faults:#?}");
    }
}

/// A draft with one field set.
fn with(name: &str, value: Value) -> Value {
    let mut draft = json!({"title": "T", "questions": []});
    draft[name] = value;
    draft
}

/// A draft of one question of this type with these fields.
fn asking(type_name: &str, fields: Value) -> Value {
    let mut question = json!({"id": "q", "type": type_name, "prompt": "?"});
    for (name, value) in fields.as_object().unwrap() {
        question[name] = value.clone();
    }
    with("questions", json!([question]))
}
