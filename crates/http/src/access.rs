//! Access to the public API: the app that the key in the path belongs to, and the caller that the
//! token identifies.
//!
//! The app is kept even if the caller is denied, because the app's CORS rules ([`crate::cors`])
//! decide whether a browser may read the denial. A token is read from the header only.

use std::borrow::Cow;
use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use sluice_engine::rows::IdentityVerification;
use sluice_engine::verify::{Presented, TokenRefused};
use sluice_engine::{AppView, Engine, Limited};
use sluice_flow::identity::Bearer;

use crate::path_segment;
use crate::store_down::store_down;

/// The path segments before the key.
const BASE: &str = "/api/v1/";

/// Why a caller is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessDenied {
    UnknownKey,
    StoreDown,
    Token(TokenRefused),
}

/// The result of checking a key and a token.
#[derive(Debug)]
pub struct AccessCheck {
    app: Option<Arc<AppView>>,
    bearer: Option<Arc<Bearer>>,
    denied: Option<AccessDenied>,
}

impl AccessCheck {
    /// Checks the request's key, and its token if the app verifies tokens.
    pub async fn run(engine: &Engine, api_key: &str, headers: &HeaderMap) -> Self {
        Self::run_for_key(engine, api_key).await.identified(engine, headers).await
    }

    /// Checks the token for an app that was found without a key.
    pub async fn run_for_app(engine: &Engine, app: Arc<AppView>, headers: &HeaderMap) -> Self {
        Self { app: Some(app), bearer: None, denied: None }.identified(engine, headers).await
    }

    async fn identified(mut self, engine: &Engine, headers: &HeaderMap) -> Self {
        if let Some(app) = self.app.as_ref().filter(|app| app.verifies_tokens()) {
            match engine.identify(app, presented(headers)).await {
                Ok(bearer) => self.bearer = bearer.map(Arc::new),
                Err(refused) => self.denied = Some(AccessDenied::Token(refused)),
            }
        }
        self
    }

    /// Checks the key only: for a preflight, which cannot carry a token.
    pub async fn run_for_key(engine: &Engine, api_key: &str) -> Self {
        let (app, denied) = match engine.app_by_key(api_key).await {
            Ok(Some(app)) => (Some(app), None),
            Ok(None) => (None, Some(AccessDenied::UnknownKey)),
            Err(error) => {
                store_down(&error, "cannot look up an API key");
                (None, Some(AccessDenied::StoreDown))
            }
        };
        Self { app, bearer: None, denied }
    }

    /// The app, if the caller may use it.
    pub fn app(&self) -> Result<&Arc<AppView>, AccessDenied> {
        match (&self.app, self.denied) {
            (Some(app), None) => Ok(app),
            (_, denied) => Err(denied.unwrap_or(AccessDenied::UnknownKey)),
        }
    }

    /// The app, whether or not the caller may use it.
    pub fn known_app(&self) -> Option<&AppView> {
        self.app.as_deref()
    }

    /// Whether the app may make these calls now; they count even if the token is refused.
    pub fn admit_calls(&self, engine: &Engine, calls: usize) -> Result<(), Limited> {
        let Some(app) = &self.app else { return Ok(()) };
        engine.admit_calls(app, u32::try_from(calls).unwrap_or(u32::MAX))
    }

    /// The caller as identified by their token.
    pub fn bearer(&self) -> Option<&Arc<Bearer>> {
        self.bearer.as_ref()
    }

    /// The denial, if it is because of the token: then every path outside tRPC gets this reply,
    /// even one that does not exist. tRPC checks the procedure and the method first.
    pub fn denied_by_token(&self) -> Option<AccessDenied> {
        self.denied.filter(|denied| matches!(denied, AccessDenied::Token(_)))
    }
}

/// Whether this app's replies are only for the holder of a token.
pub fn needs_token(app: &AppView) -> bool {
    app.identity_verification == IdentityVerification::Enforce
}

/// The token that the request presents. Another scheme counts as no token; two headers are
/// unreadable.
fn presented(headers: &HeaderMap) -> Presented<'_> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), further) = (values.next(), values.next()) else { return Presented::Nothing };
    let text = match value.to_str() {
        Ok(text) if further.is_none() => text.trim_matches(' '),
        _ => return Presented::Unreadable,
    };
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    match token.trim_matches(' ') {
        _ if !scheme.eq_ignore_ascii_case("bearer") => Presented::Nothing,
        "" => Presented::Nothing,
        token => Presented::Token(token),
    }
}

/// Splits a public path into its key, decoded, and the rest as sent.
pub fn key_and_rest(path: &str) -> (Cow<'_, str>, &str) {
    let after_base = path.strip_prefix(BASE).unwrap_or_default();
    let (key, rest) = after_base.split_once('/').unwrap_or((after_base, ""));
    (path_segment::decoded(key), rest)
}
