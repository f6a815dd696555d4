//! Signing in by an OpenID provider, where the operator has named one.
//!
//! The authorization code flow with PKCE. What ties the answer to the browser that asked (`state`,
//! `nonce`, the verifier, and where to go then) stands in a cookie of ten minutes; nothing is kept
//! here meanwhile. The operator names the issuer, so addresses are its own: they are taken from
//! what it publishes, and need not be public.

mod provider;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use sluice_engine::Refusal;
use sluice_engine::people::FRESH_MINUTES;

use super::attempts::From;
use super::reply::{self, Answer, Refused};
use super::request::{Fields, Query};
use super::sign_in::local;
use super::{Console, session};

pub use self::provider::OidcOptions;
pub(super) use self::provider::Provider;

const BEGIN: &str = "/console/oidc";
const BACK: &str = "/console/oidc/callback";
const COOKIE: &str = "__Host-sluice-oidc";
/// How long somebody may take at the provider, in seconds.
const COOKIE_SECONDS: u32 = 600;
/// What somebody goes to the provider for, as the cookie has it.
const SIGN_IN: &str = "sign-in";
const CONFIRM: &str = "confirm";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route(BEGIN, get(begin)).route(BACK, get(come_back))
}

/// Where to begin, to come back to a page of the console.
pub(super) fn address(back: &str) -> String {
    match local(back) {
        Some(back) => format!("{BEGIN}?to={}", utf8_percent_encode(back, NON_ALPHANUMERIC)),
        None => BEGIN.to_owned(),
    }
}

/// Where to sign in again, to confirm who one is: the provider asks for the password once more.
pub(super) fn address_again(back: &str) -> String {
    let address = address(back);
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}again=yes")
}

/// Why somebody who was sent to the provider is not signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotSignedIn {
    /// The provider cannot be reached, or does not answer as it should.
    Away,
    /// The answer is to no question of this browser, or comes too late.
    Stale,
    /// The provider says no.
    Refused,
    /// What the provider sent proves nothing.
    NotProven,
    /// Proven, but nobody here: the address, where it was verified.
    Unknown(Option<String>),
    /// The provider does not say that somebody who had to confirm who they are has just signed in
    /// there.
    NotConfirmed,
}

impl NotSignedIn {
    pub(super) fn message(&self) -> String {
        match self {
            Self::Away => "Your organisation's sign-in service does not respond. Try again shortly.".into(),
            Self::Stale => "This sign-in was started in another browser or too long ago. Start again on the sign-in page.".into(),
            Self::Refused => "Your organisation's sign-in service refused the sign-in, or you cancelled it. Start again on the sign-in page.".into(),
            Self::NotProven => "The reply of the sign-in service could not be verified, so you are not signed in. If this happens again, contact the administrator of this service.".into(),
            Self::Unknown(Some(email)) => format!(
                "Your organisation knows you as {email}, but this address has no access to this console. Ask an owner to add you."
            ),
            Self::NotConfirmed => format!(
                "Your organisation's sign-in service did not confirm a sign-in within the last {FRESH_MINUTES} minutes (auth_time), so nothing was changed. Try again. If this happens again, contact the administrator of this service."
            ),
            Self::Unknown(None) => "Your organisation did not report a verified e-mail address for you, so your account could not be found. Contact the administrator of the sign-in service, or sign in with a password.".into(),
        }
    }
}

/// What ties an answer to its question.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PendingLogin {
    state: String,
    nonce: String,
    verifier: String,
    back: String,
    /// Whether somebody who is signed in confirms who they are.
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

    fn of(headers: &HeaderMap) -> Option<Self> {
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

/// The cookie that forgets what was asked.
fn forgotten() -> String {
    format!("{COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0")
}

async fn begin(
    State(console): State<Arc<Console>>,
    from: From,
    headers: HeaderMap,
    Query(query): Query,
) -> Answer {
    let provider = console.provider.as_ref().ok_or(Refused::NoSuchPage)?;
    if let Some(seconds) = console.attempts.of_beginning(&from, &headers) {
        return Err(Refused::Limited(seconds));
    }
    let found = provider.found().await.map_err(|reason| {
        tracing::warn!(reason, "the OpenID provider could not be asked");
        Refused::Provider(NotSignedIn::Away)
    })?;
    let confirms = query.get("again").is_some();
    let asked = PendingLogin::new(query.get("to").unwrap_or_default(), confirms)?;
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(asked.verifier.as_bytes()));
    let redirect = format!("{}{BACK}", console.engine.public_url());
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
        // With `max_age` the provider must say when the user signed in there (`auth_time`).
        parameters.extend([("prompt", "login"), ("max_age", "0")]);
    }
    let address = found.authorization(&parameters);
    Ok(reply::see_other_with(&address, &asked.cookie()))
}

/// Where the provider sends the browser back to. Whatever it comes to, the question is used up.
async fn come_back(
    State(console): State<Arc<Console>>,
    from: From,
    headers: HeaderMap,
    Query(query): Query,
) -> Response {
    let mut response = match signed_in(&console, &from, &headers, &query).await {
        Ok(response) => response,
        Err(refused) => refused.into_response(),
    };
    reply::set_cookie(&mut response, &forgotten());
    response
}

async fn signed_in(console: &Console, from: &From, headers: &HeaderMap, query: &Fields) -> Answer {
    let provider = console.provider.as_ref().ok_or(Refused::NoSuchPage)?;
    let no = |why: NotSignedIn| Err(Refused::Provider(why));
    if let Some(seconds) = console.attempts.of_address(from, headers) {
        return Err(Refused::Limited(seconds));
    }
    let Some(asked) = PendingLogin::of(headers) else { return no(NotSignedIn::Stale) };
    if query.get("state") != Some(&asked.state) {
        return no(NotSignedIn::Stale);
    }
    if !provider.is_said_by(query.get("iss")).await {
        return no(NotSignedIn::NotProven);
    }
    let Some(code) = query.get("code") else { return no(NotSignedIn::Refused) };
    let redirect = format!("{}{BACK}", console.engine.public_url());
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
            tracing::info!("somebody whom the OpenID provider knows is no user here");
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
    fn what_was_asked_comes_back_by_its_cookie() {
        let asked = PendingLogin::new("/console/apps/app_1?x=y", true).unwrap();
        let cookie = asked.cookie();
        assert!(cookie.contains("; Secure; HttpOnly; SameSite=Lax; Max-Age=600"), "{cookie}");
        let mut headers = HeaderMap::new();
        let sent = cookie.split(';').next().unwrap();
        headers.insert(COOKIES, HeaderValue::from_str(sent).unwrap());
        assert_eq!(PendingLogin::of(&headers), Some(asked.clone()));
        assert!(asked.verifier.len() >= 43, "as long as PKCE wants it");
        assert_eq!(PendingLogin::new("https://evil.example", false).unwrap().back, "/console");
        assert_eq!(PendingLogin::of(&HeaderMap::new()), None);
    }
}
