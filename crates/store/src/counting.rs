//! Counts maintained with every write: the part that both backends share.
//!
//! A commit appends one delta for each flow version and day that it stores to, so no two commits
//! write the same row. A background task folds deltas into the counts of their version and day
//! ([`sluice_flow::counts::DailyCounts`]). A read adds the deltas that are not folded yet, so it is
//! always exact.
//!
//! A response that was not counted when it was stored (it is older than the counts, or was imported
//! by [`crate::Store::import_records`]) is counted by a scan of its flow in id order. Each row
//! records whether it was counted when stored. Of the other rows, those up to the scan's cursor are
//! counted. So a removal knows whether there is anything to subtract.

use std::collections::BTreeMap;

use sluice_flow::counts::{Contribution, DailyCounts, Damaged, Delta, Gathered, TagCensus};
use sluice_flow::definition::{self, Definition};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId, v7};
use sluice_flow::time::Day;
use uuid::Uuid;

use crate::{NewResponse, ResponseRow, StoreError};

/// The most bytes of deltas folded in one transaction; a single longer delta is folded alone.
pub(crate) const FOLD_BYTES_MAX: usize = 128 * 1024;

/// Which counts of a flow to read: all days, or a range of days with either end optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountsQuery {
    pub from: Option<Day>,
    pub to: Option<Day>,
    /// Includes the counts of this segment, see [`sluice_flow::counts::segment`].
    pub segment: Option<Vec<u8>>,
}

impl CountsQuery {
    /// The numbers of the first and the last day.
    pub(crate) fn days(&self) -> (i32, i32) {
        (self.from.map_or(i32::MIN, Day::number), self.to.map_or(i32::MAX, Day::number))
    }
}

/// The counts of a flow at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// By version and day, in day order.
    pub daily: Vec<(FlowVersionId, Day, DailyCounts)>,
    /// Cursor of the scan over responses that were not counted when stored; absent if nothing is
    /// left to scan.
    pub scan: Option<CountScan>,
}

/// The cursor of a scan: the last response that it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountScan {
    pub passed: Option<ResponseId>,
}

/// The flows whose deltas one call folds.
pub(crate) const FLOWS_PER_CALL: usize = 100;

/// The cursor of the work on the counts. Starts at the default; the caller passes back what the
/// previous call returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompactionCursor {
    /// The last flow that this round has visited.
    pub(crate) after: Option<(AppId, FlowId)>,
    /// Whether this round has left something: then another round follows.
    is_left: bool,
}

/// What one batch of work on the counts did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Deltas that were folded into their daily counts.
    pub folded: u64,
    /// Responses that the scan has read.
    pub scanned: u64,
    /// Where to continue; `None` if nothing is left to do now.
    pub next: Option<CompactionCursor>,
}

impl Compacted {
    /// Nothing is left to do now.
    pub fn is_done(&self) -> bool {
        self.next.is_none()
    }

    /// The result of a call that visited these flows, and left something or not.
    pub(crate) fn after(
        cursor: CompactionCursor,
        flows: &[(AppId, FlowId)],
        is_left: bool,
        (folded, scanned): (u64, u64),
    ) -> Self {
        let is_left = cursor.is_left || is_left;
        let next = match flows.last() {
            Some(&flow) if flows.len() >= FLOWS_PER_CALL => {
                Some(CompactionCursor { after: Some(flow), is_left })
            }
            _ if is_left => Some(CompactionCursor::default()),
            _ => None,
        };
        Self { folded, scanned, next }
    }
}

/// The number of responses of a flow on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayTotal {
    pub flow_id: FlowId,
    pub day: Day,
    pub responses: i64,
}

/// Identifies daily counts: a version and a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DailyCountsKey {
    pub(crate) app_id: AppId,
    pub(crate) flow_id: FlowId,
    pub(crate) flow_version_id: FlowVersionId,
    pub(crate) day: Day,
}

impl DailyCountsKey {
    pub(crate) fn from_row(row: &ResponseRow) -> Self {
        Self {
            app_id: row.app_id,
            flow_id: row.flow_id,
            flow_version_id: row.flow_version_id,
            day: row.response_id.made_at().day(),
        }
    }
}

