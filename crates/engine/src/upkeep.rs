//! The work that the server does by itself in the background, which can be asked for at once as
//! well.

use std::sync::Arc;

use sluice_store::{StoreError, StoreResult};
use tokio::task::JoinHandle;

use crate::blocks::Blocks;
use crate::counting::Counting;
use crate::erasure::Erasures;
use crate::retention::{Expired, Retention};

pub struct Upkeep {
    pub(crate) retention: Arc<Retention>,
    pub(crate) blocks: Arc<Blocks>,
    pub(crate) counting: Arc<Counting>,
    pub(crate) erasures: Arc<Erasures>,
}

impl std::fmt::Debug for Upkeep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upkeep").finish_non_exhaustive()
    }
}

impl Upkeep {
    pub(crate) fn start(&self) -> Vec<JoinHandle<()>> {
        vec![
            tokio::spawn(Arc::clone(&self.retention).run()),
            tokio::spawn(Arc::clone(&self.blocks).run()),
            tokio::spawn(Arc::clone(&self.counting).run()),
            tokio::spawn(Arc::clone(&self.erasures).run()),
        ]
    }

    /// Deletes now what every app has kept for too long; the server does this every hour.
    pub async fn enforce_retention(&self) -> Result<Expired, StoreError> {
        self.retention.look().await
    }

    /// Builds the next chunks of the skip index; the server does this every minute. Returns how
    /// many were built.
    pub async fn build_skip_index(&self) -> StoreResult<u64> {
        self.blocks.look().await
    }

    /// Folds small count rows into daily ones; the server does this by itself.
    pub async fn compact_counts(&self) -> Result<(), StoreError> {
        self.counting.compact().await
    }

    /// Finishes now the erasures that were cut short.
    pub async fn finish_erasures(&self) -> Result<(), StoreError> {
        self.erasures.finish().await
    }
}
