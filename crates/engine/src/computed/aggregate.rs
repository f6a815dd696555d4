//! What a computation keeps of the responses that it has read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sluice_flow::counts::{Contribution, DailyCounts, Delta, Gathered};
use sluice_flow::crosstab::{CrosstabCounts, CrosstabSide};
use sluice_flow::definition::Definition;
use sluice_flow::id::FlowVersionId;
use sluice_flow::response_order::{Direction, FirstResponses};
use sluice_flow::submission::Admission;
use sluice_flow::time::Day;
use sluice_store::{ResponseQuery, ResponseRow};

use crate::response_columns::SortValues;

/// The most responses of an order that are kept.
pub(crate) const SORTED_MAX: usize = 1_000;
/// The most numbers and texts in one aggregate.
const ENTRIES_MAX: usize = 250_000;
/// The same limit for responses that are added together; only a single response may have more.
const PART_ENTRIES_MAX: usize = 100_000;
/// A response of an order takes as much room as this many numbers: its key may be a text.
const ENTRIES_PER_RESPONSE: usize = 4;

/// The most texts of tags that are remembered, and the longest of them in bytes.
const KNOWN_TAGS_MAX: usize = 1_000;
const KNOWN_TAGS_BYTES_MAX: usize = 1_024;

/// What is computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// All matching responses, oldest first.
    pub(crate) query: ResponseQuery,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The counts by version and day, and by version and value of a tag if one is given.
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

/// The counts by day and version, as the store keeps them. Tags are kept once for each version, and
/// so are the answers for each value of the compared tag: by day they would take the most room.
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
    entries: usize,
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
                entries: 0,
            }),
            Kind::Count => Self::Count(0),
            Kind::Sorted { values, direction } => Self::Sorted(SortedAggregate {
                values: values.clone(),
                first: FirstResponses::new(SORTED_MAX, *direction),
                matching: 0,
            }),
        }
    }

    pub(super) fn add(
        &mut self,
        rows: &[ResponseRow],
        definitions: &VersionDefinitions,
        known_tags: &mut KnownTags,
    ) {
        match self {
            Self::Results(daily) => daily.add(rows, definitions, known_tags),
            Self::Crosstab(crosstab) => crosstab.add(rows, definitions),
            Self::Count(responses) => *responses += rows.len() as u64,
            Self::Sorted(sorted) => sorted.add(rows),
        }
    }

    /// Whether it takes too much room; then it may lack responses.
    pub(super) fn is_too_large(&self) -> bool {
        self.entries() > ENTRIES_MAX
    }

    /// The numbers and texts that it keeps.
    pub(super) fn entries(&self) -> usize {
        match self {
            Self::Results(daily) => daily.entries,
            Self::Crosstab(crosstab) => crosstab.entries,
            Self::Count(_) => 1,
            Self::Sorted(sorted) => sorted.first.len() * ENTRIES_PER_RESPONSE,
        }
    }
}

impl DailyAggregate {
    /// Adds them in parts, and stops once it is too large: by then it is larger by one part at
    /// most.
    fn add(
        &mut self,
        rows: &[ResponseRow],
        definitions: &VersionDefinitions,
        known_tags: &mut KnownTags,
    ) {
        let mut part = AggregatePart::default();
        for row in rows {
            let definition = definitions.get(&row.flow_version_id).and_then(Option::as_deref);
            part.add(row, definition, self.by_tag.as_deref(), known_tags);
            if part.entries_max > PART_ENTRIES_MAX {
                self.put(std::mem::take(&mut part));
                if self.entries > ENTRIES_MAX {
                    return;
                }
            }
        }
        self.put(part);
    }

    fn put(&mut self, part: AggregatePart) {
        for (key, delta) in part.daily {
            let counts = self.daily.entry(key).or_insert_with(|| DailyCounts::to_read(None));
            add_to(counts, &delta, &mut self.entries);
        }
        let empty = || match &self.by_tag {
            Some(name) => DailyCounts::to_read_tag(name),
            None => DailyCounts::to_read(None),
        };
        for (version, delta) in part.tags {
            let counts = self.tags.entry(version).or_insert_with(empty);
            add_to(counts, &delta, &mut self.entries);
        }
    }
}

/// Responses that are added together.
#[derive(Default)]
struct AggregatePart {
    daily: BTreeMap<(Day, FlowVersionId), Delta>,
    tags: BTreeMap<FlowVersionId, Delta>,
    /// It adds at most this many numbers and texts.
    entries_max: usize,
}

impl AggregatePart {
    fn add(
        &mut self,
        row: &ResponseRow,
        definition: Option<&Definition>,
        by_tag: Option<&str>,
        known_tags: &mut KnownTags,
    ) {
        let ResponseRow { answers, admission, flow_version_id: version, .. } = row;
        let own = Contribution::from_stored(definition, answers, None, *admission);
        self.daily.entry((row.response_id.made_at().day(), *version)).or_default().add(&own);
        // Each of them takes at least one byte.
        self.entries_max += own.as_bytes().len();
        let Some(tags) = row.tags.as_deref() else { return };
        self.entries_max += tags.len();
        let delta = self.tags.entry(*version).or_default();
        match by_tag {
            // The answers are counted for each value of this tag.
            Some(name) => {
                self.entries_max += own.as_bytes().len() * (1 + values(name, tags));
                delta.add(&Contribution::from_stored(definition, answers, Some(tags), *admission));
            }
            None => known_tags.add_to(delta, tags, *admission),
        }
    }
}

/// The contributions of tags without answers: many responses have the same tags. Kept during a pass
/// only.
#[derive(Debug, Default)]
pub(super) struct KnownTags([HashMap<String, Contribution>; 2]);

