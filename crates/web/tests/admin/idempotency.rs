//! `Idempotency-Key` over HTTP: what is repeated, what is refused, and what is stored of it.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use sluice_web::{admin, openapi};

use crate::support::{ROOT, Reply, Site, definition, text};

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

fn request(token: &str, method: &str, path: &str, key: &str, body: &Value) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(format!("{}{path}", admin::BASE))
        .header("authorization", format!("Bearer {token}"))
        .header("idempotency-key", key)
        .header("content-type", "application/json")
        .body(if body.is_null() { Body::empty() } else { Body::from(body.to_string()) })
        .unwrap()
}

async fn post(site: &Site, key: &str, path: &str, body: &Value) -> Reply {
    site.raw(request(ROOT, "POST", path, key, body)).await
}

fn is_replay(reply: &Reply) -> bool {
    reply.headers.get("idempotency-replayed").is_some_and(|value| value == "true")
}

async fn app_count(site: &Site) -> usize {
    site.get("/apps").await.ok(200)["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_repeated_request_gets_the_stored_reply_and_is_carried_out_once() {
    let site = Site::start().await;
    let new = json!({"name": "Acme"});
    let first = post(&site, "one", "/apps", &new).await;
    assert!(!is_replay(&first));
    let again = post(&site, "\"one\"", "/apps", &new).await;
    assert!(is_replay(&again));
    assert_eq!(again.headers["content-type"], "application/json");
    assert_eq!(again.headers["cache-control"], "no-store");
    assert_eq!((again.status, &again.text), (201, &first.text));
    assert_eq!(app_count(&site).await, 1);
    // Another key is another request.
    assert!(!is_replay(&post(&site, "two", "/apps", &new).await));
    assert_eq!(app_count(&site).await, 2);
}

#[tokio::test]
async fn a_key_belongs_to_one_token() {
    let site = Site::start().await;
    let other = site.token(&["admin"], None).await;
    let new = json!({"name": "Acme"});
    post(&site, "one", "/apps", &new).await.ok(201);
    let reply = site.raw(request(&other, "POST", "/apps", "one", &new)).await;
    assert!(!is_replay(&reply));
    reply.ok(201);
    assert_eq!(app_count(&site).await, 2);
}

#[tokio::test]
async fn a_key_with_another_request_is_refused() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    post(&site, "one", "/apps", &json!({"name": "Acme"})).await.ok(201);
    for (path, body) in [
        ("/apps".to_owned(), json!({"name": "Other"})),
        ("/apps?x=1".to_owned(), json!({"name": "Acme"})),
        (format!("/apps/{app}/keys"), Value::Null),
    ] {
        post(&site, "one", &path, &body).await.problem(422, "idempotency_key_reused");
    }
    assert_eq!(app_count(&site).await, 2);
}

#[tokio::test]
async fn keys_are_1_to_255_printable_ascii_characters_and_sent_once() {
    let site = Site::start().await;
    let (longest, long) = ("k".repeat(255), "k".repeat(256));
    let new = json!({"name": "Acme"});
    for key in ["", "\"\"", "\"open", long.as_str()] {
        post(&site, key, "/apps", &new).await.problem(400, "idempotency_key_invalid");
    }
    let mut twice = request(ROOT, "POST", "/apps", "one", &new);
    twice.headers_mut().append("idempotency-key", "one".parse().unwrap());
    site.raw(twice).await.problem(400, "idempotency_key_invalid");
    assert_eq!(app_count(&site).await, 0);
    post(&site, &longest, "/apps", &new).await.ok(201);
}

#[tokio::test]
async fn what_was_refused_may_be_sent_again_with_the_same_key() {
    let site = Site::start().await;
    post(&site, "one", "/apps", &json!({"name": ""})).await.problem(422, "invalid");
    post(&site, "one", "/apps", &json!({"name": "Acme"})).await.ok(201);
    // So may a conflict that has been resolved since.
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let path = format!("/flows/{flow}/publish");
    site.put(&format!("/flows/{flow}/draft"), json!({})).await.ok(200);
    let refused = post(&site, "two", &path, &Value::Null).await;
    assert!((400..500).contains(&refused.status), "{}", refused.text);
    site.put(&format!("/flows/{flow}/draft"), definition("One")).await.ok(200);
    let published = post(&site, "two", &path, &Value::Null).await.ok(200);
    let again = post(&site, "two", &path, &Value::Null).await;
    assert!(is_replay(&again));
    assert_eq!(again.ok(200), published);
}

