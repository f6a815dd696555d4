//! Conditions: which tests fit which question.

use serde_json::{Value, json};
use sluice_flow::definition::limits::{CONDITION_DEPTH_MAX, CONDITION_ITEMS_MAX};

use crate::{accepted, refused};

/// The pointer to the condition: after one question of every type.
fn at() -> String {
    format!("/questions/{}/visibleIf", sluice_flow::question::QuestionType::NAMES.len())
}

/// A draft with one question of every type, and then one with this condition.
fn when(condition: Value) -> Value {
    let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
    let mut questions: Vec<Value> = sluice_flow::question::QuestionType::NAMES
        .iter()
        .map(|name| json!({"id": name, "type": name, "prompt": "?"}))
        .collect();
    for question in &mut questions {
        match question["type"].as_str().unwrap() {
            "singleChoice" | "multipleChoice" => {
                question["options"] = options.clone();
                question["allowOther"] = json!(true);
            }
            "dropdown" | "ranking" => question["options"] = options.clone(),
            "matrix" => {
                question["rows"] = options.clone();
                question["columns"] = options.clone();
            }
            other => {
                let fields =
                    sluice_flow::question::QuestionType::blank(other).unwrap().choice_fields();
                fields.into_iter().for_each(|field| question[field] = options.clone());
            }
        }
    }
    questions.push(json!({"id": "last", "type": "nps", "prompt": "?", "visibleIf": condition}));
    questions.push(json!({"id": "later", "type": "nps", "prompt": "?"}));
    json!({"title": "T", "questions": questions})
}

#[test]
fn each_test_is_accepted_where_it_fits_the_type() {
    let comparisons = ["equals", "lessThan", "greaterThan"];
    let mut fitting: Vec<(&str, &str, Value)> = Vec::new();
    for name in ["number", "rating", "nps"] {
        fitting.extend(comparisons.map(|test| (name, test, json!(2.5))));
        fitting.extend([(name, "in", json!([1, 2])), (name, "notIn", json!([0]))]);
    }
    fitting.extend(comparisons.map(|test| ("date", test, json!("2024-02-29"))));
    for name in ["shortText", "longText", "email", "url", "phone"] {
        fitting.extend([(name, "equals", json!("x")), (name, "notIn", json!(["x", "y"]))]);
    }
    fitting.extend([
        ("singleChoice", "equals", json!("a")),
        ("singleChoice", "in", json!(["a", "other"])),
        ("dropdown", "notIn", json!(["a", "b"])),
        ("multipleChoice", "includes", json!("b")),
        ("multipleChoice", "includes", json!("other")),
        ("matrix", "includes", json!("a:b")),
        ("yesNo", "equals", json!("no")),
        ("consent", "in", json!(["accepted"])),
        ("ranking", "answered", json!(true)),
        ("matrix", "answered", json!(false)),
        ("number", "answered", json!(true)),
    ]);
    for (question, test, value) in fitting {
        accepted(&when(json!({"question": question, test: value})));
    }
}

#[test]
fn a_test_that_does_not_fit_the_type_is_a_fault() {
    let at = at();
    for (question, test, value, words) in [
        ("shortText", "lessThan", json!("x"), "does not fit a shortText"),
        ("singleChoice", "includes", json!("a"), "equals, in, notIn"),
        ("multipleChoice", "equals", json!("a"), "includes, answered would"),
        ("multipleChoice", "in", json!(["a"]), "includes"),
        ("ranking", "includes", json!("a"), "answered would"),
        ("matrix", "equals", json!("a:a"), "includes"),
        ("yesNo", "greaterThan", json!("no"), "does not fit"),
        ("statement", "answered", json!(true), "no answer to ask about"),
    ] {
        let pointer = format!("{at}/{test}");
        refused(&when(json!({"question": question, test: value})), &[(&pointer, words)]);
    }
}

