//! Signing in with an OpenID provider, if the operator has configured one.
//!
//! The authorization code flow with PKCE. What binds the callback to the browser (`state`, `nonce`,
//! the verifier, and where to return to) is in a cookie that lasts ten minutes; the server stores
//! nothing. The operator configures the issuer, so its endpoints are trusted: they come from its
//! metadata, and need not be public addresses.

pub(super) mod not_signed_in;
mod provider;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use sha2::{Digest as _, Sha256};
use sluice_engine::Refusal;

use self::not_signed_in::NotSignedIn;
use super::addresses::{self, local};
use super::attempts::PeerAddress;
use super::reply::{self, Refused, Reply};
use super::request::{Fields, Query};
use super::{Console, session};

pub use self::provider::OidcOptions;
pub(super) use self::provider::Provider;

const START: &str = "/console/oidc";
const CALLBACK: &str = "/console/oidc/callback";
const COOKIE: &str = "__Host-sluice-oidc";
/// How long a user may take at the provider, in seconds.
const COOKIE_SECONDS: u32 = 600;
/// The purposes of going to the provider, as stored in the cookie.
const SIGN_IN: &str = "sign-in";
const CONFIRM: &str = "confirm";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route(START, get(begin)).route(CALLBACK, get(callback))
}

/// The address that starts a sign-in and returns to a page of the console.
pub(super) fn address(back: &str) -> String {
    addresses::returning(START, back)
}

/// The address that starts a sign-in to confirm the user's identity: the provider asks for the
/// password again.
pub(super) fn address_again(back: &str) -> String {
    let address = address(back);
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}again=yes")
}

/// What binds a callback to the sign-in that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PendingLogin {
    state: String,
    nonce: String,
    verifier: String,
    back: String,
    /// Whether a signed-in user confirms their identity.
    confirms: bool,
}

impl PendingLogin {
    fn new(back: &str, confirms: bool) -> Result<Self, Refused> {
        Ok(Self {
            state: random()?,
            nonce: random()?,
            verifier: random()?,
            back: local(back).unwrap_or("/console").to_owned(),
            confirms,
        })
    }

    fn cookie(&self) -> String {
        let Self { state, nonce, verifier, back, confirms } = self;
        let (back, purpose) =
            (URL_SAFE_NO_PAD.encode(back), if *confirms { CONFIRM } else { SIGN_IN });
        format!(
            "{COOKIE}={state}.{nonce}.{verifier}.{back}.{purpose}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age={COOKIE_SECONDS}"
        )
    }

    fn from_cookie(headers: &HeaderMap) -> Option<Self> {
        let parts: Vec<&str> = session::cookie(headers, COOKIE)?.split('.').collect();
        let [state, nonce, verifier, back, purpose] = parts.as_slice() else { return None };
        let back = String::from_utf8(URL_SAFE_NO_PAD.decode(back).ok()?).ok()?;
        let [state, nonce, verifier] = [state, nonce, verifier].map(|it| (*it).to_owned());
        Some(Self { state, nonce, verifier, back, confirms: *purpose == CONFIRM })
    }
}

fn random() -> Result<String, Refused> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| Refused::Busy)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Removes the cookie of a pending sign-in.
fn cleared_cookie() -> String {
    format!("{COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0")
}