impl KnownTags {
    fn add_to(&mut self, delta: &mut Delta, tags: &str, admission: Admission) {
        let known = &mut self.0[usize::from(admission == Admission::Admitted)];
        if let Some(contribution) = known.get(tags) {
            return delta.add(contribution);
        }
        let contribution = Contribution::from_stored(None, "{}", Some(tags), admission);
        delta.add(&contribution);
        if tags.len() <= KNOWN_TAGS_BYTES_MAX {
            if known.len() >= KNOWN_TAGS_MAX {
                known.clear();
            }
            known.insert(tags.to_owned(), contribution);
        }
    }
}

fn add_to(counts: &mut DailyCounts, delta: &Delta, entries: &mut usize) {
    let before = counts.entries();
    // A delta that was just made can be read.
    if let Ok(gathered) = Gathered::from_delta(delta.as_bytes()) {
        counts.put(&gathered);
    }
    // Tags beyond the limit are dropped.
    *entries = *entries + counts.entries() - before;
}

/// The number of values of a tag.
fn values(name: &str, tags: &str) -> usize {
    match serde_json::from_str::<serde_json::Value>(tags).ok().as_ref().and_then(|it| it.get(name))
    {
        Some(serde_json::Value::Array(values)) => values.len(),
        value => usize::from(value.is_some()),
    }
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
            let before = counts.entries();
            counts.add(definition, &self.rows, &self.columns, &row.answers);
            self.entries += counts.entries() - before;
            if self.entries > ENTRIES_MAX {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sluice_flow::counts::segment;
    use sluice_flow::definition;
    use sluice_flow::id::ResponseId;
    use uuid::Uuid;

    use super::*;
    use crate::stored_response::tests::empty_row;

    const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;

    fn row(day: u64, answers: &Value, tags: &Value) -> ResponseRow {
        // The time is in the first 48 bits of an id.
        let response_id =
            ResponseId::from_uuid(Uuid::from_u128(u128::from(day * DAY_MILLIS) << 80));
        let (answers, tags) = (answers.to_string(), Some(tags.to_string()));
        ResponseRow { response_id, answers, tags, ..empty_row(1) }
    }

    fn added(rows: &[ResponseRow], kind: &Kind, questions: &Value) -> Aggregate {
        let draft = json!({"title": "T", "questions": questions});
        let definition = Some(Arc::new(definition::check(&draft).unwrap()));
        let definitions = HashMap::from([(rows[0].flow_version_id, definition)]);
        let mut aggregate = Aggregate::new(kind);
        aggregate.add(rows, &definitions, &mut KnownTags::default());
        aggregate
    }

    #[test]
    fn a_compared_tag_takes_the_same_room_for_any_number_of_days() {
        let kind = Kind::Results { by_tag: Some("plan".to_owned()) };
        let questions = json!([{"id": "nps", "type": "nps", "prompt": "?"}]);
        let all = |days: u64| {
            let plans = (0..days).flat_map(|day| (0..40).map(move |plan| (day, plan)));
            let rows: Vec<_> = plans
                .map(|(day, plan)| {
                    row(day, &json!({"nps": "9"}), &json!({"plan": plan.to_string()}))
                })
                .collect();
            added(&rows, &kind, &questions)
        };
        // A day has its question and one answer.
        assert_eq!(all(100).entries() - all(1).entries(), 99 * 2);
        let Aggregate::Results(aggregate) = all(100) else { panic!("not results") };
        let tags = aggregate.tags.values().next().unwrap();
        assert_eq!(tags.of_segment(&segment("plan", "7")).unwrap().responses, 100);
    }

    #[test]
    fn only_short_tags_are_remembered() {
        let mut known = KnownTags::default();
        let mut delta = Delta::default();
        for length in [10, KNOWN_TAGS_BYTES_MAX, 100_000] {
            for _ in 0..2 {
                let tags = json!({"note": "x".repeat(length)}).to_string();
                known.add_to(&mut delta, &tags, Admission::Admitted);
            }
        }
        assert_eq!(known.0.map(|texts| texts.len()), [0, 1]);
        let mut alike = Delta::default();
        for length in [10, 10, KNOWN_TAGS_BYTES_MAX, KNOWN_TAGS_BYTES_MAX, 100_000, 100_000] {
            let tags = json!({"note": "x".repeat(length)}).to_string();
            alike.add(&Contribution::from_stored(None, "{}", Some(&tags), Admission::Admitted));
        }
        assert_eq!(delta.as_bytes(), alike.as_bytes());
    }

    #[test]
    fn a_page_with_many_answers_stops_at_the_limit() {
        let values: Vec<String> = (0..50).map(|it| it.to_string()).collect();
        let number = |at: u32| json!({"id": format!("n{at}"), "type": "number", "prompt": "?"});
        let questions: Vec<Value> = (0..100).map(number).collect();
        // Every response has other numbers: without a limit, 250,000 more for each 50 responses.
        let rows: Vec<_> = (0..900_u32)
            .map(|own| {
                let answers = (0..100).map(|at| (format!("n{at}"), json!(own.to_string())));
                row(1, &Value::Object(answers.collect()), &json!({"list": values}))
            })
            .collect();
        let kind = Kind::Results { by_tag: Some("list".to_owned()) };
        let aggregate = added(&rows, &kind, &json!(questions));
        assert!(aggregate.is_too_large());
        let one = 100 * 51 * 4;
        assert!(aggregate.entries() < ENTRIES_MAX + PART_ENTRIES_MAX + one);
    }
}
