//! Logs that the store could not be read. Each transport answers it in its own form.

use sluice_engine::StoreError;

/// Logs the error with its cause, which no client gets. `what` was not possible because of it.
pub fn store_down(error: &StoreError, what: &str) {
    let source = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, source, "{what}");
}
