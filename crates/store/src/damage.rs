//! Damage that was found in a store: from then on it accepts no responses.
//!
//! A damaged database may lose what is written to it next, so an acknowledgement would promise too
//! much. Reads continue, so that the rest can be exported. Nothing is repaired here, and the mark
//! lasts as long as the process.

use std::fmt;
use std::sync::OnceLock;

use crate::{StoreError, StoreResult};

/// The first damage that was found, if any. Shared by all parts of a store.
#[derive(Debug, Default)]
pub struct Damage(OnceLock<String>);

impl Damage {
    /// Notes damage; the first one is logged with what to do.
    pub fn note(&self, what: impl fmt::Display) {
        let what = what.to_string();
        if self.0.set(what.clone()).is_ok() {
            tracing::error!(
                what,
                "the database is damaged: submissions are refused from now on. Run `sluice verify` to list \
                 every place; restore a backup with `sluice restore`, or delete the responses that it names; \
                 then start again"
            );
        } else {
            tracing::error!(what, "more damage in the database");
        }
    }

    /// What was found first.
    pub fn found(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Fails if damage was found.
    pub fn refuse(&self) -> StoreResult<()> {
        match self.found() {
            Some(what) => Err(StoreError::Damaged(what.to_owned())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
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
}
