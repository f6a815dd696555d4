//! Tokens that must be refused, each with its error code, next to the most similar valid ones, so
//! that the table cannot pass by refusing everything.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sluice_engine::rows::{IdentityKeyKind, IdentityVerification};

use super::identity::{Verified, new_key};
use crate::support::START;
use crate::support::tokens::Signer;

const NOW: i64 = START / 1000;
const INVALID: &str = "token_invalid";
const EXPIRED: &str = "token_expired";
const GOOD: &str = "";

/// A row: the fault, the token, the code.
type Row = (String, String, &'static str);

fn changed(claims: &Value, name: &str, value: Value) -> Value {
    let mut claims = claims.clone();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

fn of_claims(signer: &Signer, kid: &str, claims: &Value) -> Vec<Row> {
    let other_app = "app_0000000000000000000000";
    let own = claims["aud"].as_str().unwrap();
    let cases = [
        ("sub", Value::Null, INVALID),
        ("sub", json!(""), INVALID),
        ("sub", json!(7), INVALID),
        ("sub", json!(["u-7"]), INVALID),
        ("sub", json!("x".repeat(256)), INVALID),
        ("sub", json!("x".repeat(255)), GOOD),
        ("sub", json!("u\0"), INVALID),
        ("aud", Value::Null, INVALID),
        ("aud", json!(""), INVALID),
        ("aud", json!(other_app), INVALID),
        ("aud", json!([other_app]), INVALID),
        ("aud", json!([]), INVALID),
        ("aud", json!({own: true}), INVALID),
        ("aud", json!(format!("{own} ")), INVALID),
        ("aud", json!(own.to_uppercase()), INVALID),
        ("aud", json!([own, 7]), INVALID),
        ("aud", json!([other_app, own]), GOOD),
        ("exp", Value::Null, INVALID),
        ("exp", json!("9999999999"), INVALID),
        ("exp", json!(true), INVALID),
        ("exp", json!(-1), INVALID),
        ("exp", json!(1e300), INVALID),
        ("exp", json!(NOW + 3601), INVALID),
        ("exp", json!(NOW), INVALID),
        ("exp", json!(NOW - 10), INVALID),
        ("exp", json!(NOW + 3600), GOOD),
        ("exp", json!(f64::from(300) + NOW as f64 + 0.5), GOOD),
        ("iat", Value::Null, INVALID),
        ("iat", json!("0"), INVALID),
        ("iat", json!([NOW]), INVALID),
        ("iat", json!(NOW + 61), INVALID),
        ("iat", json!(NOW + 60), GOOD),
        ("nbf", json!(NOW + 61), INVALID),
        ("nbf", json!("soon"), INVALID),
        ("nbf", json!(NOW + 60), GOOD),
        ("email", json!(7), INVALID),
        ("email", json!(["a@b.example"]), INVALID),
    ];
    let row = |(name, value, code): (&str, Value, _)| {
        let token = signer.token(Some(kid), &changed(claims, name, value.clone()));
        (format!("{name} = {value}"), token, code)
    };
    let mut rows: Vec<Row> = cases.into_iter().map(row).collect();
    for (ago, code) in [(59, GOOD), (60, EXPIRED), (100_000, EXPIRED)] {
        let mut old = changed(claims, "exp", json!(NOW - ago));
        old["iat"] = json!(NOW - ago - 300);
        rows.push((format!("expired {ago} s ago"), signer.token(Some(kid), &old), code));
        // Expired, and invalid in another way: a fresh token would be refused, too.
        old["aud"] = json!(other_app);
        rows.push((format!("of another app, {ago} s ago"), signer.token(Some(kid), &old), INVALID));
    }
    rows
}

fn of_header(signer: &Signer, kid: &str, claims: &Value) -> Vec<Row> {
    let claims = claims.to_string();
    let jwk = Signer::ed25519().jwk(kid);
    let cases = [
        (json!({"alg": "none"}), INVALID),
        (json!({"alg": "None", "kid": kid}), INVALID),
        (json!({"alg": "hs256", "kid": kid}), INVALID),
        (json!({"alg": "HS384", "kid": kid}), INVALID),
        (json!({"alg": "HS512", "kid": kid}), INVALID),
        (json!({"alg": "RS256", "kid": kid}), INVALID),
        (json!({"alg": "PS256", "kid": kid}), INVALID),
        (json!({"alg": "ES256", "kid": kid}), INVALID),
        (json!({"alg": "EdDSA", "kid": kid}), INVALID),
        (json!({"alg": "", "kid": kid}), INVALID),
        (json!({"alg": null, "kid": kid}), INVALID),
        (json!({"alg": ["HS256"], "kid": kid}), INVALID),
        (json!({"kid": kid}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "crit": ["exp"]}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "crit": []}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "jku": "https://evil.example/keys"}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "x5u": "https://evil.example/cert"}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "x5c": ["AAAA"]}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "jwk": jwk}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "b64": false}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "zip": "DEF"}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "typ": "JOSE"}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "typ": 7}), INVALID),
        (json!({"alg": "HS256", "kid": "other"}), INVALID),
        (json!({"alg": "HS256", "kid": ""}), INVALID),
        (json!({"alg": "HS256", "kid": 7}), INVALID),
        (json!({"alg": "HS256", "kid": null}), INVALID),
        (json!({"alg": "HS256", "kid": "../../../dev/null"}), INVALID),
        (json!({"alg": "HS256", "kid": "x' OR '1'='1"}), INVALID),
        (json!({"alg": "HS256", "kid": "k".repeat(256)}), INVALID),
        (json!({"alg": "HS256", "kid": kid, "typ": "at+JWT"}), GOOD),
        (json!({"alg": "HS256", "kid": kid}), GOOD),
    ];
    let row = |(header, code): (Value, _)| {
        let header = header.to_string();
        (header.clone(), signer.raw(&header, &claims), code)
    };
    let mut rows: Vec<Row> = cases.into_iter().map(row).collect();
    let twice = format!(r#"{{"alg":"HS256","alg":"HS256","kid":"{kid}"}}"#);
    let cases = [
        ("a header with a name twice", signer.raw(&twice, &claims)),
        ("a header that is a list", signer.raw("[]", &claims)),
        ("a header that is not JSON", signer.raw("{", &claims)),
        ("unsigned", Signer::Nothing.token(Some(kid), &claims.parse().unwrap())),
    ];
    rows.extend(cases.map(|(what, token)| (what.to_owned(), token, INVALID)));
    rows
}

