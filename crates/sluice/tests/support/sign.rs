//! The snippet of docs/identity.md, byte for byte; a test checks that the two are equal.

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, errors::Result};
use serde_json::json;

pub fn sign(secret: &str, kid: &str, app_id: &str, user_id: &str, now: u64) -> Result<String> {
    let header = Header { kid: Some(kid.to_owned()), ..Header::new(Algorithm::HS256) };
    let claims = json!({"sub": user_id, "aud": app_id, "iat": now, "exp": now + 300});
    encode(&header, &claims, &EncodingKey::from_secret(secret.as_bytes()))
}
