//! What stands between the console and the hosted pages: the way to the page of a flow that is not
//! published.
//!
//! Transports do not import one another. The console has a preview in its editor, which must be the
//! hosted page itself and not a likeness of it; so the hosted pages offer this, and [`crate::app`]
//! hands it to the console.

use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;

/// Makes pages of flows that are not published.
pub trait Preview: Send + Sync {
    /// The page at `address`, which the request asks for (GET) or sends a form to (POST). Stores
    /// nothing. Only pages of the same origin may frame it.
    fn page(
        &self,
        previewed: sluice_engine::Preview,
        address: String,
        request: Request,
    ) -> BoxFuture<'static, Response>;
}
