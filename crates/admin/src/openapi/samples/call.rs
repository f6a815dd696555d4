//! One call of an operation, with sample ids and the example body, in no language yet.

use serde_json::{Map, Value};

use crate::reference::example;

/// What each parameter of a path is in samples.
const IDS: [(&str, &str); 14] = [
    ("apiKey", "pk_7n42DGM5Tflk9n8mt7Fhc7"),
    ("appId", "app_01KA2VgdPrWYDVgYy3wLpA"),
    ("assetId", "as_06Dy3mWjVC9Wh9bEzFTKgV"),
    ("deliveryId", "dl_01KA2VgdPrWYDVgYy3wLpJ"),
    ("webhookId", "ep_01KA2VgdPrWYDVgYy3wLpH"),
    ("flowAssignmentId", "fa_01KA2VgdPrWYDVgYy3wLpG"),
    ("flowId", "fl_01KA2VgdPrWYDVgYy3wLpB"),
    ("flowVersionId", "fv_01KA2VgdPrWYDVgYy3wLpC"),
    ("kid", "ik_7n42DGM5Tflk9n8mt7Fhc7"),
    ("reportId", "rep_01KA2VgdPrWYDVgYy3wLpF"),
    ("respondentId", "rp_01KA2VgdPrWYDVgYy3wLpF"),
    ("responseId", "rs_01KA2VgdPrWYDVgYy3wLpD"),
    ("tokenId", "tk_01KA2VgdPrWYDVgYy3wLpE"),
    ("userId", "us_01KA2VgdPrWYDVgYy3wLpE"),
];

/// The methods of operations in a document.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

#[derive(Debug)]
pub(super) struct Call {
    /// The operation's id.
    pub(super) id: String,
    /// As in the document: with parameters, and in lower case.
    pub(super) path: String,
    pub(super) method: String,
    /// The address of the server.
    pub(super) server: String,
    /// The required parameters, and those with an example.
    pub(super) query: Vec<(String, String)>,
    pub(super) is_admin: bool,
    pub(super) body: Body,
    pub(super) reply: Reply,
}

#[derive(Debug)]
pub(super) enum Body {
    None,
    Json(Value),
    /// A file of this name and media type.
    File(&'static str, String),
}

/// What a caller does with a successful reply.
#[derive(Debug)]
pub(super) enum Reply {
    /// Nothing but the status.
    Empty,
    Json,
    Text,
    /// Bytes, saved under this name.
    File(String),
}

impl Call {
    /// The whole address, with sample ids.
    pub(super) fn url(&self) -> String {
        let mut url = format!("{}{}", self.server, self.path);
        for (name, id) in IDS {
            url = url.replace(&format!("{{{name}}}"), id);
        }
        for (index, (name, value)) in self.query.iter().enumerate() {
            url.push(if index == 0 { '?' } else { '&' });
            url.push_str(name);
            url.push('=');
            url.push_str(value);
        }
        url
    }

    pub(super) fn has_method(&self, method: &str) -> bool {
        self.method.eq_ignore_ascii_case(method)
    }

    /// The example body, if it is JSON.
    pub(super) fn json(&self) -> Option<&Map<String, Value>> {
        match &self.body {
            Body::Json(value) => value.as_object(),
            Body::None | Body::File(..) => None,
        }
    }

    pub(super) fn content_type(&self) -> Option<&str> {
        match &self.body {
            Body::None => None,
            Body::Json(_) => Some("application/json"),
            Body::File(_, media_type) => Some(media_type),
        }
    }
}

/// The sample of an id.
pub(super) fn id(name: &str) -> &'static str {
    IDS.iter().find(|(it, _)| *it == name).map_or("", |(_, id)| id)
}

/// Every call of the document.
pub(super) fn all_of(document: &Value, public_url: &str, admin_url: &str) -> Vec<Call> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let calls = paths.flat_map(|(path, item)| {
        METHODS.iter().filter_map(move |&method| {
            let operation = item.get(method)?;
            let query = query_of(operation);
            let is_admin = operation["security"][0].get("adminToken").is_some();
            let server = if is_admin { admin_url } else { public_url };
            Some(Call {
                id: operation["operationId"].as_str().unwrap_or_default().to_owned(),
                path: path.clone(),
                method: method.to_owned(),
                server: server.trim_end_matches('/').to_owned(),
                is_admin,
                body: body_of(document, operation),
                reply: reply_of(operation, &query),
                query,
            })
        })
    });
    calls.collect()
}

fn query_of(operation: &Value) -> Vec<(String, String)> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let named = parameters.filter(|it| it["in"] == "query").filter_map(|parameter| {
        let name = parameter["name"].as_str()?;
        let value = match parameter["example"].as_str() {
            Some(example) => example,
            None if parameter["required"] != true => return None,
            None => parameter["schema"]["enum"][0].as_str().unwrap_or_else(|| id(name)),
        };
        Some((name.to_owned(), value.to_owned()))
    });
    named.collect()
}

fn body_of(document: &Value, operation: &Value) -> Body {
    let Some(content) = operation["requestBody"]["content"].as_object() else {
        return Body::None;
    };
    match (content.get("application/json"), content.keys().next()) {
        (Some(json), _) => Body::Json(example::of_content(document, json)),
        (None, Some(media_type)) => Body::File("cat.jpg", media_type.clone()),
        (None, None) => Body::None,
    }
}

fn reply_of(operation: &Value, query: &[(String, String)]) -> Reply {
    let replies = operation["responses"].as_object().into_iter().flatten();
    let content = replies
        .filter(|(status, _)| status.starts_with('2'))
        .find_map(|(_, reply)| reply["content"].as_object());
    let Some(content) = content else {
        return Reply::Empty;
    };
    if content.contains_key("application/octet-stream") {
        let format = query.iter().find(|(name, _)| name == "format");
        return Reply::File(format!("responses.{}", format.map_or("bin", |(_, it)| it)));
    }
    let is_json =
        |it: &String| matches!(it.as_str(), "application/json" | "application/schema+json");
    if content.keys().any(is_json) { Reply::Json } else { Reply::Text }
}
