//! Counts: what commits add, what removals subtract, and the background work.
//!
//! There is one writer, so a removal needs no delta: it folds the pending deltas of its flow, and
//! subtracts itself from the daily counts in the same transaction. So nothing is left of the tags
//! of a removed response.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::counts::{DailyCounts, Damaged, Gathered};
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::time::Day;
use uuid::Uuid;

use super::codec::{self, Cells, RESPONSE, ReadCells as _, bytes};
use super::read::{limit, many, one};
use super::transaction::{Finish, TransactionError};
use super::version_numbers::{OF_FLOW, RESPONSES};
use super::{count_rows, recount, response_keys, skip_index};
use crate::counting::{
    self, CountsRow, DailyCountsKey, DamagedDay, Definitions, FLOWS_PER_CALL, FOLD_BYTES_MAX,
    NewDelta, Reading, Subtractions,
};
use crate::{
    CompactionCursor, CountsQuery, DayTotal, FlowCounts, NewResponse, Outcome, ResponseRow,
};

const ADD: &str = "INSERT INTO count_deltas (app_id, flow_id, delta_id, flow_version_id, day, \
     responses, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const DELTAS: &str = "SELECT delta_id, flow_version_id, day, responses, body FROM count_deltas \
     WHERE app_id = ?1 AND flow_id = ?2 ORDER BY delta_id";
const FORGET: &str =
    "DELETE FROM count_deltas WHERE app_id = ?1 AND flow_id = ?2 AND delta_id <= ?3";
const PART: &str = "SELECT body FROM counts WHERE app_id = ?1 AND flow_id = ?2 AND segment = ?3 \
     AND day = ?4 AND flow_version_id = ?5";
const READ: &str = "SELECT 0, flow_version_id, day, segment, body FROM counts \
     WHERE app_id = ?1 AND flow_id = ?2 AND segment IN (x'', ?3) AND day BETWEEN ?4 AND ?5 \
     UNION ALL SELECT 1, flow_version_id, day, x'', body FROM count_deltas \
     WHERE app_id = ?1 AND flow_id = ?2 AND day BETWEEN ?4 AND ?5 \
     UNION ALL SELECT 2, x'', 0, x'', passed FROM count_scans WHERE app_id = ?1 AND flow_id = ?2 \
     AND passed IS NOT NULL";
const TOTALS: &str = "SELECT flow_id, day, sum(responses) FROM ( \
     SELECT counts.flow_id, day, responses FROM flows CROSS JOIN counts \
     ON counts.app_id = flows.app_id AND counts.flow_id = flows.flow_id AND segment = x'' \
     AND day >= ?2 WHERE flows.app_id = ?1 \
     UNION ALL SELECT flow_id, day, responses FROM count_deltas WHERE app_id = ?1 AND day >= ?2) \
     GROUP BY flow_id, day ORDER BY flow_id, day";

const BY_VERSION: &str = "SELECT flow_version_id, sum(responses) AS all_of_it FROM ( \
     SELECT flow_version_id, responses FROM counts \
     WHERE app_id = ?1 AND flow_id = ?2 AND segment = x'' \
     UNION ALL SELECT flow_version_id, responses FROM count_deltas \
     WHERE app_id = ?1 AND flow_id = ?2) GROUP BY flow_version_id HAVING all_of_it <> 0";

/// Appends what the stored responses of a commit add.
pub(super) fn add(
    connection: &Connection,
    responses: &[NewResponse],
    outcomes: &[Outcome],
) -> Result<()> {
    let stored = responses.iter().zip(outcomes).filter(|(_, it)| **it == Outcome::Stored);
    let deltas = counting::deltas_of(stored.map(|(response, _)| response));
    if deltas.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(ADD)?;
    for NewDelta { key, delta_id, responses, delta } in &deltas {
        insert.execute(params![
            bytes!(key.app_id),
            bytes!(key.flow_id),
            delta_id.as_bytes(),
            bytes!(key.flow_version_id),
            key.day.number(),
            responses,
            delta.as_bytes(),
        ])?;
    }
    Ok(())
}

/// What one transaction removes: subtracted from the counts and the skip index at its end.
#[derive(Debug, Default)]
pub(super) struct Going {
    definitions: Definitions,
    /// The cursor of the scan of each flow.
    scans: BTreeMap<(AppId, FlowId), Option<Uuid>>,
    removed: Subtractions,
    ids: BTreeMap<(AppId, FlowId), Vec<ResponseId>>,
    deleted: Vec<(AppId, FlowId, ResponseId)>,
}

