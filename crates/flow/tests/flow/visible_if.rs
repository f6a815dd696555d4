//! `visibleIf`, by the table that the script of the hosted page is tested with too (tests/browser).
//!
//! The page hides and shows questions with separate code in the browser. Testing both with one
//! table ensures that a respondent is asked the same questions that the server judges.

use std::borrow::Cow;

use serde_json::{Value, json};
use sluice_flow::definition;
use sluice_flow::submission::{TextMap, Texts};

const TABLE: &str = include_str!("visible_if.json");

#[test]
fn conditions_hold_as_in_the_shared_table() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    for case in table["cases"].as_array().unwrap() {
        let mut questions = table["questions"].as_array().unwrap().clone();
        let asked = json!({"id": "asked", "type": "statement", "prompt": "?"});
        questions.push(asked);
        questions.last_mut().unwrap()["visibleIf"] = case["if"].clone();
        let draft = json!({"title": "T", "questions": questions});
        let definition = definition::check(&draft).unwrap();
        let condition = definition.question("asked").unwrap().visible_if.as_ref().unwrap();
        let holds = condition.holds(&answers(&case["answers"]));
        assert_eq!(json!(holds), case["holds"], "{case}");
    }
}

fn answers(given: &Value) -> TextMap<'static> {
    let text = |value: &Value| Cow::Owned(value.as_str().unwrap().to_owned());
    let texts = |value: &Value| Texts::Many(value.as_array().unwrap().iter().map(text).collect());
    let given = given.as_object().unwrap().iter();
    given.map(|(id, value)| (Cow::Owned(id.clone()), texts(value))).collect()
}
