//! An app that enforces identity tokens, and tokens for it, signed as the guide shows.

use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, KeyUtils};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, errors};
use reqwest::Method;
use ring::hmac;
use serde_json::{Value, json};

use super::support::Server;

#[path = "sign.rs"]
#[expect(unreachable_pub, reason = "the snippet is exactly the guide's")]
mod sign;

/// A secret of an app, as the admin API returned it once.
#[derive(Clone)]
pub(crate) struct Secret {
    pub(crate) app: String,
    pub(crate) kid: String,
    pub(crate) text: String,
}

impl Secret {
    /// Creates a secret of an app.
    pub(crate) async fn make(server: &Server, token: &str, app: &str) -> Self {
        let path = format!("/apps/{app}/identity-keys");
        let made =
            change(server, token, Method::POST, &path, Some(&json!({"type": "hs256"}))).await;
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Self { app: app.to_owned(), kid: text("kid"), text: text("secret") }
    }

    /// A token of this user that is valid for some minutes.
    pub(crate) fn token(&self, user: &str) -> String {
        let _there_already = PROVIDER.install_default();
        sign::sign(&self.text, &self.kid, &self.app, user, now()).unwrap()
    }

    /// A token with these claims in addition to, or instead of, the usual ones.
    pub(crate) fn token_with(&self, claims: &Value) -> String {
        let _there_already = PROVIDER.install_default();
        let mut all = json!({"aud": self.app, "iat": now(), "exp": now() + 300});
        let (own, more) = (all.as_object_mut().unwrap(), claims.as_object().unwrap().clone());
        own.extend(more);
        let header = Header { kid: Some(self.kid.clone()), ..Header::new(Algorithm::HS256) };
        encode(&header, &all, &EncodingKey::from_secret(self.text.as_bytes())).unwrap()
    }
}

/// The cryptography that the library signs with, as the library's default would do it.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| match algorithm {
        Algorithm::HS256 => Ok(Box::new(Hs256(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes())))),
        _ => Err(errors::ErrorKind::InvalidAlgorithm.into()),
    },
    verifier_factory: |_, _| Err(errors::ErrorKind::InvalidAlgorithm.into()),
    key_utils: KeyUtils::new_unimplemented(),
};

struct Hs256(hmac::Key);

impl signature::Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The demo app.
pub(crate) async fn demo_app(server: &Server, token: &str) -> String {
    let (_, list) = server.admin(token, "/apps").await;
    list["items"][0]["appId"].as_str().unwrap().to_owned()
}

/// Sets an app to refuse requests without a valid token.
pub(crate) async fn enforce(server: &Server, token: &str, app: &str) {
    let enforce = json!({"identityVerification": "enforce"});
    change(server, token, Method::PATCH, &format!("/apps/{app}"), Some(&enforce)).await;
}

/// An admin API call, which must succeed.
pub(crate) async fn change(
    server: &Server,
    token: &str,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Value {
    let url = format!("{}/api/admin/v1{path}", server.base);
    let mut request = server.http.request(method, url).bearer_auth(token);
    if let Some(body) = body {
        request = request.json(body);
    }
    let reply = request.send().await.unwrap();
    let status = reply.status();
    let text = reply.text().await.unwrap();
    assert!(status.is_success(), "{path}: {status}: {text}");
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

/// The status of a resolve with this token.
pub(crate) async fn resolve(server: &Server, api_key: &str, flow: &str, token: &str) -> u16 {
    let url = format!("{}/api/v1/{api_key}/flows/{flow}", server.base);
    server.http.get(url).bearer_auth(token).send().await.unwrap().status().as_u16()
}