fn of_form(signer: &Signer, kid: &str, claims: &Value) -> Vec<Row> {
    let good = signer.token(Some(kid), claims);
    let parts: Vec<&str> = good.split('.').collect();
    let (header, body, signature) = (parts[0], parts[1], parts[2]);
    let header_text = json!({"alg": "HS256", "kid": kid}).to_string();
    let text = claims.to_string();
    let doubled = text.replacen('{', r#"{"sub":"u-8","#, 1);
    let other = signer.token(Some(kid), &changed(claims, "sub", json!("u-8")));
    let other_body = other.split('.').nth(1).unwrap();
    let mut flipped = URL_SAFE_NO_PAD.decode(signature).unwrap();
    flipped[0] ^= 1;
    let flipped = URL_SAFE_NO_PAD.encode(flipped);
    let standard = STANDARD.encode(&header_text);
    // The last character of 32 bytes has two unused bits: another character decodes to the same
    // bytes.
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let last = letters.iter().position(|it| it == signature.as_bytes().last().unwrap()).unwrap();
    let spare = format!("{}{}", &signature[..42], char::from(letters[last ^ 1]));
    let huge = changed(claims, "x", json!("x".repeat(4096)));
    let cases = [
        ("one part", "abc".to_owned(), INVALID),
        ("two parts", format!("{header}.{body}"), INVALID),
        ("four parts", format!("{good}.x"), INVALID),
        ("five parts", format!("{good}.x.y"), INVALID),
        ("empty parts", "..".to_owned(), INVALID),
        ("no signature", format!("{header}.{body}."), INVALID),
        ("a cut signature", format!("{header}.{body}.{}", &signature[..20]), INVALID),
        ("another signature", format!("{header}.{body}.{flipped}"), INVALID),
        ("another body", format!("{header}.{other_body}.{signature}"), INVALID),
        ("padding", format!("{header}.{body}.{signature}="), INVALID),
        ("spare bits", format!("{header}.{body}.{spare}"), INVALID),
        ("standard base64", format!("{standard}.{body}.{signature}"), INVALID),
        ("a space within", format!("{header}. {body}.{signature}"), INVALID),
        ("a letter beyond ASCII", format!("{header}.{body}.{signature}\u{e9}"), INVALID),
        ("too long", signer.token(Some(kid), &huge), INVALID),
        ("a claim twice", signer.raw(&header_text, &doubled), INVALID),
        ("claims that are a list", signer.raw(&header_text, "[]"), INVALID),
        ("claims that are a text", signer.raw(&header_text, "\"x\""), INVALID),
        ("claims that are not JSON", signer.raw(&header_text, "sub=u-7"), INVALID),
        ("claims with something after", signer.raw(&header_text, &format!("{text} x")), INVALID),
        (
            "a number too large",
            signer.raw(&header_text, &text.replace("}", ",\"n\":1e999}")),
            INVALID,
        ),
        ("not a number", signer.raw(&header_text, &text.replace("}", ",\"n\":NaN}")), INVALID),
        ("another secret", Signer::Secret(b"guess".to_vec()).token(Some(kid), claims), INVALID),
        ("an empty secret", Signer::Secret(Vec::new()).token(Some(kid), claims), INVALID),
        ("the good one", good.clone(), GOOD),
    ];
    cases.into_iter().map(|(what, token, code)| (what.to_owned(), token, code)).collect()
}

async fn check(it: &Verified, rows: &[Row]) {
    for (what, token, code) in rows {
        let (status, found) = it.read(Some(&format!("Bearer {token}"))).await;
        let expected = if code.is_empty() { 200 } else { 401 };
        assert_eq!((status, found.as_str()), (expected, *code), "{what}");
        let reply = it.submit(Some(token), &it.admitted(json!([]))).await;
        let reason = reply["error"]["data"]["reason"].as_str().unwrap_or_default();
        assert_eq!(reason, *code, "{what}: {reply}");
    }
}

#[tokio::test]
async fn hostile_tokens_under_a_secret_are_refused_with_their_code() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let claims = it.claims();
    let mut rows = of_claims(&signer, &kid, &claims);
    rows.extend(of_header(&signer, &kid, &claims));
    rows.extend(of_form(&signer, &kid, &claims));
    let hostile = rows.iter().filter(|(_, _, code)| !code.is_empty()).count();
    assert!(hostile >= 60, "only {hostile}");
    check(&it, &rows).await;
}

