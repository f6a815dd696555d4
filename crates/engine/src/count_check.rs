//! Counts the responses of one flow, and compares the result with its stored counts.
//!
//! Compared are the numbers of responses and of answers by version and day. Tags are not: which
//! values are counted separately may depend on the order in which responses arrived.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sluice_flow::counts::{Contribution, Counts, DailyCounts, Delta, Gathered, OTHERS};
use sluice_flow::definition::Definition;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::Day;
use sluice_store::{FlowCounts, ResponseRow, VersionRow};

use crate::definitions::stored_definition;

/// The counts of the flow whose responses are being read.
#[derive(Debug, Default)]
pub(crate) struct CountCheck {
    flow: Option<(AppId, FlowId)>,
    /// The definitions of its versions; `None` if one cannot be read.
    definitions: HashMap<FlowVersionId, Option<Definition>>,
    daily: BTreeMap<(Day, FlowVersionId), DailyCounts>,
}

impl CountCheck {
    pub(crate) fn flow(&self) -> Option<(AppId, FlowId)> {
        self.flow
    }

    /// Whether the definition of the response's version is known.
    pub(crate) fn knows(&self, row: &ResponseRow) -> bool {
        self.definitions.contains_key(&row.flow_version_id)
    }

    pub(crate) fn learn(&mut self, row: &ResponseRow, version: Option<&VersionRow>) {
        self.definitions.insert(row.flow_version_id, version.and_then(stored_definition));
    }

    /// The definition of the response's version, if it is known and can be read.
    pub(crate) fn definition(&self, row: &ResponseRow) -> Option<&Definition> {
        self.definitions.get(&row.flow_version_id)?.as_ref()
    }

    pub(crate) fn add(&mut self, row: &ResponseRow) {
        self.flow = Some((row.app_id, row.flow_id));
        let definition = self.definitions.get(&row.flow_version_id).and_then(Option::as_ref);
        let mut delta = Delta::default();
        let (answers, tags) = (&row.answers, row.tags.as_deref());
        delta.add(&Contribution::from_stored(definition, answers, tags, row.admission));
        let key = (row.response_id.made_at().day(), row.flow_version_id);
        let daily = self.daily.entry(key).or_insert_with(|| DailyCounts::to_read(None));
        // A delta that was just made can be read.
        if let Ok(gathered) = Gathered::from_delta(delta.as_bytes()) {
            daily.put(&gathered);
        }
    }

    /// One line for each version and day on which the stored counts are wrong.
    pub(crate) fn differences(&mut self, stored: &FlowCounts) -> Vec<String> {
        self.daily.values_mut().for_each(DailyCounts::tidy);
        let stored: BTreeMap<_, _> =
            stored.daily.iter().map(|(version, day, daily)| ((*day, *version), daily)).collect();
        let keys = self.daily.keys().chain(stored.keys()).collect::<BTreeSet<_>>();
        let none = Counts::default();
        let differences = keys.into_iter().filter_map(|key| {
            let counted = self.daily.get(key).map_or(&none, DailyCounts::all);
            let found = stored.get(key).map_or(&none, |daily| daily.all());
            if is_same(counted, found) {
                return None;
            }
            let (day, version) = key;
            let (is, should) = (found.responses, counted.responses);
            Some(match is == should {
                true => format!("{version} on {day}: the counts of its answers are wrong"),
                false => format!("{version} on {day}: {is} responses are counted, {should} stored"),
            })
        });
        differences.collect()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Once a question has more answers than are counted separately, which of them are depends on the
/// order of responses: then only its sums are compared.
fn is_same(one: &Counts, other: &Counts) -> bool {
    let is_over =
        |counts: &Counts| counts.questions.values().any(|it| it.keys.contains_key(&OTHERS));
    if !is_over(one) && !is_over(other) {
        return one == other;
    }
    let sums = |counts: &Counts| {
        let questions = counts.questions.iter().map(|(place, it)| (*place, it.answered, it.sum));
        (counts.responses, counts.admitted, questions.collect::<Vec<_>>())
    };
    sums(one) == sums(other)
}
