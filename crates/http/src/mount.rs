//! Deployment under a path: the public URL is `https://host/feedback`, and everything is below it.
//!
//! The rest of the service knows nothing of it: routes, links, redirects and cookies are written as
//! if the service were at the root of its host. Only this boundary translates: a request loses the
//! path when it enters, and its reply gets it when it leaves, in `Location`, in cookies and in the
//! addresses of pages ([`markup`]). So a new route or link needs no extra code. What no rule can
//! find is translated where it is written: addresses in JSON ([`Mount::address`],
//! [`Mount::markup`]), in style sheets, and in scripts, which know the path from their own address.
//!
//! Cookies with the prefix `__Host-` belong to the whole host. Below a path they get the prefix
//! `__Secure-` and the path, so that two services on one host do not share a session, and other
//! applications of the host do not receive it.

mod markup;

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use axum::body::Body;
use axum::response::Response;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Request, Uri};

use crate::reply::Refusal;

/// A compromise between time and size, as for other pages.
const GZIP_LEVEL: u32 = 5;
/// Names of this service's cookies begin with the first prefix; below a path, with the second.
const HOST_COOKIE: &str = "__Host-sluice";
const PATH_COOKIE: &str = "__Secure-sluice";

/// The path of the public URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mount {
    /// Starts with a slash and does not end with one; empty if the service is at the root.
    path: Box<str>,
}

impl Mount {
    pub fn new(path: &str) -> Self {
        Self { path: path.into() }
    }

    pub fn is_root(&self) -> bool {
        self.path.is_empty()
    }

    /// The address that a browser uses for a path of the service.
    pub fn address(&self, path: &str) -> String {
        format!("{}{path}", self.path)
    }

    /// A part of a page as a browser gets it, for markup that is sent within JSON.
    pub fn markup(&self, html: String) -> String {
        if self.is_root() { html } else { markup::with_path(&html, &self.path) }
    }

    /// Removes the path from a request. Returns whether the request is below the path; otherwise it
    /// is unchanged.
    pub fn enter<B>(&self, request: &mut Request<B>) -> bool {
        let Some(uri) = self.inner_uri(request.uri()) else { return false };
        *request.uri_mut() = uri;
        self.enter_cookies(request.headers_mut());
        true
    }

