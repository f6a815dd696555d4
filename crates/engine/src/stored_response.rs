//! The JSON of a stored response.
//!
//! [`FIELDS`] is the only place that turns a stored response into the JSON of the contract. The
//! admin API, JSON Lines, the console and the file about one respondent write it with
//! [`ResponseJson`] or [`write_json`]; the OpenAPI document takes the schema and the example of
//! each field from the table.
//!
//! Columns that hold JSON are copied, not parsed, because an export writes millions of them.

use std::io::{self, Write as _};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sluice_flow::id::ResponseId;
use sluice_store::{ResponseRow, StoreError};

/// A field of the JSON.
#[derive(Debug)]
pub struct ResponseField {
    pub name: &'static str,
    /// Its JSON Schema.
    pub schema: fn() -> Value,
    pub example: fn() -> Value,
    /// The label under which the console lists the value. `None` if a page has its own way to show
    /// it.
    pub label: Option<&'static str>,
    write: fn(&ResponseRow, &mut Vec<u8>) -> io::Result<()>,
}

/// The fields in the order in which they are written.
pub static FIELDS: &[ResponseField] = &[
    ResponseField {
        name: "responseId",
        schema: || json!({"type": "string"}),
        example: || json!("rs_01KA2VgdPrWYDVgYy3wLpD"),
        label: None,
        write: |row, out| quoted(out, |out| row.response_id.append_to(out)),
    },
    ResponseField {
        name: "flowId",
        schema: || json!({"type": "string"}),
        example: || json!("fl_01KA2VgdPrWYDVgYy3wLpB"),
        label: None,
        write: |row, out| quoted(out, |out| row.flow_id.append_to(out)),
    },
    ResponseField {
        name: "flowVersionId",
        schema: || json!({"type": "string"}),
        example: || json!("fv_01KA2VgdPrWYDVgYy3wLpC"),
        label: None,
        write: |row, out| quoted(out, |out| row.flow_version_id.append_to(out)),
    },
    ResponseField {
        name: "receivedAt",
        schema: || json!({"type": "string", "format": "date-time"}),
        example: || json!("2026-11-15T02:10:00.000Z"),
        label: None,
        write: |row, out| write!(out, "\"{}\"", row.response_id.made_at()),
    },
    ResponseField {
        name: "respondentAnalyticsAdmission",
        schema: || json!({"type": "string", "enum": ["collection_only", "admitted"]}),
        example: || json!("collection_only"),
        label: None,
        write: |row, out| {
            quoted(out, |out| out.extend_from_slice(row.admission.as_str().as_bytes()))
        },
    },
    ResponseField {
        name: ANSWERS,
        schema: || {
            json!({
                "type": "object", "additionalProperties": text_or_list(),
                "description": "By question id.",
            })
        },
        example: || json!({"nps": "9"}),
        label: None,
        write: |row, out| copy_json(&row.answers, out),
    },
    ResponseField {
        name: "identities",
        schema: || {
            json!({
                "type": "array",
                "items": {
                    "type": "object", "required": ["type", "value", "verified"],
                    "properties": {
                        "type": {"type": "string"}, "value": {"type": "string"},
                        "verified": {"type": "boolean"},
                    },
                },
                "description": "Each with its `type`, `value`, and `verified`: whether an access \
                    token proved it. Empty with `collection_only`.",
            })
        },
        example: || json!([]),
        label: None,
        write: |row, out| match row.identities {
            Some(_) => copy_json(&row.identities_with_proof(), out),
            None => out.write_all(b"[]"),
        },
    },
    ResponseField {
        name: "identityVerified",
        schema: || {
            json!({
                "type": "boolean",
                "description": "Whether an access token proved the `userId`.",
            })
        },
        example: || json!(false),
        label: None,
        write: |row, out| write!(out, "{}", row.identity_verified),
    },
    ResponseField {
        name: "respondentId",
        schema: || json!({"type": ["string", "null"]}),
        example: || Value::Null,
        label: Some("Respondent"),
        write: |row, out| match row.respondent_id {
            Some(id) => quoted(out, |out| id.append_to(out)),
            None => out.write_all(b"null"),
        },
    },
    ResponseField {
        name: "metadata",
        schema: || {
            json!({
                "type": "object", "required": ["tags"],
                "properties": {"tags": {
                    "type": "object", "additionalProperties": text_or_list(),
                    "description": "By tag name.",
                }},
            })
        },
        example: || json!({"tags": {"plan": "pro"}}),
        label: None,
        write: |row, out| {
            out.write_all(b"{\"tags\":")?;
            copy_json(row.tags.as_deref().unwrap_or("{}"), out)?;
            out.write_all(b"}")
        },
    },
    ResponseField {
        name: "context",
        schema: || {
            let text = json!({"type": "string"});
            let page = json!({"path": text, "referrer": text, "search": text});
            json!({
                "type": "object",
                "properties": {
                    "page": {"type": "object", "properties": page},
                    "locale": text, "userAgent": text,
                },
            })
        },
        example: || json!({"locale": "en"}),
        label: None,
        write: |row, out| copy_json(row.context.as_deref().unwrap_or("{}"), out),
    },
    ResponseField {
        name: "flowAssignmentId",
        schema: || json!({"type": ["string", "null"]}),
        example: || Value::Null,
        label: Some("Invitation"),
        write: |row, out| Ok(serde_json::to_writer(out, &row.flow_assignment_id)?),
    },
    ResponseField {
        name: "score",
        schema: || {
            json!({
                "type": ["number", "null"],
                "description": "The sum over the visible answers, if the version has scores.",
            })
        },
        example: || Value::Null,
        label: Some("Score"),
        write: |row, out| out.write_all(row.score.as_deref().unwrap_or("null").as_bytes()),
    },
];

