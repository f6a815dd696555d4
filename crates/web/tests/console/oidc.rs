//! ID tokens that are forged, stale or for somebody else. The whole way, through a real provider's pages, is in
//! `tests/browser`.

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_engine::verify::{Checked, IdTokens, Invalid, KeySource, NotProven};
use sluice_flow::time::Timestamp;

use crate::shop::tokens::Signer;
use crate::support::{START, Site};

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

async fn checked(signer: &Signer, token: &str) -> Result<Option<String>, NotProven> {
    let keys = Keys(json!({ "keys": [signer.jwk("one")] }));
    let tokens = IdTokens::new(Arc::new(keys), ISSUER, CLIENT);
    let now = Timestamp::from_millis(START);
    let proven = tokens.check(token, "https://id.example/keys", NONCE, now).await?;
    assert_eq!((proven.issuer.as_str(), proven.subject.as_str()), (ISSUER, "7"));
    Ok(proven.verified_email)
}

#[tokio::test]
async fn an_id_token_proves_who_somebody_is_by_each_algorithm() {
    for signer in [Signer::rsa(), Signer::p256(), Signer::ed25519()] {
        let proven = checked(&signer, &signer.token(Some("one"), &claims())).await;
        assert_eq!(proven, Ok(Some("ann@mail.example".to_owned())), "{}", signer.algorithm());
    }
}

#[tokio::test]
async fn only_an_address_that_is_verified_counts() {
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
async fn what_is_forged_stale_or_for_another_proves_nothing() {
    let signer = Signer::p256();
    let invalid = |why| NotProven::Token(Checked::Invalid(why));
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
    assert_eq!(proven, Err(NotProven::Token(Checked::Expired)));
    let mut ours = claims();
    (ours["aud"], ours["azp"]) = (json!([CLIENT, "another"]), json!(CLIENT));
    assert!(checked(&signer, &signer.token(Some("one"), &ours)).await.is_ok());
}

#[tokio::test]
async fn a_signature_counts_only_by_the_key_and_its_algorithm() {
    let signer = Signer::p256();
    let invalid = |why| Err(NotProven::Token(Checked::Invalid(why)));
    let (other, text) = (Signer::p256(), claims().to_string());
    let forged = other.token(Some("one"), &claims());
    assert_eq!(checked(&signer, &forged).await, invalid(Invalid::SignatureWrong));
    let unknown = signer.token(Some("two"), &claims());
    assert_eq!(checked(&signer, &unknown).await, invalid(Invalid::KeyUnknown));
    let none = Signer::Nothing.raw(r#"{"alg":"none"}"#, &text);
    assert_eq!(checked(&signer, &none).await, invalid(Invalid::AlgorithmRefused));
    // Signed with what is public, as if it were a secret.
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
async fn without_a_provider_there_is_no_button_and_no_way() {
    let site = Site::start().await;
    let browser = site.browser();
    assert!(!browser.get("/console/sign-in").await.ok().contains("/console/oidc"));
    assert_eq!(browser.get("/console/oidc").await.status, 404);
    assert_eq!(browser.get("/console/oidc/callback?code=x&state=y").await.status, 404);
}
