//! Filters, cursors and other parameters of the admin API: the first line is the id of an operation
//! that reads, the rest is its query. `APP` stands for the id of the app.
//!
//! The reply has a status that the OpenAPI document names for the operation, a refusal names every
//! faulty parameter, and `next` of a page is accepted as the `after` of the next one.

use std::sync::OnceLock;

use http::Method;
use serde_json::Value;
use sluice_http::query;

use super::site::{ADMIN_TOKEN, Reply, Site, site};

/// An operation that reads: its path with ids, and the statuses that are documented.
struct Operation {
    id: String,
    path: String,
    statuses: Vec<u16>,
}

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((id, query)) = text.split_once('\n') else { return };
    // A client keeps what follows this sign to itself.
    if query.contains('#') {
        return;
    }
    // A wait for events takes the time that the caller names.
    if query::pairs(query).any(|(name, _)| name == "wait") {
        return;
    }
    let site = site();
    let query = &query.replace("APP", &site.app_id);
    let Some(operation) = operations(site).iter().find(|operation| operation.id == id) else {
        return;
    };
    let Some(reply) = get(site, operation, query) else { return };
    let Ok(body) = serde_json::from_str::<Value>(&reply.text) else { return };
    if reply.status >= 400 {
        assert_eq!(body["status"], reply.status, "{body}");
        assert!(body["code"].is_string() && body["detail"].is_string(), "no problem: {body}");
        let errors = body["errors"].as_array();
        assert!(body["code"] != "invalid" || errors.is_some_and(|it| !it.is_empty()), "{body}");
    } else if let Some(next) = body["next"].as_str() {
        let mut pairs: Vec<(String, String)> = query::pairs(query)
            .filter(|(name, _)| name != "after")
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        pairs.push(("after".to_owned(), next.to_owned()));
        let page = get(site, operation, &query::text(&pairs)).expect("an encoded query");
        assert_eq!(page.status, 200, "after {next}: {}", page.text);
    }
}

fn get(site: &Site, operation: &Operation, query: &str) -> Option<Reply> {
    let token = format!("Bearer {ADMIN_TOKEN}");
    let headers = [("authorization", token.as_str())];
    let address = format!("{}?{query}", operation.path);
    let reply = site.send(&Method::GET, &address, &headers, Vec::new())?;
    assert!(operation.statuses.contains(&reply.status), "{address}: {}", reply.text);
    Some(reply)
}

/// Every GET of the admin API, from its own document.
fn operations(site: &Site) -> &'static [Operation] {
    static OPERATIONS: OnceLock<Vec<Operation>> = OnceLock::new();
    OPERATIONS.get_or_init(|| {
        let document = sluice_web::openapi::document();
        let paths = document["paths"].as_object().expect("paths");
        let reads = paths.iter().filter(|(path, _)| path.starts_with("/api/admin/"));
        let reads = reads.filter_map(|(path, item)| {
            let operation = item.get("get")?;
            let id = operation["operationId"].as_str()?.to_owned();
            let statuses = operation["responses"].as_object()?;
            let statuses = statuses.keys().filter_map(|status| status.parse().ok()).collect();
            let path = path
                .replace("{appId}", &site.app_id)
                .replace("{flowId}", &site.flow_id)
                .replace("{flowVersionId}", &site.flow_version_id);
            Some(Operation { id, path: with_unknown_ids(&path), statuses })
        });
        reads.collect()
    })
}

/// A path whose other ids name nothing.
fn with_unknown_ids(path: &str) -> String {
    let segments = path.split('/').map(|it| if it.starts_with('{') { "unknown" } else { it });
    segments.collect::<Vec<_>>().join("/")
}