/// By reference to the component of the OpenAPI document.
fn text_or_list() -> Value {
    json!({"$ref": "#/components/schemas/TextOrList"})
}

/// The name of the field that exports may write in another form.
const ANSWERS: &str = "answers";

/// Appends the JSON of a response, without a line break in it.
pub(crate) fn write_json(row: &ResponseRow, out: &mut Vec<u8>) -> io::Result<()> {
    write_json_with(row, out, |out| copy_json(&row.answers, out))
}

/// The same with the answers that the caller writes.
pub(crate) fn write_json_with(
    row: &ResponseRow,
    out: &mut Vec<u8>,
    mut answers: impl FnMut(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    for (index, field) in FIELDS.iter().enumerate() {
        out.push(if index == 0 { b'{' } else { b',' });
        quoted(out, |out| out.extend_from_slice(field.name.as_bytes()))?;
        out.push(b':');
        match field.name {
            ANSWERS => answers(out)?,
            _ => (field.write)(row, out)?,
        }
    }
    out.push(b'}');
    Ok(())
}

/// Writes a text that needs no escape. `write!` takes several times as long.
fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
    out.push(b'"');
    write(out);
    out.push(b'"');
    Ok(())
}

/// Copies stored JSON. A line break in it can only be white space between tokens, so a space
/// replaces it.
fn copy_json(json: &str, out: &mut Vec<u8>) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(json.as_bytes());
    // Two searches: those for a single byte are fast.
    if json.contains('\n') || json.contains('\r') {
        for byte in &mut out[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    Ok(())
}

/// The JSON of one response.
#[derive(Debug, Clone)]
pub struct ResponseJson {
    response_id: ResponseId,
    json: Box<RawValue>,
}

impl ResponseJson {
    /// Fails if a column that should hold JSON does not.
    pub fn new(row: &ResponseRow) -> Result<Self, StoreError> {
        let corrupt = |error: &dyn std::error::Error| {
            StoreError::Corrupt(format!("{}, a JSON column: {error}", row.response_id))
        };
        let mut json = Vec::with_capacity(512 + row.texts_len());
        write_json(row, &mut json).map_err(|error| corrupt(&error))?;
        let json = String::from_utf8(json).map_err(|error| corrupt(&error))?;
        let json = RawValue::from_string(json).map_err(|error| corrupt(&error))?;
        Ok(Self { response_id: row.response_id, json })
    }

    pub fn response_id(&self) -> ResponseId {
        self.response_id
    }

    /// Indented, for people.
    pub fn pretty(&self) -> String {
        let value = serde_json::from_str::<Value>(self.json.get());
        value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_default()
    }
}

impl Serialize for ResponseJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

/// The values that have a label, unless they are null.
pub fn labelled_values(row: &ResponseRow) -> Vec<(&'static str, String)> {
    let labelled = FIELDS.iter().filter_map(|field| Some((field, field.label?)));
    let value = |field: &ResponseField| {
        let mut json = Vec::new();
        (field.write)(row, &mut json).ok()?;
        match serde_json::from_slice(&json).ok()? {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    };
    labelled.filter_map(|(field, label)| Some((label, value(field)?))).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use sluice_flow::id::{AppId, FlowId, FlowVersionId};
    use sluice_flow::submission::Admission;
    use sluice_store::conformance::rows::empty_response;
    use uuid::Uuid;

    use super::*;

    /// A response without anything optional.
    pub(crate) fn empty_row(app: u128) -> ResponseRow {
        empty_response(
            AppId::from_uuid(Uuid::from_u128(app)),
            FlowId::from_uuid(Uuid::nil()),
            FlowVersionId::from_uuid(Uuid::nil()),
            ResponseId::from_uuid(Uuid::nil()),
        )
    }

    #[test]
    fn the_fields_are_written_in_the_order_of_the_contract() {
        let json = ResponseJson::new(&empty_row(1)).unwrap();
        assert_eq!(
            serde_json::to_string(&json).unwrap(),
            r#"{"responseId":"rs_0000000000000000000000","flowId":"fl_0000000000000000000000","flowVersionId":"fv_0000000000000000000000","receivedAt":"1970-01-01T00:00:00.000Z","respondentAnalyticsAdmission":"collection_only","answers":{},"identities":[],"identityVerified":false,"respondentId":null,"metadata":{"tags":{}},"context":{},"flowAssignmentId":null,"score":null}"#
        );
        assert_eq!(labelled_values(&empty_row(1)), []);
    }

    #[test]
    fn stored_json_is_copied_and_texts_are_escaped() {
        let row = ResponseRow {
            admission: Admission::Admitted,
            answers: "{\"nps\":\"9\",\n\"why\":\"a\\nb\"}".to_owned(),
            identities: Some(r#"[{"type":"userId","value":"u-1"}]"#.to_owned()),
            identity_verified: true,
            tags: Some(r#"{"plan":["a","b"]}"#.to_owned()),
            context: Some(r#"{"locale":"en"}"#.to_owned()),
            flow_assignment_id: Some("a \"b\"".to_owned()),
            score: Some("-0.5".to_owned()),
            ..empty_row(1)
        };
        let mut line = Vec::new();
        write_json(&row, &mut line).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(!line.contains('\n'), "{line}");
        let value: Value = line.parse().unwrap();
        assert_eq!(value["answers"], json!({"nps": "9", "why": "a\nb"}));
        let identities = json!([{"type": "userId", "value": "u-1", "verified": true}]);
        assert_eq!(value["identities"], identities);
        assert_eq!(value["metadata"], json!({"tags": {"plan": ["a", "b"]}}));
        assert_eq!(value["context"], json!({"locale": "en"}));
        assert_eq!(value["flowAssignmentId"], "a \"b\"");
        assert_eq!(value["score"], -0.5);
        let labelled = [("Invitation", "a \"b\"".to_owned()), ("Score", "-0.5".to_owned())];
        assert_eq!(labelled_values(&row), labelled);
        assert_eq!(serde_json::to_value(ResponseJson::new(&row).unwrap()).unwrap(), value);
    }

    #[test]
    fn a_column_that_is_not_json_is_an_error() {
        let row = ResponseRow { answers: "{\"nps\":".to_owned(), ..empty_row(1) };
        assert!(matches!(ResponseJson::new(&row), Err(StoreError::Corrupt(_))));
    }

    #[test]
    fn every_field_has_a_schema_that_its_example_fits() {
        for field in FIELDS {
            let (schema, example) = ((field.schema)(), (field.example)());
            let types = match &schema["type"] {
                Value::Array(types) => types.clone(),
                one => vec![one.clone()],
            };
            let of_example = match example {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            assert!(types.contains(&json!(of_example)), "{}", field.name);
        }
    }
}
