//! Marks that cached entries share: how a change outdates all entries of its app at once.
//!
//! A change costs the same however many entries there are, and nothing searches for them: a reader
//! that finds an outdated entry drops it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sluice_flow::id::AppId;

/// The number of apps with marks from which those without entries are removed.
const APPS_KEPT_MIN: usize = 10_000;

/// Whether the entries that share it are outdated. Clones are the same mark.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mark(Arc<AtomicBool>);

impl Mark {
    pub(crate) fn is_outdated(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn outdate(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether no entry has a clone of it.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

/// The marks of all cached entries.
#[derive(Debug, Default)]
pub(crate) struct CacheMarks(Mutex<Marks>);

#[derive(Debug)]
struct Marks {
    apps: HashMap<AppId, Mark>,
    /// Of lookups that found nothing.
    missing: Mark,
    prune_at: usize,
}

impl Default for Marks {
    fn default() -> Self {
        Self { apps: HashMap::new(), missing: Mark::default(), prune_at: APPS_KEPT_MIN }
    }
}

impl CacheMarks {
    /// The mark of an entry that belongs to this app, or to none because nothing was found.
    pub(crate) fn mark_for(&self, app: Option<AppId>) -> Mark {
        let mut marks = self.marks();
        let Some(app) = app else { return marks.missing.clone() };
        if marks.apps.len() >= marks.prune_at {
            marks.apps.retain(|_, mark| !mark.is_unused());
            marks.prune_at = APPS_KEPT_MIN.max(marks.apps.len() * 2);
        }
        marks.apps.entry(app).or_default().clone()
    }

    /// Outdates the entries of these apps, and those of lookups that found nothing.
    pub(crate) fn outdate(&self, apps: &[AppId]) {
        let mut marks = self.marks();
        std::mem::take(&mut marks.missing).outdate();
        for app in apps {
            if let Some(mark) = marks.apps.remove(app) {
                mark.outdate();
            }
        }
    }

    /// Outdates all entries.
    pub(crate) fn outdate_all(&self) {
        let marks = std::mem::take(&mut *self.marks());
        marks.missing.outdate();
        marks.apps.into_values().for_each(|mark| mark.outdate());
    }

    /// Nothing panics while it has the lock.
    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(number: u128) -> AppId {
        AppId::from_uuid(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn a_change_outdates_the_entries_of_its_app_and_missing_ones() {
        let marks = CacheMarks::default();
        let given = [Some(app(1)), Some(app(1)), Some(app(2)), None].map(|it| marks.mark_for(it));
        marks.outdate(&[app(1), app(9)]);
        assert_eq!(given.each_ref().map(Mark::is_outdated), [true, true, false, true]);
        let later = [Some(app(1)), Some(app(2)), None].map(|it| marks.mark_for(it));
        assert_eq!(later.each_ref().map(Mark::is_outdated), [false; 3]);
        marks.outdate_all();
        assert_eq!(later.each_ref().map(Mark::is_outdated), [true; 3]);
        assert!(!marks.mark_for(Some(app(2))).is_outdated() && !marks.mark_for(None).is_outdated());
    }

    #[test]
    fn apps_without_entries_leave_no_marks() {
        let marks = CacheMarks::default();
        let held = marks.mark_for(Some(app(u128::MAX)));
        for number in 0..3 * APPS_KEPT_MIN as u128 {
            marks.mark_for(Some(app(number)));
        }
        let kept = marks.marks().apps.len();
        assert!(kept <= APPS_KEPT_MIN, "{kept} marks");
        marks.outdate(&[app(u128::MAX)]);
        assert!(held.is_outdated(), "the mark of an entry was removed");
    }
}
