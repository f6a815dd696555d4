//! The headers that many operations of the admin API share, the replies that belong to them, and
//! the refusal of unknown query parameters.
//!
//! They are handled by layers around all routes, so they are described here and not by each route.

use serde_json::{Map, Value, json};

use crate::BASE;
use crate::resources::{self, Operation};

const PROBLEM: &str = "application/problem+json";

/// Adds the headers to every operation that takes them, and the refusals.
pub(super) fn add_to(document: &mut Value) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths.filter(|(path, _)| path.starts_with(BASE)) {
        let operations = item.as_object_mut().into_iter().flatten();
        for (method, operation) in operations {
            add_problem(operation, "422", "`invalid`: unknown query parameters, each in `errors`");
            if method == "post" {
                add_key(operation);
            }
            let path = path.strip_prefix(BASE).unwrap_or_default();
            if let Some(of) = resources::find(&method.to_uppercase(), path) {
                add_tags(operation, of);
            }
        }
    }
}

fn add_tags(operation: &mut Value, of: &Operation) {
    if of.method == "GET" {
        add_parameter(
            operation,
            "If-None-Match",
            "Entity tags of states that the client has; if the current one is among them, the reply \
             is 304 without a body",
            json!({"type": "string", "maxLength": 8192}),
        );
        let tag =
            "The entity tag of this state, for `If-None-Match`, and for `If-Match` of a change";
        add_reply_header(operation, "ETag", tag, &json!({"type": "string"}));
        let headers = json!({"ETag": {"description": tag, "schema": {"type": "string"}}});
        operation["responses"]["304"] =
            json!({"description": "The client has this state already", "headers": headers});
        return;
    }
    let tag = "The entity tag of the new state, if it is known exactly: not if it was deleted, or \
               changed again meanwhile";
    add_reply_header(operation, "ETag", tag, &json!({"type": "string"}));
    if !of.is_conditional() {
        return;
    }
    let about = format!(
        "The entity tag (`ETag`) of the state of `{}` that the change is based on, or several of \
         them, or `*` for any. If the current state is another one, nothing is changed",
        of.resource
    );
    add_parameter(operation, "If-Match", &about, json!({"type": "string", "maxLength": 8192}));
    add_problem(operation, "400", "`if_match_invalid`: not `*` or a list of entity tags");
    let failed =
        "`precondition_failed`: the current state has another entity tag; nothing was changed";
    add_problem(operation, "412", failed);
}

fn add_key(operation: &mut Value) {
    add_parameter(
        operation,
        "Idempotency-Key",
        "Makes the request safe to send again: for 24 hours, the same request of the same token with \
         this key is not carried out again and gets the stored reply, with `Idempotency-Replayed: \
         true`. 1 to 255 printable ASCII characters, chosen at random for each request",
        json!({"type": "string", "minLength": 1, "maxLength": 255}),
    );
    add_reply_header(
        operation,
        "Idempotency-Replayed",
        "`true` if the request was carried out before, and this is its reply",
        &json!({"type": "string", "enum": ["true"]}),
    );
    for (status, description) in [
        ("400", "`idempotency_key_invalid`: the key is empty, too long, sent twice, or not ASCII"),
        (
            "409",
            "`request_in_progress`: a request with this key is being carried out; try again after \
             `Retry-After` seconds; `reply_lost`: it was carried out, and its reply is not known: \
             check what it changed",
        ),
        ("413", "`payload_too_large`: the body is too large"),
        ("422", "`idempotency_key_reused`: the key was used for another request"),
        ("429", "`too_many_idempotency_keys`: the token has used too many keys in 24 hours"),
    ] {
        add_problem(operation, status, description);
    }
}

fn add_parameter(operation: &mut Value, name: &str, description: &str, schema: Value) {
    let parameter = json!({
        "name": name, "in": "header", "required": false, "description": description,
        "schema": schema,
    });
    match operation["parameters"].as_array_mut() {
        Some(parameters) => parameters.push(parameter),
        None => operation["parameters"] = json!([parameter]),
    }
}

/// Adds a header to every reply that means success.
fn add_reply_header(operation: &mut Value, name: &str, description: &str, schema: &Value) {
    let replies = operation["responses"].as_object_mut().into_iter().flatten();
    for (_, reply) in replies.filter(|(status, _)| status.starts_with('2')) {
        reply["headers"][name] = json!({"description": description, "schema": schema});
    }
}

/// Adds a reason to a reply, or the reply if there is none yet. A reason that it has is not added.
fn add_problem(operation: &mut Value, status: &str, description: &str) {
    let replies = &mut operation["responses"];
    let code = description.split('`').nth(1).unwrap_or_default();
    match replies[status]["description"].as_str() {
        Some(before) if before.contains(&format!("`{code}`")) => {}
        Some(before) => {
            replies[status]["description"] = format!("{before}; {description}").into();
        }
        None => {
            let schema = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
            let content: Map<String, Value> = [(PROBLEM.to_owned(), schema)].into_iter().collect();
            replies[status] = json!({"description": description, "content": content});
        }
    }
}
