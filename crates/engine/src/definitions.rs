//! Definitions of published versions, each read once: a version never changes.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sluice_flow::definition::{self, Definition};
use sluice_flow::id::FlowVersionId;
use sluice_store::VersionRow;

/// Definitions that are about to be remembered, and the bytes that they may take.
const EXPECTED: usize = 1_000;
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// What an entry takes at the least, in bytes.
const ENTRY_BYTES: u64 = 256;

/// None of one that cannot be read.
type Read = Option<Arc<Definition>>;

pub(crate) struct Definitions(Cache<FlowVersionId, (Read, u64), Weigh>);

#[derive(Clone)]
struct Weigh;

impl Weighter<FlowVersionId, (Read, u64)> for Weigh {
    fn weight(&self, _: &FlowVersionId, (_, bytes): &(Read, u64)) -> u64 {
        // What was read takes about as much again as its JSON.
        ENTRY_BYTES + 2 * bytes
    }
}

impl Definitions {
    pub(crate) fn new() -> Self {
        Self(Cache::with_weighter(EXPECTED, BYTES_MAX, Weigh))
    }

    /// The definition of a version, if it can be read.
    pub(crate) fn of(&self, row: &VersionRow) -> Read {
        let id = row.flow_version_id;
        if let Some((known, _)) = self.0.get(&id) {
            return known;
        }
        let read = read(&row.definition).map(Arc::new);
        if read.is_none() {
            tracing::warn!(version = %id, "the definition of a version cannot be read");
        }
        self.0.insert(id, (read.clone(), row.definition.len() as u64));
        read
    }
}

fn read(json: &str) -> Option<Definition> {
    definition::check(&serde_json::from_str(json).ok()?).ok()
}
