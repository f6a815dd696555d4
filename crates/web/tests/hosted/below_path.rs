//! Deployment under a path: what the public API, hosted pages, the admin API and the documentation
//! answer below the path of the public URL, and outside it. The console has a test of all its
//! routes.

use std::io::Read as _;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sluice_engine::rows::Scope;
use sluice_engine::{Duplicates, FlowPatch, NewInvitation, Options};
use sluice_flow::design::DesignField;
use sluice_flow::invitation::Invitee;
use sluice_web::Limits;

use crate::browser::{Browser, READ, attribute, one, published, stored};
use crate::png::png;
use crate::support::{Reply, Site, actor, request};
use crate::use_cases::UseCases as _;

const PATH: &str = "/feedback";

/// A service below the path.
async fn below() -> Site {
    let public_url = Some(format!("https://ask.example{PATH}"));
    let options = Options { public_url, ..Options::default() };
    Site::with_options(Limits::default(), options).await
}

async fn ask(site: &Site, method: &str, path: &str) -> Reply {
    site.send(request(method.parse().unwrap(), path, &[], Body::empty())).await
}

/// The text of a page, decompressed.
fn decoded(reply: &Reply) -> String {
    if reply.header("content-encoding").is_none() {
        return reply.text();
    }
    let mut text = String::new();
    GzDecoder::new(&*reply.body).read_to_string(&mut text).unwrap();
    text
}

/// The routes outside the console, with a status that only the right handler gives.
fn table(site: &Site, flow: &str, version: &str) -> Vec<(&'static str, String, u16)> {
    let key = &site.key;
    vec![
        ("GET", "/".to_owned(), 303),
        ("GET", "/console".to_owned(), 303),
        ("GET", format!("/api/v1/{key}/flows/{flow}"), 200),
        ("HEAD", format!("/api/v1/{key}/flows/{flow}"), 200),
        ("GET", format!("/api/v1/{key}/flow_versions/{version}?payload=4"), 200),
        ("GET", format!("/api/v1/{key}/flow_versions/{version}/schema?payload=4"), 200),
        ("POST", format!("/api/v1/{key}/trpc/response.submit"), 415),
        ("POST", format!("/api/v1/{key}/trpc"), 415),
        ("POST", format!("/api/v1/{key}/visits"), 400),
        ("GET", format!("/f/{flow}"), 200),
        ("GET", format!("/f/{flow}/done?version={version}"), 200),
        ("GET", "/f/fl_0000000000000000000000".to_owned(), 404),
        ("GET", "/a/as_0000000000000000000000".to_owned(), 404),
        ("GET", "/api/admin/v1/apps".to_owned(), 401),
        ("GET", "/openapi.json".to_owned(), 200),
        ("GET", "/schemas/definition.json".to_owned(), 200),
        ("GET", "/docs".to_owned(), 200),
        ("GET", "/docs/reference".to_owned(), 200),
        ("GET", "/docs/style.css".to_owned(), 200),
        ("GET", "/livez".to_owned(), 200),
        ("GET", "/healthz".to_owned(), 200),
        ("GET", "/readyz".to_owned(), 200),
        ("GET", "/metrics".to_owned(), 200),
    ]
}

#[tokio::test]
async fn everything_is_below_the_path_and_only_health_and_metrics_are_at_the_root_as_well() {
    let site = below().await;
    let (flow, version) = site.published().await;
    for (method, path, status) in table(&site, &flow.to_string(), &version.to_string()) {
        let below = ask(&site, method, &format!("{PATH}{path}")).await;
        assert_eq!(below.status, status, "{method} {PATH}{path}: {}", below.text());
        let at_root = ask(&site, method, &path).await;
        let is_for_operators = ["/livez", "/healthz", "/readyz", "/metrics"].contains(&&*path);
        let expected = if is_for_operators { status } else { 404 };
        assert_eq!(at_root.status, expected, "{method} {path}: {}", at_root.text());
    }
    ask(&site, "GET", "/feedbacks").await.assert_problem(404, "route_not_found");
    assert_eq!(
        ask(&site, "GET", PATH).await.header("location").as_deref(),
        Some("/feedback/console")
    );
}

