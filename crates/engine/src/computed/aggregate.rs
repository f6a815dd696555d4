//! What a computation keeps of the responses that it has read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sluice_flow::counts::{Contribution, DailyCounts, Delta, Gathered};
use sluice_flow::crosstab::{CrosstabCounts, CrosstabSide};
use sluice_flow::definition::Definition;
use sluice_flow::id::FlowVersionId;
use sluice_flow::time::Day;
use sluice_store::{ResponseQuery, ResponseRow};

/// What is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// All matching responses, oldest first.
    pub(crate) query: ResponseQuery,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The counts by version and day.
    Results,
    Crosstab {
        rows: CrosstabSide,
        columns: CrosstabSide,
    },
}

/// The definitions of a flow's versions; `None` if one cannot be read.
pub(super) type VersionDefinitions = HashMap<FlowVersionId, Option<Arc<Definition>>>;

#[derive(Debug, Clone)]
pub(crate) enum Aggregate {
    Results(DailyAggregate),
    Crosstab(CrosstabAggregate),
}

impl Default for Aggregate {
    fn default() -> Self {
        Self::Results(DailyAggregate::default())
    }
}

/// The counts by day and version, as the store keeps them.
#[derive(Debug, Clone, Default)]
pub(crate) struct DailyAggregate {
    daily: BTreeMap<(Day, FlowVersionId), DailyCounts>,
    entries: usize,
}

/// How often the answers to two questions occur together, by version.
#[derive(Debug, Clone)]
pub(crate) struct CrosstabAggregate {
    rows: CrosstabSide,
    columns: CrosstabSide,
    versions: BTreeMap<FlowVersionId, CrosstabCounts>,
}

impl Aggregate {
    pub(super) fn new(kind: &Kind) -> Self {
        match kind {
            Kind::Results => Self::default(),
            Kind::Crosstab { rows, columns } => Self::Crosstab(CrosstabAggregate {
                rows: rows.clone(),
                columns: columns.clone(),
                versions: BTreeMap::new(),
            }),
        }
    }

    pub(super) fn add(&mut self, rows: &[ResponseRow], definitions: &VersionDefinitions) {
        match self {
            Self::Results(daily) => daily.add(rows, definitions),
            Self::Crosstab(crosstab) => crosstab.add(rows, definitions),
        }
    }

    /// The counts by day and version, if it keeps these.
    pub(crate) fn daily(&self) -> Option<&BTreeMap<(Day, FlowVersionId), DailyCounts>> {
        match self {
            Self::Results(results) => Some(&results.daily),
            Self::Crosstab(_) => None,
        }
    }

    /// The counts of a cross-tabulation by version, if it keeps these.
    pub(crate) fn crosstab(&self) -> Option<&BTreeMap<FlowVersionId, CrosstabCounts>> {
        match self {
            Self::Results(_) => None,
            Self::Crosstab(crosstab) => Some(&crosstab.versions),
        }
    }

    /// The numbers and texts that it keeps.
    pub(super) fn entries(&self) -> usize {
        match self {
            Self::Results(daily) => daily.entries,
            Self::Crosstab(it) => it.versions.values().map(CrosstabCounts::entries).sum(),
        }
    }
}

impl DailyAggregate {
    fn add(&mut self, rows: &[ResponseRow], definitions: &VersionDefinitions) {
        let mut deltas: BTreeMap<(Day, FlowVersionId), Delta> = BTreeMap::new();
        for row in rows {
            let definition = definitions.get(&row.flow_version_id).and_then(Option::as_deref);
            let (answers, tags) = (&row.answers, row.tags.as_deref());
            let key = (row.response_id.made_at().day(), row.flow_version_id);
            let contribution = Contribution::of_stored(definition, answers, tags, row.admission);
            deltas.entry(key).or_default().add(&contribution);
        }
        for (key, delta) in deltas {
            let daily = self.daily.entry(key).or_insert_with(|| DailyCounts::to_read(None));
            let before = daily.entries();
            // A delta that was just made can be read.
            if let Ok(gathered) = Gathered::of(delta.as_bytes()) {
                daily.put(&gathered);
            }
            self.entries = self.entries + daily.entries() - before;
        }
    }
}

impl CrosstabAggregate {
    fn add(&mut self, rows: &[ResponseRow], definitions: &VersionDefinitions) {
        for row in rows {
            let definition = definitions.get(&row.flow_version_id).and_then(Option::as_deref);
            let Some(definition) = definition else { continue };
            let counts = self.versions.entry(row.flow_version_id).or_default();
            counts.add(definition, &self.rows, &self.columns, &row.answers);
        }
    }
}
