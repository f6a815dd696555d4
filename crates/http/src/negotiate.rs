//! Content negotiation: which encoding a client accepts, and whether it already has the body.

use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};

use crate::entity_tags::EntityTags;

/// Whether the client accepts gzip, and prefers it at least as much as the plain form.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut gzip = None;
    let mut any = None;
    let mut identity = None;
    for (coding, weight) in headers.get_all(ACCEPT_ENCODING).iter().flat_map(codings) {
        match coding.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => gzip = Some(weight),
            "identity" => identity = Some(weight),
            "*" => any = Some(weight),
            _ => {}
        }
    }
    let gzip = gzip.or(any).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// The codings of one header, each with its weight in thousandths.
fn codings(header: &http::HeaderValue) -> impl Iterator<Item = (&str, u16)> {
    header.to_str().unwrap_or_default().split(',').map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        (coding, weight.map_or(1000, thousandths))
    })
}

/// An invalid weight counts as zero: the plain form is always acceptable.
fn thousandths(weight: &str) -> u16 {
    match weight.parse::<f32>() {
        Ok(weight) if (0.0..=1.0).contains(&weight) => (weight * 1000.0) as u16,
        _ => 0,
    }
}

/// Whether `If-None-Match` has this entity tag or `*`. Uses weak comparison, as GET requires.
pub fn matches_etag(headers: &HeaderMap, etag: &str) -> bool {
    let tags = EntityTags::parse(headers, &IF_NONE_MATCH);
    tags.is_ok_and(|tags| tags.is_some_and(|tags| tags.match_weakly(Some(etag))))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn gzip_is_sent_only_to_clients_that_accept_it() {
        for (header, takes) in [
            ("gzip", true),
            ("br, gzip;q=0.5", true),
            ("GZIP ; q=1", true),
            ("x-gzip", true),
            ("*", true),
            ("gzip;q=0", false),
            ("gzip;q=0.0, *", false),
            ("*;q=0", false),
            ("br", false),
            ("identity, gzip;q=0.5", false),
            ("gzip;q=nonsense", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(header));
            assert_eq!(accepts_gzip(&headers), takes, "{header}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn an_entity_tag_matches_in_a_list_weakly_or_by_a_star() {
        for (header, found) in [
            (r#""a""#, true),
            (r#"W/"a""#, true),
            (r#""b", "a""#, true),
            ("*", true),
            (r#""b""#, false),
            (r#""b,*,c""#, false),
            ("a", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static(header));
            assert_eq!(matches_etag(&headers, r#""a""#), found, "{header}");
        }
    }
}
