//! The way through the questions, by the table that the script of the hosted page is tested with
//! too (tests/browser): a respondent is asked what the server judges, and gets the same score.

use std::borrow::Cow;

use serde_json::{Value, json};
use sluice_flow::definition::{self, Definition, Kind};
use sluice_flow::judge::judge;
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::submission::{TextMap, Texts};

const TABLE: &str = include_str!("routes.json");

fn answers(given: &Value) -> TextMap<'static> {
    let text = |value: &Value| Cow::Owned(value.as_str().unwrap().to_owned());
    let texts = |value: &Value| Texts::Many(value.as_array().unwrap().iter().map(text).collect());
    let given = given.as_object().unwrap().iter();
    given.map(|(id, value)| (Cow::Owned(id.clone()), texts(value))).collect()
}

/// The ids of the visible questions, the ending and the score.
fn route(definition: &Definition, answers: &TextMap<'_>) -> Value {
    let route = definition.route(answers);
    let questions = definition.questions().iter().enumerate();
    let visible: Vec<&str> = questions
        .filter(|(at, _)| route.is_visible(*at))
        .map(|(_, question)| question.id.as_str())
        .collect();
    json!({
        "visible": visible,
        "ending": route.ending().map(|ending| &ending.id),
        "score": route.score(),
    })
}

#[test]
fn answers_lead_through_the_questions_as_in_the_shared_table() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    for case in table["cases"].as_array().unwrap() {
        let flow = &table["flows"][case["flow"].as_str().unwrap()];
        let definition = definition::check_new(flow).unwrap();
        let reached = definition.reached(answers(&case["answers"]));
        let expected = json!({
            "visible": case["visible"], "ending": case["ending"], "score": case["score"],
        });
        assert_eq!(route(&definition, &reached), expected, "{case}");
        // Answers that do not count are removed once: the way stays the same.
        assert_eq!(definition.reached(reached.clone()), reached, "{case}");
        for id in reached.names() {
            assert!(case["visible"].as_array().unwrap().contains(&json!(id)), "{case}");
        }
    }
}

/// The ids of the questions that must be answered but are not, if all are required.
#[track_caller]
fn check_missing(flow: &str, given: Value, missing: &[&str]) {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let mut draft = table["flows"][flow].clone();
    for question in draft["questions"].as_array_mut().unwrap() {
        question["required"] = json!(true);
    }
    let definition = definition::check(&draft).unwrap();
    let meta = VersionMeta {
        flow_version_id: "fv_0000000000000000000000".parse().unwrap(),
        flow_id: "fl_0000000000000000000000".parse().unwrap(),
        kind: Kind::Survey,
        number: 1,
        published_at: sluice_flow::time::Timestamp::from_millis(0),
    };
    let issues = judge(&Snapshot::new(meta, definition), &answers(&given));
    let found: Vec<String> = issues
        .iter()
        .map(|issue| serde_json::to_value(issue).unwrap()["path"][1].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(found, missing, "{given}");
}

#[test]
fn a_question_that_a_jump_passes_over_need_not_be_answered() {
    check_missing("jumps", json!({}), &["plan", "why", "how"]);
    check_missing("jumps", json!({"plan": ["pro"]}), &["seats", "team"]);
    check_missing("jumps", json!({"plan": ["pro"], "seats": ["101"]}), &[]);
    check_missing("jumps", json!({"plan": ["other:x"]}), &[]);
    check_missing("scores", json!({"one": ["a"], "some": ["a"], "nps": ["10"]}), &["pick"]);
    check_missing("scores", json!({"one": ["c"], "some": ["a"], "nps": ["10"]}), &[]);
}

#[test]
fn only_a_definition_with_scores_has_a_score() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let of = |flow: &str| definition::check(&table["flows"][flow]).unwrap();
    let none = TextMap::default();
    assert_eq!(of("jumps").score(&none), None);
    assert_eq!(of("scores").score(&none).map(|score| score.to_string()).as_deref(), Some("0"));
}
