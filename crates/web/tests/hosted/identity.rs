//! Hosted pages of an app that verifies identities.

use crate::use_cases::UseCases as _;
use axum::body::Body;
use http::Method;
use serde_json::{Value, json};
use sluice_engine::rows::{IdentityKeyKind, IdentityVerification};
use sluice_engine::{AppPatch, NewIdentityKey};
use sluice_flow::submission::Admission;

use crate::browser::{Browser, READ, published, stored};
use crate::support::tokens::Signer;
use crate::support::{START, Site, actor, request};

async fn mode(site: &Site, mode: IdentityVerification) {
    let patch = AppPatch { identity_verification: Some(mode), ..AppPatch::default() };
    site.engine.update_app(&actor(), site.app, &patch).await.unwrap();
}

/// A token for the site's app.
async fn token(site: &Site) -> String {
    let new = NewIdentityKey {
        kind: IdentityKeyKind::Hs256,
        pem: None,
        jwk: None,
        url: None,
        kid: None,
        issuer: None,
    };
    let (row, secret) = site.engine.create_identity_key(&actor(), site.app, &new).await.unwrap();
    let now = START / 1000;
    let claims = json!({"sub": "user-4711", "aud": site.app, "iat": now, "exp": now + 300});
    let token = Signer::Secret(secret.unwrap().0.into_bytes()).token(Some(&row.kid), &claims);
    format!("Bearer {token}")
}

fn flow() -> Value {
    json!({
        "title": "Secret title", "description": "Secret description", "respondentAnalytics": "ask",
        "questions": [{"id": "secretid", "type": "singleChoice", "prompt": "Secret prompt",
                       "options": [{"id": "secretoption", "label": "Secret label"}]}],
        "ending": {"title": "Secret ending", "redirectUrl": "https://secret.example"},
    })
}

/// The routes of hosted pages, extracted from the source of their router, so that a new one is
/// included.
fn templates() -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosted/src/lib.rs");
    let text = std::fs::read_to_string(path).unwrap();
    let literals = text.split('"').skip(1).step_by(2);
    literals
        .filter(|it| it.starts_with("/f/{flowId}"))
        .map(str::to_owned)
        .filter(|it| !it.contains("{}"))
        .collect()
}

#[tokio::test]
async fn with_enforcement_no_page_shows_the_flow_without_a_token() {
    let site = Site::start().await;
    let flow = published(&site, flow()).await;
    let good = token(&site).await;
    mode(&site, IdentityVerification::Enforce).await;
    let version = site.engine.links().flow(&flow.to_string()).await.unwrap().unwrap().current.id();
    let templates = templates();
    assert!(templates.len() >= 3, "the router's text is not found: {templates:?}");
    for template in &templates {
        let path = template.replace("{flowId}", &flow.to_string()).replace("{file}", "logo-x");
        for method in ["GET", "HEAD", "POST"] {
            for authorization in [None, Some("Bearer nonsense"), Some(&good[7..])] {
                let query = format!("?version={version}&token={}&embed=1", &good[7..]);
                let mut headers = vec![
                    ("content-type", "application/x-www-form-urlencoded"),
                    ("sluice-script", "1"),
                ];
                headers.extend(authorization.map(|it| ("authorization", it)));
                let body =
                    Body::from(format!("version={version}&go=send&answers.secretid=secretoption"));
                let reply = site
                    .send(request(
                        method.parse().unwrap(),
                        &format!("{path}{query}"),
                        &headers,
                        body,
                    ))
                    .await;
                let text = reply.text();
                for secret in ["Secret", "secretid", "secretoption", "secret.example"] {
                    assert!(!text.contains(secret), "{method} {path}: {secret}\n{text}");
                    let policy = reply.header("content-security-policy").unwrap_or_default();
                    assert!(!policy.contains(secret), "{method} {path}: {policy}");
                }
                let is_page = path == format!("/f/{flow}") || path.ends_with("/opened");
                if is_page && (method == "POST" || path == format!("/f/{flow}")) {
                    assert_eq!(reply.status, 401, "{method} {path}");
                    assert_eq!(reply.header("www-authenticate").as_deref(), Some("Bearer"));
                    assert!(method == "HEAD" || text.contains("data-state=\"token\""), "{text}");
                }
            }
        }
    }
    assert!(stored(&site, flow).await.is_empty());
}

#[tokio::test]
async fn with_a_token_the_page_is_shown_and_answers_belong_to_its_user() {
    let site = Site::start().await;
    let flow = published(&site, flow()).await;
    let good = token(&site).await;
    mode(&site, IdentityVerification::Enforce).await;
    let headers = [("authorization", good.as_str()), ("sluice-script", "1")];
    let at = format!("/f/{flow}?identities.userId=somebody-else");
    let mut browser = Browser::open_with(&site, &at, &headers).await;
    assert_eq!((browser.page.status, browser.state().as_str()), (200, "asking"));
    assert!(browser.html().contains("Secret prompt"));
    site.at(READ);
    browser.press("send", &[("answers.secretid", "secretoption"), ("analytics", "admitted")]).await;
    assert_eq!(browser.state(), "stored", "{}", browser.html());
    let rows = stored(&site, flow).await;
    assert_eq!(rows[0].identities.as_deref(), Some(r#"[{"type":"userId","value":"user-4711"}]"#));
    assert!(rows[0].identity_verified);
}

#[tokio::test]
async fn observing_accepts_everyone_and_ignores_identities_in_the_address() {
    let site = Site::start().await;
    let flow = published(&site, flow()).await;
    token(&site).await;
    mode(&site, IdentityVerification::Observe).await;
    let mut browser = Browser::open(&site, &format!("/f/{flow}?identities.userId=user-4711")).await;
    site.at(READ);
    browser.press("send", &[("answers.secretid", "secretoption"), ("analytics", "admitted")]).await;
    assert_eq!(browser.page.status, 303);
    let row = &stored(&site, flow).await[0];
    // Nobody is known, so nobody was asked.
    assert_eq!((&row.identities, row.admission), (&None, Admission::CollectionOnly));
}

#[tokio::test]
async fn a_preflight_is_not_answered_since_no_other_origin_may_call() {
    let site = Site::start().await;
    let flow = published(&site, flow()).await;
    let headers = [("origin", "https://a.example"), ("access-control-request-method", "POST")];
    let reply =
        site.send(request(Method::OPTIONS, &format!("/f/{flow}"), &headers, Body::empty())).await;
    assert_eq!(reply.status, 405);
    assert_eq!(reply.header("access-control-allow-origin"), None);
}
