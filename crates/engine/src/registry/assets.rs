//! Images by their ids. They never change; deleting one is a change of its app that the public can
//! see, which outdates its entry.

use std::sync::Arc;

use quick_cache::Weighter;
use sluice_flow::id::AssetId;

use super::{ENTRY_BYTES, Lookup, Registry, RegistryWeighter};
use crate::shown_images::ServedImage;
use crate::single_flight::CacheEntry;

impl Weighter<AssetId, CacheEntry<ServedImage>> for RegistryWeighter {
    fn weight(&self, _: &AssetId, asset: &CacheEntry<ServedImage>) -> u64 {
        ENTRY_BYTES + asset.value.as_ref().map_or(0, |asset| asset.served.weight() as u64)
    }
}

impl Registry {
    pub(crate) fn asset(&self, id: AssetId) -> Lookup<'_, ServedImage> {
        self.cached(&self.caches.assets, &id, |image| image.app_id, async move {
            Ok(self.store.find_asset(id).await?.map(|row| Arc::new(row.into())))
        })
    }
}
