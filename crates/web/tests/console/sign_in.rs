//! Signing in and out, and the protections around it.

use crate::use_cases::UseCases as _;
use axum::body::Body;
use http::Request;
use sluice_engine::people::UserPatch;
use sluice_engine::rows::Role;
use sluice_web::ConsoleOptions;

use crate::support::{HOST, ORIGIN, PASSWORD, ROOT, Site, actor};

const PAGE: &str = "/console/sign-in";

#[tokio::test]
async fn signing_in_redirects_to_the_requested_page() {
    let site = Site::start().await;
    let app = site.app("Shop").await;
    site.user("ann@mail.example", None, Role::Owner).await;
    let browser = site.browser();
    let asked = format!("/console/apps/{app}?x=y");
    let reply = browser.get(&asked).await;
    let page = reply.to().to_owned();
    assert!(page.starts_with("/console/sign-in?to=%2Fconsole%2Fapps%2F"), "{page}");
    let shown = browser.get(&page).await.ok();
    assert!(shown.contains("name=\"email\"") && shown.contains("name=\"password\""));
    let form = [("to", asked.as_str()), ("email", " ANN@mail.example"), ("password", PASSWORD)];
    let reply = browser.post(PAGE, &form).await;
    assert_eq!(reply.to(), asked);
    let cookie = reply.headers["set-cookie"].to_str().unwrap();
    for part in ["__Host-sluice=", "; Path=/;", "; Secure;", "; HttpOnly;", "; SameSite=Lax"] {
        assert!(cookie.contains(part), "{part} in {cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    browser.get(&asked).await.ok();
}

#[tokio::test]
async fn signing_in_never_redirects_to_another_site() {
    let site = Site::start().await;
    for to in ["//evil.example/console", "https://evil.example", "/api", "/console\\evil", ""] {
        let reply = site.browser().post(PAGE, &[("to", to), ("token", ROOT)]).await;
        assert_eq!(reply.to(), "/console", "{to}");
    }
}

#[tokio::test]
async fn without_users_the_page_asks_for_a_token() {
    let site = Site::start().await;
    assert!(site.browser().get(PAGE).await.ok().contains("name=\"token\""));
    site.user("ann@mail.example", None, Role::Owner).await;
    assert!(site.browser().get(PAGE).await.ok().contains("name=\"password\""));
    let other = site.browser().get("/console/sign-in?with=token").await.ok();
    assert!(other.contains("name=\"token\""));
}

#[tokio::test]
async fn a_failed_sign_in_does_not_reveal_why_and_keeps_the_address() {
    let site = Site::start().await;
    let id = site.user("ann@mail.example", None, Role::Viewer).await;
    let refused = async |email: &str, password: &str| {
        let reply = site.browser().post(PAGE, &[("email", email), ("password", password)]).await;
        assert_eq!((reply.status, reply.cookie("__Host-sluice")), (422, None), "{}", reply.text);
        assert!(reply.text.contains(&format!("value=\"{email}\"")), "{}", reply.text);
        assert!(!reply.text.contains(password) || password.is_empty());
        reply.text.replace(email, "…")
    };
    let wrong = refused("ann@mail.example", "wrong password").await;
    assert!(wrong.contains("The e-mail address or password is wrong."), "{wrong}");
    assert_eq!(refused("nobody@mail.example", "wrong password").await, wrong);
    let patch = UserPatch { disabled: Some(true), ..UserPatch::default() };
    site.engine.update_user(&actor(), id, &patch).await.unwrap();
    assert_eq!(refused("ann@mail.example", PASSWORD).await, wrong);
    let token = site.browser().post(PAGE, &[("token", "sluice_nonsense")]).await;
    assert_eq!(token.status, 422);
    assert!(token.text.contains("This token is not valid"));
}

#[tokio::test]
async fn each_sign_in_has_a_new_secret_and_ends_the_previous_session() {
    let site = Site::start().await;
    site.app("Shop").await;
    let browser = site.root().await;
    let first = browser.session();
    assert!(!first.contains(ROOT) && first.len() >= 43, "256 random bits, not the token");
    browser.post(PAGE, &[("token", ROOT)]).await;
    assert_ne!(browser.session(), first);
    let old = Request::get("/console")
        .header("host", HOST)
        .header("cookie", format!("__Host-sluice={first}"))
        .body(Body::empty());
    assert!(site.raw(old.unwrap()).await.to().starts_with(PAGE));
    let second = browser.session();
    let reply = browser.post("/console/sign-out", &[]).await;
    assert_eq!(reply.to(), PAGE);
    assert!(reply.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    let old = Request::get("/console").header("cookie", format!("__Host-sluice={second}"));
    assert!(site.raw(old.body(Body::empty()).unwrap()).await.to().starts_with(PAGE));
    assert_eq!(
        browser.post("/console/sign-out", &[]).await.to(),
        PAGE,
        "signing out twice must not be an error"
    );
}

#[tokio::test]
async fn an_account_allows_ten_attempts_and_others_are_not_affected() {
    let site = Site::start().await;
    site.user("ann@mail.example", None, Role::Viewer).await;
    site.user("bob@mail.example", None, Role::Viewer).await;
    let form = [("email", "ann@mail.example"), ("password", "wrong password")];
    for _ in 0..10 {
        assert_eq!(site.browser().post(PAGE, &form).await.status, 422);
    }
    let right = [("email", "ANN@mail.example"), ("password", PASSWORD)];
    let limited = site.browser().post(PAGE, &right).await;
    assert_eq!(limited.status, 429);
    let wait: u64 = limited.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=31).contains(&wait), "{wait}");
    assert!(limited.text.contains("Too many attempts. Try again in"), "{}", limited.text);
    let other = [("email", "bob@mail.example"), ("password", PASSWORD)];
    assert_eq!(site.browser().post(PAGE, &other).await.to(), "/console");
}

#[tokio::test]
async fn attempts_are_limited_by_address_per_minute() {
    let site =
        Site::with(ConsoleOptions { sign_ins_per_minute: 3, ..ConsoleOptions::default() }).await;
    let from = async |address: &str, token: &str| {
        let router = site.router.for_peer(address.parse().unwrap());
        let request = Request::post(PAGE).header("host", HOST).header("origin", ORIGIN);
        let body = Body::from(format!("token={token}"));
        let reply = tower::ServiceExt::oneshot(router, request.body(body).unwrap()).await;
        reply.unwrap().status().as_u16()
    };
    for _ in 0..3 {
        assert_eq!(from("203.0.113.7", "wrong").await, 422);
    }
    assert_eq!(from("203.0.113.7", ROOT).await, 429);
    assert_eq!(from("203.0.113.8", ROOT).await, 303);
}

#[tokio::test]
async fn over_plain_http_the_page_explains_that_https_is_needed() {
    let site = Site::start().await;
    let page = async |host: &str, site_header: Option<&str>| {
        let mut request = Request::get(PAGE).header("host", host);
        if let Some(value) = site_header {
            request = request.header("sec-fetch-site", value);
        }
        site.raw(request.body(Body::empty()).unwrap()).await.ok().contains("plain HTTP")
    };
    assert!(page("sluice.lan:8080", None).await);
    assert!(!page("sluice.lan", Some("none")).await, "browsers send this header over HTTPS");
    for host in ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"] {
        assert!(!page(host, None).await, "{host}");
    }
    let sent = async |host: &str| {
        let request =
            Request::post(PAGE).header("host", host).header("origin", format!("http://{host}"));
        site.raw(request.body(Body::from(format!("token={ROOT}"))).unwrap()).await
    };
    let refused = sent("sluice.lan:8080").await;
    assert_eq!((refused.status, refused.cookie("__Host-sluice")), (422, None));
    assert!(refused.text.contains("plain HTTP"));
    assert_eq!(sent("127.0.0.1:8080").await.to(), "/console");
}

