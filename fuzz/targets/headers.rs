//! Headers of requests; the first byte selects which, and each further line is one header.
//!
//! A list of entity tags still matches after another tag is added, and weakly if it does strongly;
//! an idempotency key means the same in quotes; gzip is sent only if it was named; an untrusted
//! peer cannot choose its address; a request id is short and plain.

use std::net::{IpAddr, Ipv4Addr};

use http::header::{ACCEPT_ENCODING, IF_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue};
use sluice_engine::idempotency::IdempotencyKey;
use sluice_http::client::Proxies;
use sluice_http::entity_tags::EntityTags;
use sluice_http::request_id::X_REQUEST_ID;
use sluice_http::{negotiate, request_id};

const CURRENT: &str = "\"a\"";
const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");

pub(super) fn run(data: &[u8]) {
    let Some((&selector, rest)) = data.split_first() else { return };
    let lines = |name: &HeaderName| {
        let mut headers = HeaderMap::new();
        let values = rest.split(|byte| *byte == b'\n');
        for value in values.filter_map(|line| HeaderValue::from_bytes(line).ok()) {
            headers.append(name, value);
        }
        headers
    };
    match selector % 5 {
        0 => check_tags(lines(&IF_MATCH)),
        1 => check_key(rest),
        2 => check_encoding(&lines(&ACCEPT_ENCODING)),
        3 => check_address(&lines(&FORWARDED)),
        _ => check_request_id(&lines(&X_REQUEST_ID)),
    }
}

fn whole(tag: &str) -> &str {
    tag
}

fn check_tags(mut headers: HeaderMap) {
    let Ok(Some(tags)) = EntityTags::parse(&headers, &IF_MATCH) else { return };
    let weakly = tags.match_weakly(Some(CURRENT));
    assert!(weakly || !tags.match_strongly(Some(CURRENT), whole), "only a strong match");
    assert!(!tags.match_weakly(None) && !tags.match_strongly(None, whole), "nothing matches");
    if tags != EntityTags::Any {
        headers.append(IF_MATCH, HeaderValue::from_static("\"zq\""));
        let more = EntityTags::parse(&headers, &IF_MATCH).expect("a list").expect("tags");
        assert!(more.match_strongly(Some("\"zq\""), whole), "the added tag");
        assert_eq!(more.match_weakly(Some(CURRENT)), weakly, "the tags before it");
    }
}

fn check_key(header: &[u8]) {
    let Ok(key) = IdempotencyKey::parse(header) else { return };
    let text = std::str::from_utf8(header).expect("a key is ASCII").trim_matches([' ', '\t']);
    assert_eq!(IdempotencyKey::parse(format!(" {text}\t").as_bytes()), Ok(key.clone()));
    if !text.starts_with('"') {
        let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        assert_eq!(IdempotencyKey::parse(quoted.as_bytes()), Ok(key.clone()), "{quoted}");
    }
    assert_ne!(key.of_call(0), key.of_call(1));
}

fn check_encoding(headers: &HeaderMap) {
    if negotiate::accepts_gzip(headers) {
        let values = headers.values().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let text = values.collect::<Vec<_>>().join(",").to_ascii_lowercase();
        assert!(text.contains("gzip") || text.contains('*'), "{text}");
    }
}

fn check_address(headers: &HeaderMap) {
    let peer = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));
    let inside = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let proxies = Proxies(vec!["10.0.0.0/8".parse().expect("a network")]);
    assert_eq!(proxies.client(Some(peer), headers), Some(peer), "an untrusted peer");
    assert!(proxies.client(Some(inside), headers).is_some(), "a trusted proxy");
    assert_eq!(proxies.client(None, headers), None);
}

fn check_request_id(headers: &HeaderMap) {
    let id = request_id::from_headers(headers);
    let id = id.to_str().expect("plain ASCII");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    assert!((1..=64).contains(&id.len()) && id.bytes().all(is_plain), "{id:?}");
}
