//! Random valid definitions, with every type and every optional part.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Valid definitions.
pub(crate) fn definition() -> impl Strategy<Value = Value> {
    let head = (text(), option::of(text()), any::<bool>(), any::<bool>(), any::<bool>());
    (head, vec(question(), 0..10), any::<u64>()).prop_map(
        |((title, description, never, translated, ended), parts, bits)| {
            let questions = number(parts);
            let mut definition = json!({"title": title, "questions": questions});
            if let Some(description) = description {
                definition["description"] = json!(description);
            }
            if never {
                definition["respondentAnalytics"] = json!("never");
            }
            if ended {
                definition["ending"] = json!({"title": "End", "redirectUrl": "https://a.example/"});
            }
            add_screens(&mut definition, bits);
            if translated {
                definition["translations"] = json!({"pt_br": translation(&definition)});
            }
            definition
        },
    )
}

fn text() -> impl Strategy<Value = String> {
    "[A-Za-zäß漢 /~\"]{0,12}[a-z]"
}

/// A question without an id, and bits to derive a condition from.
fn question() -> impl Strategy<Value = (Value, u64)> {
    let common = (text(), option::of(text()), any::<bool>(), any::<u64>());
    (own_fields(), common).prop_map(|(mut question, (prompt, help, required, bits))| {
        question["prompt"] = json!(prompt);
        question["help"] = json!(help);
        if question["type"] != "statement" {
            question["required"] = json!(required);
        }
        (question, bits)
    })
}

fn own_fields() -> impl Strategy<Value = Value> {
    let lengths = (option::of(0_u32..20), option::of(20_u32..100));
    let choice = (options(1), any::<bool>());
    prop_oneof![
        (prop_oneof![Just("shortText"), Just("longText")], lengths).prop_map(
            |(name, (min, max))| json!({"type": name, "minLength": min, "maxLength": max})
        ),
        prop_oneof![
            Just("email"),
            Just("url"),
            Just("phone"),
            Just("yesNo"),
            Just("consent"),
            Just("statement")
        ]
        .prop_map(|name| json!({"type": name})),
        number_fields(),
        (option::of(1_u32..14), option::of(15_u32..28)).prop_map(|(min, max)| {
            let day = |day: u32| format!("2024-02-{day:02}");
            json!({"type": "date", "min": min.map(day), "max": max.map(day)})
        }),
        (prop_oneof![Just("singleChoice"), Just("dropdown")], choice).prop_map(
            |(name, (options, other))| {
                json!({"type": name, "options": options, "allowOther": other})
            }
        ),
        multiple_choice(),
        options(2).prop_map(|options| json!({"type": "ranking", "options": options})),
        (options(1), options(1)).prop_map(
            |(rows, columns)| json!({"type": "matrix", "rows": rows, "columns": columns})
        ),
        (option::of(3_u32..=10), prop_oneof![Just("star"), Just("number"), Just("emoji")])
            .prop_map(|(max, shape)| json!({"type": "rating", "max": max, "shape": shape})),
        option::of(text()).prop_map(|low| json!({"type": "nps", "lowLabel": low})),
    ]
}

fn number_fields() -> impl Strategy<Value = Value> {
    (option::of(-50_i32..0), option::of(0_i32..50), any::<bool>()).prop_map(
        |(min, max, integer)| {
            let bound = |bound: i32| if integer { json!(bound) } else { json!(f64::from(bound) / 4.0) };
            json!({"type": "number", "min": min.map(bound), "max": max.map(bound), "integer": integer})
        },
    )
}

fn multiple_choice() -> impl Strategy<Value = Value> {
    (options(1), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(options, other, with_min, with_max)| {
            let most = options.as_array().unwrap().len();
            json!({
                "type": "multipleChoice", "options": options, "allowOther": other,
                "minSelected": with_min.then_some(most.div_ceil(2)),
                "maxSelected": with_max.then_some(most),
            })
        },
    )
}

fn options(least: usize) -> impl Strategy<Value = Value> {
    vec(text(), least..6).prop_map(|labels| {
        let options = labels.iter().enumerate();
        options.map(|(at, label)| json!({"id": format!("{at}-o"), "label": label})).collect()
    })
}

