//! Rows of files as submissions: their keys, and what their cells become.

use std::collections::HashSet;

use serde_json::{Value, json};
use sluice_flow::definition::{self, Definition};
use sluice_import::responses::{FileKind, ImportTarget, Mapping, Plan, Row, Rows};

fn survey(questions: Value) -> Definition {
    definition::check(&json!({"title": "t", "questions": questions})).unwrap()
}

/// The rows of a file, and their submissions to a flow.
fn read_into(flow: &str, survey: &Definition, kind: FileKind, file: &str) -> Vec<(Row, Value)> {
    let rows = Rows::new(kind, file.as_bytes(), b',').unwrap();
    let mut names = rows.names().to_vec();
    let mut rows: Vec<Row> = rows.map(Result::unwrap).collect();
    names.extend(rows.iter().flat_map(|row| row.cells.keys().cloned()));
    let goal = ImportTarget { definition: survey, flow_id: flow, flow_version_id: "fv" };
    let mut plan = Plan::new(goal, &names, Mapping::default(), false);
    let submit = |row: &mut Row| plan.submission(row, "4").unwrap();
    let submissions: Vec<Value> = rows.iter_mut().map(submit).collect();
    rows.into_iter().zip(submissions).collect()
}

fn read(survey: &Definition, kind: FileKind, file: &str) -> Vec<(Row, Value)> {
    read_into("fl", survey, kind, file)
}

fn key(submission: &Value) -> String {
    submission["idempotencyKey"].as_str().unwrap().to_owned()
}

#[test]
fn a_fixed_row_never_takes_the_key_of_a_stored_one() {
    let survey = survey(json!([
        {"id": "nps", "type": "nps", "prompt": "How likely?"},
        {"id": "key", "type": "shortText", "prompt": "Key"},
    ]));
    let stored = read(&survey, FileKind::Csv, "nps,key\n10,k\n11,k\n11,k\n");
    let mut keys: HashSet<String> = stored.iter().map(|(_, it)| key(it)).collect();
    assert_eq!(keys.len(), 3, "equal rows have different keys");
    // The last two are refused, and fixed so that they equal the first.
    let reasons = ["From 0 to 10.".to_owned()];
    let refused: Vec<String> =
        stored[1..].iter().map(|(row, _)| row.to_refused_json(&reasons).to_string()).collect();
    let fixed = refused.join("\n").replace("\"11\"", "\"10\"");
    let again = read(&survey, FileKind::Jsonl, &fixed);
    for ((row, submission), (_, original)) in again.iter().zip(&stored[1..]) {
        assert_eq!(submission["answers"], json!({"nps": "10", "key": "k"}));
        assert_eq!(key(submission), key(original), "the key of what was refused is free");
        assert!(row.is_fixed);
        // It keeps its key, and its form, however often it is refused.
        let line = row.to_refused_json(&reasons);
        assert_eq!((&line["key"], &line["csv"]), (&json!(row.key), &json!(true)));
    }
    // A line that was copied is a separate row, and so is one in another flow.
    let copied = read(&survey, FileKind::Jsonl, &format!("{fixed}\n{fixed}"));
    keys.extend(copied.iter().map(|(_, it)| key(it)));
    assert_eq!(keys.len(), 5);
    let elsewhere = read_into("other", &survey, FileKind::Jsonl, &fixed);
    assert!(elsewhere.iter().all(|(_, it)| !keys.contains(&key(it))));
}

#[test]
fn an_id_in_the_source_is_the_key_also_of_a_fixed_row() {
    let survey = survey(json!([{"id": "nps", "type": "nps", "prompt": "How likely?"}]));
    let stored = read(&survey, FileKind::Csv, "responseId,nps\na,11\n");
    let line = stored[0].0.to_refused_json(&[]);
    assert_eq!(line.get("key"), None);
    let fixed = line.to_string().replace("\"11\"", "\"10\"");
    assert_eq!(key(&read(&survey, FileKind::Jsonl, &fixed)[0].1), key(&stored[0].1));
}

