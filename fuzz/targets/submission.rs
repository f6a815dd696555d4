//! Any bytes as a submission.
//!
//! The quick reader and the general one read the same; what was read can be written and read again;
//! and its stored parts are JSON with sorted keys, as the serialiser would write it.

use serde_json::{Map, Value, json};
use sluice_flow::payload::Generation;
use sluice_flow::submission::{ParseError, Submission, is_superjson, parse};

pub(super) fn run(data: &[u8]) {
    check(data, |parsed| parsed);
}

/// `changed` is what the planted fault of the control changes.
pub(super) fn check(
    data: &[u8],
    changed: for<'a> fn(Result<Submission<'a>, ParseError>) -> Result<Submission<'a>, ParseError>,
) {
    let parsed = changed(parse(data));
    if let Some(unusual) = with_number(data) {
        match (&parsed, &parse(&unusual)) {
            (Err(ParseError::Malformed(_)), Err(ParseError::Malformed(_))) => {}
            (quick, general) => assert_eq!(quick, general, "the readers differ"),
        }
    }
    match parsed {
        Ok(submission) => check_stored(&submission),
        Err(ParseError::Refused(issues)) => assert!(!issues.is_empty(), "refused without issues"),
        Err(ParseError::Malformed(reason)) => assert!(!reason.is_empty()),
    }
}

/// The same submission with a number in an unknown field, which only the general reader accepts.
/// `None` for an envelope, where a further field would have a meaning.
fn with_number(data: &[u8]) -> Option<Vec<u8>> {
    // Not all that is white space in ASCII is so in JSON.
    let is_space = |byte: &u8| b" \t\r\n".contains(byte);
    let end = data.iter().rposition(|byte| !is_space(byte))?;
    let body = data[..=end].strip_suffix(b"}")?;
    if is_superjson(data) || data.iter().find(|byte| !is_space(byte)) != Some(&b'{') {
        return None;
    }
    let is_empty = body.trim_ascii() == b"{";
    let field: &[u8] = if is_empty { b"\"zz\":0}" } else { b",\"zz\":0}" };
    Some([body, field].concat())
}

fn check_stored(submission: &Submission<'_>) {
    let value = |json: &str| -> Value {
        let value: Value = serde_json::from_str(json).expect("a stored part is JSON");
        assert_eq!(value.to_string(), json, "not as the serialiser writes it");
        value
    };
    let mut written = Map::new();
    let mut put = |name: &str, value: Value| written.insert(name.to_owned(), value);
    put("flowVersionId", json!(submission.flow_version_id));
    put("flowVersionPayloadGeneration", json!(Generation::LATEST.as_str()));
    put("respondentAnalyticsAdmission", json!(submission.admission.as_str()));
    put("answers", value(&submission.answers_json()));
    if let Some(identities) = submission.identities_json() {
        // Their fields are in the order of the wire, and not sorted.
        put("identities", serde_json::from_str(&identities).expect("identities are JSON"));
    }
    if let Some(tags) = submission.tags_json() {
        put("metadata", json!({ "tags": value(&tags) }));
    }
    if let Some(context) = submission.context_json() {
        put("context", value(&context));
    }
    if let Some(id) = &submission.flow_assignment_id {
        put("flowAssignmentId", json!(id));
    }
    if let Some(key) = &submission.idempotency_key {
        put("idempotencyKey", json!(key));
    }
    let written = Value::Object(written).to_string();
    let again = parse(written.as_bytes());
    assert_eq!(again.as_ref(), Ok(submission), "written and read again: {written}");
}
