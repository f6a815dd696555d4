//! What is set of an app and of the instance.

use std::sync::Arc;

use axum::Router;

use super::Console;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
}