/// What one write adds to the counts of one version and day.
#[derive(Debug)]
pub(crate) struct NewDelta {
    pub(crate) key: DailyCountsKey,
    /// The id of the first response counted in this delta.
    pub(crate) delta_id: Uuid,
    pub(crate) responses: i64,
    pub(crate) delta: Delta,
}

/// What these responses add, by version and day; nearly always a single one.
pub(crate) fn deltas_of<'r>(stored: impl Iterator<Item = &'r NewResponse>) -> Vec<NewDelta> {
    let mut deltas = Vec::with_capacity(1);
    for response in stored {
        add(&mut deltas, &response.row, &response.contribution);
    }
    deltas
}

pub(crate) fn add(deltas: &mut Vec<NewDelta>, row: &ResponseRow, contribution: &Contribution) {
    let key = DailyCountsKey::from_row(row);
    let at = deltas.iter().rposition(|it| it.key == key).unwrap_or_else(|| {
        let delta_id = row.response_id.uuid();
        deltas.push(NewDelta { key, delta_id, responses: 0, delta: Delta::default() });
        deltas.len() - 1
    });
    deltas[at].responses += 1;
    deltas[at].delta.add(contribution);
}

/// What to subtract, by version and day: the number of responses, and the delta.
pub(crate) type Subtractions = BTreeMap<DailyCountsKey, (i64, Delta)>;

/// The definitions of versions, for counting. A definition that cannot be read is `None`, and
/// answers to it are not counted.
pub(crate) type Definitions = BTreeMap<FlowVersionId, Option<Definition>>;

pub(crate) fn definition_of(json: &str) -> Option<Definition> {
    definition::stored(json).ok()
}

/// What a stored response adds.
pub(crate) fn contribution_of(definitions: &Definitions, row: &ResponseRow) -> Contribution {
    let definition = definitions.get(&row.flow_version_id).and_then(Option::as_ref);
    Contribution::from_stored(definition, &row.answers, row.tags.as_deref(), row.admission)
}

/// Subtracts a counted response; if it stays with less content, only the difference.
pub(crate) fn take_away(
    removed: &mut Subtractions,
    definitions: &Definitions,
    row: &ResponseRow,
    stays: Option<&ResponseRow>,
) {
    let before = contribution_of(definitions, row);
    let after = stays.map(|row| contribution_of(definitions, row));
    if after.as_ref() == Some(&before) {
        return;
    }
    let (responses, delta) = removed.entry(DailyCountsKey::from_row(row)).or_default();
    // Add first, so that a value that stays does not drop to zero in between.
    if let Some(after) = &after {
        delta.add(after);
        *responses += 1;
    }
    delta.take_away(&before);
    *responses -= 1;
}

/// A day of a flow with unreadable counts: damaged daily counts or a damaged delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DamagedDay {
    pub(crate) day: Day,
    pub(crate) why: Damaged,
}

/// The most damaged days that one read rebuilds; with more, the read fails.
pub(crate) const DAMAGED_DAYS_MAX: usize = 1_000;
/// Responses read at a time when a day is recounted, or a flow scanned.
pub(crate) const RECOUNT_ROWS: usize = 1_000;

/// The bounds of the ids of a day, both exclusive.
pub(crate) fn ids_of(day: Day) -> (Uuid, Uuid) {
    // No real id equals these bounds: every id has its version in the bits that are cut off.
    let opens = |day: Day| Uuid::from_u128(v7(day.starts_at(), 0, 0).as_u128() >> 80 << 80);
    (opens(day), opens(day.plus(1)))
}

/// Recounts a day of a flow from its responses. Reads them once, or twice if they have too many
/// tags: the most frequent tags are known only after the last response.
#[derive(Debug, Default)]
pub(crate) struct Recount {
    daily: BTreeMap<DailyCountsKey, DailyCounts>,
    censuses: BTreeMap<DailyCountsKey, TagCensus>,
    is_second_pass: bool,
    pub(crate) responses: u64,
}

