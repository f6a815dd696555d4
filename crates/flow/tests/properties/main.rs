//! Properties of every version and every submission, across the whole crate.
//!
//! Each test takes the real path: a draft is checked and published, its snapshot is rendered, a
//! client that knows only those bytes answers it, and the bytes of its submission are parsed and
//! judged.

mod breakage;
mod client;
mod draft;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use sluice_flow::definition::{Kind, check};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::issue::Issue;
use sluice_flow::judge::judge;
use sluice_flow::payload::{Generation, render};
use sluice_flow::question::QuestionType;
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::submission::{ParseError, parse};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

proptest! {
    #[test]
    fn a_submission_made_from_a_snapshot_is_accepted(
        draft in draft::any_draft(), picks in any_picks()
    ) {
        let (snapshot, served) = publish(&draft);
        let submission = client::submission(&served, &picks);
        prop_assert_eq!(found(&verdict(&snapshot, &submission)), [], "{}", submission);
    }

    #[test]
    fn a_single_breakage_of_the_shape_is_refused_with_its_code_and_path(
        draft in draft::any_draft(), picks in any_picks()
    ) {
        let (snapshot, served) = publish(&draft);
        let valid = client::submission(&served, &picks);
        for (path, value, code) in breakage::of_the_shape() {
            let broken = breakage::changed(&valid, &path, value);
            prop_assert_eq!(found(&verdict(&snapshot, &broken)), [(code, path)], "{}", broken);
        }
    }

    #[test]
    fn a_single_breakage_of_an_answer_is_refused_with_its_code_and_path(
        draft in draft::any_draft(), picks in any_picks()
    ) {
        let (snapshot, served) = publish(&draft);
        let valid = client::submission(&served, &picks);
        for question in client::questions(&served) {
            let answer = &valid["answers"][client::id(question)];
            for (broken, code) in breakage::of_the_answer(question, answer) {
                refuses_answer(&snapshot, &valid, question, broken, code)?;
            }
        }
    }

    #[test]
    fn a_missing_answer_is_refused_only_if_it_is_required_and_visible(
        draft in draft::any_draft(), picks in any_picks()
    ) {
        let (snapshot, served) = publish(&draft);
        let valid = client::submission(&served, &picks);
        for question in client::questions(&served) {
            let id = client::id(question);
            let mut without = valid.clone();
            without["answers"][id] = Value::Null;
            let bytes = without.to_string();
            let answers = parse(bytes.as_bytes()).expect("null means absent").answers;
            let asked = snapshot.definition().question(id).expect("the question was served");
            let visible = asked.visible_if.as_ref().is_none_or(|rule| rule.holds(&answers));
            let expected = if asked.required && visible {
                vec![("answer_required", json!(["answers", id]))]
            } else {
                vec![]
            };
            prop_assert_eq!(found(&verdict(&snapshot, &without)), expected, "{}", without);
        }
    }

    #[test]
    fn stored_json_matches_the_serialiser(
        texts in vec((any::<String>(), any::<String>()), 0..8), agent in any::<String>()
    ) {
        let texts: Map<String, Value> =
            texts.into_iter().map(|(name, text)| (name, json!([text, "plain"]))).collect();
        let sent = json!({
            "flowVersionId": "fv_1", "flowVersionPayloadGeneration": "4",
            "respondentAnalyticsAdmission": "admitted", "answers": texts,
            "identities": [{"type": "traits.x", "value": agent}],
            "context": {"page": {"path": agent}, "userAgent": agent},
        })
        .to_string();
        let Ok(submission) = parse(sent.as_bytes()) else { return Ok(()) };
        prop_assert_eq!(submission.answers_json(), serde_json::to_string(&submission.answers).unwrap());
        prop_assert_eq!(submission.identities_json(), serde_json::to_string(&submission.identities).ok());
        prop_assert_eq!(submission.context_json(), serde_json::to_string(&submission.context).ok());
    }

    #[test]
    fn no_bytes_crash_the_parser(bytes in vec(any::<u8>(), 0..200), cut in 0..600_usize) {
        // Random bytes, and a valid submission that is truncated or altered in the middle.
        let _ = parse(&bytes);
        let (_, served) = publish(&draft::every_type());
        let mut text = client::submission(&served, &[]).to_string().into_bytes();
        text.truncate(cut);
        let stopped = parse(&text);
        prop_assert!(matches!(stopped, Err(ParseError::Malformed(_))), "{:?}", stopped);
        text.extend(bytes);
        let _ = parse(&text);
    }
}