impl Going {
    /// Records a response that is removed, or stays with less content. `at_once` is whether it was
    /// counted when it was stored.
    pub(super) fn note(
        &mut self,
        connection: &Connection,
        row: &ResponseRow,
        at_once: bool,
        stays: Option<&ResponseRow>,
    ) -> Result<()> {
        let flow = (row.app_id, row.flow_id);
        self.ids.entry(flow).or_default().push(row.response_id);
        self.deleted.extend(stays.is_none().then_some((flow.0, flow.1, row.response_id)));
        let passed = match self.scans.get(&flow) {
            Some(passed) => *passed,
            None => *self.scans.entry(flow).or_insert(count_rows::scan_cursor(connection, flow)?),
        };
        if counting::is_counted(at_once, row, passed) {
            count_rows::know(connection, &mut self.definitions, row)?;
            counting::take_away(&mut self.removed, &self.definitions, row, stays);
        }
        Ok(())
    }

    /// The responses that are removed.
    pub(super) fn deleted(&self) -> &[(AppId, FlowId, ResponseId)] {
        &self.deleted
    }

    /// Subtracts everything recorded.
    pub(super) fn settle(self, connection: &Connection) -> Result<(), TransactionError> {
        let mut by_flow: BTreeMap<_, Subtractions> = BTreeMap::new();
        for (key, delta) in self.removed {
            by_flow.entry((key.app_id, key.flow_id)).or_default().insert(key, delta);
        }
        for ((app, flow), removed) in by_flow {
            fold(connection, app, flow, usize::MAX, &removed)?;
        }
        for ((app, flow), ids) in self.ids {
            skip_index::unfill(connection, app, flow, ids)?;
        }
        Ok(())
    }
}

/// Folds a limited number of bytes of a flow's deltas into their daily counts, and `more` after
/// them; returns how many, and whether that was all.
fn fold(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    bytes_max: usize,
    more: &Subtractions,
) -> Result<(u64, bool), TransactionError> {
    let ids = (bytes!(app), bytes!(flow));
    let mut by_day: BTreeMap<DailyCountsKey, Vec<Vec<u8>>> = BTreeMap::new();
    let (mut folded, mut last, mut size, mut is_all, mut added) = (0, None, 0, true, 0);
    {
        let mut select = connection.prepare_cached(DELTAS)?;
        let mut rows = select.query(params![ids.0, ids.1])?;
        while let Some(row) = rows.next()? {
            let mut cells = Cells::new(row);
            let delta_id: [u8; 16] = cells.take()?;
            let flow_version_id = cells.id(FlowVersionId::from_uuid)?;
            let day = Day::from_number(cells.take()?);
            let responses: i64 = cells.take()?;
            let body: Vec<u8> = cells.take()?;
            size += body.len();
            if size > bytes_max && folded > 0 {
                is_all = false;
                break;
            }
            added += responses.max(0);
            let key = DailyCountsKey { app_id: app, flow_id: flow, flow_version_id, day };
            by_day.entry(key).or_default().push(body);
            folded += 1;
            last = Some(delta_id);
        }
    }
    for (key, (_, delta)) in more {
        by_day.entry(*key).or_default().push(delta.as_bytes().to_vec());
    }
    put_all(connection, by_day.iter().map(|(key, deltas)| (*key, deltas.as_slice())))?;
    // They were read in id order, and nothing else writes meanwhile.
    if let Some(last) = last {
        connection.prepare_cached(FORGET)?.execute(params![ids.0, ids.1, last])?;
    }
    count_rows::add_unindexed(connection, (app, flow), added)?;
    Ok((folded, is_all))
}

