//! The design of an app and of its flows on the page, and spam protection.

use crate::use_cases::UseCases as _;
use serde_json::json;
use sluice_engine::branding::HostedPatch;
use sluice_engine::design::DesignPatch;
use sluice_engine::rows::Scope;
use sluice_engine::{AppPatch, FlowPatch};
use sluice_flow::design::DesignField;
use sluice_flow::id::FlowId;

use crate::browser::{Browser, READ, attribute, one, path, published, stored};
use crate::png::png;
use crate::support::{Site, actor};

const SVG: &str = "data:image/svg+xml;base64,PHN2Zy8+";

async fn set(site: &Site, patch: HostedPatch) {
    let patch = AppPatch { hosted: Some(Some(patch)), ..AppPatch::default() };
    site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
}

fn parts_of(parts: &[(DesignField, &str)]) -> DesignPatch {
    parts.iter().map(|(field, value)| (*field, Some((*value).to_owned()))).collect()
}

async fn set_flow(site: &Site, flow: FlowId, design: Option<DesignPatch>) {
    let patch = FlowPatch { design: Some(design), ..FlowPatch::default() };
    site.engine.update_flow(&actor(), flow, &patch).await.unwrap();
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
    let parts = [(DesignField::AccentColor, "#fc0"), (DesignField::Logo, SVG)];
    set(&site, HostedPatch { design: parts_of(&parts), ..HostedPatch::default() }).await;
    let page = Browser::open(&site, &path(flow)).await;
    let style = "<style>:root{--accent:#ffcc00;--on-accent:#000000;--strong:#";
    assert!(page.html().contains(style), "{}", page.html());
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

#[tokio::test]
async fn a_flow_replaces_parts_of_its_apps_design_at_once() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let other = published(&site, nps()).await;
    let app = [
        (DesignField::AccentColor, "#0a7d4f"),
        (DesignField::Corners, "round"),
        (DesignField::Logo, SVG),
        (DesignField::SendText, "Abschicken"),
    ];
    set(&site, HostedPatch { design: parts_of(&app), ..HostedPatch::default() }).await;
    let html = Browser::open(&site, &path(flow)).await.html();
    for part in ["--accent:#0a7d4f;", "--round:1.375rem;", "class=\"logo\"", ">Abschicken<"] {
        assert!(html.contains(part), "{part}");
    }
    let own = [
        (DesignField::AccentColor, "#c2185b"),
        (DesignField::Background, "#fdf6e3"),
        (DesignField::Font, "serif"),
        (DesignField::Theme, "dark"),
        (DesignField::Logo, "none"),
    ];
    set_flow(&site, flow, Some(parts_of(&own))).await;
    let page = Browser::open(&site, &path(flow)).await;
    let html = page.html();
    for part in [
        "--accent:#c2185b;--on-accent:#ffffff;",
        "--round:1.375rem;",
        "--ground:#fdf6e3;",
        "@supports (color:light-dark(#000,#fff)){:root{--ground:light-dark(#fdf6e3,#",
        "body{font-family:'Iowan Old Style',",
        "data-theme=\"dark\"",
        ">Abschicken<",
        "href=\"data:,\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("class=\"logo\""));
    let policy = page.page.header("content-security-policy").unwrap();
    assert_eq!(policy.matches("'sha256-").count(), 2, "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    // The theme of the address is before that of the design: an embedded page is on another.
    let light = Browser::open(&site, &format!("{}?theme=light", path(flow))).await.html();
    assert!(light.contains("data-theme=\"light\""));
    let beside = Browser::open(&site, &path(other)).await.html();
    assert!(beside.contains("--accent:#0a7d4f;") && beside.contains("class=\"logo\""));
    set_flow(&site, flow, None).await;
    assert_eq!(
        Browser::open(&site, &path(flow)).await.html().matches("--accent:#0a7d4f;").count(),
        1
    );
}

