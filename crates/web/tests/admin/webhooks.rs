//! The event log and webhook endpoints over HTTP.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sluice_engine::clock::Clock as _;
use sluice_web::admin;
use tower::ServiceExt as _;

use crate::support::{ROOT, Site, text};

/// Lets time pass and delivers until this condition holds.
async fn until(site: &Site, what: &str, is_met: impl AsyncFn() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(90), async {
        while !is_met().await {
            site.clock.advance_millis(500);
            site.engine.upkeep().deliver_webhooks().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert!(waited.await.is_ok(), "{what} did not happen");
}

async fn deliveries(site: &Site, app: &str, endpoint: &str) -> Vec<Value> {
    let path = format!("/apps/{app}/webhooks/{endpoint}/deliveries");
    site.get(&path).await.ok(200)["items"].as_array().unwrap().clone()
}

/// Causes an event, and returns its delivery to an endpoint.
pub(crate) async fn sent(site: &Site, app: &str, endpoint: &str, flow: &str) -> String {
    site.post(&format!("/flows/{flow}/close"), Value::Null).await;
    site.post(&format!("/flows/{flow}/reopen"), Value::Null).await;
    until(site, "a delivery", async || !deliveries(site, app, endpoint).await.is_empty()).await;
    text(&deliveries(site, app, endpoint).await[0]["deliveryId"])
}

/// A site with an app, its key, and a published flow.
async fn with_flow() -> (Site, [String; 4]) {
    let site = Site::start().await;
    // PostgreSQL compares with its own clock how far the log can be read.
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    site.clock.advance_millis(i64::try_from(now).unwrap() - site.clock.now().as_millis());
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    (site, [app, key, flow, version])
}

async fn with_response() -> (Site, String, String, String) {
    let (site, [app, key, flow, version]) = with_flow().await;
    let response = site.store(&key, &version, json!({})).await;
    site.clock.advance_millis(1_000);
    (site, app, flow, response)
}

#[tokio::test]
async fn the_event_log_is_read_page_by_page() {
    let (site, app, flow, response) = with_response().await;
    let path = format!("/apps/{app}/events");
    let both = async || {
        let page = site.get(&path).await.ok(200);
        let has = |name| page["items"].as_array().unwrap().iter().any(|it| it["type"] == name);
        has("response.created") && has("flow.published")
    };
    until(&site, "the response and the publish", both).await;
    let all = site.get(&path).await.ok(200);
    let types: Vec<String> =
        all["items"].as_array().unwrap().iter().map(|it| text(&it["type"])).collect();
    assert!(types.contains(&"flow.published".to_owned()), "{types:?}");
    let created = site.get(&format!("{path}?types=response.created&flowId={flow}")).await.ok(200);
    let event = &created["items"][0];
    assert_eq!(event["data"]["response"]["responseId"], json!(response));
    let stored = site.get(&format!("/responses/{response}")).await.ok(200);
    assert_eq!(event["data"]["response"], stored);
    let (mut query, mut read) = ("?limit=1".to_owned(), Vec::new());
    for _ in 0..200 {
        let page = site.get(&format!("{path}{query}")).await.ok(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 1);
        read.extend(items.iter().map(|it| text(&it["type"])));
        query = format!("?limit=1&after={}", text(&page["next"]));
        if types.iter().all(|name| read.contains(name)) {
            break;
        }
    }
    assert!(types.iter().all(|name| read.contains(name)), "{types:?} is not in {read:?}");
    let latest = site.get(&format!("{path}?after=latest&wait=0")).await.ok(200);
    assert_eq!(latest["items"], json!([]));
    site.get(&format!("{path}?types=no.such&after=x&wait=31&limit=0")).await.faults(&[
        ("/after", "must be the id of an event"),
        ("/limit", "must be a whole number"),
        ("/types", "must be event types"),
        ("/wait", "must be a whole number from 0 to 30"),
    ]);
}

#[tokio::test]
async fn the_event_log_is_streamed_from_the_last_event_id() {
    let (site, app, _, response) = with_response().await;
    let path = format!("/apps/{app}/events");
    let found = async || {
        !site.get(&format!("{path}?types=response.created")).await.ok(200)["items"]
            .as_array()
            .unwrap()
            .is_empty()
    };
    until(&site, "the response", found).await;
    let stream = async |last: Option<&str>, patience: Duration| {
        let mut request = Request::get(format!("{}{path}?types=response.created", admin::BASE))
            .header("authorization", format!("Bearer {ROOT}"))
            .header("accept", "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let reply =
            site.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(reply.headers()["content-type"], "text/event-stream");
        let mut body = reply.into_body();
        let mut read = String::new();
        let waited = tokio::time::timeout(patience, async {
            while !read.contains("\nid: ") && !read.contains("id: evt_") {
                let Some(Ok(frame)) = body.frame().await else { break };
                read.push_str(&String::from_utf8_lossy(frame.data_ref().unwrap()));
            }
        });
        let _stopped = waited.await;
        read
    };
    let first = stream(None, Duration::from_secs(60)).await;
    assert!(first.contains("event: response.created") && first.contains(&response), "{first}");
    let id = first.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let rest = stream(Some(id), Duration::from_secs(2)).await;
    assert!(!rest.contains("event: response.created"), "{rest}");
}

#[tokio::test]
async fn an_endpoint_is_created_changed_tested_and_deleted() {
    let (site, app, flow, _) = with_response().await;
    let path = format!("/apps/{app}/webhooks");
    let new =
        json!({"url": "https://hooks.example/a", "events": ["response.created"], "flowId": flow});
    let made = site.post(&path, new).await.ok(201);
    assert_eq!(
        (&made["url"], &made["events"]),
        (&json!("https://hooks.example/a"), &json!(["response.created"]))
    );
    assert_eq!(made["flows"], json!([flow]));
    assert!(text(&made["secret"]).starts_with("whsec_"));
    assert_eq!((&made["state"], &made["format"]), (&json!("active"), &json!("standard")));
    let id = text(&made["webhookId"]);
    let one = format!("{path}/{id}");
    let shown = site.get(&one).await.ok(200);
    assert_eq!(shown["secret"], Value::Null);
    assert_eq!(site.get(&path).await.ok(200)["items"], json!([shown]));
    let changed = site.patch(&one, json!({"enabled": false, "description": "CRM"})).await.ok(200);
    assert_eq!((&changed["state"], &changed["description"]), (&json!("disabled"), &json!("CRM")));
    assert_eq!(site.patch(&one, json!({"enabled": true})).await.ok(200)["state"], "active");
    let tested = site.post(&format!("{one}/test"), Value::Null).await.ok(200);
    assert_eq!((&tested["state"], &tested["status"]), (&json!("delivered"), &json!(202)));
    assert_eq!(tested["reply"], "queued");
    let rotated = site.post(&format!("{one}/secret"), json!({})).await.ok(201);
    assert_ne!(rotated["secret"], made["secret"]);
    assert!(rotated["previousSecretUntil"].is_string());
    let delivery = text(&tested["deliveryId"]);
    let again = site.post(&format!("{one}/deliveries/{delivery}/redeliver"), Value::Null).await;
    again.problem(409, "event_gone");
    site.delete(&one).await.ok(204);
    site.get(&one).await.problem(404, "webhook_not_found");
    site.get(&format!("{one}/deliveries")).await.problem(404, "webhook_not_found");
}

#[tokio::test]
async fn a_faulty_endpoint_is_refused() {
    let (site, app, _, _) = with_response().await;
    let path = format!("/apps/{app}/webhooks");
    let private = json!({"url": "https://169.254.169.254/latest", "format": "fax"});
    let refused = site.post(&path, private).await;
    refused.faults(&[("/url", "must be a public address"), ("/format", "is not a format")]);
    let typo = json!({"url": "https://hooks.example/", "events": ["response.stored"]});
    site.post(&path, typo).await.faults(&[("/events/0", "is not an event type")]);
    let plain = json!({"url": "http://hooks.example/"});
    site.post(&path, plain).await.faults(&[("/url", "must be an https address")]);
    let chat = json!({"url": "https://hooks.example/", "format": "slack", "batch": true});
    let refused = site.post(&path, chat).await;
    refused.faults(&[("/batch", "must be false with the format Slack")]);
}

#[tokio::test]
async fn the_document_describes_every_event() {
    let document = serde_json::to_value(sluice_web::openapi::document()).unwrap();
    let webhooks = document["webhooks"].as_object().unwrap();
    let batches = 1;
    assert_eq!(webhooks.len(), sluice_flow::event::EventType::ALL.len() + batches);
    for (name, item) in webhooks {
        let content = &item["post"]["requestBody"]["content"]["application/json"];
        assert_eq!(content["schema"]["properties"]["type"]["enum"], json!([name]), "{name}");
        let required = content["schema"]["properties"]["data"]["required"].as_array();
        assert!(required.is_some_and(|it| !it.is_empty()), "{name}");
        assert_eq!(content["example"]["type"], json!(name));
    }
}

#[tokio::test]
async fn a_revoked_token_receives_no_further_events() {
    let (site, [app, key, _, version]) = with_flow().await;
    let path = format!("/apps/{app}/events");
    let new = json!({"name": "Stream", "scopes": ["read"], "appId": app});
    let made = site.post("/tokens", new).await.ok(201);
    let open = |accept: &str, query: &str| {
        let request = Request::get(format!("{}{path}{query}", admin::BASE))
            .header("authorization", format!("Bearer {}", text(&made["token"])))
            .header("accept", accept);
        site.router.clone().oneshot(request.body(Body::empty()).unwrap())
    };
    let stream = open("text/event-stream", "?after=latest").await.unwrap();
    assert_eq!(stream.status(), 200);
    let waiting = tokio::spawn(open("application/json", "?after=latest&wait=30"));
    let mut body = stream.into_body();
    // The greeting: the stream is open.
    body.frame().await.unwrap().unwrap();
    site.delete(&format!("/tokens/{}", text(&made["tokenId"]))).await.ok(204);
    let secret = site.store(&key, &version, json!({})).await;
    site.clock.advance_millis(1_000);
    let logged = async || {
        let page = site.get(&format!("{path}?types=response.created")).await.ok(200);
        page.to_string().contains(&secret)
    };
    until(&site, "the response", logged).await;
    let rest = tokio::time::timeout(Duration::from_secs(60), body.collect()).await;
    let rest = rest.expect("the stream ends").unwrap().to_bytes();
    assert!(!String::from_utf8_lossy(&rest).contains("response.created"), "{rest:?}");
    let waited = waiting.await.unwrap().unwrap();
    assert_eq!(waited.status(), 401);
}

#[tokio::test]
async fn the_url_of_an_endpoint_is_stored_as_it_is_used() {
    let (site, app, _, _) = with_response().await;
    let path = format!("/apps/{app}/webhooks");
    for (url, stored) in [
        ("https://hooks.example/a\r\nX-Injected: 1", "https://hooks.example/aX-Injected:%201"),
        ("https://hooks.example\\@other.example/", "https://hooks.example/@other.example/"),
        ("HTTPS://Hooks.Example:443", "https://hooks.example/"),
    ] {
        let made = site.post(&path, json!({"url": url})).await.ok(201);
        assert_eq!(made["url"], stored);
        let one = format!("{path}/{}", text(&made["webhookId"]));
        site.patch(&one, json!({"url": "https://hooks.example/b"})).await.ok(200);
        assert_eq!(site.patch(&one, json!({"url": url})).await.ok(200)["url"], stored);
        site.delete(&one).await.ok(204);
    }
}
