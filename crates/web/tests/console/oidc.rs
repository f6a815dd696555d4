//! ID tokens that are forged, stale or meant for another client. The complete sign-in, through a
//! real provider's pages, is tested in `tests/browser`.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sluice_engine::verify::{IdTokens, Invalid, KeySource, NotProven, TokenOutcome};
use sluice_flow::time::Timestamp;

use axum::body::Body;
use axum::routing::{get, post};
use sluice_engine::rows::Role;
use sluice_web::{ConsoleOptions, OidcOptions};
use tower::ServiceExt as _;

use crate::shop::tokens::Signer;
use crate::support::{Browser, Reply, START, Site};

const ISSUER: &str = "https://id.example";
const CLIENT: &str = "sluice";
const NONCE: &str = "the nonce of the question";

/// The keys that a provider publishes.
#[derive(Debug)]
struct Keys(Value);

impl KeySource for Keys {
    fn permits(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn fetch(
        &self,
        _: String,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + '_>> {
        Box::pin(async { Ok(self.0.to_string().into_bytes()) })
    }
}

fn claims() -> Value {
    let now = START / 1000;
    json!({
        "iss": ISSUER, "aud": CLIENT, "sub": "7", "iat": now, "exp": now + 300, "nonce": NONCE,
        "email": "ann@mail.example", "email_verified": true
    })
}

fn as_json(value: &Value) -> ([(&'static str, &'static str); 1], String) {
    ([("content-type", "application/json")], value.to_string())
}

/// A provider that answers every code with an ID token with these claims.
struct Provider {
    issuer: String,
    said: Arc<Mutex<Value>>,
}

impl Provider {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let (signer, said) = (Arc::new(Signer::p256()), Arc::new(Mutex::new(Value::Null)));
        let published = json!({
            "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/keys")
        });
        let keys = json!({ "keys": [signer.jwk("one")] });
        let claims = Arc::clone(&said);
        let token = move || {
            let token = signer.token(Some("one"), &claims.lock().unwrap());
            std::future::ready(as_json(&json!({ "id_token": token })))
        };
        let router = axum::Router::new()
            .route("/.well-known/openid-configuration", get(async move || as_json(&published)))
            .route("/keys", get(async move || as_json(&keys)))
            .route("/token", post(token));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { issuer, said }
    }

    /// Sends the browser from this console page to the provider, and back with an answer with this
    /// `auth_time`, in seconds. Returns the parameters sent to the provider, and the console's
    /// reply.
    async fn through(
        &self,
        site: &Site,
        browser: &Browser<'_>,
        address: &str,
        auth_time: Option<i64>,
    ) -> (HashMap<String, String>, Reply) {
        let begun = browser.get(address).await;
        let asked = url::Url::parse(begun.to()).unwrap().query_pairs().into_owned().collect();
        let asked: HashMap<String, String> = asked;
        let now = site.engine.now().as_millis() / 1000;
        let mut said = claims();
        (said["iss"], said["nonce"]) = (json!(self.issuer), json!(asked["nonce"]));
        (said["iat"], said["exp"]) = (json!(now), json!(now + 300));
        if let Some(auth_time) = auth_time {
            said["auth_time"] = json!(auth_time);
        }
        *self.said.lock().unwrap() = said;
        let cookie = begun.cookie("__Host-sluice-oidc").unwrap();
        let back = format!("/console/oidc/callback?code=c&state={}", asked["state"]);
        let request = browser.request("GET", &back);
        let request = request.header("cookie", format!("__Host-sluice-oidc={cookie}"));
        (asked, browser.send(request.body(Body::empty()).unwrap()).await)
    }
}

/// Whether the session may perform actions that need a fresh sign-in.
async fn is_fresh(browser: &Browser<'_>) -> bool {
    let page = browser.get("/console/settings/account/second-factor").await;
    if page.status == 303 {
        assert!(page.to().starts_with("/console/confirm"), "{}", page.to());
    }
    page.status == 200
}

#[tokio::test]
async fn a_sign_in_by_the_provider_is_as_fresh_as_its_auth_time() {
    let provider = Provider::start().await;
    let site = with_provider(provider.issuer.clone(), 0).await;
    site.user("ann@mail.example", None, Role::Owner).await;
    let now = START / 1000;
    for (auth_time, fresh) in [
        (Some(now), true),
        (Some(now - 599), true),
        (Some(now - 600), false),
        // A provider's clock that is ahead does not extend the fresh window.
        (Some(now + 3600), true),
        (None, false),
    ] {
        let browser = site.browser();
        let (asked, reply) = provider.through(&site, &browser, "/console/oidc", auth_time).await;
        assert_eq!(reply.to(), "/console");
        assert!(!asked.contains_key("max_age") && !asked.contains_key("prompt"));
        assert_eq!(is_fresh(&browser).await, fresh, "{auth_time:?}");
    }
    let browser = site.browser();
    provider.through(&site, &browser, "/console/oidc", Some(now + 3600)).await.1.to();
    site.clock.advance_millis(600_000);
    assert!(!is_fresh(&browser).await);
}

