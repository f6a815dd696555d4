//! A flow's draft: written, previewed, compared, published; its versions and its windows.

use std::sync::Arc;

use axum::Router;

use super::Console;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
}
