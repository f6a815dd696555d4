//! Operators of conditions that mean different things for a text and for a list.

use serde_json::{Value, json};
use sluice_import::{FORMATS, import};

/// What `visibleIf` of SurveyJS becomes, or what the report says instead.
fn imported(condition: &str) -> Result<Value, String> {
    let choices = json!(["a", "b", "ab"]);
    let survey = json!({"title": "T", "elements": [
        {"type": "text", "name": "text", "title": "Text"},
        {"type": "radiogroup", "name": "one", "title": "One", "choices": choices},
        {"type": "checkbox", "name": "many", "title": "Many", "choices": choices},
        {"type": "matrix", "name": "grid", "title": "Grid", "rows": ["r", "s"], "columns": ["a", "b"]},
        {"type": "comment", "name": "last", "title": "Last", "visibleIf": condition},
    ]});
    let format = FORMATS.iter().find(|format| format.name == "surveyjs").unwrap();
    let imported = import(format, &serde_json::to_vec(&survey).unwrap()).unwrap();
    let changes = imported.report.entries.iter().flat_map(|it| it.changes.clone()).next();
    let visible = imported.definition.to_json()["questions"][4].get("visibleIf").cloned();
    match (visible, changes) {
        (Some(visible), None) => Ok(visible),
        (None, Some(change)) => Err(change),
        other => panic!("{condition}: {other:?}"),
    }
}

#[test]
fn contains_is_never_equality_of_a_text() {
    for condition in ["{text} contains 'a'", "{text} notcontains 'a'", "{text} contains ['a', 'b']"]
    {
        let change = imported(condition).unwrap_err();
        assert!(change.contains("Sluice has no test “contains” of one answer"), "{change}");
    }
    let many = |id: &str| json!({"question": "many", "includes": id});
    assert_eq!(imported("{many} contains 'a'"), Ok(many("a")));
    assert_eq!(imported("{many} notcontains 'a'"), Ok(json!({"not": many("a")})));
    assert_eq!(imported("{many} contains ['a', 'b']"), Ok(json!({"all": [many("a"), many("b")]})));
    let cell = json!({"question": "grid", "includes": "r:a"});
    assert_eq!(imported("{grid.r} contains 'a'"), Ok(cell));
    // The value of one option may contain that of another.
    assert_eq!(imported("{one} contains 'a'"), Ok(json!({"question": "one", "in": ["a", "ab"]})));
}

#[test]
fn notcontains_of_a_list_is_true_if_one_of_it_is_missing() {
    let many = |id: &str| json!({"question": "many", "includes": id});
    let both = json!([many("a"), many("b")]);
    assert_eq!(imported("{many} notcontains ['a', 'b']"), Ok(json!({"not": {"all": both}})));
    assert_eq!(imported("{many} noneof ['a', 'b']"), Ok(json!({"not": {"any": both}})));
}