#[tokio::test]
async fn confirming_by_the_provider_needs_an_auth_time_within_the_fresh_window() {
    let provider = Provider::start().await;
    let site = with_provider(provider.issuer.clone(), 0).await;
    site.user("ann@mail.example", None, Role::Owner).await;
    let browser = site.browser();
    provider.through(&site, &browser, "/console/oidc", None).await.1.to();
    let page = browser.get("/console/confirm?to=/console/settings/tokens").await.ok();
    let address = page.split("href=\"/console/oidc").nth(1).unwrap().split('"').next().unwrap();
    let address = format!("/console/oidc{}", address.replace("&amp;", "&"));
    let session = browser.session();
    let now = START / 1000;
    for auth_time in [None, Some(now - 600), Some(0)] {
        let (_, reply) = provider.through(&site, &browser, &address, auth_time).await;
        assert_eq!(reply.status, 422, "{auth_time:?}");
        assert!(reply.text.contains("Not confirmed") && reply.text.contains("auth_time"));
        assert_eq!(browser.session(), session, "still signed in as before");
        assert!(!is_fresh(&browser).await, "{auth_time:?}");
    }
    let (asked, reply) = provider.through(&site, &browser, &address, Some(now - 60)).await;
    assert_eq!((asked["max_age"].as_str(), asked["prompt"].as_str()), ("0", "login"));
    assert_eq!(reply.to(), "/console/settings/tokens");
    assert!(is_fresh(&browser).await);
}

async fn checked(signer: &Signer, token: &str) -> Result<Option<String>, NotProven> {
    let keys = Keys(json!({ "keys": [signer.jwk("one")] }));
    let tokens = IdTokens::new(Arc::new(keys), ISSUER, CLIENT);
    let now = Timestamp::from_millis(START);
    let proven = tokens.check(token, "https://id.example/keys", NONCE, now).await?;
    assert_eq!((proven.issuer.as_str(), proven.subject.as_str()), (ISSUER, "7"));
    Ok(proven.verified_email)
}

#[tokio::test]
async fn an_id_token_is_accepted_with_each_algorithm() {
    for signer in [Signer::rsa(), Signer::p256(), Signer::ed25519()] {
        let proven = checked(&signer, &signer.token(Some("one"), &claims())).await;
        assert_eq!(proven, Ok(Some("ann@mail.example".to_owned())), "{}", signer.algorithm());
    }
}

#[tokio::test]
async fn only_a_verified_address_counts() {
    let signer = Signer::p256();
    for (verified, email) in [
        (json!(true), Some("ann@mail.example")),
        (json!("true"), Some("ann@mail.example")),
        (json!(false), None),
        (json!("false"), None),
        (json!(1), None),
        (Value::Null, None),
    ] {
        let mut said = claims();
        said["email_verified"] = verified.clone();
        let proven = checked(&signer, &signer.token(Some("one"), &said)).await.unwrap();
        assert_eq!(proven.as_deref(), email, "{verified}");
    }
}

#[tokio::test]
async fn a_forged_stale_or_foreign_token_is_refused() {
    let signer = Signer::p256();
    let invalid = |why| NotProven::Token(TokenOutcome::Invalid(why));
    let now = START / 1000;
    for (name, value, expected) in [
        ("nonce", json!("another"), NotProven::NonceWrong),
        ("nonce", Value::Null, NotProven::NonceWrong),
        ("aud", json!("another"), invalid(Invalid::AudienceWrong)),
        ("aud", json!([CLIENT, "another"]), NotProven::PartyWrong),
        ("azp", json!("another"), NotProven::PartyWrong),
        ("iss", json!("https://evil.example"), invalid(Invalid::IssuerWrong)),
        ("iss", Value::Null, invalid(Invalid::IssuerWrong)),
        ("sub", json!(""), invalid(Invalid::SubjectWrong)),
        ("exp", json!(now - 120), invalid(Invalid::TimesWrong)),
        ("exp", Value::Null, invalid(Invalid::TimesWrong)),
        ("iat", json!(now + 120), invalid(Invalid::NotYetValid)),
        ("iat", Value::Null, invalid(Invalid::TimesWrong)),
    ] {
        let mut said = claims();
        said[name] = value.clone();
        let proven = checked(&signer, &signer.token(Some("one"), &said)).await;
        assert_eq!(proven, Err(expected), "{name}: {value}");
    }
    let mut old = claims();
    (old["iat"], old["exp"]) = (json!(now - 900), json!(now - 600));
    let proven = checked(&signer, &signer.token(Some("one"), &old)).await;
    assert_eq!(proven, Err(NotProven::Token(TokenOutcome::Expired)));
    let mut ours = claims();
    (ours["aud"], ours["azp"]) = (json!([CLIENT, "another"]), json!(CLIENT));
    assert!(checked(&signer, &signer.token(Some("one"), &ours)).await.is_ok());
}