#[test]
fn every_type_of_question_takes_its_answer_and_refuses_every_breakage_of_it() {
    let (snapshot, served) = publish(&draft::every_type());
    for pick in 0..24 {
        let valid = client::submission(&served, &vec![Some(pick); QuestionType::NAMES.len()]);
        assert_eq!(found(&verdict(&snapshot, &valid)), [], "{valid}");
        let mut broken_types = Vec::new();
        for question in client::questions(&served) {
            let answer = &valid["answers"][client::id(question)];
            for (broken, code) in breakage::of_the_answer(question, answer) {
                broken_types.push(question["type"].as_str().unwrap());
                refuses_answer(&snapshot, &valid, question, broken, code).unwrap();
            }
        }
        broken_types.dedup();
        let known: Vec<_> = client::questions(&served).iter().map(|q| &q["type"]).collect();
        assert_eq!(json!(broken_types), json!(known), "a type has no breakage");
    }
}

#[test]
fn a_required_matrix_needs_a_column_for_every_row() {
    let (snapshot, served) = publish(&draft::every_type());
    let mut submission = client::submission(&served, &[]);
    let is_matrix = |question: &&Value| question["type"] == "matrix";
    let id = client::questions(&served).iter().find(is_matrix).map(client::id).unwrap();
    submission["answers"][id].as_array_mut().unwrap().pop();
    let expected = [("answer_required", json!(["answers", id]))];
    assert_eq!(found(&verdict(&snapshot, &submission)), expected);
}

#[test]
fn an_answer_to_an_unknown_question_is_refused() {
    let (snapshot, served) = publish(&draft::every_type());
    let mut submission = client::submission(&served, &[]);
    submission["answers"]["zz"] = json!("x");
    let expected = [("unknown_question", json!(["answers", "zz"]))];
    assert_eq!(found(&verdict(&snapshot, &submission)), expected);
}

fn any_picks() -> impl Strategy<Value = Vec<Option<u64>>> {
    vec(option::weighted(0.8, 0..1000_u64), 12)
}

/// The snapshot of a draft, and the JSON served to clients.
fn publish(draft: &Value) -> (Snapshot, Value) {
    let definition = match check(draft) {
        Ok(definition) => definition,
        Err(faults) => panic!("{draft} cannot be published: {faults:?}"),
    };
    let meta = VersionMeta {
        flow_version_id: FlowVersionId::from_uuid(Uuid::from_u128(1)),
        flow_id: FlowId::from_uuid(Uuid::from_u128(2)),
        kind: Kind::Survey,
        number: 1,
        published_at: Timestamp::from_millis(0),
    };
    let snapshot = Snapshot::new(meta, definition);
    let served = serde_json::from_slice(&render(&snapshot, Generation::LATEST)).unwrap_or_default();
    (snapshot, served)
}

/// The issues of a submission after parsing and judging it.
fn verdict(snapshot: &Snapshot, submission: &Value) -> Vec<Issue> {
    match parse(submission.to_string().as_bytes()) {
        Ok(submission) => judge(snapshot, &submission.answers),
        Err(ParseError::Refused(issues)) => issues,
        Err(ParseError::Malformed(reason)) => panic!("malformed: {reason}"),
    }
}

/// The code and path of each issue.
fn found(issues: &[Issue]) -> Vec<(&'static str, Value)> {
    issues.iter().map(|issue| (issue.code.as_str(), json!(issue.path))).collect()
}

/// Checks that a broken answer gets its code, and that no other answer gets an issue.
fn refuses_answer(
    snapshot: &Snapshot,
    valid: &Value,
    question: &Value,
    answer: Value,
    code: &'static str,
) -> Result<(), TestCaseError> {
    let id = client::id(question);
    let path = json!(["answers", id]);
    let broken = breakage::changed(valid, &path, answer);
    let found = found(&verdict(snapshot, &broken));
    prop_assert!(found.contains(&(code, path.clone())), "{} {:?} {}", code, found, broken);
    // A broken row of a required matrix is also a row without an answer; no other problem gives two
    // issues.
    let known =
        |issue: &(&str, Value)| issue.1 == path && [code, "answer_required"].contains(&issue.0);
    prop_assert!(found.iter().all(known), "{} {:?} {}", code, found, broken);
    Ok(())
}
