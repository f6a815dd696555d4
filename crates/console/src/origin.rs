//! CSRF protection: checks that a write comes from one of our pages.
//!
//! Browsers send the origin of every write, and pages cannot change it: current browsers send
//! `Sec-Fetch-Site` over HTTPS and on localhost, and all browsers send `Origin`. If
//! `Sec-Fetch-Site` is present, it decides: `same-origin` is a page of the address that the browser
//! shows, even if a proxy changes `Host`, and anything else is refused even if the origin looks
//! right. Another host of the same domain (`same-site`) is not trusted, and `none`, an address that
//! was typed or opened, is never a write. Without it, `Origin` must be ours, scheme and port
//! included, if the operator has configured the public URL; otherwise its host must be the
//! requested host.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Uri};

use super::Console;
use super::reply::Refused;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Allows a write only if it was sent from a page of this origin.
pub(super) async fn same_origin(
    State(console): State<Arc<Console>>,
    request: Request,
    next: Next,
) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_read || is_from_our_page(&console, request.headers(), request.uri()) {
        next.run(request).await
    } else {
        Refused::ForeignOrigin.into_response()
    }
}

fn is_from_our_page(console: &Console, headers: &HeaderMap, uri: &Uri) -> bool {
    // In HTTP/2 the host is in the URI.
    let authority = uri.authority().map(|authority| authority.as_str());
    let is_from = |ours: Option<&str>| is_from_here(headers, authority, ours);
    let is_report = uri.path().starts_with("/r/");
    is_from(console.origin.as_deref()) || is_report && is_from(console.report_origin.as_deref())
}

/// Whether the browser reports that another site caused this request. For reads that are expensive,
/// or are recorded in the audit log.
pub(super) fn is_sent_by_others(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    sites.any(|site| !matches!(site.to_str(), Ok("same-origin" | "none")))
}

/// The origin of an address as browsers write it: in lower case, without the default port.
pub(super) fn origin_of(address: &str) -> Option<String> {
    let address = address.to_ascii_lowercase();
    let (scheme, rest) = address.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    let usual = match scheme {
        "https" => ":443",
        "http" => ":80",
        _ => return None,
    };
    Some(format!("{scheme}://{}", host.strip_suffix(usual).unwrap_or(host)))
}

/// Every browser sends `Origin` with a write; a request without it is refused.
fn is_from_here(headers: &HeaderMap, authority: Option<&str>, ours: Option<&str>) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(origin) = text(&ORIGIN).and_then(origin_of) else { return false };
    if headers.contains_key(SEC_FETCH_SITE) {
        let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
        return sites.all(|site| site.as_bytes() == b"same-origin");
    }
    match ours {
        Some(ours) => origin == ours,
        // The scheme that the browser used is not known here, so it is not compared; the port is.
        None => authority.or(text(&HOST)).is_some_and(|host| {
            let scheme = origin.split_once("://").map_or("https", |(scheme, _)| scheme);
            origin_of(&format!("{scheme}://{host}")).is_some_and(|here| here == origin)
        }),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const HERE: &str = "https://sluice.example";

    fn check(host: &str, ours: Option<&str>, cases: &[(Option<&'static str>, &'static str, bool)]) {
        for &(origin, site, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            if !site.is_empty() {
                headers.insert(SEC_FETCH_SITE, HeaderValue::from_static(site));
            }
            let found = is_from_here(&headers, None, ours);
            assert_eq!(found, expected, "{host} {ours:?}: {origin:?} {site}");
        }
    }

    #[test]
    fn sec_fetch_site_decides() {
        for (host, ours) in
            [("sluice.example", None), ("inside:8080", None), ("inside", Some(HERE))]
        {
            check(
                host,
                ours,
                &[
                    (Some(HERE), "same-origin", true),
                    (Some(HERE), "same-site", false),
                    (Some(HERE), "cross-site", false),
                    (Some(HERE), "none", false),
                    (Some("null"), "same-origin", false),
                    (None, "same-origin", false),
                ],
            );
        }
    }

    #[test]
    fn without_sec_fetch_site_the_origin_must_be_the_configured_one() {
        check(
            "inside:8080",
            Some(HERE),
            &[
                (Some(HERE), "", true),
                (Some("http://sluice.example"), "", false),
                (Some("https://sluice.example:8443"), "", false),
                (Some("https://inside:8080"), "", false),
                (Some("https://sluice.example.evil.example"), "", false),
                (Some("null"), "", false),
                (None, "", false),
            ],
        );
    }

    #[test]
    fn without_either_the_origin_must_match_the_requested_host() {
        check(
            "sluice.example:8443",
            None,
            &[
                (Some("https://sluice.example:8443"), "", true),
                (Some("https://sluice.example"), "", false),
                (Some("https://evil.example:8443"), "", false),
            ],
        );
        check("sluice.example", None, &[(Some(HERE), "", true), (None, "", false)]);
        check("sluice.example:443", None, &[(Some(HERE), "", true)]);
    }

    #[test]
    fn contradictory_headers_are_refused() {
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, HeaderValue::from_static(HERE));
        headers.append(SEC_FETCH_SITE, HeaderValue::from_static("same-origin"));
        headers.append(SEC_FETCH_SITE, HeaderValue::from_static("cross-site"));
        assert!(!is_from_here(&headers, Some("sluice.example"), Some(HERE)));
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (address, origin) in [
            ("https://Feedback.Example.com/a/b", Some("https://feedback.example.com")),
            ("https://feedback.example.com:443", Some("https://feedback.example.com")),
            ("http://127.0.0.1:8080", Some("http://127.0.0.1:8080")),
            ("http://[::1]:80/", Some("http://[::1]")),
            ("null", None),
            ("ftp://feedback.example.com", None),
            ("https://", None),
        ] {
            assert_eq!(origin_of(address).as_deref(), origin, "{address}");
        }
    }
}