/// Folds deltas into their daily counts. An unreadable day is recounted from its responses, so that
/// nothing is blocked by it, least of all a removal. So is a day on which other tags may now be the
/// most frequent.
fn put_all<'d, D: AsRef<[u8]> + 'd>(
    connection: &Connection,
    by_day: impl Iterator<Item = (DailyCountsKey, &'d [D])>,
) -> Result<(), TransactionError> {
    let (mut rebuilt, mut due) = (BTreeSet::new(), BTreeSet::new());
    for (key, deltas) in by_day {
        let day = (key.app_id, key.flow_id, key.day);
        if rebuilt.contains(&day) {
            continue;
        }
        match put(connection, key, deltas)? {
            Ok(is_due) => {
                due.extend(is_due.then_some(day));
            }
            Err(why) => {
                recount::damaged_day(connection, (key.app_id, key.flow_id), key.day, why)?;
                rebuilt.insert(day);
            }
        }
    }
    for (app, flow, day) in due.difference(&rebuilt) {
        recount::tags_of_day(connection, (*app, *flow), *day)?;
    }
    Ok(())
}

/// Folds deltas into the counts of one version and day; returns whether the day must be recounted
/// for its tags.
fn put(
    connection: &Connection,
    key: DailyCountsKey,
    deltas: &[impl AsRef<[u8]>],
) -> Result<Result<bool, Damaged>> {
    let mut daily = DailyCounts::default();
    let gathered = match Gathered::from_deltas(deltas.iter().map(AsRef::as_ref)) {
        Ok(gathered) => gathered,
        Err(damaged) => return Ok(Err(damaged)),
    };
    let mut segments = gathered.segments();
    segments.insert(Vec::new());
    let (app, flow, version) =
        (bytes!(key.app_id), bytes!(key.flow_id), bytes!(key.flow_version_id));
    let mut select = connection.prepare_cached(PART)?;
    for segment in &segments {
        let params = params![app, flow, segment, key.day.number(), version];
        let body: Option<Vec<u8>> = select.query_row(params, |row| row.get(0)).optional()?;
        if let Some(body) = body
            && let Err(damaged) = daily.load(segment, &body)
        {
            return Ok(Err(damaged));
        }
    }
    daily.put(&gathered);
    let is_due = daily.is_due_for_recount();
    count_rows::write(connection, key, daily)?;
    Ok(Ok(is_due))
}

/// A flow with responses that were never counted.
const FIRST_SCAN: &str = "SELECT app_id, flow_id FROM count_scans WHERE passed IS NOT NULL LIMIT 1";
/// The next flow with deltas: one lookup in the primary key, however many deltas there are.
const NEXT_FLOW: &str = "SELECT app_id, flow_id FROM count_deltas \
     WHERE (app_id, flow_id) > (?1, ?2) ORDER BY app_id, flow_id LIMIT 1";

/// The next flows with deltas to fold, and whether there is anything to scan.
pub(super) fn to_compact(
    connection: &Connection,
    cursor: CompactionCursor,
) -> Result<(Vec<(AppId, FlowId)>, bool)> {
    let mut flows = Vec::new();
    let mut after = cursor.after;
    while flows.len() < FLOWS_PER_CALL {
        let ids = after.map_or(([0; 16], [0; 16]), |(app, flow)| (bytes!(app), bytes!(flow)));
        after = one(connection, NEXT_FLOW, params![ids.0, ids.1], |cells: &mut Cells| {
            Ok((cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?))
        })?;
        let Some(flow) = after else { break };
        flows.push(flow);
    }
    let scans = connection.prepare_cached(FIRST_SCAN)?.exists([])?;
    Ok((flows, scans))
}

/// Folds some of a flow's deltas; returns how many, and whether that was all.
pub(super) fn fold_part(
    connection: &Connection,
    (app, flow): (AppId, FlowId),
) -> Result<((u64, bool), Finish), TransactionError> {
    let folded = fold(connection, app, flow, FOLD_BYTES_MAX, &Subtractions::new())?;
    Ok((folded, Finish::Commit))
}

/// Advances the first scan by some responses; returns how many it read.
pub(super) fn scan_part(
    connection: &Connection,
    rows_max: usize,
) -> Result<(u64, Finish), TransactionError> {
    let first = many(connection, FIRST_SCAN, [], |cells: &mut Cells| {
        Ok((cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?))
    })?;
    match first.first() {
        Some((app, flow)) => Ok((scan(connection, *app, *flow, rows_max)?, Finish::Commit)),
        None => Ok((0, Finish::RollBack)),
    }
}

/// Counts the next responses of a flow that were not counted when stored; ends the scan if there
/// are no more.
fn scan(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    rows_max: usize,
) -> Result<u64, TransactionError> {
    let ids = (bytes!(app), bytes!(flow));
    let passed = count_rows::scan_cursor(connection, (app, flow))?.unwrap_or_default().as_u128();
    let first = response_keys::after(connection, passed)?;
    let sql = format!(
        "SELECT {RESPONSE}, counted FROM {RESPONSES} WHERE {OF_FLOW} \
         AND response_key >= ?3 ORDER BY response_key LIMIT ?4"
    );
    let found = many(connection, &sql, params![ids.0, ids.1, first, limit(rows_max)], |cells| {
        Ok((codec::response(cells)?, cells.take::<bool>()?))
    })?;
    let (mut definitions, mut deltas) = (Definitions::new(), Vec::new());
    for (row, _) in found.iter().filter(|(_, at_once)| !at_once) {
        count_rows::know(connection, &mut definitions, row)?;
        counting::add(&mut deltas, row, &counting::contribution_of(&definitions, row));
    }
    let last = found.last().filter(|_| found.len() >= rows_max);
    let passed = last.map(|(row, _)| bytes!(row.response_id));
    let added = found.iter().filter(|(_, at_once)| !at_once).count();
    connection
        .prepare_cached(
            "UPDATE count_scans SET passed = ?3, unindexed = unindexed + ?4 \
             WHERE app_id = ?1 AND flow_id = ?2",
        )?
        .execute(params![ids.0, ids.1, passed, limit(added)])?;
    // After the cursor has moved: a recounted day is counted up to the new cursor.
    put_all(connection, deltas.iter().map(|it| (it.key, std::slice::from_ref(&it.delta))))?;
    Ok(found.len() as u64)
}

/// Starts a scan of a flow from its beginning, because uncounted responses are imported; discards
/// the existing counts of the flow.
///
/// Writes to every response of the flow. Used only for imported records: the first of them find a
/// store without responses, or with those of a server that ran before, and later ones find that
/// nothing is counted.
pub(super) fn begin_scan(connection: &Connection, app: AppId, flow: FlowId) -> Result<()> {
    let ids = params![bytes!(app), bytes!(flow)];
    let begun = "SELECT 1 FROM count_scans WHERE app_id = ?1 AND flow_id = ?2 \
         AND passed = zeroblob(16) \
         AND NOT EXISTS (SELECT 1 FROM counts WHERE app_id = ?1 AND flow_id = ?2) \
         AND NOT EXISTS (SELECT 1 FROM count_deltas WHERE app_id = ?1 AND flow_id = ?2)";
    if connection.prepare_cached(begun)?.exists(ids)? {
        return Ok(());
    }
    let uncount = format!("UPDATE responses SET counted = 0 WHERE {OF_FLOW} AND counted <> 0");
    for sql in [
        "DELETE FROM counts WHERE app_id = ?1 AND flow_id = ?2",
        "DELETE FROM count_deltas WHERE app_id = ?1 AND flow_id = ?2",
        &uncount,
        "INSERT INTO count_scans (app_id, flow_id, passed) VALUES (?1, ?2, zeroblob(16)) \
         ON CONFLICT (app_id, flow_id) DO UPDATE SET passed = excluded.passed",
    ] {
        connection.prepare_cached(sql)?.execute(ids)?;
    }
    Ok(())
}

/// One statement, so read at one instant.
pub(super) fn read(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    query: &CountsQuery,
) -> Result<Result<FlowCounts, DamagedDay>> {
    let mut select = connection.prepare_cached(READ)?;
    let ((from, to), segment) = (query.days(), query.segment.as_deref().unwrap_or_default());
    let mut rows = select.query(params![bytes!(app), bytes!(flow), segment, from, to])?;
    let mut reading = Reading::new(query.segment.clone());
    while let Some(row) = rows.next()? {
        let kind: i64 = row.get(0)?;
        let body = row.get_ref(4)?.as_blob()?;
        let taken = if kind == 2 {
            let passed = Uuid::from_slice(body).unwrap_or_default();
            reading.take(CountsRow::Scan { passed })
        } else {
            let version = Uuid::from_slice(row.get_ref(1)?.as_blob()?).unwrap_or_default();
            let version = FlowVersionId::from_uuid(version);
            let day = Day::from_number(row.get(2)?);
            let segment = row.get_ref(3)?.as_blob()?;
            reading.take(match kind {
                0 => CountsRow::Part { version, day, segment, body },
                _ => CountsRow::Delta { version, day, body },
            })
        };
        if let Err(damaged) = taken {
            return Ok(Err(damaged));
        }
    }
    Ok(Ok(reading.done()))
}

/// The number of responses of each flow of an app on each day.
pub(super) fn totals(
    connection: &Connection,
    app: AppId,
    from: Option<Day>,
) -> Result<Vec<DayTotal>> {
    let from = from.map_or(i32::MIN, Day::number);
    many(connection, TOTALS, params![bytes!(app), from], |cells: &mut Cells| {
        Ok(DayTotal {
            flow_id: cells.id(FlowId::from_uuid)?,
            day: Day::from_number(cells.take()?),
            responses: cells.take()?,
        })
    })
}

/// The number of responses of each version of a flow.
pub(super) fn by_version(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
) -> Result<Vec<(FlowVersionId, i64)>> {
    many(connection, BY_VERSION, params![bytes!(app), bytes!(flow)], |cells: &mut Cells| {
        Ok((cells.id(FlowVersionId::from_uuid)?, cells.take()?))
    })
}
