//! Test responses in the admin API.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use sluice_engine::Actor;
use sluice_engine::rows::Scope;

use crate::support::{Site, at, definition, text};

/// Sends answers from a new test link of the flow.
async fn test(site: &Site, flow: &str, nps: &str) {
    let actor = Actor::trusted("test");
    let opened = site.engine.flow(&actor, Scope::Write, flow.parse().unwrap()).await.unwrap();
    let path = format!("/f/{flow}/test/{}", opened.test_link().unwrap().token);
    let page = site.raw(Request::get(&path).body(Body::empty()).unwrap()).await.text;
    let key = page.split("name=\"key\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    site.clock.advance_millis(5_000);
    let body = Body::from(format!("key={key}&go=send&answers.nps={nps}"));
    let sent = Request::post(format!("{path}?tags.plan=pro"));
    let sent = sent.header("content-type", "application/x-www-form-urlencoded");
    let reply = site.raw(sent.body(body).unwrap()).await;
    assert!(reply.text.contains("data-state=\"stored\""), "{}", reply.text);
}

#[tokio::test]
async fn tests_are_listed_newest_first_apart_from_responses_and_deleted_at_once() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let path = format!("/flows/{flow}/test-responses");
    assert_eq!(site.get(&path).await.ok(200), json!({"items": [], "next": null}));
    test(&site, &flow, "3").await;
    let version = site.publish(&flow).await;
    test(&site, &flow, "9").await;
    let items = site.get(&path).await.ok(200)["items"].clone();
    let form_key = text(&items[0]["formKey"]);
    assert!(form_key.starts_with("f_"), "{form_key}");
    let expected = json!({
        "formKey": form_key, "number": 1, "receivedAt": at(10_000), "answers": {"nps": "9"},
        "tags": {"plan": "pro"}, "score": null
    });
    assert_eq!(items[0], expected);
    assert_eq!((&items[1]["number"], &items[1]["answers"]), (&Value::Null, &json!({"nps": "3"})));
    let response = site.store(&key, &version, json!({})).await;
    let real = site.get(&format!("/flows/{flow}/responses")).await.ok(200);
    assert_eq!(real["items"].as_array().unwrap().len(), 1);
    assert_eq!(text(&real["items"][0]["responseId"]), response);
    let summary = site.get(&format!("/flows/{flow}/summary")).await.ok(200);
    assert_eq!(summary["responses"], 1, "{summary}");

    assert_eq!(site.delete(&path).await.status, 204);
    assert_eq!(site.get(&path).await.ok(200), json!({"items": [], "next": null}));
    assert_eq!(site.get(&format!("/responses/{response}")).await.status, 200);
    let audit = site.get(&format!("/audit?appId={app}")).await.ok(200);
    assert_eq!(audit["items"][0]["action"], "test_responses.deleted");
    assert_eq!(audit["items"][0]["subject"], json!(flow));
}

#[tokio::test]
async fn tests_are_listed_in_pages() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    for nps in ["1", "2", "3"] {
        test(&site, &flow, nps).await;
    }
    let path = format!("/flows/{flow}/test-responses?limit=2");
    let first = site.get(&path).await.ok(200);
    let answers = |page: &Value| -> Vec<Value> {
        page["items"].as_array().unwrap().iter().map(|it| it["answers"]["nps"].clone()).collect()
    };
    assert_eq!(answers(&first), ["3", "2"]);
    let second = site.get(&format!("{path}&after={}", text(&first["next"]))).await.ok(200);
    assert_eq!(answers(&second), ["1"]);
    assert_eq!(second["next"], Value::Null);
    assert_eq!(site.get(&format!("{path}&after=f_1")).await.status, 422);
}

#[tokio::test]
async fn an_api_client_cannot_mark_a_submission_as_a_test() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    let flow = site.flow(&app).await;
    let version = site.publish(&flow).await;
    site.store(&key, &version, json!({"test": true, "metadata": {"tags": {"test": "true"}}})).await;
    let listed = site.get(&format!("/flows/{flow}/responses")).await.ok(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let tests = site.get(&format!("/flows/{flow}/test-responses")).await.ok(200);
    assert_eq!(tests, json!({"items": [], "next": null}));
    // A draft has no public way in.
    site.put(&format!("/flows/{flow}/draft"), definition("Two")).await.ok(200);
    assert_eq!(site.get(&format!("/flows/{flow}/test-responses")).await.ok(200), tests);
}
