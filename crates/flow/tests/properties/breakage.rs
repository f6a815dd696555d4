//! Every way to break a single rule: of the shape, and of each question type.

use serde_json::{Value, json};

use crate::client::{bound, chars, ids, text};

/// The path to change in a submission, the new value, and the code expected at that path.
pub(crate) type Breakage = (Value, Value, &'static str);

/// One breakage for each rule of the shape; each breaks that rule only.
pub(crate) fn of_the_shape() -> Vec<Breakage> {
    let tag = |name: &str| json!(["metadata", "tags", name]);
    vec![
        (json!(["flowVersionId"]), Value::Null, "field_required"),
        (json!(["flowVersionId"]), json!(1), "invalid_type"),
        (json!(["flowVersionPayloadGeneration"]), Value::Null, "field_required"),
        (json!(["flowVersionPayloadGeneration"]), json!("3"), "payload_generation_mismatch"),
        (json!(["respondentAnalyticsAdmission"]), Value::Null, "field_required"),
        (json!(["respondentAnalyticsAdmission"]), json!("yes"), "invalid_value"),
        (json!(["answers"]), json!([]), "invalid_type"),
        (json!(["answers"]), entries(301), "too_long"),
        (json!(["answers", "zz"]), json!(9), "invalid_type"),
        (json!(["answers", "zz"]), json!("\0"), "nul_character"),
        (json!(["answers", "zz"]), json!("x".repeat(16 * 1024 + 1)), "too_long"),
        (json!(["answers", "zz"]), json!(vec!["x"; 1001]), "too_long"),
        (json!(["identities"]), json!({}), "invalid_type"),
        (json!(["identities", 0, "type"]), json!("user id"), "invalid_value"),
        (json!(["identities", 0, "value"]), json!(text(256)), "too_long"),
        (json!(["identities", 1, "value"]), json!("ada"), "invalid_value"),
        (json!(["identities", 1]), json!({"type": "userId", "value": "b"}), "duplicate_user_id"),
        (json!(["metadata"]), json!("x"), "invalid_type"),
        (json!(["metadata", "tags"]), entries(51), "too_long"),
        (tag("plan"), json!({"name": "pro"}), "nested_tag"),
        (tag("plan"), json!(text(501)), "too_long"),
        (tag("plan"), json!(1), "invalid_type"),
        (tag(""), json!("x"), "invalid_value"),
        (json!(["flowAssignmentId"]), json!(text(256)), "too_long"),
    ]
}

fn entries(count: usize) -> Value {
    (0..count).map(|n| (format!("zz{n}"), json!("x"))).collect()
}

/// The submission with another value at this path.
pub(crate) fn changed(submission: &Value, path: &Value, value: Value) -> Value {
    let mut changed = submission.clone();
    let mut place = &mut changed;
    for step in path.as_array().into_iter().flatten() {
        place = match step {
            Value::String(name) => &mut place[name],
            index => &mut place[chars(index.as_u64().unwrap_or_default())],
        };
    }
    *place = value;
    changed
}

/// Answers that break one rule of this question's type, derived from a valid one.
pub(crate) fn of_the_answer(question: &Value, valid: &Value) -> Vec<(Value, &'static str)> {
    let kind = question["type"].as_str().unwrap_or_default();
    match valid {
        Value::Null if kind == "statement" => vec![(json!("x"), "not_answerable")],
        Value::Null => Vec::new(),
        Value::String(valid) => {
            let mut broken = vec![(json!([valid, valid]), "wrong_answer_kind")];
            broken.extend(match kind {
                "shortText" | "longText" => of_the_length(question),
                "email" => vec![(json!(valid.replace('@', "a")), "invalid_format")],
                "url" => vec![(json!(valid.replacen(':', "x", 1)), "invalid_format")],
                "phone" => vec![(json!(valid.replacen('0', "x", 1)), "invalid_format")],
                "number" => of_the_number(question, valid),
                "date" => of_the_date(question),
                "singleChoice" | "dropdown" => of_the_choice(question),
                "rating" => of_the_mark(question["max"].as_u64().unwrap_or(5)),
                "nps" => of_the_mark(10),
                "yesNo" | "consent" => vec![(json!("maybe"), "unknown_option")],
                _ => Vec::new(),
            });
            broken
        }
        _ => {
            let valid = texts(valid);
            match kind {
                "multipleChoice" => of_the_selection(question, &valid),
                "ranking" => of_the_ranking(&valid),
                "matrix" => of_the_matrix(question, &valid),
                _ => vec![(json!(["no-such-option"]), "unknown_option")],
            }
        }
    }
}

fn of_the_length(question: &Value) -> Vec<(Value, &'static str)> {
    let mut broken = Vec::new();
    if let Some(min) = question["minLength"].as_u64().filter(|min| *min > 1) {
        broken.push((json!(text(min - 1)), "out_of_range"));
    }
    // A text beyond the largest possible bound breaks the shape before it breaks the question.
    if let Some(max) = question["maxLength"].as_u64().filter(|max| *max < 16_384) {
        broken.push((json!(text(max + 1)), "out_of_range"));
    }
    broken
}

fn of_the_number(question: &Value, valid: &str) -> Vec<(Value, &'static str)> {
    let mut broken = vec![
        (json!(format!("{valid}x")), "invalid_format"),
        (json!("1e1"), "invalid_format"),
        (json!("1,5"), "invalid_format"),
    ];
    if let Some(min) = question["min"].as_f64() {
        broken.push((json!((min.floor() - 1.0).to_string()), "out_of_range"));
    }
    if let Some(max) = question["max"].as_f64() {
        broken.push((json!((max.ceil() + 1.0).to_string()), "out_of_range"));
    }
    if question["integer"] == true {
        broken.push((json!(format!("{valid}.0")), "invalid_format"));
    }
    broken
}

fn of_the_date(question: &Value) -> Vec<(Value, &'static str)> {
    let mut broken = vec![(json!("2023-02-29"), "invalid_format")];
    if bound(question, "min").is_some_and(|min| min > "0001-01-01") {
        broken.push((json!("0001-01-01"), "out_of_range"));
    }
    if bound(question, "max").is_some_and(|max| max < "9999-12-31") {
        broken.push((json!("9999-12-31"), "out_of_range"));
    }
    broken
}

fn of_the_choice(question: &Value) -> Vec<(Value, &'static str)> {
    if question["allowOther"] == true {
        vec![
            (json!("!"), "unknown_option"),
            (json!("other: "), "invalid_format"),
            (json!(format!("other:{}", text(1001))), "out_of_range"),
        ]
    } else {
        vec![(json!("!"), "unknown_option"), (json!("other:mine"), "unknown_option")]
    }
}

fn of_the_mark(max: u64) -> Vec<(Value, &'static str)> {
    vec![
        (json!((max + 1).to_string()), "out_of_range"),
        (json!("-1"), "invalid_format"),
        (json!("01"), "invalid_format"),
        (json!("1.0"), "invalid_format"),
    ]
}

fn of_the_selection(question: &Value, valid: &[String]) -> Vec<(Value, &'static str)> {
    let options = ids(&question["options"]);
    let mut broken = vec![(json!(with(valid, 0, "!")), "unknown_option")];
    if valid.len() > 1 {
        broken.push((json!(with(valid, 1, &valid[0])), "invalid_selection"));
    }
    if let Some(min) = question["minSelected"].as_u64().filter(|min| *min > 1) {
        broken.push((json!(valid[..chars(min) - 1]), "out_of_range"));
    }
    if let Some(most) = question["maxSelected"].as_u64().map(chars).filter(|n| *n < options.len()) {
        broken.push((json!(options[..=most]), "out_of_range"));
    }
    broken
}

fn of_the_ranking(valid: &[String]) -> Vec<(Value, &'static str)> {
    let mut longer = valid.to_vec();
    longer.push(valid[0].clone());
    vec![
        (json!(with(valid, 0, "!")), "unknown_option"),
        (json!(with(valid, 1, &valid[0])), "invalid_selection"),
        (json!(valid[1..]), "invalid_selection"),
        (json!(longer), "invalid_selection"),
    ]
}

fn of_the_matrix(question: &Value, valid: &[String]) -> Vec<(Value, &'static str)> {
    let mut twice = valid.to_vec();
    twice.push(format!("{}:{}", ids(&question["rows"])[0], ids(&question["columns"])[0]));
    vec![
        (json!(with(valid, 0, "!")), "invalid_format"),
        (json!(with(valid, 0, "!:!")), "unknown_option"),
        (json!(twice), "invalid_selection"),
    ]
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The list with one item replaced.
fn with(list: &[String], at: usize, item: &str) -> Vec<String> {
    let mut list = list.to_vec();
    item.clone_into(&mut list[at]);
    list
}