/// Adds endings, jumps, a welcome screen and a section to some definitions.
fn add_screens(definition: &mut Value, bits: u64) {
    let questions = definition["questions"].as_array_mut().unwrap();
    let count = questions.len();
    for (at, question) in questions.iter_mut().enumerate() {
        let own = bits >> (at % 8);
        let later = format!("q{}", at + 1 + own as usize % (count - at));
        let is_last = later == format!("q{count}");
        let to = if is_last { "end:bye".to_owned() } else { later };
        if own.is_multiple_of(3) {
            let first = json!({"when": {"question": "q0", "answered": true}, "to": "end"});
            question["next"] = json!([first, {"to": to}]);
        }
        if question["options"].is_array() && question["type"] != "ranking" && own.is_multiple_of(2)
        {
            question["options"][0]["score"] = json!((own % 400) as f64 / 4.0 - 50.0);
            question["options"][0]["fixed"] = json!(true);
            question["optionOrder"] = json!("random");
        }
        if own.is_multiple_of(4) {
            let image = json!({"assetId": "as_06Dy3mWjVC9Wh9bEzFTKgV", "alt": "A cat"});
            question["image"] = image.clone();
            if matches!(question["type"].as_str(), Some("singleChoice" | "multipleChoice")) {
                question["options"][0]["image"] = image;
            }
        }
        if question["type"] == "nps" {
            question["score"] = json!("value");
        }
    }
    // Nothing can be asked about a statement.
    if count > 0 && questions[0]["type"] == "statement" {
        questions.iter_mut().for_each(|question| question["next"] = json!([{"to": "end:bye"}]));
    }
    definition["endings"] = json!([{"id": "bye", "title": "Bye"}]);
    if bits.is_multiple_of(5) {
        definition["welcome"] = json!({"title": "Hello", "buttonText": "Go"});
    }
    if count > 1 {
        let section = json!({"id": "s", "title": "Part", "questions": ["q0", "q1"]});
        definition["sections"] = json!([section]);
    }
}

/// Assigns ids to the questions, and conditions on an earlier question to some of them.
fn number(parts: Vec<(Value, u64)>) -> Vec<Value> {
    let mut questions: Vec<Value> = Vec::new();
    for (at, (mut question, bits)) in parts.into_iter().enumerate() {
        question["id"] = json!(format!("q{at}"));
        if at > 0 && bits.is_multiple_of(2) {
            let about = &questions[(bits >> 8) as usize % at];
            question["visibleIf"] = condition(about, bits >> 16);
        }
        questions.push(question);
    }
    questions
}

fn condition(about: &Value, bits: u64) -> Value {
    let first = |list: &str| about[list][0]["id"].as_str().unwrap_or_default().to_owned();
    let mut test = match about["type"].as_str().unwrap() {
        "statement" => return Value::Null,
        _ if bits.is_multiple_of(3) => json!({"answered": bits.is_multiple_of(2)}),
        "number" | "rating" | "nps" => json!({"greaterThan": (bits % 40) as f64 / 4.0}),
        "date" => json!({"lessThan": "2024-02-15"}),
        "singleChoice" | "dropdown" => json!({"notIn": [first("options")]}),
        "multipleChoice" => json!({"includes": first("options")}),
        "matrix" => json!({"includes": format!("{}:{}", first("rows"), first("columns"))}),
        "yesNo" => json!({"equals": "yes"}),
        "consent" => json!({"in": ["accepted"]}),
        "ranking" => json!({"answered": true}),
        _ => json!({"equals": "aaa"}),
    };
    test["question"] = about["id"].clone();
    match bits % 4 {
        0 => json!({"not": test}),
        1 => json!({"all": [test.clone(), {"any": [test]}]}),
        _ => test,
    }
}

/// A translation of some of the texts.
fn translation(definition: &Value) -> Value {
    let mut questions = Map::new();
    for question in definition["questions"].as_array().unwrap() {
        let mut texts = json!({"prompt": "Übersetzt"});
        if let Some(option) = question["options"][0]["id"].as_str() {
            texts["options"] = json!({option: "Übersetzt"});
        }
        questions.insert(question["id"].as_str().unwrap().to_owned(), texts);
    }
    let mut texts = json!({"title": "Übersetzt", "questions": questions});
    texts["endings"] = json!({"bye": {"title": "Tschüss"}});
    if definition["welcome"].is_object() {
        texts["welcome"] = json!({"title": "Hallo", "buttonText": null});
    }
    if definition["sections"].is_array() {
        texts["sections"] = json!({"s": {"title": "Teil"}});
    }
    texts
}
