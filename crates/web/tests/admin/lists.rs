//! Paging, the same for every list.

use serde_json::{Value, json};

use crate::support::{Site, definition};

/// Reads a list in pages of two, and asserts that together they are the whole list in order.
async fn check(site: &Site, path: &str, id: &str, length: usize) {
    let whole = site.get(path).await.ok(200);
    assert_eq!(whole["items"].as_array().unwrap().len(), length, "{path}");
    assert_eq!(whole["next"], Value::Null, "{path}");
    let exact = site.get(&format!("{path}?limit={length}")).await.ok(200);
    assert_eq!(exact, whole, "a full last page must have no next");
    let mut items = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = site.get(&format!("{path}{query}")).await.ok(200);
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

#[tokio::test]
async fn a_limit_or_cursor_out_of_range_is_refused() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let limit = ("/limit", "must be a whole number from 1 to 1000");
    let after = ("/after", "must be \"next\" as the page before gave it");
    for path in [
        "/apps".to_owned(),
        format!("/apps/{app}/flows"),
        format!("/flows/{flow}/versions"),
        format!("/flows/{flow}/responses"),
        "/tokens".to_owned(),
        "/audit".to_owned(),
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
