//! What is shown of a draft with faults.

#[path = "../definition/draft.rs"]
mod draft;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_flow::definition::presentable;
use sluice_flow::pointer::escaped;

/// Checks what is shown of a draft: its questions by id and prompt, and what was left out.
#[track_caller]
fn shown(draft: Value, questions: &[(&str, &str)], left_out: &[&str]) {
    let (definition, gone) = presentable(&draft).unwrap();
    let found: Vec<_> =
        definition.questions().iter().map(|it| (it.id.as_str(), it.prompt.as_str())).collect();
    assert_eq!(
        (found.as_slice(), gone.as_slice()),
        (questions, left_out.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>().as_slice()),
        "{draft:#}"
    );
}

#[test]
fn a_draft_without_faults_is_shown_in_full() {
    shown(
        json!({"title": "T", "questions": [{"id": "a", "type": "nps", "prompt": "A"}]}),
        &[("a", "A")],
        &[],
    );
}

#[test]
fn a_missing_text_gets_a_placeholder() {
    shown(
        json!({"questions": [
            {"id": "a", "type": "nps", "prompt": ""},
            {"id": "b", "type": "singleChoice", "options": [{"id": "x", "label": ""}]},
        ]}),
        &[("a", "…"), ("b", "…")],
        &[],
    );
}

#[test]
fn broken_jumps_endings_sections_and_scores_are_left_out_alone() {
    let draft = json!({
        "title": "T",
        "questions": [
            {"id": "a", "type": "nps", "prompt": "A", "next": [{"to": "gone"}]},
            {"id": "b", "type": "singleChoice", "prompt": "B", "options": [{"id": "x", "label": "X", "score": "many"}]},
        ],
        "endings": [{"title": "No id"}, {"id": "e", "when": {"question": "x", "answered": true}}, {"id": "f"}],
        "sections": [{"id": "s", "questions": ["a", "gone"]}],
    });
    shown(draft.clone(), &[("a", "A"), ("b", "B")], &[]);
    let (definition, _) = presentable(&draft).unwrap();
    assert_eq!(definition.endings().len(), 1);
    assert!(definition.sections().is_empty());
}

#[test]
fn a_broken_question_is_left_out_with_its_references() {
    shown(
        json!({"title": "T", "questions": [
            {"id": "a", "type": "singleChoice", "prompt": "A", "options": [], "help": 7},
            {"id": "b", "type": "nps", "prompt": "B", "visibleIf": {"question": "a", "answered": true}},
            {"id": "c", "type": "nosuch", "prompt": "C"},
            {"id": "b", "type": "nps", "prompt": "Twice"},
            {"type": "nps", "prompt": "No id"},
            {"id": "d", "type": "number", "prompt": "D", "min": 5, "max": 1},
        ], "translations": {"de": {"questions": {"a": {"prompt": "Ä"}, "d": {"prompt": "D!"}}}, "??": {}}}),
        &[("b", "B"), ("d", "D")],
        &["b", "c", "a"],
    );
}

#[test]
fn server_set_and_unknown_fields_are_left_out() {
    shown(
        json!({"title": "T", "number": 3, "foo": 1, "ending": {"redirectUrl": "x"}, "questions": []}),
        &[],
        &[],
    );
    shown(json!([]), &[], &[]);
    shown(json!({"title": {}, "questions": 7}), &[], &[]);
}

/// Every path in a value, as a pointer.
fn places(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((pointer, value)) = open.pop() {
        match value {
            Value::Array(items) => {
                open.extend(
                    items.iter().enumerate().map(|(at, it)| (format!("{pointer}/{at}"), it)),
                );
            }
            Value::Object(fields) => {
                let child = |(name, it): (&String, _)| {
                    let name = escaped(name);
                    (format!("{pointer}/{name}"), it)
                };
                open.extend(fields.iter().map(|(name, it)| child((name, it))));
            }
            _ => {}
        }
        found.push(pointer);
    }
    found
}

proptest! {
    /// Whatever is broken in a definition, in any number of places, something can be shown.
    #[test]
    fn a_draft_can_be_shown_whatever_is_wrong_with_it(
        mut definition in draft::definition(),
        breaks in vec((any::<prop::sample::Index>(), 0_usize..6), 1..8),
    ) {
        for (place, junk) in breaks {
            let junk = [json!(null), json!(7), json!(""), json!([]), json!({}), json!("x")][junk].clone();
            let pointers = places(&definition);
            let pointer = &pointers[place.index(pointers.len())];
            if let Some(there) = definition.pointer_mut(pointer) {
                *there = junk;
            }
        }
        prop_assert!(presentable(&definition).is_some(), "{definition:#}");
    }
}
