//! Conditions as English text, by the table that the console's editor is tested with too
//! (tests/browser).

use serde_json::{Value, json};
use sluice_flow::definition;

const TABLE: &str = include_str!("condition_words.json");

#[test]
fn conditions_read_as_in_the_shared_table() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    for case in table["cases"].as_array().unwrap() {
        let mut questions = table["questions"].as_array().unwrap().clone();
        let asked =
            json!({"id": "asked", "type": "statement", "prompt": "?", "visibleIf": case["if"]});
        questions.push(asked);
        let draft = json!({"title": "T", "questions": questions});
        let definition = definition::check(&draft).unwrap();
        let condition = definition.question("asked").unwrap().visible_if.as_ref().unwrap();
        assert_eq!(json!(condition.in_words(definition.questions())), case["words"], "{case}");
    }
}
