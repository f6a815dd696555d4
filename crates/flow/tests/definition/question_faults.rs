//! The faults of questions: common fields, and the rules of each type's own fields.

use serde_json::{Value, json};
use sluice_flow::definition::limits::{MATRIX_ROWS_MAX, OPTIONS_MAX};
use sluice_flow::question::QuestionType;

use crate::{accepted, asking, refused, with};

fn options(count: usize) -> Value {
    (0..count).map(|at| json!({"id": format!("o{at}"), "label": "L"})).collect()
}

/// The minimal fields of each type.
fn least(type_name: &str) -> Value {
    match type_name {
        "singleChoice" | "dropdown" | "multipleChoice" => json!({"options": options(1)}),
        "ranking" => json!({"options": options(2)}),
        "matrix" => json!({"rows": options(1), "columns": options(1)}),
        _ => lists(type_name, options(2)),
    }
}

/// Fills each list of choices of a type with these.
fn lists(type_name: &str, choices: Value) -> Value {
    let fields = QuestionType::blank(type_name).unwrap().choice_fields();
    fields.into_iter().map(|field| (field, choices.clone())).collect()
}

fn at(field: &str) -> String {
    format!("/questions/0/{field}")
}

#[test]
fn every_type_is_accepted_with_its_minimal_fields() {
    for name in QuestionType::NAMES {
        accepted(&asking(name, least(name)));
    }
}

#[test]
fn a_missing_required_field_is_a_fault() {
    for name in ["singleChoice", "dropdown", "multipleChoice", "ranking"] {
        refused(&asking(name, json!({})), &[(&at("options"), "required")]);
    }
    refused(&asking("matrix", json!({})), &[(&at("rows"), ""), (&at("columns"), "")]);
}

#[test]
fn common_fields_are_checked_for_every_type() {
    for name in QuestionType::NAMES {
        for (field, value, words) in [
            ("id", json!(null), "id is required"),
            ("id", json!("1a"), "must start with a letter"),
            ("id", json!("a b"), "must start with a letter"),
            ("id", json!("ä"), "must start with a letter"),
            ("id", json!("a".repeat(65)), "at most 63"),
            ("id", json!(7), "must start with a letter"),
            ("prompt", json!(null), "prompt is required"),
            ("prompt", json!("x".repeat(2001)), "at most 2000"),
            ("help", json!(1), "must be a text"),
            ("required", json!("yes"), "true or false"),
            ("visibleIf", json!(true), "must be an object"),
        ] {
            let mut fields = least(name);
            fields[field] = value;
            refused(&asking(name, fields), &[(&at(field), words)]);
        }
        let mut fields = least(name);
        fields["help"] = json!("Some help");
        fields["id"] = json!("a".repeat(64));
        accepted(&asking(name, fields));
    }
}

#[test]
fn question_ids_are_unique() {
    let question = json!({"id": "a", "type": "nps", "prompt": "?"});
    let twice = with("questions", json!([question, question]));
    refused(&twice, &[("/questions/1/id", "\"a\" is used twice")]);
}

#[test]
fn an_unknown_type_is_a_fault_that_lists_the_known_ones() {
    refused(&asking("longtext", json!({"x": 1})), &[(&at("type"), "did you mean longText?")]);
    refused(&asking("slider", json!({})), &[(&at("type"), "must be one of shortText, ")]);
    refused(
        &with("questions", json!([{"id": "q", "prompt": "?", "type": 4}])),
        &[(&at("type"), "must be one of")],
    );
}

#[test]
fn a_statement_cannot_be_required() {
    refused(
        &asking("statement", json!({"required": true})),
        &[(&at("required"), "takes no answer")],
    );
    accepted(&asking("statement", json!({"required": false})));
}

#[test]
fn lengths_are_whole_and_in_order_for_every_type_of_text() {
    for name in ["shortText", "longText", "email", "url", "phone"] {
        accepted(&asking(name, json!({"minLength": 0, "maxLength": 16384})));
        accepted(&asking(name, json!({"minLength": 5, "maxLength": 5.0})));
        for (fields, field) in [
            (json!({"minLength": -1}), "minLength"),
            (json!({"maxLength": 0}), "maxLength"),
            (json!({"maxLength": 16385}), "maxLength"),
            (json!({"maxLength": 1.5}), "maxLength"),
            (json!({"maxLength": "9"}), "maxLength"),
            (json!({"minLength": 6, "maxLength": 5}), "minLength"),
        ] {
            refused(&asking(name, fields), &[(&at(field), "must")]);
        }
    }
}