    fn inner_uri(&self, uri: &Uri) -> Option<Uri> {
        let whole = uri.path_and_query()?.as_str();
        let rest = whole.strip_prefix(&*self.path)?;
        let inner: Cow<'_, str> = match rest.as_bytes().first() {
            Some(b'/') => rest.into(),
            None | Some(b'?') => format!("/{rest}").into(),
            Some(_) => return None,
        };
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::try_from(&*inner).ok()?);
        Uri::from_parts(parts).ok()
    }

    fn enter_cookies(&self, headers: &mut HeaderMap) {
        let sent: Vec<HeaderValue> = headers.get_all(COOKIE).iter().cloned().collect();
        headers.remove(COOKIE);
        for list in sent {
            // Other applications of the host may have cookies that are not text.
            let cookies = list.as_bytes().split(|byte| *byte == b';');
            let kept: Vec<Cow<'_, str>> = cookies
                .filter_map(|cookie| std::str::from_utf8(cookie).ok())
                .map(str::trim)
                // That of a service at the root of the same host.
                .filter(|cookie| !cookie.starts_with(HOST_COOKIE))
                .map(|cookie| match cookie.strip_prefix(PATH_COOKIE) {
                    Some(rest) => format!("{HOST_COOKIE}{rest}").into(),
                    None => cookie.into(),
                })
                .collect();
            if let Ok(list) = HeaderValue::try_from(kept.join("; ")) {
                headers.append(COOKIE, list);
            }
        }
    }

    /// The reply as a browser gets it.
    pub async fn leave(&self, response: Response) -> Response {
        let (mut head, body) = response.into_parts();
        self.leave_headers(&mut head.headers);
        let is_page = head
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        if !is_page {
            return Response::from_parts(head, body);
        }
        head.headers.remove(CONTENT_LENGTH);
        let is_gzip = head.headers.get(CONTENT_ENCODING).is_some_and(|it| it.as_bytes() == b"gzip");
        // Pages are in memory as a whole, so this neither waits nor fails.
        let Ok(bytes) = axum::body::to_bytes(body, usize::MAX).await else {
            return Refusal::Crashed.reply();
        };
        match self.page(&bytes, is_gzip) {
            Some(page) => Response::from_parts(head, Body::from(page)),
            None => Response::from_parts(head, Body::from(bytes)),
        }
    }

    /// The bytes of a page, with the path; `None` if they are not a page, as in the reply to HEAD.
    fn page(&self, bytes: &[u8], is_gzip: bool) -> Option<Vec<u8>> {
        if bytes.is_empty() {
            return None;
        }
        if !is_gzip {
            let text = std::str::from_utf8(bytes).ok()?;
            return Some(markup::with_path(text, &self.path).into_bytes());
        }
        let mut text = String::new();
        GzDecoder::new(bytes).read_to_string(&mut text).ok()?;
        let page = markup::with_path(&text, &self.path);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL));
        encoder.write_all(page.as_bytes()).ok()?;
        encoder.finish().ok()
    }

    fn leave_headers(&self, headers: &mut HeaderMap) {
        if let Some(address) = headers.get(LOCATION).and_then(|it| it.to_str().ok())
            && markup::is_own(address)
            && let Ok(address) = HeaderValue::try_from(self.address(address))
        {
            headers.insert(LOCATION, address);
        }
        let set: Vec<HeaderValue> = headers.get_all(SET_COOKIE).iter().cloned().collect();
        headers.remove(SET_COOKIE);
        for cookie in set {
            headers.append(SET_COOKIE, self.leaving_cookie(&cookie).unwrap_or(cookie));
        }
    }

    fn leaving_cookie(&self, cookie: &HeaderValue) -> Option<HeaderValue> {
        let cookie = cookie.to_str().ok()?;
        let cookie = match cookie.strip_prefix(HOST_COOKIE) {
            Some(rest) => {
                let (before, after) = rest.split_once("; Path=/;")?;
                format!("{PATH_COOKIE}{before}; Path={};{after}", self.path)
            }
            // One of a part of the service.
            None if cookie.starts_with("__Secure-") => {
                let (before, after) = cookie.split_once("; Path=/")?;
                format!("{before}; Path={}/{after}", self.path)
            }
            None => return None,
        };
        HeaderValue::try_from(cookie).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount() -> Mount {
        Mount::new("/feedback")
    }

    #[test]
    fn only_paths_below_the_mount_enter() {
        for (outer, inner) in [
            ("/feedback", Some("/")),
            ("/feedback?x=/feedback", Some("/?x=/feedback")),
            ("/feedback/", Some("/")),
            ("/feedback/f/fl_1?a=b", Some("/f/fl_1?a=b")),
            ("/feedback/feedback/f", Some("/feedback/f")),
            ("https://ask.example/feedback/console", Some("https://ask.example/console")),
            ("/feedbacks/f/fl_1", None),
            ("/Feedback/f/fl_1", None),
            ("/console", None),
            ("/", None),
            ("*", None),
        ] {
            let mut request = Request::builder().uri(outer).body(()).unwrap();
            let is_below = mount().enter(&mut request);
            let entered = is_below.then(|| request.uri().to_string());
            assert_eq!(entered.as_deref(), inner, "{outer}");
        }
    }

    #[test]
    fn cookies_belong_to_the_path() {
        let set = "__Host-sluice=s; Path=/; Secure; HttpOnly";
        let mut headers = HeaderMap::new();
        headers.append(SET_COOKIE, HeaderValue::from_static(set));
        headers.append(SET_COOKIE, HeaderValue::from_static("other=1; Path=/"));
        let report = "__Secure-report=p; Path=/r/x; Secure";
        headers.append(SET_COOKIE, HeaderValue::from_static(report));
        mount().leave_headers(&mut headers);
        let set: Vec<&str> =
            headers.get_all(SET_COOKIE).iter().map(|it| it.to_str().unwrap()).collect();
        let expected = "__Secure-sluice=s; Path=/feedback; Secure; HttpOnly";
        let report = "__Secure-report=p; Path=/feedback/r/x; Secure";
        assert_eq!(set, [expected, "other=1; Path=/", report]);

        let mut headers = HeaderMap::new();
        let sent = b"a=1; __Host-sluice=root; x=\xfc; __Secure-sluice=s; __Secure-sluice-did=d; __Secure-report=p";
        headers.append(COOKIE, HeaderValue::from_bytes(sent).unwrap());
        mount().enter_cookies(&mut headers);
        let expected = "a=1; __Host-sluice=s; __Host-sluice-did=d; __Secure-report=p";
        assert_eq!(headers[COOKIE], expected);
    }

    #[tokio::test]
    async fn redirects_within_the_service_get_the_path_and_others_do_not() {
        for (inner, outer) in [
            ("/console", "/feedback/console"),
            ("/", "/feedback/"),
            ("https://idp.example/authorize", "https://idp.example/authorize"),
            ("//evil.example", "//evil.example"),
            ("?after=1", "?after=1"),
        ] {
            let response = mount().leave(crate::reply::see_other(inner)).await;
            assert_eq!(response.headers()[LOCATION], outer, "{inner}");
        }
    }

    #[tokio::test]
    async fn a_page_gets_the_path_whether_or_not_it_is_compressed() {
        let page = b"<a href=\"/console\">x</a>".to_vec();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(1));
        encoder.write_all(&page).unwrap();
        for (body, is_gzip) in [(page, false), (encoder.finish().unwrap(), true)] {
            let mut response = Response::new(Body::from(body));
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
            headers.insert(CONTENT_LENGTH, HeaderValue::from_static("24"));
            if is_gzip {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            let left = mount().leave(response).await;
            assert!(!left.headers().contains_key(CONTENT_LENGTH));
            let bytes = axum::body::to_bytes(left.into_body(), usize::MAX).await.unwrap();
            let mut text = String::new();
            match is_gzip {
                true => GzDecoder::new(&*bytes).read_to_string(&mut text).unwrap(),
                false => (&*bytes).read_to_string(&mut text).unwrap(),
            };
            assert_eq!(text, "<a href=\"/feedback/console\">x</a>");
        }
    }

    #[tokio::test]
    async fn what_is_not_a_page_is_not_changed() {
        let text = "<a href=\"/console\">";
        let mut response = Response::new(Body::from(text));
        let plain = HeaderValue::from_static("text/markdown; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, plain);
        let left = mount().leave(response).await;
        assert_eq!(axum::body::to_bytes(left.into_body(), 99).await.unwrap(), text);
    }
}
