//! What a page consists of, and who may show it in a frame.

use crate::use_cases::UseCases as _;
use serde_json::json;
use sluice_engine::AppPatch;

use crate::browser::{Browser, READ, attribute, one, path, published};
use crate::support::{Site, actor};

async fn origins(site: &Site, origins: &[&str]) {
    let allowed_origins = Some(origins.iter().map(|it| (*it).to_owned()).collect());
    let patch = AppPatch { allowed_origins, ..AppPatch::default() };
    site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
}

fn flow(redirect: Option<&str>) -> serde_json::Value {
    let mut flow = one(json!({"id": "nps", "type": "nps", "prompt": "How?"}));
    flow["ending"] = json!({"redirectUrl": redirect});
    flow
}

#[tokio::test]
async fn a_page_is_framed_only_as_an_embed_and_only_by_the_origins_of_its_app() {
    let site = Site::start().await;
    let flow = published(&site, flow(None)).await;
    for (listed, query, ancestors, expected_origins) in [
        (vec![], "", "'none'", "[]"),
        (vec![], "?embed=1", "*", "[]"),
        (vec![], "?embed=0", "'none'", "[]"),
        (
            vec!["https://a.example", "http://localhost:3000"],
            "?embed=1",
            "https://a.example http://localhost:3000",
            r#"["https://a.example","http://localhost:3000"]"#,
        ),
        (vec!["https://a.example"], "", "'none'", r#"["https://a.example"]"#),
        (
            vec!["https://*.A.example:443/", "capacitor://localhost"],
            "?embed=1",
            "https://*.a.example capacitor://localhost",
            r#"["https://*.a.example","capacitor://localhost"]"#,
        ),
    ] {
        origins(&site, &listed).await;
        let page = Browser::open(&site, &format!("/f/{flow}{query}")).await;
        let policy = page.page.header("content-security-policy").unwrap();
        assert!(policy.ends_with(&format!("frame-ancestors {ancestors}")), "{policy}");
        assert_eq!(attribute(&page.html(), "data-origins=\""), expected_origins);
        assert_eq!(page.html().contains("data-embed=\"1\""), query == "?embed=1");
    }
}

/// Older releases stored origins that could end one directive of the policy and begin another.
#[tokio::test]
async fn an_invalid_stored_origin_is_left_out_of_the_policy() {
    let site = Site::start().await;
    let flow = published(&site, flow(None)).await;
    let app = site.store.find_app(site.app).await.unwrap().unwrap();
    let row = sluice_store::AppRow {
        allowed_origins: vec!["https://a.example; script-src *".to_owned()],
        ..app.row
    };
    let at = sluice_store::At::App { app: site.app, expected: app.revision };
    let change = sluice_store::Change::new(move || vec![sluice_store::Write::App(row)]);
    site.store.apply(at, change).await.unwrap();
    // Another change, which makes the engine drop its cached app.
    let patch = AppPatch { name: Some("Other".to_owned()), ..AppPatch::default() };
    site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
    let page = Browser::open(&site, &format!("/f/{flow}?embed=1")).await;
    let policy = page.page.header("content-security-policy").unwrap();
    assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
}

#[tokio::test]
async fn the_policy_of_every_page_is_strict_and_matches_it() {
    let site = Site::start().await;
    let flow = published(&site, flow(Some("https://shop.example/x"))).await;
    let mut browser = Browser::open(&site, &path(flow)).await;
    let mut replies = vec![site.get(&path(flow), &[]).await, site.get("/f/nothing", &[]).await];
    site.at(READ);
    browser.press("send", &[("answers.nps", "99")]).await;
    replies.push(browser.page);
    for reply in replies {
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            !policy.contains("unsafe") && policy.starts_with("default-src 'none';"),
            "{policy}"
        );
        let html = reply.text();
        for style in
            html.split("<style>").skip(1).map(|rest| rest.split("</style>").next().unwrap())
        {
            assert!(policy.contains(&hash(style)), "{policy}\n{style}");
        }
        assert!(!html.contains(" style=") && !html.contains(" onclick"), "{html}");
        // The name of a format in the style is no address.
        let html = html.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !html.contains("http://") || html.contains("http:// or"),
            "nothing may be loaded from another origin"
        );
        for (name, value) in [
            ("referrer-policy", "strict-origin-when-cross-origin"),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "private, no-cache"),
        ] {
            assert_eq!(reply.header(name).as_deref(), Some(value));
        }
    }
    let policy = site.get(&path(flow), &[]).await.header("content-security-policy").unwrap();
    assert!(policy.contains("form-action 'self' https://shop.example;"), "{policy}");
}

fn hash(style: &str) -> String {
    use base64::Engine as _;
    let digest = ring::digest::digest(&ring::digest::SHA256, style.as_bytes());
    format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest))
}

#[tokio::test]
async fn the_script_is_one_file_that_is_cached_as_immutable() {
    let site = Site::start().await;
    let flow = published(&site, flow(None)).await;
    let page = Browser::open_with(&site, &path(flow), &[("accept-encoding", "gzip")]).await.page;
    assert_eq!(page.header("content-encoding").as_deref(), Some("gzip"));
    let html = Browser::open(&site, &path(flow)).await.html();
    let address = attribute(&html, "<script type=\"module\" src=\"");
    let script = site.get(&address, &[("accept-encoding", "gzip")]).await;
    assert_eq!(script.status, 200);
    assert_eq!(
        script.header("cache-control").as_deref(),
        Some("public, max-age=31536000, immutable")
    );
    assert_eq!(script.header("content-type").as_deref(), Some("text/javascript; charset=utf-8"));
    let etag = script.header("etag").unwrap();
    let again = site.get(&address, &[("accept-encoding", "gzip"), ("if-none-match", &etag)]).await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    let bytes = page.body.len() + script.body.len();
    assert!(bytes <= 15 * 1024, "{bytes} bytes compressed");
    assert_eq!(site.get("/f/assets/page-0000000000000000.js", &[]).await.status, 404);
}
