//! The Rust snippet of docs/events.md.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// Whether a request is from Sluice. `sent` is `webhook-timestamp`.
pub fn verify(secret: &str, id: &str, sent: &str, signatures: &str, body: &[u8], now: i64) -> bool {
    let is_recent = sent.parse::<i64>().is_ok_and(|sent| (now - sent).abs() <= 5 * 60);
    let Ok(key) = STANDARD.decode(secret.trim_start_matches("whsec_")) else { return false };
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signed = [format!("{id}.{sent}.").as_bytes(), body].concat();
    let matches = |signature: &str| {
        let tag = signature.strip_prefix("v1,").and_then(|it| STANDARD.decode(it).ok());
        tag.is_some_and(|tag| hmac::verify(&key, &signed, &tag).is_ok())
    };
    is_recent && signatures.split(' ').any(matches)
}