#[tokio::test]
async fn a_session_ends_with_its_token_and_with_time() {
    let site = Site::start().await;
    site.app("Shop").await;
    let token = site.token(&[sluice_engine::rows::Scope::Admin], None).await;
    let browser = site.with_token(&token).await;
    assert!(!browser.get("/console").await.to().starts_with(PAGE));
    site.clock.advance_millis(12 * 60 * 60 * 1000);
    assert!(browser.get("/console").await.to().starts_with(PAGE));
    let browser = site.with_token(&token).await;
    let id = site.engine.list_tokens(&actor()).await.unwrap()[0].token_id;
    site.engine.revoke_token(&actor(), id).await.unwrap();
    assert!(browser.get("/console").await.to().starts_with(PAGE));
}

#[tokio::test]
async fn behind_a_proxy_that_rewrites_the_host_the_public_url_is_the_accepted_origin() {
    let public_url = Some("https://ask.example:8443/feedback".to_owned());
    let options =
        ConsoleOptions { sign_ins_per_minute: 0, public_url, ..ConsoleOptions::default() };
    let site = Site::with(options).await;
    for (origin, fetch_site, status) in [
        ("https://ask.example:8443", "", 303),
        ("https://ask.example:8443", "same-origin", 303),
        ("https://ask.example:8443", "same-site", 403),
        ("https://ask.example", "", 403),
        ("http://ask.example:8443", "", 403),
        ("https://inside:8080", "", 403),
    ] {
        let request = Request::post(PAGE).header("host", "inside:8080").header("origin", origin);
        let request = match fetch_site {
            "" => request,
            site => request.header("sec-fetch-site", site),
        };
        let reply = site.raw(request.body(Body::from(format!("token={ROOT}"))).unwrap()).await;
        assert_eq!(reply.status, status, "{origin} {fetch_site}");
    }
}