impl Recount {
    /// Whether all responses must be added a second time. Call this after the last one.
    pub(crate) fn begins_second_pass(&mut self) -> bool {
        if self.is_second_pass || !self.censuses.values().any(TagCensus::is_over) {
            return false;
        }
        self.is_second_pass = true;
        self.daily = self.censuses.iter().map(|(key, it)| (*key, it.empty_counts())).collect();
        self.responses = 0;
        true
    }

    /// Adds the responses that are counted: when they were stored, or by the scan up to its cursor.
    pub(crate) fn add(
        &mut self,
        definitions: &Definitions,
        rows: &[(bool, ResponseRow)],
        passed: Option<Uuid>,
    ) -> Result<(), Damaged> {
        let mut deltas = Vec::new();
        for (at_once, row) in rows {
            if is_counted(*at_once, row, passed) {
                add(&mut deltas, row, &contribution_of(definitions, row));
                self.responses += 1;
            }
        }
        for NewDelta { key, delta, .. } in &deltas {
            if !self.is_second_pass {
                let census = self.censuses.entry(*key).or_default();
                census.add(delta)?;
                if census.is_over() {
                    continue;
                }
            }
            self.daily.entry(*key).or_default().put(&Gathered::from_delta(delta.as_bytes())?);
        }
        Ok(())
    }

    pub(crate) fn into_daily_counts(self) -> impl Iterator<Item = (DailyCountsKey, DailyCounts)> {
        self.daily.into_iter()
    }
}

/// Whether a response is counted. Without a scan, every response is.
pub(crate) fn is_counted(at_once: bool, row: &ResponseRow, passed: Option<Uuid>) -> bool {
    at_once || passed.is_none_or(|passed| row.response_id.uuid() <= passed)
}

impl From<Damaged> for StoreError {
    fn from(damaged: Damaged) -> Self {
        Self::Corrupt(damaged.to_string())
    }
}

/// A row of a read of counts, in reading order.
#[derive(Debug)]
pub(crate) enum CountsRow<'r> {
    /// A part of daily counts.
    Part {
        version: FlowVersionId,
        day: Day,
        segment: &'r [u8],
        body: &'r [u8],
    },
    /// A delta that is not folded yet.
    Delta {
        version: FlowVersionId,
        day: Day,
        body: &'r [u8],
    },
    Scan {
        passed: Uuid,
    },
}

/// Assembles the rows that were read.
#[derive(Debug)]
pub(crate) struct Reading {
    segment: Option<Vec<u8>>,
    daily: BTreeMap<(Day, FlowVersionId), DailyCounts>,
    scan: Option<CountScan>,
}

impl Reading {
    pub(crate) fn new(segment: Option<Vec<u8>>) -> Self {
        Self { segment, daily: BTreeMap::new(), scan: None }
    }

    pub(crate) fn take(&mut self, row: CountsRow<'_>) -> Result<(), DamagedDay> {
        match row {
            CountsRow::Part { version, day, segment, body } => self
                .counts_of(version, day)
                .load(segment, body)
                .map_err(|why| DamagedDay { day, why }),
            CountsRow::Delta { version, day, body } => {
                let gathered = Gathered::from_delta(body).map_err(|why| DamagedDay { day, why })?;
                self.counts_of(version, day).put(&gathered);
                Ok(())
            }
            CountsRow::Scan { passed } => {
                let passed = (!passed.is_nil()).then(|| ResponseId::from_uuid(passed));
                self.scan = Some(CountScan { passed });
                Ok(())
            }
        }
    }

    fn counts_of(&mut self, version: FlowVersionId, day: Day) -> &mut DailyCounts {
        let segment = &self.segment;
        self.daily.entry((day, version)).or_insert_with(|| DailyCounts::to_read(segment.clone()))
    }

    pub(crate) fn done(self) -> FlowCounts {
        let daily = self.daily.into_iter().map(|((day, version), mut daily)| {
            daily.tidy();
            (version, day, daily)
        });
        FlowCounts { daily: daily.filter(|it| !it.2.is_zero()).collect(), scan: self.scan }
    }
}
