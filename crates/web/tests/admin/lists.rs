//! Paging, the same for every list.

use serde_json::{Value, json};

use crate::assets::send;
use crate::png::png;
use crate::support::{ROOT, Site, definition, text};

/// A page of a list, without the position of a webhook, which may move between two reads.
async fn page(site: &Site, path: &str) -> Value {
    let mut page = site.get(path).await.ok(200);
    for item in page["items"].as_array_mut().unwrap() {
        item.as_object_mut().unwrap().remove("cursor");
    }
    page
}

/// Reads a list in pages of two, and asserts that together they are the whole list in order.
async fn check(site: &Site, path: &str, id: &str, length: usize) {
    let whole = page(site, path).await;
    assert_eq!(whole["items"].as_array().unwrap().len(), length, "{path}");
    assert_eq!(whole["next"], Value::Null, "{path}");
    let exact = page(site, &format!("{path}?limit={length}")).await;
    assert_eq!(exact, whole, "a full last page must have no next");
    let mut items = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = page(site, &format!("{path}{query}")).await;
        let got = page["items"].as_array().unwrap();
        items.extend(got.iter().cloned());
        let Some(next) = page["next"].as_str() else { break };
        assert_eq!(got.len(), 2, "{path}");
        let last = &got[1][id];
        assert_eq!(next, last.as_str().map_or_else(|| last.to_string(), str::to_owned));
        query = format!("?after={next}&limit=2");
    }
    assert_eq!(Value::Array(items), whole["items"], "{path}");
}

#[tokio::test]
async fn every_list_is_paged_by_its_last_id() {
    let site = Site::start().await;
    let (app, key) = site.app().await;
    for _ in 0..4 {
        site.app().await;
        site.clock.advance_millis(1);
    }
    let mut flow = String::new();
    for _ in 0..5 {
        flow = site.flow(&app).await;
    }
    let mut version = site.publish(&flow).await;
    for _ in 0..4 {
        site.put(&format!("/flows/{flow}/draft"), definition("Next")).await.ok(200);
        version = site.publish(&flow).await;
    }
    for _ in 0..5 {
        site.store(&key, &version, json!({})).await;
    }
    for _ in 0..5 {
        site.token(&["read"], None).await;
    }
    check(&site, "/apps", "appId", 5).await;
    check(&site, &format!("/apps/{app}/flows"), "flowId", 5).await;
    check(&site, &format!("/flows/{flow}/versions"), "number", 5).await;
    check(&site, &format!("/flows/{flow}/responses"), "responseId", 5).await;
    check(&site, "/tokens", "tokenId", 5).await;
    check(&site, "/audit", "auditId", 5 + 5 + 4 + 5 + 5).await;
    for number in 0..5 {
        let place = if number == 0 { Value::Null } else { json!(app) };
        let email = format!("user-{number}@mail.example");
        let new = json!({"email": email, "name": "User", "role": "viewer", "appId": place, "instance": number == 0});
        site.post("/users", new).await.ok(201);
        site.clock.advance_millis(1);
    }
    check(&site, "/users", "userId", 5).await;
    check(&site, &format!("/apps/{app}/members"), "userId", 5).await;
}

/// Creates five of what the bounded lists of an app and a flow have.
async fn fill_bounded_lists(site: &Site, app: &str, flow: &str) {
    for number in 0..5_u8 {
        // The names of keys sort opposite to their times.
        let kid = format!("key-{}", 5 - number);
        let key = json!({"type": "jwks", "url": "https://id.example/keys", "kid": kid});
        site.post(&format!("/apps/{app}/identity-keys"), key).await.ok(201);
        let webhook = json!({"url": "https://hooks.example/"});
        site.post(&format!("/apps/{app}/webhooks"), webhook).await.ok(201);
        send(site, ROOT, app, "image/png", png(2, 2, [number; 3])).await.ok(201);
        let report = json!({"title": "Results", "questions": ["nps"]});
        site.post(&format!("/flows/{flow}/reports"), report).await.ok(201);
        site.clock.advance_millis(1);
    }
}

#[tokio::test]
async fn a_bounded_list_is_paged_like_others() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    site.publish(&flow).await;
    fill_bounded_lists(&site, &app, &flow).await;
    let (keys, assets) = (format!("/apps/{app}/identity-keys"), format!("/apps/{app}/assets"));
    check(&site, &keys, "kid", 5).await;
    check(&site, &format!("/apps/{app}/webhooks"), "webhookId", 5).await;
    check(&site, &assets, "assetId", 5).await;
    check(&site, &format!("/flows/{flow}/reports"), "reportId", 5).await;
    let oldest = site.get(&format!("{keys}?limit=1")).await.ok(200);
    assert_eq!(oldest["next"], "key-5");
    let unknown = site.get(&format!("{keys}?after=key-6")).await;
    unknown.faults(&[("/after", "must be the value of \"next\" of an earlier page")]);
    site.delete(&format!("{keys}/key-5")).await.ok(204);
    let second = site.get(&format!("{keys}?limit=1&after=key-5")).await.ok(200);
    assert_eq!(second["items"][0]["kid"], "key-4", "a revoked key is still a cursor");
    let page = site.get(&format!("{assets}?limit=2")).await.ok(200);
    let next = text(&page["next"]);
    let rest = site.get(&format!("{assets}?after={next}")).await.ok(200);
    site.delete(&format!("{assets}/{next}")).await.ok(204);
    let after_deleted = site.get(&format!("{assets}?after={next}")).await.ok(200);
    assert_eq!(after_deleted, rest, "a deleted image is still a cursor");
}

#[tokio::test]
async fn a_limit_or_cursor_out_of_range_is_refused() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let limit = ("/limit", "must be a whole number from 1 to 1000");
    let after = ("/after", "must be the value of \"next\" of an earlier page");
    for path in [
        "/apps".to_owned(),
        format!("/apps/{app}/flows"),
        format!("/flows/{flow}/versions"),
        format!("/flows/{flow}/responses"),
        "/tokens".to_owned(),
        "/audit".to_owned(),
        format!("/apps/{app}/webhooks"),
        format!("/apps/{app}/assets"),
        format!("/flows/{flow}/reports"),
    ] {
        for (query, faults) in [
            ("limit=0", vec![limit]),
            ("limit=1001", vec![limit]),
            ("limit=-1", vec![limit]),
            ("limit=", vec![limit]),
            ("limit=ten", vec![limit]),
            ("after=x", vec![after]),
            ("limit=0&after=", vec![after, limit]),
            ("page=2", vec![("/page", "is not known here")]),
        ] {
            site.get(&format!("{path}?{query}")).await.faults(&faults);
        }
        site.get(&format!("{path}?limit=1000")).await.ok(200);
        site.get(&format!("{path}?limit=1")).await.ok(200);
    }
}
