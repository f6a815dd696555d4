//! What came in: a table with filters, one response whole, arrivals as they come.

use std::sync::Arc;

use axum::Router;

use super::Console;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
}