#[tokio::test]
async fn pages_and_documents_name_only_addresses_below_the_path() {
    let site = below().await;
    let (flow, version) = site.published().await;
    for path in [
        format!("/f/{flow}"),
        format!("/f/{flow}/done?version={version}"),
        "/docs".to_owned(),
        "/docs/reference".to_owned(),
        "/docs/api".to_owned(),
        "/docs/search?q=flow".to_owned(),
    ] {
        for encoding in ["identity", "gzip"] {
            let reply = site.get(&format!("{PATH}{path}"), &[("accept-encoding", encoding)]).await;
            let text = decoded(&reply);
            for name in ["href", "src", "action"] {
                for (at, _) in text.match_indices(&format!(" {name}=\"/")) {
                    let address = &text[at + name.len() + 3..];
                    let shown: String = address.chars().take(60).collect();
                    // Code blocks of the documentation show markup, too, with escaped brackets.
                    let is_in_tag = text[..at].rfind('<') > text[..at].rfind('>');
                    assert!(!is_in_tag || address.starts_with("/feedback"), "{path}: {shown}");
                }
            }
            assert!(text.contains("=\"/feedback/"), "{path}");
        }
    }
    let document: Value = ask(&site, "GET", "/feedback/openapi.json").await.json();
    assert_eq!(document["servers"], json!([{"url": "/feedback"}]));
}

#[tokio::test]
async fn a_background_image_is_below_the_path_and_the_policy_allows_its_style() {
    let site = below().await;
    let (flow, _) = site.published().await;
    let app = site.engine.app(&actor(), Scope::Write, site.app).await.unwrap();
    let image = app.upload_asset(png(40, 30, [9; 3]).into()).await.unwrap().asset.asset_id;
    let parts = [(DesignField::Background, Some(image.to_string()))].into_iter().collect();
    let patch = FlowPatch { design: Some(Some(parts)), ..FlowPatch::default() };
    site.engine.update_flow(&actor(), flow, &patch).await.unwrap();
    let reply = site.get(&format!("{PATH}/f/{flow}"), &[]).await;
    let text = reply.text();
    assert!(text.contains(&format!("url(/feedback/a/{image})")), "{text}");
    let policy = reply.header("content-security-policy").unwrap();
    for style in text.split("<style>").skip(1) {
        let style = style.split("</style>").next().unwrap();
        let hash = STANDARD.encode(Sha256::digest(style));
        assert!(policy.contains(&format!("'sha256-{hash}'")), "{policy}");
    }
    assert_eq!(site.get(&format!("{PATH}/a/{image}"), &[]).await.status, 200);
}

#[tokio::test]
async fn a_form_is_answered_and_its_context_names_the_path_that_the_reader_saw() {
    let site = below().await;
    let question = json!({"id": "nps", "type": "nps", "prompt": "How?"});
    let flow = published(&site, one(question)).await;
    let address = format!("{PATH}/f/{flow}");
    let mut page = Browser::open(&site, &address).await;
    assert_eq!(attribute(&page.html(), "action=\""), address);
    site.at(READ);
    let reply = page.press("send", &[("answers.nps", "9")]).await;
    let done = reply.header("location").unwrap();
    assert!(done.starts_with(&format!("{address}/done?")), "{done}");
    assert_eq!(site.get(&done, &[]).await.status, 200);
    let rows = stored(&site, flow).await;
    let context: Value = serde_json::from_str(rows[0].context.as_deref().unwrap()).unwrap();
    assert_eq!(context["page"]["path"], address);
}

#[tokio::test]
async fn links_in_replies_of_the_admin_api_start_with_the_public_url() {
    let site = below().await;
    let (flow, _) = site.published().await;
    let invitee = Invitee { user_id: Some("8".into()), email: None };
    let new = [NewInvitation { invitee, expires_at: None, line: None }];
    let invited = site.engine.invite(&actor(), flow, &new, Duplicates::Refuse, false).await;
    let invited = invited.unwrap();
    let link = invited[0].link.as_deref().unwrap();
    assert!(link.starts_with(&format!("https://ask.example{PATH}/f/{flow}?")), "{link}");
}
