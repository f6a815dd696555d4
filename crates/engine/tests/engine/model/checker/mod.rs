//! Checks a history offline: for lost, doubled, illegal and resurrected responses, for wrong
//! counts, and for settings that are not what the changes made of them.
//!
//! An operation took effect at some moment between its begin and its end. So a verdict is legal if
//! any state that may have been current in that span explains it; the clock's times, which
//! responses and settings carry, narrow that down. Other nodes may refuse by settings that they
//! have not read the change of yet; none may accept by them.

mod acceptance;
mod index;
mod keys;
mod limits;
mod removals;
mod settings;
mod stored;

use std::fmt::Write as _;

use super::history::History;
use index::Index;

/// The rules whose breach is reported by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    Lost,
    Doubled,
    StoredAlthoughRefused,
    Altered,
    IllegallyAccepted,
    IllegallyRefused,
    WronglyReplayed,
    Resurrected,
    StillLinked,
    RespondentNotFound,
    DeletedTwice,
    WrongCount,
    WrongCounter,
    WrongSettings,
    Damaged,
    MoveDiffers,
}

/// A breach of a rule, with the entries of the history that show it.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) rule: Rule,
    pub(crate) detail: String,
    pub(crate) about: Vec<usize>,
}

pub(super) fn check(history: &History) -> Vec<Fault> {
    let mut index = Index::new(history);
    let mut faults = std::mem::take(&mut index.faults);
    settings::check(&index, &mut faults);
    acceptance::check(&index, &mut faults);
    keys::check(&index, &mut faults);
    stored::check(&index, &mut faults);
    removals::check(&index, &mut faults);
    faults.sort_by_key(|fault| (fault.about.first().copied(), fault.rule));
    faults
}

/// The first faults, each with the part of the history that shows it.
pub(super) fn report(history: &History, faults: &[Fault]) -> String {
    const FAULTS_SHOWN: usize = 5;
    const ENTRIES_SHOWN: usize = 24;
    let mut text = format!("{} faults in {} operations\n", faults.len(), history.entries.len());
    for fault in faults.iter().take(FAULTS_SHOWN) {
        let _ = writeln!(text, "\n{:?}: {}", fault.rule, fault.detail);
        let mut about = fault.about.clone();
        about.sort_by_key(|at| history.entries[*at].invoked.number);
        about.dedup();
        let hidden = about.len().saturating_sub(ENTRIES_SHOWN);
        for at in about.into_iter().skip(hidden) {
            let line = history.entries[at].to_string();
            let _ = writeln!(text, "  {}", line.chars().take(600).collect::<String>());
        }
    }
    text
}
