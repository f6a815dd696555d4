//! The interface between the console and the hosted pages: renders the page of a flow that is not
//! published.
//!
//! Transports do not import each other. The preview in the console's editor must be the hosted page
//! itself, not a copy of it; so the hosted pages implement this trait, and the `sluice_web` crate
//! passes it to the console.

use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;

/// Renders pages of unpublished flows.
pub trait Preview: Send + Sync {
    /// The page at `address`, which the request reads (GET) or submits a form to (POST). Stores
    /// nothing. Only pages of the same origin may frame it.
    fn page(
        &self,
        previewed: sluice_engine::Preview,
        address: String,
        request: Request,
    ) -> BoxFuture<'static, Response>;
}