async fn begin(
    State(console): State<Arc<Console>>,
    from: PeerAddress,
    headers: HeaderMap,
    Query(query): Query,
) -> Reply {
    let provider = console.provider.as_ref().ok_or(Refused::NoSuchPage)?;
    if let Some(seconds) = console.attempts.count_start(&from, &headers) {
        return Err(Refused::Limited(seconds));
    }
    let found = provider.metadata().await.map_err(|reason| {
        tracing::warn!(reason, "cannot reach the OpenID provider");
        Refused::Provider(NotSignedIn::Away)
    })?;
    let confirms = query.get("again").is_some();
    let asked = PendingLogin::new(query.get("to").unwrap_or_default(), confirms)?;
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(asked.verifier.as_bytes()));
    let redirect = format!("{}{CALLBACK}", console.engine.addresses().admin_url);
    let mut parameters = vec![
        ("response_type", "code"),
        ("client_id", provider.client_id()),
        ("redirect_uri", &redirect),
        ("scope", "openid email profile"),
        ("state", &asked.state),
        ("nonce", &asked.nonce),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    if confirms {
        // With `max_age` the provider must report when the user signed in there (`auth_time`).
        parameters.extend([("prompt", "login"), ("max_age", "0")]);
    }
    let address = found.authorization(&parameters);
    Ok(reply::see_other_with(&address, &asked.cookie()))
}

/// The callback of the provider. It ends the pending sign-in, whatever the outcome.
async fn callback(
    State(console): State<Arc<Console>>,
    from: PeerAddress,
    headers: HeaderMap,
    Query(query): Query,
) -> Response {
    let mut response = match signed_in(&console, &from, &headers, &query).await {
        Ok(response) => response,
        Err(refused) => refused.into_response(),
    };
    reply::set_cookie(&mut response, &cleared_cookie());
    response
}

async fn signed_in(
    console: &Console,
    from: &PeerAddress,
    headers: &HeaderMap,
    query: &Fields,
) -> Reply {
    let provider = console.provider.as_ref().ok_or(Refused::NoSuchPage)?;
    let no = |why: NotSignedIn| Err(Refused::Provider(why));
    if let Some(seconds) = console.attempts.count_address(from, headers) {
        return Err(Refused::Limited(seconds));
    }
    let Some(asked) = PendingLogin::from_cookie(headers) else { return no(NotSignedIn::Stale) };
    if query.get("state") != Some(&asked.state) {
        return no(NotSignedIn::Stale);
    }
    if !provider.is_issued_by(query.get("iss")).await {
        return no(NotSignedIn::NotProven);
    }
    let Some(code) = query.get("code") else { return no(NotSignedIn::Refused) };
    let redirect = format!("{}{CALLBACK}", console.engine.addresses().admin_url);
    let now = console.engine.now();
    let claims = provider.claims(code, &redirect, &asked.verifier, &asked.nonce, now).await;
    let claims = match claims {
        Ok(claims) => claims,
        Err(why) => return no(why),
    };
    if asked.confirms && !console.engine.accounts().is_fresh_proof(&claims) {
        tracing::warn!("an ID token that should confirm a user has no recent auth_time");
        return no(NotSignedIn::NotConfirmed);
    }
    match console.engine.accounts().sign_in_with_subject(&claims, session::secret(headers)).await {
        Ok(secret) => {
            let back = local(&asked.back).unwrap_or("/console");
            Ok(reply::see_other_with(back, &session::kept(&secret)))
        }
        Err(Refusal::Store(error)) => Err(error.into()),
        Err(_) => {
            tracing::info!("an account of the OpenID provider belongs to no user");
            no(NotSignedIn::Unknown(claims.verified_email))
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::COOKIE as COOKIES;

    use super::*;

    #[test]
    fn a_pending_login_is_restored_from_its_cookie() {
        let asked = PendingLogin::new("/console/apps/app_1?x=y", true).unwrap();
        let cookie = asked.cookie();
        assert!(cookie.contains("; Secure; HttpOnly; SameSite=Lax; Max-Age=600"), "{cookie}");
        let mut headers = HeaderMap::new();
        let sent = cookie.split(';').next().unwrap();
        headers.insert(COOKIES, HeaderValue::from_str(sent).unwrap());
        assert_eq!(PendingLogin::from_cookie(&headers), Some(asked.clone()));
        assert!(asked.verifier.len() >= 43, "PKCE requires at least 43 characters");
        assert_eq!(PendingLogin::new("https://evil.example", false).unwrap().back, "/console");
        assert_eq!(PendingLogin::from_cookie(&HeaderMap::new()), None);
    }
}
