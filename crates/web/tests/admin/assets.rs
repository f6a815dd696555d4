//! Images: uploaded, served, listed, used in a flow and deleted.

use axum::body::Body;
use http::Request;
use serde_json::{Value, json};
use sluice_web::admin;

use crate::png::png;
use crate::support::{ROOT, Reply, Site, text};

pub(crate) async fn send(site: &Site, token: &str, app: &str, kind: &str, file: Vec<u8>) -> Reply {
    let request = Request::builder()
        .method("POST")
        .uri(format!("{}/apps/{app}/assets", admin::BASE))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", kind);
    site.raw(request.body(Body::from(file)).unwrap()).await
}

async fn upload(site: &Site, app: &str, file: Vec<u8>) -> Reply {
    send(site, ROOT, app, "image/png", file).await
}

async fn read(site: &Site, path: &str, etag: Option<&str>) -> (u16, http::HeaderMap, Vec<u8>) {
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;
    let mut request = Request::builder().uri(path).header("accept-encoding", "gzip");
    if let Some(etag) = etag {
        request = request.header("if-none-match", etag);
    }
    let request = request.body(Body::empty()).unwrap();
    let (head, body) = site.router.clone().oneshot(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes().to_vec();
    (head.status.as_u16(), head.headers, bytes)
}

#[tokio::test]
async fn an_image_is_uploaded_served_listed_and_deleted() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let file = png(300, 100, [200, 10, 10]);
    let made = upload(&site, &app, file.clone()).await.ok(201);
    let id = text(&made["assetId"]);
    assert_eq!(made["url"], format!("https://ask.example/a/{id}"));
    let about = json!({"contentType": "image/png", "width": 300, "height": 100});
    for (name, value) in about.as_object().unwrap() {
        assert_eq!(&made[name], value);
    }
    // The same picture is stored once, even if other metadata is beside it.
    let again = upload(&site, &app, file.clone()).await.ok(200);
    assert_eq!(again, made);
    let other = upload(&site, &app, png(300, 100, [10, 200, 10])).await.ok(201);
    let listed = site.get(&format!("/apps/{app}/assets")).await.ok(200);
    assert_eq!(listed, json!({"items": [other, made], "next": null}));

    let path = format!("/a/{id}");
    let (status, headers, bytes) = read(&site, &path, None).await;
    assert_eq!((status, bytes.len() as u64), (200, made["bytes"].as_u64().unwrap()));
    for (name, value) in [
        ("content-type", "image/png"),
        ("cache-control", "public, max-age=31536000, immutable"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
    ] {
        assert_eq!(headers[name], value);
    }
    assert!(!headers.contains_key("content-encoding"));
    let holds_secret = |bytes: &[u8]| bytes.windows(6).any(|it| it == b"SECRET");
    assert!(holds_secret(&file) && !holds_secret(&bytes));
    let etag = headers["etag"].to_str().unwrap();
    let (status, headers, bytes) = read(&site, &path, Some(etag)).await;
    assert_eq!((status, bytes.len()), (304, 0));
    assert_eq!(headers["cache-control"], "public, max-age=31536000, immutable");

    site.delete(&format!("/apps/{app}/assets/{id}")).await.ok(204);
    assert_eq!(read(&site, &path, None).await.0, 404);
    site.delete(&format!("/apps/{app}/assets/{id}")).await.problem(404, "asset_not_found");
    let audit = site.get("/audit").await.ok(200);
    let actions: Vec<&str> =
        audit["items"].as_array().unwrap().iter().filter_map(|it| it["action"].as_str()).collect();
    assert_eq!(actions[..3], ["asset.deleted", "asset.uploaded", "asset.uploaded"]);
}

#[tokio::test]
async fn what_is_no_image_or_too_large_is_refused() {
    const MIB: usize = 1024 * 1024;
    let site = Site::start().await;
    let (app, _) = site.app().await;
    for (kind, file, status, code) in [
        ("image/gif", png(1, 1, [0; 3]), 415, "unsupported_media_type"),
        ("application/json", b"{}".to_vec(), 415, "unsupported_media_type"),
        ("image/png", vec![0; 2 * MIB + 1], 413, "payload_too_large"),
        ("image/png", Vec::new(), 422, "invalid"),
        ("image/png", b"GIF89a".to_vec(), 422, "invalid"),
        ("image/webp", b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(), 422, "invalid"),
        ("image/jpeg", png(4_097, 1, [0; 3]), 422, "invalid"),
        ("image/png", png(6_000, 6_000, [0; 3]), 422, "invalid"),
        ("image/png", png(20, 20, [9; 3])[..60].to_vec(), 422, "invalid"),
    ] {
        let refused = send(&site, ROOT, &app, kind, file).await.problem(status, code);
        if status == 422 {
            assert_eq!(refused["errors"][0]["pointer"], "");
        }
    }
    assert_eq!(
        site.get(&format!("/apps/{app}/assets")).await.ok(200),
        json!({"items": [], "next": null})
    );
    // The content decides, not the declared type; a large image is scaled down.
    let made = send(&site, ROOT, &app, "image/jpeg; q=1", png(4_096, 2_048, [7; 3])).await.ok(201);
    assert_eq!((&made["width"], &made["height"]), (&json!(2_000), &json!(1_000)));
    assert_eq!(made["contentType"], "image/png");
}

#[tokio::test]
async fn an_image_belongs_to_its_app() {
    let site = Site::start().await;
    let ((app, _), (other, _)) = (site.app().await, site.app().await);
    let id = text(&upload(&site, &app, png(9, 9, [1; 3])).await.ok(201)["assetId"]);
    let token = site.token(&["admin"], Some(&other)).await;
    send(&site, &token, &app, "image/png", png(9, 9, [1; 3])).await.problem(404, "app_not_found");
    let there = format!("/apps/{app}/assets/{id}");
    site.call(&token, "DELETE", &there, &Value::Null).await.problem(404, "app_not_found");
    let here = format!("/apps/{other}/assets/{id}");
    site.call(&token, "DELETE", &here, &Value::Null).await.problem(404, "asset_not_found");
    let reads = site.token(&["read"], Some(&app)).await;
    let refused = send(&site, &reads, &app, "image/png", png(9, 9, [1; 3])).await;
    refused.problem(403, "insufficient_scope");
    assert_eq!(read(&site, &format!("/a/{id}"), None).await.0, 200);

    // A flow of another app cannot use it.
    let flow = site.flow(&other).await;
    let saved = site.put(&format!("/flows/{flow}/draft"), pictured(&id)).await.ok(200);
    assert_eq!(saved["faults"][0]["pointer"], "/questions/0/image/assetId");
    assert_eq!(site.get(&format!("/flows/{flow}/draft")).await.ok(200)["faults"], saved["faults"]);
    let publish = format!("/flows/{flow}/publish");
    site.post(&publish, Value::Null).await.faults(&[
        ("/questions/0/image/assetId", "must be an image of this app"),
        ("/questions/0/options/0/image/assetId", "must be an image of this app"),
    ]);
}

fn pictured(asset: &str) -> Value {
    let image = json!({"assetId": asset, "alt": "A square"});
    json!({"title": "Pictures", "questions": [
        {"id": "which", "type": "singleChoice", "prompt": "Which?", "image": image,
         "options": [{"id": "a", "label": "A", "image": image}, {"id": "b", "label": "B"}]},
    ]})
}

#[tokio::test]
async fn an_image_in_use_is_kept() {
    let site = Site::start().await;
    let (app, _) = site.app().await;
    let id = text(&upload(&site, &app, png(9, 9, [1; 3])).await.ok(201)["assetId"]);
    let (flow, asset) = (site.flow(&app).await, format!("/apps/{app}/assets/{id}"));
    let draft = format!("/flows/{flow}/draft");
    site.put(&draft, pictured(&id)).await.ok(200);
    let refused = site.delete(&asset).await.problem(409, "asset_in_use");
    assert!(text(&refused["detail"]).contains("\"Feedback\""), "{refused}");
    let version = site.publish(&flow).await;
    site.delete(&asset).await.problem(409, "asset_in_use");
    // The next version has no image, but the earlier one still accepts responses.
    site.put(&draft, crate::support::definition("Two")).await.ok(200);
    site.publish(&flow).await;
    site.delete(&asset).await.problem(409, "asset_in_use");
    site.post(&format!("/flow_versions/{version}/retire"), Value::Null).await.ok(200);
    site.delete(&asset).await.ok(204);
    // A version whose image is gone cannot be published again.
    let again = site.post(&format!("/flow_versions/{version}/republish"), Value::Null).await;
    again.faults(&[
        ("/questions/0/image/assetId", "must be an image of this app"),
        ("/questions/0/options/0/image/assetId", "must be an image of this app"),
    ]);
}
