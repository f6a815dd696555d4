//! Entity tags over HTTP: on every resource, and compared before every change to one.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use sluice_web::{admin, openapi};

use crate::routes::{Route, Things, body};
use crate::support::{ROOT, Reply, Site, definition, text};

const STALE: &str = "\"00000000000000000000000000000000\"";

/// The documented operations that take this header, each with its documentation of it.
fn taking(header: &str) -> Vec<(Route, String)> {
    let document = serde_json::to_value(openapi::document()).unwrap();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(path) = path.strip_prefix(admin::BASE) else { continue };
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            for parameter in parameters.filter(|it| it["name"] == header) {
                let scope = text(&operation["security"][0]["adminToken"][0]);
                let method = method.to_uppercase();
                let route = Route { method, path: path.to_owned(), scope };
                found.push((route, text(&parameter["description"])));
            }
        }
    }
    found
}

async fn send(
    site: &Site,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Reply {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{}{path}", admin::BASE))
        .header("authorization", format!("Bearer {ROOT}"))
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    site.raw(request.body(body).unwrap()).await
}

fn tag(reply: &Reply) -> Option<String> {
    reply.headers.get("etag").map(|tag| tag.to_str().unwrap().to_owned())
}

async fn current(site: &Site, path: &str) -> String {
    let reply = site.get(path).await;
    tag(&reply).unwrap_or_else(|| panic!("{path} has no tag: {}", reply.text))
}

/// The path of the resource that the documentation of `If-Match` names.
fn resource(things: &Things, documented: &str) -> String {
    let template = documented.split('`').find(|part| part.starts_with('/')).unwrap();
    let (method, scope) = ("GET".to_owned(), String::new());
    let path = things.path(&Route { method, path: template.to_owned(), scope });
    path.split('?').next().unwrap().to_owned()
}

#[tokio::test]
async fn every_resource_has_a_tag_and_is_sent_once_per_state() {
    let site = Site::start().await;
    let things = Things::make(&site).await;
    let reads = taking("If-None-Match");
    assert_eq!(reads.len(), 16, "a resource was added or removed");
    for (route, _) in reads {
        let path = things.path(&route);
        let first = site.get(&path).await;
        let tag = tag(&first).unwrap_or_else(|| panic!("{path} has no tag"));
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() >= 34, "{path}: {tag}");
        let weak = format!("W/{tag}");
        let listed = format!("{STALE}, {tag}");
        for known in [tag.as_str(), weak.as_str(), listed.as_str(), "*"] {
            let again = send(&site, "GET", &path, &[("if-none-match", known)], &Value::Null).await;
            assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}: {known}");
            assert_eq!(again.headers["etag"], tag.as_str());
            assert_eq!(again.headers["cache-control"], "no-store");
        }
        for other in [STALE, "nonsense", ""] {
            let again = send(&site, "GET", &path, &[("if-none-match", other)], &Value::Null).await;
            assert_eq!((again.status, again.text.as_str()), (200, first.text.as_str()), "{path}");
        }
    }
    let list = site.get("/apps").await;
    assert_eq!(tag(&list), None, "lists have none");
}

/// Tokens have no revision that would show whether the new state is the newest.
const WITHOUT_NEW_TAG: &str = "/tokens/{tokenId}";

#[tokio::test]
async fn every_change_compares_the_tag_and_has_the_new_one() {
    let changes = taking("If-Match");
    assert_eq!(changes.len(), 33, "an operation was added or removed");
    let site = Site::start().await;
    for (route, documented) in changes {
        let things = Things::make(&site).await;
        let (path, resource) = (things.path(&route), resource(&things, &documented));
        let label = format!("{} {}", route.method, route.path);
        let before = site.get(&resource).await;
        let tag_before = tag(&before).unwrap_or_else(|| panic!("{label}: no tag"));
        let audit = site.get("/audit").await.text;
        let change = body(&route);
        let weak = format!("W/{tag_before}");
        for stale in [STALE, weak.as_str()] {
            let headers = [("if-match", stale)];
            let refused = send(&site, &route.method, &path, &headers, &change).await;
            assert_eq!(refused.status, 412, "{label}: {}", refused.text);
            refused.problem(412, "precondition_failed");
        }
        assert_eq!(site.get(&resource).await.text, before.text, "{label}: nothing changed");
        assert_eq!(site.get("/audit").await.text, audit, "{label}: nothing happened");
        let listed = format!("{STALE} , {tag_before}");
        let reply =
            send(&site, &route.method, &path, &[("if-match", listed.as_str())], &change).await;
        assert!((200..300).contains(&reply.status), "{label}: {}", reply.text);
        let after = site.get(&resource).await;
        let is_same = tag(&after).as_ref() == Some(&tag_before);
        match tag(&reply) {
            Some(new) => assert_eq!(Some(new), tag(&after), "{label}"),
            None => assert!(
                is_same || after.status == 404 || route.path == WITHOUT_NEW_TAG,
                "{label}: no tag of the new state"
            ),
        }
    }
}