#[tokio::test]
async fn other_methods_ignore_the_key() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let path = format!("/apps/{app}");
    for name in ["One", "Two"] {
        let patch = request(ROOT, "PATCH", &path, "one", &json!({"name": name}));
        assert_eq!(site.raw(patch).await.ok(200)["name"], name);
    }
}

#[tokio::test]
async fn a_key_is_forgotten_after_a_day() {
    let site = Site::start().await;
    let new = json!({"name": "Acme"});
    post(&site, "one", "/apps", &new).await.ok(201);
    site.clock.advance_millis(DAY_MILLIS - 1);
    assert!(is_replay(&post(&site, "one", "/apps", &new).await));
    site.clock.advance_millis(1);
    assert!(!is_replay(&post(&site, "one", "/apps", &json!({"name": "Other"})).await));
    site.clock.advance_millis(DAY_MILLIS);
    site.engine.upkeep().enforce_retention().await.unwrap();
    assert!(!is_replay(&post(&site, "one", "/apps", &new).await));
}

#[tokio::test]
async fn every_post_takes_a_key() {
    let document = serde_json::to_value(openapi::document()).unwrap();
    let mut posts = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let takes = parameters.into_iter().any(|it| it["name"] == "Idempotency-Key");
            let is_admin_post = path.starts_with(admin::BASE) && method == "post";
            posts += usize::from(is_admin_post);
            assert!(takes || !is_admin_post, "{method} {path}");
        }
    }
    assert!(posts > 20, "{posts}");
}

/// Of concurrent attempts one is carried out; the others wait, or get its reply.
#[tokio::test]
async fn concurrent_attempts_have_one_effect() {
    let site = Site::start().await;
    let new = json!({"name": "Acme"});
    let attempts = (0..8).map(|_| post(&site, "one", "/apps", &new));
    let replies = futures_util::future::join_all(attempts).await;
    let carried_out = replies.iter().filter(|it| it.status == 201 && !is_replay(it)).count();
    assert_eq!(carried_out, 1);
    for reply in replies {
        match reply.status {
            201 => {}
            _ => {
                assert_eq!(reply.headers["retry-after"], "1");
                reply.problem(409, "request_in_progress");
            }
        }
    }
    assert_eq!(app_count(&site).await, 1);
}

/// Secrets that are shown once stay so: a stored reply cannot be read in the database.
#[tokio::test]
async fn no_secret_of_a_stored_reply_is_in_the_database() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    site.publish(&flow).await;
    let mut secrets = vec!["key-of-the-request".to_owned(), ROOT.to_owned()];
    for (path, body, names) in [
        ("/tokens".to_owned(), json!({"name": "x", "scopes": ["read"]}), &["token"][..]),
        (format!("/apps/{app}/identity-keys"), json!({"type": "hs256"}), &["secret"]),
        (format!("/apps/{app}/webhooks"), json!({"url": "https://hooks.example/"}), &["secret"]),
        (format!("/flows/{flow}/reports"), json!({"title": "x", "questions": ["nps"]}), &["link"]),
    ] {
        let key = format!("key-of-the-request {path}");
        let first = post(&site, &key, &path, &body).await;
        let again = post(&site, &key, &path, &body).await;
        assert!(is_replay(&again), "{}", again.text);
        assert_eq!(first.text, again.text);
        let made = first.ok(201);
        secrets.extend(names.iter().map(|name| text(&made[name])));
    }
    // In the file of the embedded store; on PostgreSQL nothing else is written either.
    let stored: Vec<u8> = ["sluice.db", "sluice.db-wal"]
        .into_iter()
        .filter_map(|name| std::fs::read(site.folder.path().join(name)).ok())
        .flatten()
        .collect();
    if stored.is_empty() {
        return;
    }
    let contains = |text: &str| stored.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(contains("Feedback"), "what is stored in clear is found");
    for secret in secrets {
        // That of a link is its last part. One in base64 may contain a slash, too.
        let is_link = secret.starts_with("http");
        let secret = if is_link { secret.rsplit('/').next().unwrap() } else { &secret };
        assert!(!contains(secret), "{secret} is in the database");
    }
}
