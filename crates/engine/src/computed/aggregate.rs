//! What a computation keeps of the responses that it has read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sluice_flow::counts::{Contribution, DailyCounts, Delta, Gathered};
use sluice_flow::crosstab::{CrosstabCounts, CrosstabSide};
use sluice_flow::definition::Definition;
use sluice_flow::id::FlowVersionId;
use sluice_flow::response_order::{Direction, FirstResponses};
use sluice_flow::time::Day;
use sluice_store::{ResponseQuery, ResponseRow};

use crate::response_columns::SortValues;

/// The most responses of an order that are kept.
pub(crate) const SORTED_MAX: usize = 1_000;
/// A response of an order takes as much room as this many numbers: its key may be a text.
const ENTRIES_PER_RESPONSE: usize = 4;

/// What is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// All matching responses, oldest first.
    pub(crate) query: ResponseQuery,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The counts by version and day, and for each value of a tag if one is given.
    Results {
        by_tag: Option<String>,
    },
    Crosstab {
        rows: CrosstabSide,
        columns: CrosstabSide,
    },
    /// The number of responses.
    Count,
    /// The first responses in the order of these values.
    Sorted {
        values: SortValues,
        direction: Direction,
    },
}

/// The definitions of a flow's versions; `None` if one cannot be read.
pub(super) type VersionDefinitions = HashMap<FlowVersionId, Option<Arc<Definition>>>;

#[derive(Debug)]
pub(crate) enum Aggregate {
    Results(DailyAggregate),
    Crosstab(CrosstabAggregate),
    Count(u64),
    Sorted(SortedAggregate),
}

/// The counts by day and version, as the store keeps them. Tags are kept once for each version:
/// by day they would take the most room.
#[derive(Debug, Default)]
pub(crate) struct DailyAggregate {
    by_tag: Option<String>,
    pub(crate) daily: BTreeMap<(Day, FlowVersionId), DailyCounts>,
    pub(crate) tags: BTreeMap<FlowVersionId, DailyCounts>,
    entries: usize,
}

/// How often the answers to two questions occur together, by version.
#[derive(Debug)]
pub(crate) struct CrosstabAggregate {
    rows: CrosstabSide,
    columns: CrosstabSide,
    pub(crate) versions: BTreeMap<FlowVersionId, CrosstabCounts>,
}

/// The first responses of an order, and the number of all.
#[derive(Debug)]
pub(crate) struct SortedAggregate {
    values: SortValues,
    pub(crate) first: FirstResponses,
    pub(crate) matching: u64,
}

impl Aggregate {
    pub(super) fn new(kind: &Kind) -> Self {
        match kind {
            Kind::Results { by_tag } => {
                Self::Results(DailyAggregate { by_tag: by_tag.clone(), ..Default::default() })
            }
            Kind::Crosstab { rows, columns } => Self::Crosstab(CrosstabAggregate {
                rows: rows.clone(),
                columns: columns.clone(),
                versions: BTreeMap::new(),
            }),
            Kind::Count => Self::Count(0),
            Kind::Sorted { values, direction } => Self::Sorted(SortedAggregate {
                values: values.clone(),
                first: FirstResponses::new(SORTED_MAX, *direction),
                matching: 0,
            }),
        }
    }

    pub(super) fn add(&mut self, rows: &[ResponseRow], definitions: &VersionDefinitions) {
        match self {
            Self::Results(daily) => daily.add(rows, definitions),
            Self::Crosstab(crosstab) => crosstab.add(rows, definitions),
            Self::Count(responses) => *responses += rows.len() as u64,
            Self::Sorted(sorted) => sorted.add(rows),
        }
    }

    /// The numbers and texts that it keeps.
    pub(super) fn entries(&self) -> usize {
        match self {
            Self::Results(daily) => daily.entries,
            Self::Crosstab(it) => it.versions.values().map(CrosstabCounts::entries).sum(),
            Self::Count(_) => 1,
            Self::Sorted(sorted) => sorted.first.len() * ENTRIES_PER_RESPONSE,
        }
    }
}

impl DailyAggregate {
    fn add(&mut self, rows: &[ResponseRow], definitions: &VersionDefinitions) {
        let mut daily: BTreeMap<(Day, FlowVersionId), Delta> = BTreeMap::new();
        let mut tagged: BTreeMap<FlowVersionId, Delta> = BTreeMap::new();
        for row in rows {
            let version = row.flow_version_id;
            let definition = definitions.get(&version).and_then(Option::as_deref);
            let by_tag = self.by_tag.as_deref().and_then(|name| only(name, row.tags.as_deref()));
            let own =
                Contribution::of_stored(definition, &row.answers, by_tag.as_deref(), row.admission);
            daily.entry((row.response_id.made_at().day(), version)).or_default().add(&own);
            if let Some(tags) = row.tags.as_deref() {
                let tags = Contribution::of_stored(None, "{}", Some(tags), row.admission);
                tagged.entry(version).or_default().add(&tags);
            }
        }
        let empty = || match &self.by_tag {
            Some(name) => DailyCounts::to_read_tag(name),
            None => DailyCounts::to_read(None),
        };
        for (key, delta) in daily {
            let counts = self.daily.entry(key).or_insert_with(empty);
            add_to(counts, &delta, &mut self.entries);
        }
        for (version, delta) in tagged {
            let counts = self.tags.entry(version).or_insert_with(|| DailyCounts::to_read(None));
            add_to(counts, &delta, &mut self.entries);
        }
    }
}

fn add_to(counts: &mut DailyCounts, delta: &Delta, entries: &mut usize) {
    let before = counts.entries();
    // A delta that was just made can be read.
    if let Ok(gathered) = Gathered::of(delta.as_bytes()) {
        counts.put(&gathered);
    }
    // Tags beyond their room are dropped.
    *entries = *entries + counts.entries() - before;
}

/// Only one of the tags, as stored.
fn only(name: &str, tags: Option<&str>) -> Option<String> {
    let tags: serde_json::Value = serde_json::from_str(tags?).ok()?;
    Some(serde_json::json!({ name: tags.get(name)? }).to_string())
}

impl SortedAggregate {
    fn add(&mut self, rows: &[ResponseRow]) {
        self.matching += rows.len() as u64;
        for row in rows {
            self.first.add(self.values.key(row), row.response_id);
        }
    }
}

impl CrosstabAggregate {
    fn add(&mut self, rows: &[ResponseRow], definitions: &VersionDefinitions) {
        for row in rows {
            let definition = definitions.get(&row.flow_version_id).and_then(Option::as_deref);
            let counts = self.versions.entry(row.flow_version_id).or_default();
            counts.add(definition, &self.rows, &self.columns, &row.answers);
        }
    }
}