#[tokio::test]
async fn an_update_of_an_older_state_is_refused_and_the_new_tag_goes_on() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let path = format!("/apps/{app}");
    let tag_of_first = current(&site, &path).await;
    let patch = async |tag: &str, name: &str| {
        send(&site, "PATCH", &path, &[("if-match", tag)], &json!({"name": name})).await
    };
    let renamed = patch(&tag_of_first, "One").await;
    let tag_of_second = tag(&renamed).unwrap();
    assert_ne!(tag_of_first, tag_of_second);
    renamed.ok(200);
    patch(&tag_of_first, "Lost").await.problem(412, "precondition_failed");
    patch(&tag_of_second, "Two").await.ok(200);
    patch("*", "Three").await.ok(200);
    assert_eq!(site.get(&path).await.ok(200)["name"], "Three");
}

#[tokio::test]
async fn one_of_concurrent_changes_to_one_state_succeeds() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let (path, draft) = (format!("/flows/{flow}"), format!("/flows/{flow}/draft"));
    for (path, method) in [(&path, "PATCH"), (&draft, "PUT")] {
        let tag = current(&site, path).await;
        let names = (0..6).map(|number| match method {
            "PATCH" => json!({"name": format!("Name {number}")}),
            _ => definition(&format!("Title {number}")),
        });
        let headers = [("if-match", tag.as_str())];
        let names: Vec<Value> = names.collect();
        let changes = names.iter().map(|body| send(&site, method, path, &headers, body));
        let replies = futures_util::future::join_all(changes).await;
        let done = replies.iter().filter(|reply| reply.status == 200).count();
        assert_eq!(done, 1, "{path}");
        for refused in replies.into_iter().filter(|reply| reply.status != 200) {
            refused.problem(412, "precondition_failed");
        }
    }
}

#[tokio::test]
async fn a_star_requires_that_there_is_something() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let path = format!("/flows/{flow}/draft");
    site.publish(&flow).await;
    let put = async |headers: &[(&str, &str)]| {
        send(&site, "PUT", &path, headers, &definition("Two")).await
    };
    put(&[("if-match", "*")]).await.problem(412, "precondition_failed");
    site.get(&path).await.problem(404, "draft_not_found");
    put(&[]).await.ok(200);
    put(&[("if-match", "*")]).await.ok(200);
}

#[tokio::test]
async fn other_faults_of_a_request_come_first() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let stale = [("if-match", STALE)];
    let path = format!("/apps/{app}");
    send(&site, "PATCH", &path, &stale, &json!({"nmae": "x"})).await.problem(422, "invalid");
    let unknown = "/apps/app_0000000000000000000000";
    let absent = send(&site, "PATCH", unknown, &stale, &json!({"name": "x"})).await;
    absent.problem(404, "app_not_found");
    let malformed = [("if-match", "no quotes")];
    let malformed = send(&site, "PATCH", &path, &malformed, &json!({"name": "x"})).await;
    malformed.problem(400, "if_match_invalid");
    let new = json!({"name": "x", "scopes": ["read"]});
    let unsupported = send(&site, "POST", "/tokens", &stale, &new).await;
    unsupported.problem(400, "if_match_unsupported");
}

#[tokio::test]
async fn a_change_that_changes_nothing_compares_the_tag_too() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let path = format!("/apps/{app}");
    let same = json!({"name": "Acme"});
    send(&site, "PATCH", &path, &[("if-match", STALE)], &same)
        .await
        .problem(412, "precondition_failed");
    let tag_before = current(&site, &path).await;
    let reply = send(&site, "PATCH", &path, &[("if-match", tag_before.as_str())], &same).await;
    assert_eq!(tag(&reply), Some(tag_before));
}

/// The number of responses moves by itself.
#[tokio::test]
async fn what_moves_by_itself_is_not_compared() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    let path = format!("/flows/{flow}");
    site.patch(&path, json!({"closeAfter": 10})).await.ok(200);
    let tag_before = current(&site, &path).await;
    site.store(&key, &version, json!({})).await;
    let tag_after = current(&site, &path).await;
    assert_ne!(tag_before, tag_after);
    let read =
        send(&site, "GET", &path, &[("if-none-match", tag_before.as_str())], &Value::Null).await;
    assert_eq!(read.ok(200)["counted"]["responses"], 1);
    let renamed = json!({"name": "x"});
    send(&site, "PATCH", &path, &[("if-match", tag_before.as_str())], &renamed).await.ok(200);
    let again = send(&site, "PATCH", &path, &[("if-match", tag_before.as_str())], &renamed).await;
    again.problem(412, "precondition_failed");
}

#[tokio::test]
async fn a_repeated_request_is_replayed_whatever_the_state_is_by_then() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let (path, close) = (format!("/flows/{flow}"), format!("/flows/{flow}/close"));
    let tag_before = current(&site, &path).await;
    let headers = [("if-match", tag_before.as_str()), ("idempotency-key", "one")];
    let first = send(&site, "POST", &close, &headers, &Value::Null).await;
    let again = send(&site, "POST", &close, &headers, &Value::Null).await;
    assert_eq!((again.status, &again.text, tag(&again)), (200, &first.text, tag(&first)));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let other = [("if-match", "*"), ("idempotency-key", "one")];
    let other = send(&site, "POST", &close, &other, &Value::Null).await;
    other.problem(422, "idempotency_key_reused");
}
