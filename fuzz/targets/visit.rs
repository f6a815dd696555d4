//! Any bytes as the report of a visit: its steps are within the limit, none is repeated, and each
//! counter has a name that is read as the same counter.

use std::collections::HashSet;

use sluice_flow::visit::{STEPS_MAX, Visit, VisitCounter, VisitStep};

pub(super) fn run(data: &[u8]) {
    let Ok(visit) = Visit::parse(data) else { return };
    assert!((1..=STEPS_MAX).contains(&visit.steps.len()));
    let distinct: HashSet<String> = visit.steps.iter().map(|step| format!("{step:?}")).collect();
    assert_eq!(distinct.len(), visit.steps.len(), "a step is repeated");
    for counter in visit.steps.iter().flat_map(VisitStep::counters) {
        let name = counter.to_string();
        assert_eq!(name.parse::<VisitCounter>().ok(), Some(counter), "{name}");
    }
}
