//! Marks apps that have something new, so that their endpoints are checked soon.
//!
//! A submission sets one flag; nothing else happens on its way. Flags are shared by apps with the
//! same hash: waking an endpoint in vain costs one read.

use std::sync::atomic::{AtomicBool, Ordering};

use sluice_flow::id::AppId;

/// The number of flags.
const FLAGS: usize = 1024;

#[derive(Debug)]
pub(crate) struct Wakes(Vec<AtomicBool>);

impl Default for Wakes {
    fn default() -> Self {
        Self((0..FLAGS).map(|_| AtomicBool::new(false)).collect())
    }
}

impl Wakes {
    fn flag(app: AppId) -> usize {
        let bits = app.uuid().as_u128();
        // The random part of the id.
        (bits as usize ^ (bits >> 32) as usize) % FLAGS
    }

    pub(crate) fn mark(&self, app: AppId) {
        if let Some(flag) = self.0.get(Self::flag(app)) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// The apps among these that were marked since the last call.
    pub(crate) fn take<'a>(&self, apps: impl Iterator<Item = &'a AppId>) -> Vec<AppId> {
        let marked: Vec<bool> =
            self.0.iter().map(|flag| flag.swap(false, Ordering::Relaxed)).collect();
        apps.filter(|app| marked[Self::flag(**app)]).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_marked_app_is_taken_once() {
        let wakes = Wakes::default();
        let apps = [1_u128, 2].map(|bits| AppId::from_uuid(Uuid::from_u128(bits)));
        wakes.mark(apps[1]);
        assert_eq!(wakes.take(apps.iter()), [apps[1]]);
        assert_eq!(wakes.take(apps.iter()), []);
    }
}