#[test]
fn an_operand_must_be_a_possible_answer() {
    let at = at();
    for (question, test, value, end, words) in [
        ("number", "equals", json!("7"), "", "must be a number"),
        ("nps", "in", json!([1, "x"]), "/1", "must be a number"),
        ("nps", "in", json!([]), "", "1 to 100 items"),
        ("nps", "notIn", json!(7), "", "must be a list"),
        ("date", "lessThan", json!("2024-02-30"), "", "YYYY-MM-DD"),
        ("singleChoice", "equals", json!("c"), "", "a, b, or other"),
        ("dropdown", "equals", json!("other"), "", "an option of that question: a, b"),
        ("multipleChoice", "includes", json!(["a"]), "", "an option"),
        ("matrix", "includes", json!("a"), "", "<row>:<column>"),
        ("matrix", "includes", json!("a:z"), "", "<row>:<column>"),
        ("yesNo", "equals", json!(true), "", "yes, no"),
        ("consent", "equals", json!("no"), "", "accepted"),
        ("shortText", "equals", json!(""), "", "1 to 500"),
        ("shortText", "equals", json!(5), "", "a text"),
        ("nps", "answered", json!("yes"), "", "true or false"),
        ("nps", "equals", json!(null), "", "required"),
    ] {
        let pointer = format!("{at}/{test}{end}");
        refused(&when(json!({"question": question, test: value})), &[(&pointer, words)]);
    }
}

#[test]
fn a_condition_refers_to_earlier_questions_only() {
    let at = at();
    for (id, words) in [
        (json!("last"), "not the question itself"),
        (json!("later"), "comes later"),
        (json!("nobody"), "id of an earlier question"),
        (json!(5), "id of an earlier question"),
    ] {
        let condition = json!({"question": id, "answered": true});
        refused(&when(condition.clone()), &[(&format!("{at}/question"), words)]);
        refused(
            &when(json!({"any": [{"not": condition}]})),
            &[(&format!("{at}/any/0/not/question"), words)],
        );
    }
}

#[test]
fn a_condition_is_one_combination_or_one_test() {
    let at = at();
    let test = json!({"question": "nps", "equals": 1});
    for condition in [
        json!({}),
        json!({"question": "nps"}),
        json!({"equals": 1}),
        json!({"question": "nps", "equals": 1, "answered": true}),
        json!({"all": [test], "any": [test]}),
        json!({"all": [test], "question": "nps"}),
        json!({"not": test, "equals": 1}),
        json!({"or": [test]}),
    ] {
        refused(&when(condition), &[(at.as_str(), "either one of all, any, not, or question")]);
    }
    let extra = json!({"question": "nps", "equals": 1, "equal": 1});
    refused(&when(extra), &[(&format!("{at}/equal"), "did you mean equals?")]);
    refused(&when(json!({"all": []})), &[(&format!("{at}/all"), "1 to 100 items")]);
    refused(&when(json!({"any": test})), &[(&format!("{at}/any"), "must be a list")]);
    refused(&when(json!({"not": [test]})), &[(&format!("{at}/not"), "must be an object")]);
    accepted(&when(json!({"all": vec![test.clone(); CONDITION_ITEMS_MAX]})));
    let many = json!({"all": vec![test; CONDITION_ITEMS_MAX + 1]});
    refused(&when(many), &[(&format!("{at}/all"), "1 to 100 items")]);
}

#[test]
fn the_nesting_of_conditions_is_limited() {
    let at = at();
    let nested = |levels: usize| {
        let test = json!({"question": "nps", "answered": true});
        (1..levels).fold(test, |inner, _| json!({"not": inner}))
    };
    accepted(&when(nested(CONDITION_DEPTH_MAX)));
    let pointer = format!("{at}{}", "/not".repeat(CONDITION_DEPTH_MAX));
    refused(&when(nested(CONDITION_DEPTH_MAX + 1)), &[(&pointer, "deeper than 8 levels")]);
}
