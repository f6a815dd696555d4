//! The bytes of payload generation 4, pinned: they may never change.

use serde_json::{Value, json};
use sluice_flow::definition::{self, Kind};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::payload::{Generation, render};
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::time::Timestamp;

fn check(draft: &Value, golden: &str) {
    let meta = VersionMeta {
        flow_version_id: "fv_0000000000000000000001".parse::<FlowVersionId>().unwrap(),
        flow_id: "fl_0000000000000000000002".parse::<FlowId>().unwrap(),
        kind: Kind::Survey,
        number: 3,
        published_at: Timestamp::from_millis(1_763_172_000_000),
    };
    let snapshot = Snapshot::new(meta, definition::check(draft).unwrap());
    let bytes = render(&snapshot, Generation::G4);
    let golden: String = golden.lines().map(str::trim_start).collect();
    assert_eq!(String::from_utf8(bytes).unwrap(), golden);
}

#[test]
fn a_minimal_definition_is_served_with_its_defaults() {
    check(
        &json!({"title": "Hello", "questions": []}),
        r#"{"flowVersionId":"fv_0000000000000000000001","flowId":"fl_0000000000000000000002",
        "payloadGeneration":"4","kind":"survey","number":3,
        "publishedAt":"2025-11-15T02:00:00.000Z","title":"Hello","defaultLocale":"en",
        "locales":["en"],"respondentAnalytics":"never","questions":[],"ending":{"redirectUrl":null}}"#,
    );
}

#[test]
fn the_contracts_example_is_served_field_by_field_in_order() {
    check(
        &json!({
            "translations": {
                "pt_br": {"ending": {"title": "Obrigado"}},
                "de": {"title": "Rückmeldung", "questions": {
                    "use": {"options": {"api": "Die API"}, "prompt": "Was?"},
                    "nps": {"prompt": "Wie?", "lowLabel": "Nie"},
                }},
            },
            "ending": {"title": "Thank you", "body": "Bye", "redirectUrl": null},
            "questions": [
                {"visibleIf": null, "highLabel": "Often", "lowLabel": "Never", "required": true,
                 "prompt": "How likely?", "type": "nps", "id": "nps"},
                {"id": "why", "type": "longText", "prompt": "Why?", "maxLength": 2000,
                 "visibleIf": {"question": "nps", "lessThan": 7}},
                {"id": "use", "type": "multipleChoice", "prompt": "What?", "help": "Any",
                 "options": [{"id": "api", "label": "The API"}, {"id": "web", "label": "Web"}],
                 "allowOther": true, "maxSelected": 3},
            ],
            "respondentAnalytics": "never",
            "description": "About us",
            "title": "Feedback",
        }),
        r#"{"flowVersionId":"fv_0000000000000000000001","flowId":"fl_0000000000000000000002",
        "payloadGeneration":"4","kind":"survey","number":3,
        "publishedAt":"2025-11-15T02:00:00.000Z","title":"Feedback","description":"About us",
        "defaultLocale":"en","locales":["en","de","pt-BR"],"respondentAnalytics":"never",
        "questions":[
        {"id":"nps","type":"nps","prompt":"How likely?","required":true,
        "lowLabel":"Never","highLabel":"Often"},
        {"id":"why","type":"longText","prompt":"Why?","maxLength":2000,
        "visibleIf":{"question":"nps","lessThan":7}},
        {"id":"use","type":"multipleChoice","prompt":"What?","help":"Any",
        "options":[{"id":"api","label":"The API"},{"id":"web","label":"Web"}],
        "allowOther":true,"maxSelected":3}],
        "ending":{"title":"Thank you","body":"Bye","redirectUrl":null},
        "translations":{"de":{"title":"Rückmeldung","questions":{
        "nps":{"lowLabel":"Nie","prompt":"Wie?"},
        "use":{"options":{"api":"Die API"},"prompt":"Was?"}}},
        "pt-BR":{"ending":{"title":"Obrigado"}}}}"#,
    );
}