#[test]
fn bounds_of_numbers_dates_and_ratings_are_in_range_and_in_order() {
    accepted(&asking("number", json!({"min": -1e15, "max": 1e15, "integer": true})));
    accepted(&asking("number", json!({"min": 0.1, "max": 0.1})));
    accepted(&asking("date", json!({"min": "2024-02-29", "max": "2024-02-29"})));
    accepted(&asking("rating", json!({"max": 3, "shape": "emoji"})));
    accepted(&asking("rating", json!({"max": 10, "lowLabel": "a", "highLabel": "b"})));
    for (name, fields, field, words) in [
        ("number", json!({"min": "1"}), "min", "number"),
        ("number", json!({"max": 2e15}), "max", "1e15"),
        ("number", json!({"min": 2, "max": 1.5}), "min", "not be more than max"),
        ("number", json!({"integer": 1}), "integer", "true or false"),
        ("date", json!({"min": "2023-02-29"}), "min", "YYYY-MM-DD"),
        ("date", json!({"max": 20240101}), "max", "YYYY-MM-DD"),
        ("date", json!({"min": "2024-01-02", "max": "2024-01-01"}), "min", "not be later"),
        ("rating", json!({"max": 2}), "max", "from 3 to 10"),
        ("rating", json!({"max": 11}), "max", "from 3 to 10"),
        ("rating", json!({"shape": "heart"}), "shape", "star, number, emoji"),
        ("rating", json!({"lowLabel": "x".repeat(501)}), "lowLabel", "at most 500"),
        ("nps", json!({"highLabel": 10}), "highLabel", "text"),
    ] {
        refused(&asking(name, fields), &[(&at(field), words)]);
    }
}

#[test]
fn options_rows_and_columns_have_unique_ids_and_labels() {
    for (name, list, fewest, most) in [
        ("singleChoice", "options", 1, OPTIONS_MAX),
        ("dropdown", "options", 1, OPTIONS_MAX),
        ("multipleChoice", "options", 1, OPTIONS_MAX),
        ("ranking", "options", 2, OPTIONS_MAX),
        ("matrix", "rows", 1, MATRIX_ROWS_MAX),
        ("matrix", "columns", 1, OPTIONS_MAX),
    ] {
        let given = |items: Value| {
            let mut fields = least(name);
            fields[list] = items;
            asking(name, fields)
        };
        accepted(&given(options(fewest)));
        accepted(&given(options(most)));
        accepted(&given(json!([{"id": "1", "label": "x"}, {"id": "a_-9", "label": "x"}])));
        refused(&given(options(fewest - 1)), &[(&at(list), "items")]);
        refused(&given(options(most + 1)), &[(&at(list), "items")]);
        refused(&given(json!("x")), &[(&at(list), "must be a list")]);
        let list = at(list);
        let good = json!({"id": "good", "label": "x"});
        for (item, field, words) in [
            (json!(1), "", "must be an object"),
            (json!({"label": "x"}), "/id", "required"),
            (json!({"id": "other:x", "label": "x"}), "/id", "letters, digits"),
            (json!({"id": "_a", "label": "x"}), "/id", "letters, digits"),
            (json!({"id": "", "label": "x"}), "/id", "letters, digits"),
            (json!({"id": 1, "label": "x"}), "/id", "letters, digits"),
            (json!({"id": "good", "label": "x"}), "/id", "used twice"),
            (json!({"id": "a"}), "/label", "required"),
            (json!({"id": "a", "label": " "}), "/label", "not be empty"),
            (json!({"id": "a", "label": "x", "lable": "x"}), "/lable", "did you mean label?"),
        ] {
            refused(
                &given(json!([good, item, {"id": "b", "label": "x"}])),
                &[(&format!("{list}/1{field}"), words)],
            );
        }
    }
}

#[test]
fn selection_limits_fit_the_number_of_options() {
    let selected = |fields: Value| {
        let mut fields = fields;
        fields["options"] = options(3);
        asking("multipleChoice", fields)
    };
    accepted(&selected(json!({"minSelected": 0, "maxSelected": 3})));
    accepted(&selected(json!({"minSelected": 4, "maxSelected": 4, "allowOther": true})));
    for (fields, field, words) in [
        (json!({"maxSelected": 4}), "maxSelected", "at most 3"),
        (json!({"minSelected": 4}), "minSelected", "at most 3"),
        (json!({"maxSelected": 5, "allowOther": true}), "maxSelected", "at most 4"),
        (json!({"maxSelected": 0}), "maxSelected", "from 1"),
        (
            json!({"minSelected": 3, "maxSelected": 2}),
            "minSelected",
            "not be more than maxSelected",
        ),
        (json!({"allowOther": "yes"}), "allowOther", "true or false"),
    ] {
        refused(&selected(fields), &[(&at(field), words)]);
    }
}

#[test]
fn the_id_other_is_reserved_with_allow_other() {
    for name in ["singleChoice", "dropdown", "multipleChoice"] {
        let other = json!([{"id": "other", "label": "Other"}]);
        accepted(&asking(name, json!({"options": other})));
        refused(
            &asking(name, json!({"options": other, "allowOther": true})),
            &[(&at("options"), "allowOther")],
        );
    }
}
