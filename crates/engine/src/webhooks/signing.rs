//! Secrets and signatures by the Standard Webhooks specification: `whsec_` and the base64 of the
//! key; `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use sluice_flow::id::EndpointId;
use sluice_flow::time::Timestamp;
use sluice_store::EndpointRow;

use crate::ids::fill_random;
use crate::verify::{NotOpened, SecretPurpose, Vault};

const PREFIX: &str = "whsec_";
/// The length of a new key; the specification asks for 24 to 64 bytes.
const KEY_BYTES: usize = 32;

/// A new secret, as receivers get it.
pub(crate) fn new_secret() -> String {
    let mut key = [0; KEY_BYTES];
    fill_random(&mut key);
    format!("{PREFIX}{}", STANDARD.encode(key))
}

/// Seals a secret for its endpoint, or returns why that is impossible.
pub(crate) fn seal(vault: &Vault, endpoint: EndpointId, secret: &str) -> Result<String, String> {
    vault.seal(SecretPurpose::Webhook(endpoint), secret)
}

pub(crate) fn open(vault: &Vault, id: EndpointId, sealed: &str) -> Result<String, NotOpened> {
    vault.open(SecretPurpose::Webhook(id), sealed)
}

/// The secrets that sign at this time: the current one, and the previous one until its end.
pub(crate) fn secrets(
    vault: &Vault,
    row: &EndpointRow,
    now: Timestamp,
) -> Result<Vec<String>, NotOpened> {
    let previous = row.previous_secret.as_ref();
    let previous = previous.filter(|_| row.previous_until.is_some_and(|until| now < until));
    let mut secrets = vec![open(vault, row.endpoint_id, &row.secret)?];
    // A secret that can no longer be opened must not prevent events from being sent.
    secrets.extend(previous.and_then(|sealed| open(vault, row.endpoint_id, sealed).ok()));
    Ok(secrets)
}

/// The header `webhook-signature`: one signature for each secret.
pub(crate) fn signature(secrets: &[String], id: &str, seconds: i64, body: &[u8]) -> String {
    let signed = |secret: &String| {
        let key = STANDARD.decode(secret.trim_start_matches(PREFIX)).unwrap_or_default();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let mut context = hmac::Context::with_key(&key);
        context.update(format!("{id}.{seconds}.").as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    };
    secrets.iter().map(signed).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's reference implementations.
    #[test]
    fn a_signature_is_that_of_the_specification() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned();
        let body = br#"{"test": 2432232314}"#;
        let signed = signature(&[secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_new_secret_has_a_key_of_32_bytes_and_differs() {
        let (one, other) = (new_secret(), new_secret());
        assert_ne!(one, other);
        let key = STANDARD.decode(one.strip_prefix("whsec_").unwrap()).unwrap();
        assert_eq!(key.len(), 32);
    }
}
