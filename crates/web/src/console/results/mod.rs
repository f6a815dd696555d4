//! What it says: one card a question, over time, by version and by tag.

use std::sync::Arc;

use axum::Router;

use super::Console;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
}
