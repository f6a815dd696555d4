//! What the derived parts of the document cannot express: constants, limits with the names of their
//! constants, schemas from other crates, and the media types of exports.
//!
//! It works on the JSON, in one place, so that operations are described where they are handled.

use serde_json::{Map, Value, json};
use sluice_engine::export::FORMATS;
use sluice_http::path_segment::{self, PathId as _};

use super::{definition, headers, limits};
use crate::BASE;
use crate::request::Kid;

/// The finished document.
pub(super) fn finished(mut document: Value) -> Value {
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        definition::add_to(schemas);
        limits::add_to(schemas);
    }
    add_path_parameters(&mut document);
    headers::add_to(&mut document);
    require_parameters(&mut document);
    name_files(&mut document);
    name_definitions(&mut document);
    let webhooks = document["webhooks"].as_object_mut().into_iter().flatten();
    for (_, webhook) in webhooks {
        // Receivers check a signature; OpenAPI has no scheme for that.
        webhook["post"]["security"] = json!([]);
    }
    with_constants(&mut document);
    document
}

/// The parameters in each path, before others. An operation of the admin API refuses an id that
/// nothing has, unless its own description says more about that.
fn add_path_parameters(document: &mut Value) {
    for (path, operations) in document["paths"].as_object_mut().into_iter().flatten() {
        let names: Vec<&str> =
            path.split('{').filter_map(|it| Some(it.split_once('}')?.0)).collect();
        if names.is_empty() {
            continue;
        }
        for (_, operation) in operations.as_object_mut().into_iter().flatten() {
            let of_path = names.iter().map(|name| {
                json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})
            });
            let others = operation["parameters"].as_array().cloned().unwrap_or_default();
            operation["parameters"] = of_path.chain(others).collect();
            if path.starts_with(BASE) && operation["responses"].get("404").is_none() {
                operation["responses"]["404"] = not_found(&names);
            }
        }
    }
}

fn not_found(names: &[&str]) -> Value {
    let missing = |name: &&str| match *name {
        Kid::PARAMETER => Some(Kid::MISSING),
        name => path_segment::missing(name),
    };
    let codes = names.iter().filter_map(missing).map(|it| format!("`{}`", it.code()));
    let content = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
    json!({
        "description": codes.collect::<Vec<_>>().join(", "),
        "content": {"application/problem+json": content}
    })
}

/// The required parameters whose schema is written by a function: the derived part of the document
/// leaves that out.
const REQUIRED: [(&str, &str, &str); 5] = [
    ("/flows/{flowId}/export", "get", "format"),
    ("/respondents/export", "get", "type"),
    ("/respondents", "delete", "type"),
    ("/respondents", "delete", "answers"),
    ("/respondents/{respondentId}", "delete", "answers"),
];

fn require_parameters(document: &mut Value) {
    for (path, method, name) in REQUIRED {
        let operation = &mut document["paths"][format!("{BASE}{path}")][method];
        let parameters = operation["parameters"].as_array_mut().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["name"] == name) {
            parameter["required"] = true.into();
        }
    }
}

/// Files are bytes, in the media type of their format.
fn name_files(document: &mut Value) {
    let export = &mut document["paths"][format!("{BASE}/flows/{{flowId}}/export")]["get"];
    let mut content: Map<String, Value> =
        FORMATS.iter().map(|format| (plain(format.media_type), binary())).collect();
    // Some generators read only this one as bytes, and cannot write a client for the others.
    content.insert("application/octet-stream".to_owned(), binary());
    export["responses"]["200"]["content"] = Value::Object(content);
    let assets = &mut document["paths"][format!("{BASE}/apps/{{appId}}/assets")]["post"];
    let bodies = assets["requestBody"]["content"].as_object_mut().into_iter().flatten();
    for (_, body) in bodies {
        *body = binary();
    }
}

fn binary() -> Value {
    json!({"schema": {"type": "string", "format": "binary"}})
}

/// Without parameters such as the character set, which clients do not compare.
fn plain(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_owned()
}

/// The bodies of flows and drafts, by reference.
fn name_definitions(document: &mut Value) {
    let reference = json!({"$ref": "#/components/schemas/Definition"});
    let draft = &mut document["paths"][format!("{BASE}/flows/{{flowId}}/draft")]["put"];
    draft["requestBody"]["content"]["application/json"]["schema"] = reference.clone();
    let new_flow = &mut document["components"]["schemas"]["NewFlow"]["properties"]["definition"];
    let description = "The first draft; without one it starts empty. It may have faults until it \
                       is published.";
    *new_flow = reference;
    new_flow["description"] = description.into();
}

/// A choice of one boolean is a constant, by which clients narrow a union; generators know choices
/// only of texts and numbers.
fn with_constants(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::Array(values)) = members.get("enum")
                && let [only @ Value::Bool(_)] = values.as_slice()
            {
                let only = only.clone();
                members.remove("enum");
                members.insert("const".to_owned(), only);
            }
            members.values_mut().for_each(with_constants);
        }
        Value::Array(elements) => elements.iter_mut().for_each(with_constants),
        _ => {}
    }
}
