//! The session: who is signed in.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use http::header::COOKIE;
use http::{HeaderMap, Method};
use sluice_engine::{Actor, Secret, Session};
use sluice_flow::id::UserId;
use sluice_flow::time::DAY_SECONDS;
use sluice_http::negotiate;

use super::Console;
use super::reply::Refused;

const SESSION: &str = "__Host-sluice";
/// The longest lifetime of a session, in seconds; the server ends it, whatever the browser keeps.
const KEPT_SECONDS: i64 = 7 * DAY_SECONDS;
const THEME: &str = "sluice_theme";
/// What this browser has just done and may undo: only its own server can set it.
const DID: &str = "__Host-sluice-did";
/// How long it may be undone from the message about it, in seconds.
const DID_SECONDS: u32 = 5 * 60;

/// A signed-in visitor, and the display preferences of their browser.
#[derive(Debug, Clone)]
pub(super) struct Visitor {
    pub(super) actor: Actor,
    /// The name at the bottom of the side bar.
    pub(super) who: String,
    /// The user; none for the holder of a token.
    pub(super) user_id: Option<UserId>,
    /// The e-mail address of a user; empty for the holder of a token.
    pub(super) email: String,
    pub(super) theme: Option<&'static str>,
    pub(super) gzip: bool,
    /// The last action that can be undone, as [`did`] has recorded it.
    pub(super) did: Option<String>,
}

impl FromRequestParts<Arc<Console>> for Visitor {
    type Rejection = Refused;

    async fn from_request_parts(
        parts: &mut Parts,
        console: &Arc<Console>,
    ) -> Result<Self, Refused> {
        let signed_out = || Refused::SignedOut { back: back_to(parts) };
        let secret = secret(&parts.headers).ok_or_else(signed_out)?;
        let session = console.engine.accounts().session(secret).await?.ok_or_else(signed_out)?;
        Ok(Self::from_session(session, &parts.headers))
    }
}

impl Visitor {
    fn from_session(session: Session, headers: &HeaderMap) -> Self {
        Self {
            actor: session.actor,
            who: session.who,
            user_id: session.user_id,
            email: session.email.unwrap_or_default(),
            theme: theme_of(headers),
            gzip: negotiate::accepts_gzip(headers),
            did: cookie(headers, DID).map(str::to_owned),
        }
    }
}

/// A visitor whose page polls automatically; such requests do not extend the session.
#[derive(Debug, Clone)]
pub(super) struct BackgroundVisitor(pub(super) Visitor);

impl FromRequestParts<Arc<Console>> for BackgroundVisitor {
    type Rejection = Refused;

    async fn from_request_parts(
        parts: &mut Parts,
        console: &Arc<Console>,
    ) -> Result<Self, Refused> {
        let signed_out = || Refused::SignedOut { back: String::new() };
        let secret = secret(&parts.headers).ok_or_else(signed_out)?;
        let session =
            console.engine.accounts().session_unused(secret).await?.ok_or_else(signed_out)?;
        Ok(Self(Visitor::from_session(session, &parts.headers)))
    }
}

/// Where to go after signing in: only the page of a GET can be shown again.
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
    let lists = headers.get_all(COOKIE).iter();
    let cookies = lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b';'));
    // Other applications of the host may have cookies that are not text.
    let texts = cookies.filter_map(|cookie| std::str::from_utf8(cookie).ok());
    let mut pairs = texts.filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

/// The session secret in the cookie, whether or not the session has ended.
pub(super) fn secret(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, SESSION).filter(|secret| !secret.is_empty())
}

/// The session cookie. Its `__Host-` prefix makes the browser enforce the rest: no other host, and
/// no page over plain HTTP, can set it.
pub(super) fn kept(secret: &Secret) -> String {
    format!(
        "{SESSION}={}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={KEPT_SECONDS}",
        secret.0
    )
}

/// A cookie with the last action that can be undone. An address alone offers no undo: anyone can
/// make one up.
pub(super) fn did(action: &str) -> String {
    format!("{DID}={action}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={DID_SECONDS}")
}

/// Removes the session cookie.
pub(super) fn dropped() -> String {
    format!("{SESSION}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

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
