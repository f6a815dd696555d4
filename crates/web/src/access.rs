//! Who comes in by the public API: the app that the key in the path belongs to.
//!
//! The app is kept even where the caller is denied, because a browser must be told by the app's own
//! rules ([`crate::cors`]) whether it may read the denial.

use std::sync::Arc;

use sluice_engine::rows::IdentityVerification;
use sluice_engine::{AppView, Engine};

/// The path segments before the key.
const BASE: &str = "/api/v1/";

/// Why a caller may not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    UnknownKey,
    /// The app verifies identities, and there is no verified token.
    TokenMissing,
    StoreDown,
}

/// What a key leads to.
#[derive(Debug)]
pub(crate) struct Entry {
    app: Option<Arc<AppView>>,
    denied: Option<Denied>,
}

impl Entry {
    pub(crate) async fn of(engine: &Engine, api_key: &str) -> Self {
        match engine.app(api_key).await {
            Ok(Some(app)) => {
                // Tokens cannot be verified yet; an app that insists on them is closed, not open.
                let denied = needs_token(&app).then_some(Denied::TokenMissing);
                Self { app: Some(app), denied }
            }
            Ok(None) => Self { app: None, denied: Some(Denied::UnknownKey) },
            Err(error) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%error, source, "an API key could not be looked up");
                Self { app: None, denied: Some(Denied::StoreDown) }
            }
        }
    }

    /// The app, if the caller may use it.
    pub(crate) fn app(&self) -> Result<&Arc<AppView>, Denied> {
        match (&self.app, self.denied) {
            (Some(app), None) => Ok(app),
            (_, denied) => Err(denied.unwrap_or(Denied::UnknownKey)),
        }
    }

    /// The app, whether or not the caller may use it.
    pub(crate) fn known_app(&self) -> Option<&AppView> {
        self.app.as_deref()
    }
}

/// Whether this app's replies are for the holder of a token alone.
pub(crate) fn needs_token(app: &AppView) -> bool {
    app.identity_verification == IdentityVerification::Enforce
}

/// Splits a public path into its key and what follows, both as sent. Ids and keys have no character
/// that needs an escape, so nothing is decoded.
pub(crate) fn key_and_rest(path: &str) -> (&str, &str) {
    let after_base = path.strip_prefix(BASE).unwrap_or_default();
    after_base.split_once('/').unwrap_or((after_base, ""))
}
