//! Damage that was found in a store: from then on it accepts no responses.
//!
//! A damaged database may lose what is written to it next, so an acknowledgement would promise too
//! much. Reads continue, so that the rest can be exported. Nothing is repaired here. Backends
//! remember damage beside the data, so that a restart does not forget it; `sluice verify` removes
//! that mark when it finds the store sound, and the next start accepts responses again.

use std::fmt;
use std::sync::OnceLock;

use crate::{StoreError, StoreResult};

/// The mark of damage, which is stored beside the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamageMark {
    pub(crate) what: String,
    /// Changes whenever damage is found again.
    pub(crate) stamp: String,
}

impl DamageMark {
    /// What was found first.
    pub fn what(&self) -> &str {
        &self.what
    }
}

/// The first damage that was found, if any. Shared by all parts of a store.
#[derive(Default)]
pub struct Damage {
    /// As it was when the store was opened.
    mark: Option<DamageMark>,
    found: OnceLock<String>,
    remember: Option<Remember>,
}

/// Remembers damage for the next process.
type Remember = Box<dyn Fn(&str) + Send + Sync>;

impl Damage {
    /// Starts with the damage that an earlier process has found, if any; `remember` is called with
    /// all further damage, and must not block.
    pub(crate) fn new(
        mark: Option<DamageMark>,
        remember: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self { remember: Some(Box::new(remember)), ..Self::only(mark) }
    }

    /// Starts with the damage that an earlier process has found, if any; further damage is not
    /// stored.
    pub(crate) fn only(mark: Option<DamageMark>) -> Self {
        let damage = Self { mark, ..Self::default() };
        if let Some(DamageMark { what, .. }) = &damage.mark {
            tracing::error!(
                what,
                "damage was found in this database before: submissions are refused. Repair it as docs/backup.md \
                 explains and run `sluice verify`; if that finds everything sound, the next start accepts them"
            );
            let _first = damage.found.set(what.clone());
        }
        damage
    }

    /// Records damage; the first one is logged with what to do.
    pub fn note(&self, what: impl fmt::Display) {
        let what = what.to_string();
        // First: nothing may be acknowledged from here on.
        let is_first = self.found.set(what.clone()).is_ok();
        // Each time: the mark may have been removed since.
        if let Some(remember) = &self.remember {
            remember(&what);
        }
        if is_first {
            log_first(&what);
        } else {
            tracing::error!(what, "more damage was found in the database");
        }
    }

    /// Records damage that another process has found and stored.
    pub(crate) fn found_by_another(&self, what: &str) {
        if self.found.set(what.to_owned()).is_ok() {
            log_first(what);
        }
    }

    /// The mark that an earlier process left.
    pub fn mark(&self) -> Option<&DamageMark> {
        self.mark.as_ref()
    }

    /// What was found first.
    pub fn found(&self) -> Option<&str> {
        self.found.get().map(String::as_str)
    }

    /// Fails if damage was found.
    pub fn refuse(&self) -> StoreResult<()> {
        match self.found() {
            Some(what) => Err(StoreError::Damaged(what.to_owned())),
            None => Ok(()),
        }
    }
}

fn log_first(what: &str) {
    tracing::error!(
        what,
        "the database is damaged: submissions are refused from now on. Run `sluice verify` to list \
         every place; restore a backup with `sluice restore`, or delete the responses that it names; \
         then run `sluice verify` again and restart"
    );
}

impl fmt::Debug for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Damage").field(&self.found()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn the_first_damage_is_kept() {
        let damage = Damage::default();
        assert!(damage.found().is_none() && damage.refuse().is_ok());
        damage.note("page 7");
        damage.note("page 8");
        assert_eq!(damage.found(), Some("page 7"));
        assert!(matches!(damage.refuse(), Err(StoreError::Damaged(what)) if what == "page 7"));
    }

    #[test]
    fn damage_is_remembered_and_found_again() {
        let remembered = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&remembered);
        let damage = Damage::new(None, move |what| into.lock().unwrap().push(what.to_owned()));
        damage.note("page 7");
        damage.note("page 8");
        assert_eq!(*remembered.lock().unwrap(), ["page 7", "page 8"]);
        let what = remembered.lock().unwrap()[0].clone();
        let next = Damage::only(Some(DamageMark { what, stamp: String::new() }));
        assert_eq!(next.found(), Some("page 7"));
    }
}
