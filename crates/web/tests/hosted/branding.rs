//! The accent colour and the logo of an app.

use crate::use_cases::UseCases as _;
use serde_json::json;
use sluice_engine::AppPatch;
use sluice_engine::branding::HostedPatch;

use crate::browser::{Browser, READ, attribute, one, path, published, stored};
use crate::support::{Site, actor};

const SVG: &str = "data:image/svg+xml;base64,PHN2Zy8+";

async fn set(site: &Site, patch: HostedPatch) {
    let patch = AppPatch { hosted: Some(Some(patch)), ..AppPatch::default() };
    site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
}

fn nps() -> serde_json::Value {
    one(json!({"id": "nps", "type": "nps", "prompt": "How?"}))
}

#[tokio::test]
async fn the_accent_and_the_logo_of_an_app_are_on_its_pages() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let plain = Browser::open(&site, &path(flow)).await.html();
    assert!(!plain.contains("--on-accent:#") || !plain.contains("class=\"logo\""));
    let patch = HostedPatch {
        accent_color: Some(Some("#fc0".to_owned())),
        logo: Some(Some(SVG.to_owned())),
        ..HostedPatch::default()
    };
    set(&site, patch).await;
    let page = Browser::open(&site, &path(flow)).await;
    assert!(page.html().contains("<style>:root{--accent:#ffcc00;--on-accent:#000}</style>"));
    let address = attribute(&page.html(), "class=\"logo\" src=\"");
    assert!(address.starts_with(&format!("/f/{flow}/logo-")), "{address}");
    let logo = site.get(&address, &[]).await;
    assert_eq!((logo.status, logo.text().as_str()), (200, "<svg/>"));
    assert_eq!(logo.header("content-type").as_deref(), Some("image/svg+xml"));
    assert_eq!(
        logo.header("content-security-policy").as_deref(),
        Some("default-src 'none'; sandbox")
    );
    assert_eq!(
        logo.header("cache-control").as_deref(),
        Some("public, max-age=31536000, immutable")
    );
    for wrong in [format!("/f/{flow}/logo-0000000000000000"), format!("/f/{flow}/nothing")] {
        assert_eq!(site.get(&wrong, &[]).await.status, 404, "{wrong}");
    }
    let policy = page.page.header("content-security-policy").unwrap();
    assert_eq!(policy.matches("'sha256-").count(), 2, "{policy}");
}

#[tokio::test]
async fn without_spam_protection_a_form_may_be_sent_at_once() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    set(&site, HostedPatch { spam_protection: Some(false), ..HostedPatch::default() }).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    assert!(!browser.html().contains("name=\"website\""));
    site.at(READ / 100);
    browser.press("send", &[("answers.nps", "9"), ("website", "x")]).await;
    assert_eq!(browser.page.status, 303);
    assert_eq!(stored(&site, flow).await.len(), 1);
}
