//! Settings are what the changes made of them.

use super::index::Index;
use super::{Fault, Rule};
use crate::model::history::{Action, Did, Entry, Outcome};
use crate::model::model::{Change, FlowConfig};

pub(super) fn check(index: &Index<'_>, faults: &mut Vec<Fault>) {
    let mut entries: Vec<_> = index.entries().collect();
    entries.sort_by_key(|(_, entry)| entry.invoked);
    let mut current: Vec<(&FlowConfig, Option<usize>)> =
        index.history.flows.iter().map(|config| (config, None)).collect();
    for (at, entry) in entries {
        match (&entry.action, &entry.outcome) {
            (Action::Change { flow, change }, Outcome::Changed { did, after, .. }) => {
                let (before, last) = current[*flow];
                let about = || last.into_iter().chain([at]).collect();
                if let Some(detail) = fault(before, *change, *did, after, entry) {
                    let detail = format!("flow {flow}: {detail}");
                    faults.push(Fault { rule: Rule::WrongSettings, detail, about: about() });
                }
                current[*flow] = (after, Some(at));
            }
            (Action::Audit, Outcome::Audited(audit)) => {
                for (flow, audited) in audit.flows.iter().enumerate() {
                    let (before, last) = current[flow];
                    if audited.config.normal() != before.normal() {
                        let found = &audited.config;
                        let detail = format!("flow {flow}: {found:?} instead of {before:?}");
                        let about = last.into_iter().chain([at]).collect();
                        faults.push(Fault { rule: Rule::WrongSettings, detail, about });
                    }
                }
            }
            _ => {}
        }
    }
}

fn fault(
    before: &FlowConfig,
    change: Change,
    did: Did,
    after: &FlowConfig,
    entry: &Entry,
) -> Option<String> {
    let mut expected = match did {
        Did::Refused => Vec::new(),
        Did::Done | Did::Unknown => before.changed(change, after),
    };
    if did != Did::Done {
        expected.push(before.clone());
    }
    let normal = after.normal();
    if !expected.iter().any(|it| it.normal() == normal) {
        return Some(format!("{change:?} ({did:?}) made {after:?} of {before:?}"));
    }
    let (from, to) = (entry.invoked.millis, entry.returned.millis);
    let times = after.new_times(before, change);
    let wrong = times.into_iter().find(|time| *time < from || *time > to)?;
    Some(format!("{change:?} has the time {wrong}, and took place between {from} and {to}"))
}
