//! A definition frozen by publishing.
//!
//! A snapshot never changes: the next publish creates another. It contains what the server set and
//! what the author wrote; whether it accepts responses now is decided in [`crate::lifecycle`].

use std::sync::Arc;

use crate::definition::{Definition, Kind};
use crate::id::{FlowId, FlowVersionId};
use crate::time::Timestamp;

/// What the server sets when it publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionMeta {
    pub flow_version_id: FlowVersionId,
    pub flow_id: FlowId,
    pub kind: Kind,
    pub number: u32,
    pub published_at: Timestamp,
}

/// One published version.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    meta: VersionMeta,
    definition: Arc<Definition>,
}

impl Snapshot {
    pub fn new(meta: VersionMeta, definition: impl Into<Arc<Definition>>) -> Self {
        Self { meta, definition: definition.into() }
    }

    pub fn meta(&self) -> &VersionMeta {
        &self.meta
    }

    pub fn definition(&self) -> &Definition {
        &self.definition
    }
}
