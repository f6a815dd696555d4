//! The readable page.

use axum::body::Body;
use http::Request;
use sluice_web::openapi;

use crate::support::{Site, text};

#[tokio::test]
async fn the_page_shows_every_operation_and_loads_nothing_from_other_origins() {
    let site = Site::start().await;
    let page = site.raw(Request::get("/docs/reference").body(Body::empty()).unwrap()).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'self'; img-src 'self'; base-uri"),
        "{policy}"
    );
    let document = serde_json::to_value(openapi::document()).unwrap();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let anchor = format!("<article id=\"{}\">", text(&operation["operationId"]));
            assert!(page.text.contains(&anchor), "{anchor}");
        }
    }
    let base = format!("BASE={}/api/v1/pk_", site.engine.addresses().public_url);
    assert!(page.text.contains(&base), "the public URL");
    assert!(page.text.contains("<span class=\"limit\">1 to 200 characters.</span>"), "limits");
    for nested in ["<code>accentColor</code>", "<code>formErrors</code>", "<code>tags</code>"] {
        assert!(page.text.contains(nested), "{nested}");
    }
    // Only the script of this server: it copies samples and remembers their language.
    let own = "<script src=\"/docs/script.js\" defer></script>";
    assert_eq!(page.text.matches(own).count(), 1);
    let without = page.text.replace(own, "");
    for foreign in ["<script", "src=", "style=", "href=\"http"] {
        assert!(!without.contains(foreign), "{foreign}");
    }
    let style = site.raw(Request::get("/docs/style.css").body(Body::empty()).unwrap()).await;
    assert_eq!(style.headers["content-type"], "text/css; charset=utf-8");
    assert!(!style.text.contains("url(") && !style.text.contains("@import"));
}
