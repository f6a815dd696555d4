//! Any JSON as an author's draft.
//!
//! A valid one has a canonical form that is valid, equal, and canonical itself. Its example answers
//! pass its own rules, and each document made from it is JSON. A faulty one has faults, each with a
//! pointer, and the part of it that can be previewed is valid.

use serde_json::Value;
use sluice_flow::definition::{self, Definition, Fault, Kind};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::payload::{self, Generation};
use sluice_flow::snapshot::{Snapshot, VersionMeta};
use sluice_flow::time::Timestamp;
use sluice_flow::{example, judge, submission, submission_schema, typescript};

pub(super) fn run(data: &[u8]) {
    let Ok(draft) = serde_json::from_slice::<Value>(data) else { return };
    check(&draft);
}

pub(super) fn check(draft: &Value) {
    match definition::check(draft) {
        Ok(definition) => check_valid(draft, definition),
        Err(faults) => check_faults(&faults),
    }
    if let Err(faults) = definition::check_new(draft) {
        check_faults(&faults);
    }
    if let Some((shown, _)) = definition::presentable(draft) {
        assert_eq!(definition::check(&shown.to_json()).as_ref(), Ok(&shown));
    }
}

fn check_faults(faults: &[Fault]) {
    assert!((1..=definition::limits::FAULTS_MAX).contains(&faults.len()), "{} faults", faults.len());
    for Fault { pointer, message } in faults {
        assert!(pointer.is_empty() || pointer.starts_with('/'), "no pointer: {pointer:?}");
        assert!(!message.is_empty(), "{pointer} has no message");
    }
}

fn check_valid(draft: &Value, definition: Definition) {
    let canonical = definition.to_json();
    let again = definition::stored(&canonical.to_string()).expect("the canonical form is valid");
    assert_eq!(again, definition, "read from the canonical form");
    assert_eq!(again.to_json(), canonical, "the canonical form of the canonical form");
    assert!(definition::difference(&definition, &again).is_empty());
    definition::warnings(&definition, submission::BODY_BYTES_DEFAULT);
    typescript::module(&definition, "Answers", None);
    let is_new = definition::check_new(draft).is_ok();
    assert!(!is_new || definition::check_new(&canonical).is_ok(), "publishing the canonical form");
    let snapshot = Snapshot::new(meta(), definition);
    for rendered in [
        payload::render(&snapshot, Generation::LATEST),
        submission_schema::render(&snapshot, Generation::LATEST),
    ] {
        serde_json::from_slice::<Value>(&rendered).expect("a document is JSON");
    }
    check_examples(&snapshot);
}

/// Each example is a valid answer to its question.
fn check_examples(snapshot: &Snapshot) {
    let answers = example::answers(snapshot.definition());
    let submitted = serde_json::json!({
        "flowVersionId": snapshot.meta().flow_version_id,
        "flowVersionPayloadGeneration": Generation::LATEST.as_str(),
        "respondentAnalyticsAdmission": "collection_only",
        "answers": answers,
    });
    let submitted = submitted.to_string();
    let mut submitted = submission::parse(submitted.as_bytes()).expect("examples have the shape");
    judge::canonicalise(snapshot.definition(), &mut submitted.answers);
    for question in snapshot.definition().questions() {
        if submitted.answers.get(&question.id).is_some() {
            let issues = judge::judge_question(question, &submitted.answers);
            assert!(issues.is_empty(), "the example of {}: {issues:?}", question.id);
        }
    }
    let (_, score) = judge::judge_and_score(snapshot, &submitted.answers);
    assert_eq!(score.is_some(), snapshot.definition().is_scored());
}

fn meta() -> VersionMeta {
    let at = Timestamp::from_millis(1_794_708_000_000);
    VersionMeta {
        flow_version_id: FlowVersionId::from_uuid(sluice_flow::id::v7(at, 1, 1)),
        flow_id: FlowId::from_uuid(sluice_flow::id::v7(at, 0, 0)),
        kind: Kind::Survey,
        number: 1,
        published_at: at,
    }
}
