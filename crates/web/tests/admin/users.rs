//! Users over the admin API.

use serde_json::json;

use crate::support::{Site, text};

#[tokio::test]
async fn a_user_is_created_changed_and_listed_and_a_link_is_returned_once() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let new =
        json!({"email": "Ann@mail.example", "name": "Ann", "role": "owner", "instance": true});
    let made = site.post("/users", new.clone()).await.ok(201);
    let id = text(&made["userId"]);
    assert!(text(&made["link"]).starts_with("https://ask.example/console/welcome#"), "{made}");
    assert_eq!(made["grants"], json!([{"appId": null, "role": "owner"}]));
    assert_eq!((&made["hasPassword"], &made["disabledAt"]), (&json!(false), &json!(null)));
    site.post("/users", new).await.problem(409, "email_taken");
    let path = format!("/users/{id}");
    site.put(&format!("{path}/role"), json!({"appId": app, "role": "viewer"})).await.ok(204);
    let shown = site.get(&path).await.ok(200);
    assert_eq!(
        shown["grants"],
        json!([{"appId": null, "role": "owner"}, {"appId": app, "role": "viewer"}])
    );
    assert!(shown.get("link").is_none() && shown.get("password").is_none(), "{shown}");
    site.put(&format!("{path}/role"), json!({"appId": app, "role": null})).await.ok(204);
    site.patch(&path, json!({"disabled": true})).await.problem(409, "last_owner");
    let renamed = site.patch(&path, json!({"name": "Anna"})).await.ok(200);
    assert_eq!(renamed["name"], "Anna");
    let reset = site.post(&format!("{path}/reset"), json!(null)).await.ok(200);
    assert_ne!(reset["link"], made["link"]);
    let list = site.get("/users").await.ok(200);
    assert_eq!(list["items"], json!([renamed]));
    assert!(!site.get("/audit").await.text.contains("welcome#"));
}

#[tokio::test]
async fn a_role_needs_an_explicit_app_or_instance() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let new = json!({"email": "ann@mail.example", "name": "Ann", "role": "viewer", "appId": app});
    let id = text(&site.post("/users", new).await.ok(201)["userId"]);
    let role = format!("/users/{id}/role");
    for (mut body, message) in [
        (json!({"role": "owner"}), "is required: write \"appId\""),
        (json!({"appId": null, "role": "owner"}), "is required: write \"appId\""),
        (json!({"instance": false, "role": "owner"}), "is required: write \"appId\""),
        (json!({"appId": app, "instance": true, "role": "owner"}), "must not be sent together"),
    ] {
        site.put(&role, body.clone()).await.faults(&[("/appId", message)]);
        (body["email"], body["name"]) = (json!("bob@mail.example"), json!("Bob"));
        site.post("/users", body).await.faults(&[("/appId", message)]);
    }
    let grants = async || site.get(&format!("/users/{id}")).await.ok(200)["grants"].clone();
    assert_eq!(grants().await, json!([{"appId": app, "role": "viewer"}]), "nothing may change");
    assert_eq!(site.get("/users").await.ok(200)["items"].as_array().unwrap().len(), 1);
    site.put(&role, json!({"instance": true, "role": "owner"})).await.ok(204);
    site.put(&role, json!({"appId": app, "role": null})).await.ok(204);
    assert_eq!(grants().await, json!([{"appId": null, "role": "owner"}]));
}

#[tokio::test]
async fn a_wrong_new_user_is_refused_with_every_fault() {
    let site = Site::start().await;
    let wrong = json!({"email": "ann", "name": " ", "role": "viewer", "instance": true});
    site.post("/users", wrong)
        .await
        .faults(&[("/name", "must be a text"), ("/email", "must be an e-mail address")]);
    let role =
        json!({"email": "ann@mail.example", "name": "Ann", "role": "king", "instance": true});
    assert_eq!(site.post("/users", role).await.status, 422);
    site.get("/users/us_0000000000000000000000").await.problem(404, "user_not_found");
}

#[tokio::test]
async fn an_app_lists_only_its_members_and_their_roles() {
    let site = Site::start().await;
    let ((app, _), (other, _)) = (site.app().await, site.app().await);
    for (email, role, place) in [
        ("ann@mail.example", "owner", json!(null)),
        ("bob@mail.example", "editor", json!(app)),
        ("eve@mail.example", "viewer", json!(other)),
    ] {
        let new = json!({"email": email, "name": "Somebody", "role": role, "appId": place, "instance": place.is_null()});
        site.post("/users", new).await.ok(201);
        site.clock.advance_millis(1);
    }
    let list = site.get(&format!("/apps/{app}/members")).await.ok(200);
    let members: Vec<_> = list["items"].as_array().unwrap().iter().collect();
    assert_eq!(members.len(), 2, "{list}");
    assert_eq!((&members[0]["role"], &members[0]["roleInAll"]), (&json!(null), &json!("owner")));
    assert_eq!((&members[1]["role"], &members[1]["roleInAll"]), (&json!("editor"), &json!(null)));
    assert_eq!(
        (&members[1]["email"], &members[1]["disabled"]),
        (&json!("bob@mail.example"), &json!(false))
    );
}
