//! Drafts of every question type, with random bounds, options and conditions.
//!
//! Only drafts that can be published and whose questions can be answered are generated; other tests
//! cover which drafts are refused.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_flow::question::QuestionType;

/// The random choices for one question.
#[derive(Debug, Clone, Copy)]
struct Dice {
    kind: usize,
    required: bool,
    /// Which of the optional bounds and flags are set.
    low: bool,
    high: bool,
    flag: bool,
    size: u64,
    /// Which earlier question the condition refers to, if any.
    condition: Option<usize>,
    negated: bool,
}

prop_compose! {
    fn dice()(
        kind in 0..QuestionType::NAMES.len(),
        (required, low, high, flag, negated) in any::<(bool, bool, bool, bool, bool)>(),
        size in 2..6_u64,
        condition in proptest::option::of(0..12_usize),
    ) -> Dice {
        Dice { kind, required, low, high, flag, size, condition, negated }
    }
}

/// A draft of up to a dozen questions.
pub(crate) fn any_draft() -> impl Strategy<Value = Value> {
    vec(dice(), 1..12).prop_map(|dice| {
        let mut questions: Vec<Value> = Vec::new();
        for dice in dice {
            let next = question(dice, &questions);
            questions.push(next);
        }
        json!({"title": "Any", "questions": questions})
    })
}

/// A draft with one question of every type, all required.
pub(crate) fn every_type() -> Value {
    let dice = |kind| Dice {
        kind,
        required: true,
        low: true,
        high: true,
        flag: true,
        size: 4,
        condition: None,
        negated: false,
    };
    let questions: Vec<Value> = (0..QuestionType::NAMES.len())
        .scan(Vec::new(), |earlier, kind| {
            let next = question(dice(kind), earlier);
            earlier.push(next.clone());
            Some(next)
        })
        .collect();
    json!({"title": "Every type", "questions": questions})
}

fn question(dice: Dice, earlier: &[Value]) -> Value {
    let kind = QuestionType::NAMES[dice.kind];
    let mut question = json!({"id": format!("q{}", earlier.len()), "type": kind, "prompt": "?"});
    let mut set = |name: &str, when: bool, value: Value| {
        if when {
            question[name] = value;
        }
    };
    set("required", dice.required && kind != "statement", json!(true));
    let size = dice.size;
    match kind {
        "shortText" | "longText" => {
            set("minLength", dice.low, json!(size));
            set("maxLength", dice.high, json!(if dice.flag { 16_384 } else { size + 3 }));
        }
        "email" | "url" | "phone" => set("maxLength", dice.high, json!(25 + size)),
        "number" => {
            // Both sides of zero, fractions, and whole numbers between the bounds.
            set("min", dice.low, json!(-1.5 * f64::from(u32::try_from(size).unwrap_or(0))));
            set("max", dice.high, json!(size));
            set("integer", dice.flag, json!(true));
        }
        "date" => {
            set("min", dice.low, json!("2024-01-31"));
            set("max", dice.high, json!("2024-12-01"));
        }
        "singleChoice" | "dropdown" => {
            set("options", true, choices(size));
            set("allowOther", dice.flag, json!(true));
        }
        "multipleChoice" => {
            set("options", true, choices(size));
            set("allowOther", dice.flag, json!(true));
            set("minSelected", dice.low, json!(2));
            set("maxSelected", true, json!(if dice.high { size } else { 2 }));
        }
        "ranking" => set("options", true, choices(size)),
        "matrix" => {
            set("rows", true, choices(size));
            set("columns", true, choices(2));
        }
        "rating" => set("max", dice.high, json!(size + 1)),
        _ => {
            let fields = QuestionType::blank(kind).map(|it| it.choice_fields()).unwrap_or_default();
            fields.into_iter().for_each(|field| set(field, true, choices(size)));
        }
    }
    if let Some(condition) = dice.condition.and_then(|at| condition(earlier.get(at)?)) {
        set("visibleIf", true, if dice.negated { json!({"not": condition}) } else { condition });
    }
    question
}

/// A condition on an earlier question; `None` if that takes no answer.
fn condition(earlier: &Value) -> Option<Value> {
    let id = &earlier["id"];
    Some(match earlier["type"].as_str()? {
        "statement" => return None,
        "number" | "nps" => json!({"question": id, "lessThan": 3}),
        "rating" => json!({"question": id, "greaterThan": 2}),
        "yesNo" => json!({"question": id, "equals": "yes"}),
        "singleChoice" | "dropdown" => json!({"question": id, "in": ["c0", "c1"]}),
        "multipleChoice" => json!({"all": [{"question": id, "includes": "c0"}]}),
        _ => json!({"any": [{"question": id, "answered": true}]}),
    })
}

fn choices(count: u64) -> Value {
    (0..count).map(|n| json!({"id": format!("c{n}"), "label": "x"})).collect()
}