#[test]
fn every_type_is_served_with_its_own_fields() {
    let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
    check(
        &json!({"title": "All", "defaultLocale": "DE_at", "questions": [
            {"id": "q1", "type": "shortText", "prompt": "?", "minLength": 1, "maxLength": 9},
            {"id": "q2", "type": "email", "prompt": "?"},
            {"id": "q3", "type": "url", "prompt": "?"},
            {"id": "q4", "type": "phone", "prompt": "?"},
            {"id": "q5", "type": "number", "prompt": "?", "min": -0.5, "max": 10.0, "integer": true},
            {"id": "q6", "type": "date", "prompt": "?", "min": "2024-01-01", "max": "2024-12-31"},
            {"id": "q7", "type": "singleChoice", "prompt": "?", "options": options},
            {"id": "q8", "type": "dropdown", "prompt": "?", "options": options, "allowOther": true},
            {"id": "q9", "type": "ranking", "prompt": "?", "options": options},
            {"id": "q10", "type": "matrix", "prompt": "?", "rows": options, "columns": options},
            {"id": "q11", "type": "rating", "prompt": "?"},
            {"id": "q12", "type": "rating", "prompt": "?", "max": 7, "shape": "emoji",
             "lowLabel": "l", "highLabel": "h"},
            {"id": "q13", "type": "yesNo", "prompt": "?"},
            {"id": "q14", "type": "consent", "prompt": "?"},
            {"id": "q15", "type": "statement", "prompt": "?", "visibleIf": {"all": [
                {"any": [{"question": "q13", "answered": false}, {"question": "q8", "equals": "other"}]},
                {"not": {"question": "q5", "in": [1, 2.5]}},
                {"question": "q10", "includes": "a:b"},
                {"question": "q6", "greaterThan": "2024-06-01"}]}},
        ]}),
        r#"{"flowVersionId":"fv_0000000000000000000001","flowId":"fl_0000000000000000000002",
        "payloadGeneration":"4","kind":"survey","number":3,
        "publishedAt":"2025-11-15T02:00:00.000Z","title":"All","defaultLocale":"de-AT",
        "locales":["de-AT"],"respondentAnalytics":"never","questions":[
        {"id":"q1","type":"shortText","prompt":"?","minLength":1,"maxLength":9},
        {"id":"q2","type":"email","prompt":"?"},
        {"id":"q3","type":"url","prompt":"?"},
        {"id":"q4","type":"phone","prompt":"?"},
        {"id":"q5","type":"number","prompt":"?","min":-0.5,"max":10,"integer":true},
        {"id":"q6","type":"date","prompt":"?","min":"2024-01-01","max":"2024-12-31"},
        {"id":"q7","type":"singleChoice","prompt":"?",
        "options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
        {"id":"q8","type":"dropdown","prompt":"?",
        "options":[{"id":"a","label":"A"},{"id":"b","label":"B"}],"allowOther":true},
        {"id":"q9","type":"ranking","prompt":"?",
        "options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
        {"id":"q10","type":"matrix","prompt":"?",
        "rows":[{"id":"a","label":"A"},{"id":"b","label":"B"}],
        "columns":[{"id":"a","label":"A"},{"id":"b","label":"B"}]},
        {"id":"q11","type":"rating","prompt":"?","max":5,"shape":"star"},
        {"id":"q12","type":"rating","prompt":"?","max":7,"shape":"emoji",
        "lowLabel":"l","highLabel":"h"},
        {"id":"q13","type":"yesNo","prompt":"?"},
        {"id":"q14","type":"consent","prompt":"?"},
        {"id":"q15","type":"statement","prompt":"?","visibleIf":{"all":[
        {"any":[{"question":"q13","answered":false},{"question":"q8","equals":"other"}]},
        {"not":{"question":"q5","in":[1,2.5]}},
        {"question":"q10","includes":"a:b"},
        {"question":"q6","greaterThan":"2024-06-01"}]}}],
        "ending":{"redirectUrl":null}}"#,
    );
}
