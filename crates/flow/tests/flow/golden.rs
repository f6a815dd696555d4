//! Judging, by the cases that clients are tested with too (`tests/golden/judge`): what a client
//! accepts locally, the server accepts, and both find the same issues.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sluice_flow::definition::{self, Kind};
use sluice_flow::issue::{Code, Issue};
use sluice_flow::judge::{canonicalise, judge_and_score};
use sluice_flow::question::QuestionType;
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::submission::{ParseError, parse};
use sluice_flow::time::Timestamp;

/// Issues that depend on the version, the caller or earlier submissions.
const OF_THE_SERVER: &[Code] = &[
    Code::FlowVersionNotFound,
    Code::NotOpenYet,
    Code::NoLongerAccepting,
    Code::QuotaFull,
    Code::IdentityMismatch,
    Code::IdempotencyKeyReused,
    Code::InvitationUsed,
    Code::InvitationExpired,
    Code::InvitationRevoked,
];

/// Every file of the folder; a test of the TypeScript client holds this list complete.
const FILES: &[&str] = &[
    include_str!("../../../../tests/golden/judge/choices.json"),
    include_str!("../../../../tests/golden/judge/free-texts.json"),
    include_str!("../../../../tests/golden/judge/lists.json"),
    include_str!("../../../../tests/golden/judge/logic.json"),
    include_str!("../../../../tests/golden/judge/numbers-and-dates.json"),
    include_str!("../../../../tests/golden/judge/scales-and-words.json"),
    include_str!("../../../../tests/golden/judge/scores.json"),
    include_str!("../../../../tests/golden/judge/shape.json"),
];

/// Whether a line names a question type.
type Names = fn(&str, &str) -> bool;

/// The parts of other tests, in other languages, that must name every question type: the file, its
/// text, the start of the part, and how its lines name a type. The part ends at the next line that
/// starts with a bracket.
const QUESTION_TABLES: &[(&str, &str, &str, Names)] = &[
    (
        "tests/golden/judge/generate.mjs",
        include_str!("../../../../tests/golden/judge/generate.mjs"),
        "const TYPES = [",
        has_word,
    ),
    (
        "tests/clients/schema-cases.mjs",
        include_str!("../../../../tests/clients/schema-cases.mjs"),
        "const TYPES = {",
        has_word,
    ),
    (
        "tests/results/survey.py",
        include_str!("../../../../tests/results/survey.py"),
        "FIRST = [",
        has_type,
    ),
    (
        "sdk/python/tests/generate.py",
        include_str!("../../../../sdk/python/tests/generate.py"),
        "TYPES = (",
        has_word,
    ),
];

fn has_word(line: &str, name: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric()).any(|word| word == name)
}

fn has_type(line: &str, name: &str) -> bool {
    line.contains(&format!("\"type\": \"{name}\""))
}

fn files() -> Vec<Value> {
    FILES.iter().map(|file| serde_json::from_str(file).unwrap()).collect()
}

fn cases(file: &Value) -> impl Iterator<Item = &Value> {
    file["cases"].as_array().unwrap().iter()
}

fn snapshot(draft: &Value) -> Snapshot {
    let meta = VersionMeta {
        flow_version_id: "fv_0000000000000000000001".parse().unwrap(),
        flow_id: "fl_0000000000000000000002".parse().unwrap(),
        kind: Kind::Survey,
        number: 1,
        published_at: Timestamp::from_millis(0),
    };
    Snapshot::new(meta, definition::check_new(draft).unwrap())
}

/// The issues of a case, and its score if it is accepted.
fn judged(snapshot: &Snapshot, case: &Value) -> (Vec<Issue>, Value) {
    let submission = case.get("submission").cloned().unwrap_or_else(|| {
        json!({
            "flowVersionId": "fv_0000000000000000000001",
            "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "collection_only",
            "answers": case["answers"],
        })
    });
    let bytes = serde_json::to_vec(&submission).unwrap();
    let mut answers = match parse(&bytes) {
        Ok(submission) => submission.answers,
        Err(ParseError::Refused(issues)) => return (issues, Value::Null),
        Err(ParseError::Malformed(reason)) => panic!("{reason}: {case}"),
    };
    canonicalise(snapshot.definition(), &mut answers);
    let (issues, score) = judge_and_score(snapshot, &answers);
    let score = score.filter(|_| issues.is_empty());
    (issues, serde_json::to_value(score).unwrap())
}

#[test]
fn submissions_have_the_issues_of_the_shared_cases() {
    for file in files() {
        let snapshot = snapshot(&file["definition"]);
        for case in cases(&file) {
            let (issues, score) = judged(&snapshot, case);
            let found: Vec<Value> =
                issues.iter().map(|it| json!({"code": it.code, "path": it.path})).collect();
            assert_eq!(json!(found), case["issues"], "{case}");
            assert_eq!(score, case.get("score").cloned().unwrap_or_default(), "{case}");
        }
    }
}

#[test]
fn every_question_type_and_every_issue_has_a_case() {
    let mut types = BTreeSet::new();
    let mut codes = BTreeSet::new();
    for file in files() {
        for question in file["definition"]["questions"].as_array().unwrap() {
            types.insert(question["type"].as_str().unwrap().to_owned());
        }
        for issue in cases(&file).flat_map(|case| case["issues"].as_array().unwrap()) {
            codes.insert(issue["code"].as_str().unwrap().to_owned());
        }
    }
    for name in QuestionType::NAMES {
        assert!(types.contains(*name), "no case has a {name}");
    }
    for code in Code::ALL.iter().filter(|code| !OF_THE_SERVER.contains(code)) {
        assert!(codes.contains(code.as_str()), "no case has {}", code.as_str());
    }
}

#[test]
fn every_question_type_is_generated_by_the_tests_of_clients_and_results() {
    for (path, text, start, names) in QUESTION_TABLES {
        let (_, table) = text.split_once(*start).unwrap_or_else(|| panic!("{path}: no {start}"));
        let lines = table.lines().skip(1).take_while(|line| !line.starts_with([']', '}', ')']));
        let lines: Vec<&str> = lines.collect();
        for name in QuestionType::NAMES {
            assert!(lines.iter().any(|line| names(line, name)), "{path} has no {name}");
        }
    }
}
