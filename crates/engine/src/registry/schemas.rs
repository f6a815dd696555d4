//! The JSON Schemas of submissions, rendered when a client first asks for one. Like the snapshot
//! that it describes, a schema never changes.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sluice_flow::id::{AppId, FlowVersionId};
use sluice_flow::lifecycle::Accepting;
use sluice_flow::payload::Generation;
use sluice_flow::submission_schema;
use sluice_store::{StoreError, StoreResult};

use super::{ENTRY_BYTES, LARGE_EXPECTED, Lookup, Registry, RegistryWeighter, VersionView};
use crate::encoded_body::EncodedBody;
use crate::single_flight::{CacheEntry, SingleFlightCache};

/// The memory limit for schemas, in bytes.
const SCHEMAS_BYTES_MAX: u64 = 16 * 1024 * 1024;

pub(super) type SchemaKey = (FlowVersionId, Generation);

/// A schema, and the app of its version.
#[derive(Debug)]
pub(super) struct ServedSchema {
    app_id: AppId,
    served: Arc<EncodedBody>,
}

pub(super) fn cache() -> SingleFlightCache<SchemaKey, ServedSchema, RegistryWeighter> {
    let cache = Cache::with_weighter(LARGE_EXPECTED, SCHEMAS_BYTES_MAX, RegistryWeighter);
    SingleFlightCache::new(cache)
}

impl Weighter<SchemaKey, CacheEntry<ServedSchema>> for RegistryWeighter {
    fn weight(&self, _: &SchemaKey, schema: &CacheEntry<ServedSchema>) -> u64 {
        ENTRY_BYTES + schema.value.as_ref().map_or(0, |schema| schema.served.weight() as u64)
    }
}

impl Registry {
    /// The schema of a submission to a published version of this app that is not retired.
    pub(crate) async fn submission_schema(
        &self,
        app: AppId,
        flow_version_id: &str,
        generation: Generation,
    ) -> StoreResult<Option<Arc<EncodedBody>>> {
        let Ok(id) = flow_version_id.parse() else { return Ok(None) };
        let Some(version) = self.version(app, id).await? else { return Ok(None) };
        if version.accepting(self.clock.now()) == Accepting::Gone {
            return Ok(None);
        }
        let schema = self.schema_of(version, (id, generation)).await?;
        Ok(schema.map(|schema| Arc::clone(&schema.served)))
    }

    fn schema_of(&self, version: Arc<VersionView>, key: SchemaKey) -> Lookup<'_, ServedSchema> {
        self.cached(&self.caches.schemas, &key, |schema| schema.app_id, async move {
            let Some(published) = &version.published else { return Ok(None) };
            let snapshot = published.snapshot.clone();
            // A long definition takes milliseconds, which would delay other requests.
            let render = move || EncodedBody::new(submission_schema::render(&snapshot, key.1));
            let served = tokio::task::spawn_blocking(render).await;
            let served = served.map_err(|error| StoreError::Failed(Box::new(error)))?;
            Ok(Some(Arc::new(ServedSchema { app_id: version.app_id, served: Arc::new(served) })))
        })
    }
}
