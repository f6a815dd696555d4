//! Admin tokens: created, listed without secrets, bound, expiring, revoked.

use serde_json::{Value, json};

use crate::support::{Site, at, text};

#[tokio::test]
async fn a_secret_is_returned_once_and_never_listed() {
    let site = Site::start().await;
    let new = json!({"name": "Dash", "scopes": ["write", "read", "read"]});
    let made = site.post("/tokens", new).await.ok(201);
    let (id, secret) = (text(&made["tokenId"]), text(&made["token"]));
    assert!(id.starts_with("tk_") && secret.starts_with("sluice_") && secret.len() > 40);
    let shown = json!({
        "tokenId": id, "name": "Dash", "scopes": ["read", "write"], "appId": null,
        "expiresAt": null, "createdAt": at(0), "revokedAt": null
    });
    let mut with_secret = shown.clone();
    with_secret["token"] = json!(secret);
    assert_eq!(made, with_secret);
    let list = site.get("/tokens").await;
    assert!(!list.text.contains(&secret) && !list.text.contains("hash"));
    assert_eq!(list.json["items"], json!([shown]));
    assert!(!site.get("/audit").await.text.contains(&secret));
}

#[tokio::test]
async fn a_token_is_valid_until_it_expires_or_is_revoked() {
    let site = Site::start().await;
    let new = json!({"name": "Brief", "scopes": ["read"], "expiresAt": at(1000)});
    let made = site.post("/tokens", new).await.ok(201);
    assert_eq!(made["expiresAt"], at(1000));
    let brief = text(&made["token"]);
    let apps = async |token: &str| site.call(token, "GET", "/apps", &Value::Null).await;
    site.clock.advance_millis(999);
    assert_eq!(apps(&brief).await.status, 200);
    site.clock.advance_millis(1);
    apps(&brief).await.problem(401, "token_invalid");

    let made = site.post("/tokens", json!({"name": "Long", "scopes": ["read"]})).await.ok(201);
    let long = text(&made["token"]);
    assert_eq!(apps(&long).await.status, 200);
    let path = format!("/tokens/{}", text(&made["tokenId"]));
    for _ in 0..2 {
        assert_eq!(site.delete(&path).await.status, 204);
    }
    apps(&long).await.problem(401, "token_invalid");
    assert_eq!(site.get("/tokens").await.ok(200)["items"][1]["revokedAt"], at(1000));
    for id in ["x", "tk_0000000000000000000000"] {
        site.delete(&format!("/tokens/{id}")).await.problem(404, "token_not_found");
    }
}

#[tokio::test]
async fn a_wrong_new_token_is_refused() {
    let site = Site::start().await;
    let scopes = "must be one of read, write, export, erase, admin";
    for (body, fault) in [
        (json!({"scopes": ["read"]}), ("/name", "is required")),
        (json!({"name": "x"}), ("/scopes", "is required")),
        (json!({"name": "x", "scopes": []}), ("/scopes", "must name at least one")),
        (json!({"name": "x", "scopes": ["read", "all"]}), ("/scopes/1", scopes)),
        (json!({"name": "x", "scopes": "read"}), ("/scopes", "must be an array")),
        (
            json!({"name": "x", "scopes": ["read"], "appId": "x"}),
            ("/appId", "must be app_ followed"),
        ),
        (
            json!({"name": "x", "scopes": ["read"], "expiresAt": at(0)}),
            ("/expiresAt", "must be in the"),
        ),
        (
            json!({"name": "x", "scopes": ["read"], "token": "mine"}),
            ("/token", "is not known here"),
        ),
    ] {
        site.post("/tokens", body).await.faults(&[fault]);
    }
    let elsewhere = json!({"name": "x", "scopes": ["read"], "appId": "app_0000000000000000000000"});
    site.post("/tokens", elsewhere).await.problem(404, "app_not_found");
    assert_eq!(site.get("/tokens").await.ok(200)["items"], json!([]));
}

#[tokio::test]
async fn a_token_bound_to_an_app_sees_that_app_only_and_nothing_of_the_instance() {
    let site = Site::start().await;
    let (own, _) = site.app().await;
    let (other, _) = site.app().await;
    let token = site.token(&["admin"], Some(&own)).await;
    let get = async |path: &str| site.call(&token, "GET", path, &Value::Null).await;
    let apps = get("/apps").await.ok(200);
    assert_eq!(apps["items"].as_array().unwrap().len(), 1);
    assert_eq!(apps["items"][0]["appId"], own);
    assert_eq!(get(&format!("/apps?after={own}")).await.ok(200)["items"], json!([]));
    get(&format!("/apps/{other}")).await.problem(404, "app_not_found");
    let audit = get("/audit").await.ok(200);
    let entries = audit["items"].as_array().unwrap();
    assert!(!entries.is_empty() && entries.iter().all(|entry| entry["appId"] == own));
    get(&format!("/audit?appId={other}")).await.problem(404, "app_not_found");
    get("/tokens").await.problem(403, "token_bound_to_app");
    let new_app = site.call(&token, "POST", "/apps", &json!({"name": "x"})).await;
    new_app.problem(403, "token_bound_to_app");
    let new = json!({"name": "x", "scopes": ["admin"]});
    site.call(&token, "POST", "/tokens", &new).await.problem(403, "token_bound_to_app");
}

/// The statuses that requests with a token from an address get.
async fn status_of(site: &Site, address: &str, token: &str) -> (u16, Option<u64>) {
    let request = http::Request::builder()
        .uri("/api/admin/v1/apps")
        .header("authorization", format!("Bearer {token}"))
        .body(axum::body::Body::empty())
        .unwrap();
    let app = site.router.for_peer(address.parse().unwrap());
    let reply = tower::ServiceExt::oneshot(app, request).await.unwrap();
    let wait = reply.headers().get("retry-after").map(|it| it.to_str().unwrap().parse().unwrap());
    (reply.status().as_u16(), wait)
}

#[tokio::test]
async fn wrong_tokens_are_throttled_by_address_and_a_valid_one_still_works() {
    let site = Site::start().await;
    let token = async || {
        let made = site.post("/tokens", json!({"name": "T", "scopes": ["admin"]})).await.ok(201);
        text(&made["token"])
    };
    let (used, unused) = (token().await, token().await);
    let (here, neighbour, there) = ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1");
    assert_eq!(status_of(&site, here, &used).await.0, 200);
    let mut refused = 0;
    for number in 0..60 {
        let (status, wait) = status_of(&site, here, &format!("wrong-{number}")).await;
        match status {
            401 => assert_eq!(wait, None),
            429 => {
                assert!(wait.is_some_and(|seconds| (1..=60).contains(&seconds)), "{wait:?}");
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert!(refused > 0);
    // An address in the same /64 counts as the same address; others do not. By now, one attempt may
    // be allowed again.
    status_of(&site, neighbour, "wrong").await;
    assert_eq!(status_of(&site, neighbour, "wrong").await.0, 429);
    assert_eq!(status_of(&site, there, "wrong").await.0, 401);
    // A valid token is never refused, whether or not it was used before.
    assert_eq!(status_of(&site, here, &used).await.0, 200);
    assert_eq!(status_of(&site, here, &unused).await.0, 200);
}