#[tokio::test]
async fn a_signature_is_valid_only_with_its_key_and_algorithm() {
    let signer = Signer::p256();
    let invalid = |why| Err(NotProven::Token(TokenOutcome::Invalid(why)));
    let (other, text) = (Signer::p256(), claims().to_string());
    let forged = other.token(Some("one"), &claims());
    assert_eq!(checked(&signer, &forged).await, invalid(Invalid::SignatureWrong));
    let unknown = signer.token(Some("two"), &claims());
    assert_eq!(checked(&signer, &unknown).await, invalid(Invalid::KeyUnknown));
    let none = Signer::Nothing.raw(r#"{"alg":"none"}"#, &text);
    assert_eq!(checked(&signer, &none).await, invalid(Invalid::AlgorithmRefused));
    // Signed with the public key used as a secret.
    let public = Signer::Secret(signer.pem().into_bytes());
    let confused = public.raw(r#"{"alg":"HS256","kid":"one"}"#, &text);
    assert_eq!(checked(&signer, &confused).await, invalid(Invalid::AlgorithmRefused));
    let named = signer.raw(r#"{"alg":"ES256","jwk":{},"kid":"one"}"#, &text);
    assert_eq!(checked(&signer, &named).await, invalid(Invalid::HeaderRefused));
    let whole = signer.token(Some("one"), &claims());
    let mut parts: Vec<&str> = whole.split('.').collect();
    let changed = Signer::Nothing.raw("{}", &text.replace("ann@", "bob@"));
    parts[1] = changed.split('.').nth(1).unwrap();
    assert_eq!(checked(&signer, &parts.join(".")).await, invalid(Invalid::SignatureWrong));
}

#[tokio::test]
async fn without_a_provider_there_is_no_button_and_no_route() {
    let site = Site::start().await;
    let browser = site.browser();
    assert!(!browser.get("/console/sign-in").await.ok().contains("/console/oidc"));
    assert_eq!(browser.get("/console/oidc").await.status, 404);
    assert_eq!(browser.get("/console/oidc/callback?code=x&state=y").await.status, 404);
}

/// A console with a provider at this address.
async fn with_provider(issuer: String, sign_ins_per_minute: u32) -> Site {
    let oidc = Some(OidcOptions {
        issuer,
        client_id: CLIENT.to_owned(),
        client_secret: None,
        button: "Sign in with Example".to_owned(),
    });
    Site::with(ConsoleOptions { sign_ins_per_minute, oidc, ..ConsoleOptions::default() }).await
}

#[tokio::test]
async fn a_provider_that_does_not_answer_blocks_no_other_sign_in() {
    // It accepts the connection and never replies.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let site = with_provider(format!("http://{}", silent.local_addr().unwrap()), 0).await;
    let waiting = async {
        let request = http::Request::get("/console/oidc").body(Body::empty()).unwrap();
        site.router.clone().oneshot(request).await
    };
    let others = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        site.root().await;
        site.browser().get("/console/sign-in").await.ok()
    };
    tokio::select! {
        _ = waiting => panic!("the provider has not answered"),
        page = others => assert!(page.contains("Sign in with Example")),
    }
}

#[tokio::test]
async fn starting_a_provider_sign_in_is_limited_by_address() {
    // Nothing listens there.
    let site = with_provider("http://127.0.0.1:9".to_owned(), 3).await;
    let begin = async |address: &str| {
        let router = site.router.for_peer(address.parse().unwrap());
        let request = http::Request::get("/console/oidc").body(Body::empty()).unwrap();
        router.oneshot(request).await.unwrap().status().as_u16()
    };
    for _ in 0..3 {
        assert_eq!(begin("203.0.113.7").await, 503);
    }
    assert_eq!(begin("203.0.113.7").await, 429);
    assert_eq!(begin("203.0.113.8").await, 503);
}
