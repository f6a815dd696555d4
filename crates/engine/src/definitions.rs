//! Definitions of stored versions: the only code outside the store that parses them.
//!
//! A published version never changes, so [`Definitions`] caches the result of parsing it, including
//! a failure. A draft is parsed each time. [`stored_definition`] serves code without that cache,
//! such as checks of a whole store; [`stored_json`] is for drafts, which may break every rule.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde_json::Value;
use sluice_flow::definition::{self, Definition};
use sluice_flow::id::FlowVersionId;
use sluice_store::{StoreError, StoreResult, VersionRow};

/// The number of definitions that the cache is sized for, and its limit in bytes.
const EXPECTED: usize = 1_000;
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The minimum size of an entry in bytes.
const ENTRY_BYTES: u64 = 256;

/// The definition, or why it cannot be read.
type Read = Result<Arc<Definition>, Arc<str>>;

/// The JSON of a version or draft, as it was stored.
pub fn stored_json(row: &VersionRow) -> StoreResult<Value> {
    let id = row.flow_version_id;
    let value = serde_json::from_str(&row.definition);
    value.map_err(|why| StoreError::Corrupt(format!("definition of {id}: {why}")))
}

/// The definition of a version or draft, if it can be read.
pub fn stored_definition(row: &VersionRow) -> Option<Definition> {
    definition::stored(&row.definition).ok()
}

/// The part of a version or draft that pages can show, if there is any.
pub(crate) fn shown_definition(row: &VersionRow) -> Option<Definition> {
    definition::presentable(&stored_json(row).ok()?).map(|(definition, _)| definition)
}

#[derive(Clone)]
pub(crate) struct Definitions(Arc<Cache<FlowVersionId, (Read, u64), DefinitionWeighter>>);

#[derive(Clone)]
struct DefinitionWeighter;

impl Weighter<FlowVersionId, (Read, u64)> for DefinitionWeighter {
    fn weight(&self, _: &FlowVersionId, (_, bytes): &(Read, u64)) -> u64 {
        // A parsed definition takes about as much memory as its JSON.
        ENTRY_BYTES + 2 * bytes
    }
}

impl Definitions {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Cache::with_weighter(EXPECTED, BYTES_MAX, DefinitionWeighter)))
    }

    /// The definition of a version. It was checked when it was published, so if a published one
    /// cannot be read, the store returned something other than what was stored.
    pub(crate) fn read(&self, row: &VersionRow) -> StoreResult<Arc<Definition>> {
        let id = row.flow_version_id;
        self.find(row).map_err(|why| StoreError::Corrupt(format!("definition of {id}: {why}")))
    }

    /// The definition of a version, if it can be read.
    pub(crate) fn readable(&self, row: &VersionRow) -> Option<Arc<Definition>> {
        self.find(row).ok()
    }

    fn find(&self, row: &VersionRow) -> Read {
        let id = row.flow_version_id;
        if let Some((known, _)) = self.0.get(&id) {
            return known;
        }
        let read = definition::stored(&row.definition).map(Arc::new).map_err(Arc::from);
        if row.times.published_at.is_some() {
            if let Err(why) = &read {
                tracing::warn!(version = %id, %why, "the definition of a version cannot be read");
            }
            self.0.insert(id, (read.clone(), row.definition.len() as u64));
        }
        read
    }
}