#[tokio::test]
async fn a_dark_logo_is_for_dark_mode_and_each_is_served() {
    const DARK: &str = "data:image/svg+xml;base64,PHN2ZyBpZD0iZCIvPg==";
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let both = [(DesignField::Logo, SVG), (DesignField::DarkLogo, DARK)];
    set_flow(&site, flow, Some(parts_of(&both))).await;
    let html = Browser::open(&site, &path(flow)).await.html();
    let light = attribute(&html, "class=\"logo\" src=\"");
    let dark = attribute(&html, "<source media=\"(prefers-color-scheme:dark)\" srcset=\"");
    assert_eq!(site.get(&light, &[]).await.text(), "<svg/>");
    assert_eq!(site.get(&dark, &[]).await.text(), "<svg id=\"d\"/>");
    for (theme, shown) in [("light", &light), ("dark", &dark)] {
        let html = Browser::open(&site, &format!("{}?theme={theme}", path(flow))).await.html();
        assert_eq!(&attribute(&html, "class=\"logo\" src=\""), shown, "{theme}");
        assert!(!html.contains("<source"), "{theme}");
    }
}

#[tokio::test]
async fn button_texts_are_on_every_step_and_for_the_script() {
    let site = Site::start().await;
    let flow = published(
        &site,
        json!({"title": "Two", "questions": [
            {"id": "a", "type": "shortText", "prompt": "A?"}, {"id": "b", "type": "shortText", "prompt": "B?"}
        ]}),
    )
    .await;
    let texts = [
        (DesignField::NextText, "On <b>"),
        (DesignField::BackText, "Return"),
        (DesignField::SendText, "Done"),
    ];
    set_flow(&site, flow, Some(parts_of(&texts))).await;
    let mut browser = Browser::open(&site, &format!("{}?context.locale=de", path(flow))).await;
    let html = browser.html();
    assert!(html.contains("value=\"next\">On &lt;b&gt;</button>"), "{html}");
    assert!(html.contains("&quot;next&quot;:&quot;On &lt;b&gt;&quot;"), "{html}");
    browser.press("next", &[]).await;
    let html = browser.html();
    assert!(html.contains("value=\"send\">Done</button>"), "{html}");
    assert!(html.contains("value=\"back\">Return</button>"), "{html}");
}

#[tokio::test]
async fn a_duplicate_has_the_design_of_its_original() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    set_flow(&site, flow, Some(parts_of(&[(DesignField::Corners, "square")]))).await;
    let copy = site.engine.duplicate_flow(&actor(), flow, "Copy").await.unwrap();
    assert_eq!(copy.flow.design.as_deref(), Some(r#"{"corners":"square"}"#));
}

#[tokio::test]
async fn a_background_image_is_behind_a_panel_and_cannot_be_deleted() {
    let site = Site::start().await;
    let flow = published(&site, nps()).await;
    let app = site.engine.app(&actor(), Scope::Write, site.app).await.unwrap();
    let asset = app.upload_asset(png(40, 30, [9; 3]).into()).await.unwrap().asset.asset_id;
    let named = asset.to_string();
    set_flow(&site, flow, Some(parts_of(&[(DesignField::Background, &named)]))).await;
    let page = Browser::open(&site, &path(flow)).await;
    let style = format!(
        "body:not([data-embed]){{background:var(--ground) url(/a/{asset}) center/cover fixed}}"
    );
    assert!(page.html().contains(&style), "{}", page.html());
    let policy = page.page.header("content-security-policy").unwrap();
    assert!(policy.contains("img-src 'self' data:;"), "{policy}");
    let refused = app.delete_asset(asset).await.unwrap_err().to_string();
    assert!(refused.contains("background in the design of"), "{refused}");
    set_flow(&site, flow, None).await;
    let parts = parts_of(&[(DesignField::Background, &named)]);
    set(&site, HostedPatch { design: parts, ..HostedPatch::default() }).await;
    let refused = app.delete_asset(asset).await.unwrap_err().to_string();
    assert!(refused.contains("background in the app's design"), "{refused}");
    let patch = AppPatch { hosted: Some(None), ..AppPatch::default() };
    site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
    app.delete_asset(asset).await.unwrap();
    // An image of another app, or none, is refused.
    let patch = FlowPatch {
        design: Some(Some(parts_of(&[(DesignField::Background, &named)]))),
        ..FlowPatch::default()
    };
    let refused = site.engine.update_flow(&actor(), flow, &patch).await.unwrap_err();
    assert!(format!("{refused:?}").contains("must be an image of this app"), "{refused:?}");
}