#[tokio::test]
async fn hostile_tokens_under_public_keys_are_refused_with_their_code() {
    for signer in [Signer::rsa(), Signer::p256(), Signer::ed25519()] {
        let it = Verified::start().await;
        let mut key = new_key(IdentityKeyKind::PublicKey);
        key.pem = Some(signer.pem());
        key.kid = Some("one".to_owned());
        key.issuer = Some("https://id.example".to_owned());
        it.key(&key).await;
        it.mode(IdentityVerification::Enforce).await;
        let claims = changed(&it.claims(), "iss", json!("https://id.example"));
        let text = claims.to_string();
        let hs = r#"{"alg":"HS256","kid":"one"}"#;
        let pem = Signer::Secret(signer.pem().into_bytes());
        let trimmed = Signer::Secret(signer.pem().trim().as_bytes().to_vec());
        let jwk = Signer::Secret(signer.jwk("one").to_string().into_bytes());
        let stranger = match signer {
            Signer::Rsa(_) => Signer::another_rsa(),
            Signer::P256(_) => Signer::p256(),
            _ => Signer::ed25519(),
        };
        let embedded =
            json!({"alg": stranger.algorithm(), "kid": "one", "jwk": stranger.jwk("one")});
        let zeros = |length: usize| {
            let good = signer.token(Some("one"), &claims);
            let signed = good.rsplit_once('.').unwrap().0.to_owned();
            format!("{signed}.{}", URL_SAFE_NO_PAD.encode(vec![0; length]))
        };
        let rows: Vec<Row> = [
            ("the public key as a secret", pem.raw(hs, &text), INVALID),
            ("the same without its last line end", trimmed.raw(hs, &text), INVALID),
            ("the JWK as a secret", jwk.raw(hs, &text), INVALID),
            ("a stranger's key", stranger.token(Some("one"), &claims), INVALID),
            ("a stranger's key in the header", stranger.raw(&embedded.to_string(), &text), INVALID),
            ("a signature of zeros", zeros(64), INVALID),
            ("a longer one of zeros", zeros(256), INVALID),
            ("no issuer", signer.token(Some("one"), &it.claims()), INVALID),
            (
                "another issuer",
                signer.token(Some("one"), &changed(&claims, "iss", json!("https://id.example/"))),
                INVALID,
            ),
            ("the good one", signer.token(Some("one"), &claims), GOOD),
        ]
        .map(|(what, token, code)| (format!("{} {what}", signer.algorithm()), token, code))
        .into();
        check(&it, &rows).await;
    }
}

#[tokio::test]
async fn a_header_without_a_bearer_token_is_missing_and_two_headers_are_invalid() {
    let it = Verified::start().await;
    let (kid, signer) = it.secret().await;
    it.mode(IdentityVerification::Enforce).await;
    let good = signer.token(Some(&kid), &it.claims());
    for (header, status, code) in [
        (good.clone(), 401, "token_missing"),
        (format!("Basic {good}"), 401, "token_missing"),
        (format!("Token {good}"), 401, "token_missing"),
        ("Bearer".to_owned(), 401, "token_missing"),
        ("Bearer ".to_owned(), 401, "token_missing"),
        (format!("Bearer {good} {good}"), 401, INVALID),
        (format!("Bearer {good},{good}"), 401, INVALID),
        (format!("bearer {good}"), 200, ""),
        (format!("BEARER  {good} "), 200, ""),
    ] {
        assert_eq!(it.read(Some(&header)).await, (status, code.to_owned()), "{header}");
    }
    let path = it.site.path(&format!("flows/{}", it.flow));
    let twice = format!("Bearer {good}");
    let reply = it.site.get(&path, &[("authorization", &twice), ("authorization", &twice)]).await;
    reply.assert_problem(401, INVALID);
}
