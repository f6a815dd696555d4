//! How a flow reaches people: its link, the embed, invitations, and the three calls with real ids.

use std::sync::Arc;

use axum::Router;

use super::Console;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
}
