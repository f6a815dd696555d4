//! Flows by their short paths. Changing a path is a change of its app that the public can see, so
//! its entry is outdated with the others of the app.

use std::sync::Arc;

use sluice_flow::short_path;
use sluice_store::ShortPathRow;

use super::{Lookup, Registry};

impl Registry {
    /// The flow with this path, in any letter case. A text that cannot be a path is not looked up.
    pub(crate) fn short_path(&self, path: &str) -> Lookup<'_, ShortPathRow> {
        let Ok(path) = short_path::check(path) else { return Lookup::Known(None) };
        let key = path.clone();
        self.cached(&self.caches.short_paths, &key, |row| row.app_id, async move {
            Ok(self.store.find_short_path(&path).await?.map(Arc::new))
        })
    }
}
