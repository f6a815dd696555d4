//! Who is signed in, and that a write comes from a page of ours.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{COOKIE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, Method};
use sluice_engine::{Actor, Secret};
use sluice_flow::id::UserId;

use super::Console;
use super::reply::Refused;
use crate::negotiate;

const SESSION: &str = "__Host-sluice";
/// As long as a session can last, in seconds; it ends on the server, whatever the browser keeps.
const KEPT_SECONDS: u32 = 7 * 24 * 60 * 60;
const THEME: &str = "sluice_theme";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Somebody who is signed in, and how their browser wants its pages.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    pub(super) actor: Actor,
    /// What they are called, for the foot of the side bar.
    pub(super) who: String,
    /// Who they are; the holder of a token is nobody in particular.
    pub(super) user_id: Option<UserId>,
    pub(super) theme: Option<&'static str>,
    pub(super) gzip: bool,
}

impl FromRequestParts<Arc<Console>> for Visitor {
    type Rejection = Refused;

    async fn from_request_parts(
        parts: &mut Parts,
        console: &Arc<Console>,
    ) -> Result<Self, Refused> {
        let signed_out = || Refused::SignedOut { back: back_to(parts) };
        let secret = secret(&parts.headers).ok_or_else(signed_out)?;
        let session = console.engine.session(secret).await?.ok_or_else(signed_out)?;
        Ok(Self {
            actor: session.actor,
            who: session.who,
            user_id: session.user_id,
            theme: theme_of(&parts.headers),
            gzip: negotiate::takes_gzip(&parts.headers),
        })
    }
}

/// Where to go after signing in: only a page that was asked for can be shown again.
fn back_to(parts: &Parts) -> String {
    match (parts.method == Method::GET, parts.uri.path_and_query()) {
        (true, Some(address)) => address.as_str().to_owned(),
        _ => String::new(),
    }
}

pub(super) fn theme_of(headers: &HeaderMap) -> Option<&'static str> {
    match cookie(headers, THEME)? {
        "light" => Some("light"),
        "dark" => Some("dark"),
        _ => None,
    }
}

pub(super) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|list| list.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

/// The secret of the session that a browser has, be it over or not.
pub(super) fn secret(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, SESSION).filter(|secret| !secret.is_empty())
}

/// The cookie of a session. Its name has the browser insist on the rest: no other host, and no page that came
/// over plain HTTP, can set it.
pub(super) fn kept(secret: &Secret) -> String {
    format!(
        "{SESSION}={}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={KEPT_SECONDS}",
        secret.0
    )
}

/// The cookie that ends it.
pub(super) fn dropped() -> String {
    format!("{SESSION}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0")
}

/// Lets a write through only if it was sent from a page of this origin.
pub(super) async fn same_origin(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    // Over HTTP/2 the host stands in the address.
    let authority = request.uri().authority().map(|authority| authority.as_str());
    if is_read || is_from_here(request.headers(), authority) {
        next.run(request).await
    } else {
        Refused::ForeignOrigin.into_response()
    }
}

/// Whether a browser says that another site has it send this. For reads that cost something, or leave a trace.
pub(super) fn is_sent_by_others(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    sites.any(|site| !matches!(site.to_str(), Ok("same-origin" | "none")))
}

/// Every browser names the origin of a write. One that does not is no browser of ours.
fn is_from_here(headers: &HeaderMap, authority: Option<&str>) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if text(&SEC_FETCH_SITE).is_some_and(|site| site != "same-origin") {
        return false;
    }
    let origin = text(&ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    origin.is_some() && origin == authority.or(text(&HOST))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_write_comes_from_here_only_if_its_origin_is_the_host() {
        for (origin, site, expected) in [
            (Some("https://sluice.example"), Some("same-origin"), true),
            (Some("https://sluice.example"), None, true),
            (Some("https://evil.example"), None, false),
            (Some("https://sluice.example"), Some("cross-site"), false),
            (Some("https://sluice.example"), Some("same-site"), false),
            (Some("null"), None, false),
            (None, Some("same-origin"), false),
            (None, None, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("sluice.example"));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            if let Some(site) = site {
                headers.insert(SEC_FETCH_SITE, HeaderValue::from_static(site));
            }
            assert_eq!(is_from_here(&headers, None), expected, "{origin:?} {site:?}");
        }
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=1; sluice_theme=dark"));
        headers.append(COOKIE, HeaderValue::from_static("x__Host-sluice=2; __Host-sluice=3"));
        assert_eq!(cookie(&headers, SESSION), Some("3"));
        assert_eq!(theme_of(&headers), Some("dark"));
        assert_eq!(cookie(&headers, "b"), None);
    }
}