#[test]
fn a_free_text_never_becomes_an_option() {
    let options = json!([
        {"id": "api", "label": "API"}, {"id": "sdk", "label": "SDK"},
        {"id": "mail", "label": "Other: mail"},
    ]);
    let survey = survey(json!([
        {"id": "one", "type": "singleChoice", "prompt": "One", "options": options, "allowOther": true},
        {"id": "many", "type": "multipleChoice", "prompt": "Many", "options": options, "allowOther": true},
        {"id": "closed", "type": "multipleChoice", "prompt": "Closed", "options": options},
    ]));
    let check = |kind, file: &str, answers: Value| {
        assert_eq!(read(&survey, kind, file)[0].1["answers"], answers, "{file}");
    };
    for (text, stored) in [
        ("other:CLI, SDK", "other:CLI, SDK"),
        ("Other: CLI, SDK", "other:CLI, SDK"),
        ("other:see [api]", "other:see [api]"),
        ("Other: see [api]", "other:see [api]"),
        ("other:API", "other:API"),
        ("Other:  API", "other: API"),
        ("Other: mail", "mail"),
    ] {
        check(FileKind::Csv, &format!("one\n\"{text}\"\n"), json!({"one": stored}));
        check(FileKind::Csv, &format!("many\n\"api;{text}\"\n"), json!({"many": ["api", stored]}));
        let line = json!({"answers": {"one": text, "many": [text, "api"]}}).to_string();
        check(FileKind::Jsonl, &line, json!({"one": stored, "many": [stored, "api"]}));
    }
    // An item of a list is one text; other tools separate options by commas in one text.
    let list = json!({"answers": {"many": ["by CLI, SDK"]}}).to_string();
    check(FileKind::Jsonl, &list, json!({"many": ["other:by CLI, SDK"]}));
    check(FileKind::Csv, "many\n\"API, SDK, CLI\"\n", json!({"many": ["api", "sdk", "other:CLI"]}));
    check(FileKind::Csv, "closed\n\"API, SDK\"\n", json!({"closed": ["api", "sdk"]}));
}

#[test]
fn a_column_named_by_a_question_is_its_answer() {
    const IDS: [&str; 6] =
        ["flowId", "identities", "submittedAt", "submitted_at", "response_id", "Timestamp"];
    let text = |id: &str| json!({"id": id, "type": "shortText", "prompt": format!("About {id}")});
    let with = survey(IDS.iter().chain(&["score"]).map(|id| text(id)).collect());
    let row = "answer.score,a,b,c,d,e,f\n7,1,2,3,4,5,6\n".replace("a,b,c,d,e,f", &IDS.join(","));
    let answers = json!({
        "flowId": "1", "identities": "2", "submittedAt": "3", "submitted_at": "4",
        "response_id": "5", "Timestamp": "6", "score": "7",
    });
    assert_eq!(read(&with, FileKind::Csv, &row)[0].1["answers"], answers);
    // In JSON of ours, the same names stand beside the answers.
    let line = json!({
        "flowId": "fl_1", "score": "3", "identities": [{"type": "userId", "value": "u"}],
        "answers": {"score": "7"},
    });
    let (_, submission) = read(&with, FileKind::Jsonl, &line.to_string()).remove(0);
    assert_eq!(submission["answers"], json!({"score": "7"}));
    assert_eq!(submission["identities"], line["identities"]);
    // Without such a question they are what they are elsewhere.
    let without = survey(json!([text("other")]));
    let row = "response_id,Timestamp,score,other\na,2026-01-02,3,x\n";
    let (_, submission) = read(&without, FileKind::Csv, row).remove(0);
    assert_eq!(submission["answers"], json!({"other": "x"}));
    assert_eq!(submission["metadata"]["tags"]["import.id"], "a");
}
