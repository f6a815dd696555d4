//! The JSON Schema (2020-12) of a valid submission to one version.
//!
//! It accepts every submission that the judge accepts, in all forms that a client may send: `null`
//! for an absent field, a text or a list of one. It refuses what the judge refuses, except what a
//! schema cannot express; `docs/api.md` lists that. [`answers`] follows the controls of the
//! questions, [`logic`] the conditions, and [`way`] which required questions are visible. Numbers
//! and dates are compared by regular expressions in the subset that all validators share:
//! `$` may match before a last line feed, so every anchored pattern comes with one against those.

mod answers;
mod decimals;
mod fields;
mod logic;
mod patterns;
mod way;

use serde_json::{Map, Value, json};

use crate::judge::judge;
use crate::payload::Generation;
use crate::snapshot::Snapshot;
use crate::submission::{Admission, TextMap};

/// The schema of a submission to this version, fetched in this generation; always the same bytes.
pub fn render(snapshot: &Snapshot, generation: Generation) -> Vec<u8> {
    // A JSON value always serialises.
    serde_json::to_vec(&schema(snapshot, generation)).unwrap_or_default()
}

fn schema(snapshot: &Snapshot, generation: Generation) -> Value {
    let definition = snapshot.definition();
    let mut defs = Map::new();
    defs.insert("absent".to_owned(), answers::absent());
    defs.insert("answered".to_owned(), answers::answered());
    let properties: Map<String, Value> = definition
        .questions()
        .iter()
        .map(|question| (question.id.clone(), answers::property(question, &mut defs)))
        .collect();
    let way = way::schema(definition, &mut defs);
    let answers = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": {"type": "null"},
        "allOf": [way],
    });
    defs.insert("answers".to_owned(), answers);

    let version = snapshot.meta().flow_version_id.to_string();
    let admissions: Vec<&str> = Admission::ALL.iter().map(|it| it.as_str()).collect();
    let mut required =
        vec!["flowVersionId", "flowVersionPayloadGeneration", "respondentAnalyticsAdmission"];
    let answers = json!({"$ref": "#/$defs/answers"});
    // Without any answers, nothing is left to decide.
    let answers = if judge(snapshot, &TextMap::default()).is_empty() {
        fields::optional(answers)
    } else {
        required.push("answers");
        answers
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("A submission to {version}"),
        "type": "object",
        "properties": {
            "flowVersionId": {"const": version},
            "flowVersionPayloadGeneration": {"const": generation.as_str()},
            "respondentAnalyticsAdmission": {"enum": admissions},
            "answers": answers,
            "identities": fields::identities(),
            "metadata": fields::metadata(),
            "context": {"description": "Never refused: it is cut, repaired or dropped."},
            "flowAssignmentId": fields::flow_assignment_id(),
            "idempotencyKey": fields::idempotency_key(),
        },
        "required": required,
        "$defs": defs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition;
    use crate::id::{FlowId, FlowVersionId};
    use crate::snapshot::VersionMeta;
    use crate::time::Timestamp;

    fn schema_of(questions: Value) -> Value {
        let draft = json!({"title": "t", "questions": questions});
        let definition = definition::check(&draft).unwrap();
        let meta = VersionMeta {
            flow_version_id: FlowVersionId::from_uuid(uuid::Uuid::nil()),
            flow_id: FlowId::from_uuid(uuid::Uuid::nil()),
            kind: definition::Kind::Survey,
            number: 1,
            published_at: Timestamp::MIN,
        };
        schema(&Snapshot::new(meta, definition), Generation::LATEST)
    }

    #[test]
    fn a_required_question_makes_answers_required() {
        let schema = schema_of(json!([{"id": "n", "type": "nps", "prompt": "?"}]));
        assert!(!schema["required"].as_array().unwrap().contains(&json!("answers")));
        let required = json!([{"id": "n", "type": "nps", "prompt": "?", "required": true}]);
        let schema = schema_of(required);
        assert!(schema["required"].as_array().unwrap().contains(&json!("answers")));
    }

    #[test]
    fn the_schema_of_two_questions_is_short() {
        let schema = schema_of(json!([
            {"id": "n", "type": "nps", "prompt": "How likely?"},
            {"id": "y", "type": "yesNo", "prompt": "?", "required": true,
             "visibleIf": {"question": "n", "equals": 7}},
        ]));
        let seven =
            json!({"type": "string", "pattern": "^0*7(?:\\.0+)?$", "not": {"pattern": "\n"}});
        let answers = &schema["$defs"]["answers"];
        assert_eq!(
            answers["properties"]["n"],
            json!({"title": "How likely?", "anyOf": [
                {"$ref": "#/$defs/absent"},
                {"$ref": "#/$defs/text.n"},
                {"type": "array", "items": {"$ref": "#/$defs/text.n"}, "minItems": 1, "maxItems": 1},
            ]})
        );
        assert_eq!(
            answers["allOf"],
            json!([{"allOf": [{
                "if": {"required": ["n"], "properties": {"n": {"anyOf": [
                    seven, {"type": "array", "items": seven, "minItems": 1, "maxItems": 1}
                ]}}},
                "then": {"required": ["y"], "properties": {"y": {"$ref": "#/$defs/answered"}}},
            }]}])
        );
    }

    /// A condition about the score is unknown to a schema, so it requires nothing.
    #[test]
    fn what_depends_on_the_score_is_not_required() {
        let schema = schema_of(json!([
            {"id": "r", "type": "rating", "prompt": "?", "score": "value"},
            {"id": "y", "type": "yesNo", "prompt": "?", "required": true,
             "visibleIf": {"score": true, "lessThan": 3}},
        ]));
        assert_eq!(schema["$defs"]["answers"]["allOf"], json!([true]));
    }
}
