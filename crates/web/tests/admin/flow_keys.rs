//! Keys of flows, and drafts that are saved only if nobody else has changed them.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use sluice_web::admin;

use crate::support::{ROOT, Reply, Site, definition, text};

async fn keyed(site: &Site, app: &str, key: &str) -> Reply {
    let new = json!({"name": "One", "kind": "survey", "key": key, "definition": definition("One")});
    site.post(&format!("/apps/{app}/flows"), new).await
}

#[tokio::test]
async fn a_key_is_unique_in_its_app_and_finds_its_flow() {
    let site = Site::start().await;
    let ((app, _), (other, _)) = (site.app().await, site.app().await);
    let flow = keyed(&site, &app, "product-feedback").await.ok(201);
    assert_eq!(flow["key"], "product-feedback");
    let taken = keyed(&site, &app, "product-feedback").await.problem(409, "key_taken");
    assert!(text(&taken["detail"]).contains(&text(&flow["flowId"])), "{taken}");
    keyed(&site, &other, "product-feedback").await.ok(201);
    keyed(&site, &app, "Not a key").await.faults(&[("/key", "must have 1 to 64 letters")]);
    let second = site.flow(&app).await;
    let found = async |query: &str| {
        let list = site.get(&format!("/apps/{app}/flows?{query}")).await.ok(200);
        let items = list["items"].as_array().unwrap().iter();
        items.map(|it| text(&it["flowId"])).collect::<Vec<_>>()
    };
    let first = text(&flow["flowId"]);
    assert_eq!(found("key=product-feedback").await, [first.as_str()]);
    assert_eq!(found("key=other").await, [""; 0]);
    assert_eq!(found("key=Not%20a%20key").await, [""; 0]);
    assert_eq!(found("key=product-feedback&label=x").await, [""; 0]);
    assert_eq!(found(&format!("key=product-feedback&after={first}")).await, [""; 0]);
    assert_eq!(found("").await, [first.clone(), second.clone()]);

    let path = format!("/flows/{second}");
    let patch = |key: Value| json!({"key": key});
    site.patch(&path, patch(json!("product-feedback"))).await.problem(409, "key_taken");
    site.patch(&path, patch(json!("-"))).await.faults(&[("/key", "must have 1 to 64 letters")]);
    assert_eq!(site.patch(&path, patch(json!("lunch"))).await.ok(200)["key"], "lunch");
    // The same key again is no conflict, and without a key it is free.
    assert_eq!(site.patch(&path, patch(json!("lunch"))).await.ok(200)["key"], "lunch");
    let bare = site.patch(&format!("/flows/{first}"), patch(Value::Null)).await.ok(200);
    assert_eq!(bare["key"], Value::Null);
    let moved = site.patch(&path, patch(json!("product-feedback"))).await.ok(200);
    assert_eq!(moved["key"], "product-feedback");
    let audit = site.get("/audit?limit=1").await.ok(200);
    assert_eq!(audit["items"][0]["detail"], json!({"key": "product-feedback"}));
}

#[tokio::test]
async fn of_two_flows_with_one_key_that_are_created_at_once_one_is_refused() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let create = || keyed(&site, &app, "same");
    let replies = [create(), create(), create(), create()];
    let mut statuses: Vec<u16> =
        futures_util::future::join_all(replies).await.into_iter().map(|it| it.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409]);
    let list = site.get(&format!("/apps/{app}/flows?key=same")).await.ok(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
}

/// A request that is based on a draft.
async fn seen(site: &Site, method: &str, path: &str, body: &Value, tag: &str) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(format!("{}{path}?draftTag={tag}", admin::BASE))
        .header("authorization", format!("Bearer {ROOT}"));
    let request = match body {
        Value::Null => request.body(Body::empty()),
        body => {
            request.header("content-type", "application/json").body(Body::from(body.to_string()))
        }
    };
    site.raw(request.unwrap()).await
}

#[tokio::test]
async fn a_draft_is_saved_and_published_only_as_it_was_seen() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let flow = site.flow(&app).await;
    let (path, draft) = (format!("/flows/{flow}"), format!("/flows/{flow}/draft"));
    let publish = format!("{path}/publish");
    let tag_of_flow = async || text(&site.get(&path).await.ok(200)["draftTag"]);
    let first = tag_of_flow().await;
    assert_eq!(site.get(&draft).await.ok(200)["tag"], json!(first));

    let saved = seen(&site, "PUT", &draft, &definition("Two"), &first).await.ok(200);
    let second = text(&saved["tag"]);
    assert_ne!(second, first);
    assert_eq!(tag_of_flow().await, second);
    let late = seen(&site, "PUT", &draft, &definition("Late"), &first).await;
    late.problem(409, "draft_changed");
    assert_eq!(site.get(&draft).await.ok(200)["definition"]["title"], "Two");
    // Repeated after its reply was lost: nothing changes.
    let again = seen(&site, "PUT", &draft, &definition("Two"), &first).await.ok(200);
    assert_eq!(again["tag"], json!(second));
    seen(&site, "POST", &publish, &Value::Null, &first).await.problem(409, "draft_changed");
    seen(&site, "POST", &publish, &Value::Null, &second).await.ok(200);

    // Without a draft, the tag is that of the published definition.
    let published = tag_of_flow().await;
    let third = seen(&site, "PUT", &draft, &definition("Three"), &published).await;
    assert_eq!(text(&third.ok(200)["tag"]), tag_of_flow().await);
    for tag in ["", "x"] {
        let refused = seen(&site, "PUT", &draft, &definition("Four"), tag).await;
        refused.problem(409, "draft_changed");
    }
    // Without a condition.
    site.put(&draft, definition("Five")).await.ok(200);
    site.post(&publish, Value::Null).await.ok(200);
}
