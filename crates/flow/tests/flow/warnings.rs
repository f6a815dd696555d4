//! The warning for authors: answers at their limits that do not fit into one body.

use serde_json::{Value, json};
use sluice_flow::definition::{check, warnings};

const MIB: usize = 1024 * 1024;

fn warned(questions: &[Value], body_bytes_max: usize) -> bool {
    let definition = check(&json!({"title": "T", "questions": questions})).unwrap();
    let found = warnings(&definition, body_bytes_max);
    for warning in &found {
        assert_eq!(warning.pointer, "/questions");
        assert!(warning.message.contains("maxLength"), "{}", warning.message);
    }
    !found.is_empty()
}

fn asked(count: usize, question: &Value) -> Vec<Value> {
    (0..count)
        .map(|n| {
            let mut question = question.clone();
            question["id"] = json!(format!("q{n}"));
            question["prompt"] = json!("?");
            question
        })
        .collect()
}

#[test]
fn publishing_warns_if_the_longest_answers_do_not_fit_into_one_body() {
    let options: Vec<Value> =
        (0..200).map(|n| json!({"id": format!("option{n}"), "label": "L"})).collect();
    for (question, fits, too_many) in [
        (json!({"type": "longText", "maxLength": 16_384}), 15, 16),
        (json!({"type": "longText"}), 64, 65),
        (json!({"type": "shortText", "maxLength": 200}), 300, 0),
        (json!({"type": "email"}), 300, 0),
        (json!({"type": "nps"}), 300, 0),
        (json!({"type": "multipleChoice", "options": options}), 300, 0),
        (json!({"type": "multipleChoice", "options": options, "allowOther": true}), 140, 200),
        (json!({"type": "statement"}), 300, 0),
    ] {
        assert!(!warned(&asked(fits, &question), MIB), "{fits} of {}", question["type"]);
        assert!(too_many == 0 || warned(&asked(too_many, &question), MIB), "{}", question["type"]);
    }
    let one = json!({"type": "longText", "maxLength": 16_384});
    assert!(warned(&asked(4, &one), 256 * 1024));
    assert!(!warned(&asked(3, &one), 256 * 1024));
}

#[test]
fn a_maximum_length_above_an_answers_limit_cannot_be_published() {
    let of = |max: u32| {
        check(
            &json!({"title": "T", "questions": asked(1, &json!({"type": "longText", "maxLength": max}))}),
        )
    };
    assert!(of(16_384).is_ok());
    assert_eq!(of(16_385).unwrap_err()[0].pointer, "/questions/0/maxLength");
}
