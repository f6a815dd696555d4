//! The request id: a client and our log use it to refer to the same exchange.
//!
//! A valid id sent with the request is kept, so that a request can be traced through a proxy. A
//! generated id is a random part, drawn at start, and a counter: unique, cheap, and not secret.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest id accepted from a request, in characters.
const CHARS_MAX: usize = 64;

static STARTED_AS: LazyLock<String> = LazyLock::new(|| {
    let mut bytes = [0_u8; 8];
    // Without randomness, ids are still unique within this process, which is enough.
    let _ = getrandom::fill(&mut bytes);
    format!("{:016x}-", u64::from_le_bytes(bytes))
});
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The request's id if it is valid, otherwise a new one.
pub fn from_headers(headers: &HeaderMap) -> HeaderValue {
    match headers.get(&X_REQUEST_ID) {
        Some(id) if is_valid(id.as_bytes()) => id.clone(),
        _ => generate(),
    }
}

fn is_valid(id: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    (1..=CHARS_MAX).contains(&id.len()) && id.iter().all(allowed)
}

fn generate() -> HeaderValue {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut id = String::with_capacity(2 * STARTED_AS.len());
    id.push_str(&STARTED_AS);
    // Not `format!`, which costs more than the rest of this function.
    let digits = (u64::BITS - count.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        id.push(char::from(b"0123456789abcdef"[(count >> (4 * place) & 0xF) as usize]));
    }
    // Hexadecimal digits and a hyphen are always a valid header value.
    HeaderValue::try_from(id).unwrap_or(HeaderValue::from_static("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_sent_with_the_request_is_kept_only_if_it_is_valid() {
        let with = |id: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(X_REQUEST_ID, HeaderValue::from_bytes(id).unwrap());
            from_headers(&headers)
        };
        for id in ["a", "trace.1_2-3", &"x".repeat(64)] {
            assert_eq!(with(id.as_bytes()), id);
        }
        for id in ["", "a b", "a,b", "\u{e9}", &"x".repeat(65)] {
            assert_ne!(with(id.as_bytes()), id, "{id}");
        }
    }

    #[test]
    fn generated_ids_differ_and_are_valid() {
        let (one, other) = (from_headers(&HeaderMap::new()), from_headers(&HeaderMap::new()));
        assert_ne!(one, other);
        assert!(is_valid(one.as_bytes()));
    }
}
