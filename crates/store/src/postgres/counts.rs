//! Counts: what removals subtract, and the background work.
//!
//! A commit only ever appends ([`super::final_exchange`]), and so does a removal, so neither waits
//! for the other or for the process that folds. Folding and scanning work flow by flow, under a
//! lock on the flow's row of `count_scans`; a node that finds it locked leaves the flow to the
//! other node. While a scan is in progress, a removal locks that row too, since it must know
//! whether the scan has already counted what it removes: it waits for one batch of the scan, and
//! never for a fold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use sluice_flow::counts::{DailyCounts, Damaged, Gathered};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::Day;
use uuid::Uuid;

use super::by_app::ByApp;
use super::codec::{self, Cells, RESPONSE, ReadCells as _};
use super::count_rows::{self, Lock};
use super::failure::TransactionError;
use super::pool::{Params, Pool};
use super::read::{BY_ID, IN_SPAN, id_after, limit};
use super::transaction::{Transaction, end};
use super::{recount, skip_index};
use crate::counting::{
    self, DailyCountsKey, DamagedDay, Definitions, FLOWS_PER_CALL, FOLD_BYTES_MAX, NewDelta,
    RECOUNT_ROWS, Subtractions,
};
use crate::{Compacted, CompactionCursor, ResponseRow, StoreError, StoreResult};

/// The most deltas of a flow that are folded at a time; see also [`FOLD_BYTES_MAX`].
const FOLD_ROWS_MAX: i64 = 1_000;

pub(super) static ADD: LazyLock<ByApp> = LazyLock::new(|| {
    let columns = [
        ("removal", "boolean"),
        ("flow_id", "uuid"),
        ("delta_id", "uuid"),
        ("flow_version_id", "uuid"),
        ("day", "int"),
        ("responses", "bigint"),
        ("body", "bytea"),
    ];
    ByApp::insert("count_deltas", &columns, "")
});

/// The flows with deltas after `($1, $2)`: one lookup in the primary key for each, however many
/// deltas it has.
const FLOWS: &str = "WITH RECURSIVE found AS ( \
     (SELECT app_id, flow_id FROM count_deltas WHERE (app_id, flow_id) > ($1, $2) \
      ORDER BY app_id, flow_id LIMIT 1) \
     UNION ALL SELECT next.app_id, next.flow_id FROM found CROSS JOIN LATERAL ( \
      SELECT app_id, flow_id FROM count_deltas \
      WHERE (count_deltas.app_id, count_deltas.flow_id) > (found.app_id, found.flow_id) \
      ORDER BY app_id, flow_id LIMIT 1) AS next) SELECT app_id, flow_id FROM found LIMIT $3";
/// The same if tables are distributed, where a recursive query may not span several workers; reads
/// the deltas of these flows.
const FLOWS_SPREAD: &str = "SELECT DISTINCT app_id, flow_id FROM count_deltas \
     WHERE (app_id, flow_id) > ($1, $2) ORDER BY app_id, flow_id LIMIT $3";
/// The first deltas of a flow, and their sizes.
const FIRST: &str = "SELECT removal, delta_id, octet_length(body) FROM count_deltas \
     WHERE app_id = $1 AND flow_id = $2 ORDER BY removal, delta_id LIMIT $3";
/// Removes the deltas of a flow up to one of them, and returns them. A delta that was deleted
/// meanwhile is not returned, and one that was added is.
const TAKE: &str = "DELETE FROM count_deltas WHERE app_id = $1 AND flow_id = $2 \
     AND (removal, delta_id) <= ($3, $4) \
     RETURNING removal, delta_id, responses, flow_version_id, day, body";
const PARTS: &str = "SELECT segment, body FROM counts WHERE app_id = $1 AND flow_id = $2 \
     AND segment = ANY($3) AND day = $4 AND flow_version_id = $5";
/// The columns of [`ADD`] after the app.
#[derive(Debug, Default)]
pub(super) struct DeltaColumns {
    removal: Vec<bool>,
    flow_id: Vec<Uuid>,
    delta_id: Vec<Uuid>,
    flow_version_id: Vec<Uuid>,
    day: Vec<i32>,
    responses: Vec<i64>,
    body: Vec<Vec<u8>>,
}

impl DeltaColumns {
    /// For responses that are counted.
    pub(super) fn from_deltas(deltas: &[NewDelta]) -> Self {
        let mut columns = Self::default();
        for NewDelta { key, delta_id, responses, delta } in deltas {
            columns.push(false, key, *delta_id, *responses, delta.as_bytes());
        }
        columns
    }

    fn push(
        &mut self,
        removal: bool,
        key: &DailyCountsKey,
        delta_id: Uuid,
        responses: i64,
        body: &[u8],
    ) {
        self.removal.push(removal);
        self.flow_id.push(key.flow_id.uuid());
        self.delta_id.push(delta_id);
        self.flow_version_id.push(key.flow_version_id.uuid());
        self.day.push(key.day.number());
        self.responses.push(responses);
        self.body.push(body.to_vec());
    }

    pub(super) fn len(&self) -> usize {
        self.delta_id.len()
    }

    pub(super) fn params<'p>(&'p self, app: ParamRef<'p>) -> [ParamRef<'p>; 8] {
        let Self { removal, flow_id, delta_id, flow_version_id, day, responses, body } = self;
        [app, removal, flow_id, delta_id, flow_version_id, day, responses, body]
    }
}

type ParamRef<'p> = &'p (dyn tokio_postgres::types::ToSql + Sync);

/// A response that is removed, or stays with less content.
pub(super) struct Gone {
    pub(super) row: ResponseRow,
    /// Whether it was counted when it was stored.
    pub(super) at_once: bool,
    pub(super) stays: Option<ResponseRow>,
}

/// Appends what this transaction subtracts from the counts, and clears its filters in the skip
/// index.
pub(super) async fn take_away(
    transaction: &Transaction,
    app: AppId,
    gone: &[Gone],
) -> Result<(), TransactionError> {
    if gone.is_empty() {
        return Ok(());
    }
    let ids = gone.iter().map(|it| (it.row.flow_id.uuid(), it.row.response_id.uuid()));
    skip_index::unfill(transaction, app, &ids.collect::<Vec<_>>()).await?;
    let mut flows: Vec<Uuid> = gone.iter().map(|it| it.row.flow_id.uuid()).collect();
    flows.sort();
    flows.dedup();
    let scans = "SELECT flow_id, passed FROM count_scans WHERE app_id = $1 AND flow_id = ANY($2) \
         AND passed IS NOT NULL ORDER BY flow_id FOR KEY SHARE";
    let mut passed: BTreeMap<FlowId, Uuid> = BTreeMap::new();
    for row in transaction.query(scans, &[&app.uuid(), &flows]).await? {
        let mut cells = Cells::new(&row);
        passed.insert(cells.id(FlowId::from_uuid)?, cells.take()?);
    }
    let is_counted = |it: &&Gone| {
        counting::is_counted(it.at_once, &it.row, passed.get(&it.row.flow_id).copied())
    };
    let counted: Vec<&Gone> = gone.iter().filter(is_counted).collect();
    let definitions =
        count_rows::definitions(transaction, app, counted.iter().map(|it| &it.row)).await?;
    let mut removed = Subtractions::new();
    for Gone { row, stays, .. } in counted {
        counting::take_away(&mut removed, &definitions, row, stays.as_ref());
    }
    if removed.is_empty() {
        return Ok(());
    }
    let new_ids = "SELECT gen_random_uuid() FROM generate_series(1, $1::bigint)";
    let rows = transaction.query(new_ids, &[&limit(removed.len())]).await?;
    let mut columns = DeltaColumns::default();
    for ((key, (responses, delta)), row) in removed.iter().zip(&rows) {
        columns.push(true, key, Cells::new(row).take()?, *responses, delta.as_bytes());
    }
    transaction.execute(&ADD.one, &columns.params(&app.uuid())).await.map(|_| ())
}

/// A part of the background work: folds some deltas of each of the next flows, and counts some
/// responses that the scan has not reached.
pub(super) async fn compact(
    pool: &Arc<Pool>,
    cursor: CompactionCursor,
    rows_max: usize,
) -> StoreResult<Compacted> {
    let flows = flows_after(pool, cursor).await?;
    let (mut folded, mut scanned, mut is_left) = (0, 0, false);
    for &(app, flow) in &flows {
        // If another node holds the lock, there is nothing to do here.
        match fold(pool, app, flow).await {
            Ok((deltas, is_all)) => {
                folded += deltas;
                is_left |= !is_all;
            }
            // A flow that cannot be counted must not block the others.
            Err(StoreError::Corrupt(why) | StoreError::Damaged(why)) => {
                tracing::warn!(%flow, why, "cannot count the responses of a flow");
            }
            Err(error) => return Err(error),
        }
    }
    let scans = "SELECT app_id, flow_id FROM count_scans WHERE passed IS NOT NULL LIMIT 1";
    if let Some(&(app, flow)) = pool.many_by_index(scans, &[], flow_key).await?.first()
        && let Some(responses) = scan(pool, app, flow, rows_max).await?
    {
        scanned = responses;
        is_left = true;
    }
    Ok(Compacted::after(cursor, &flows, is_left, (folded, scanned)))
}

/// The next flows that have deltas.
async fn flows_after(pool: &Pool, cursor: CompactionCursor) -> StoreResult<Vec<(AppId, FlowId)>> {
    let after = cursor.after.map(|(app, flow)| (app.uuid(), flow.uuid()));
    let (app, flow) = after.unwrap_or((Uuid::nil(), Uuid::nil()));
    let sql = if pool.is_spread() { FLOWS_SPREAD } else { FLOWS };
    pool.many_by_index(sql, &[&app, &flow, &limit(FLOWS_PER_CALL)], flow_key).await
}

fn flow_key(cells: &mut Cells) -> StoreResult<(AppId, FlowId)> {
    Ok((cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?))
}

/// How often to try folding removals while other processes may be adding more.
const REMOVAL_ROUNDS: usize = 20;

/// Folds the removals of an app, so that no tag text outlives its response. What cannot be folded
/// now is folded in the background.
pub(super) async fn fold_removals(pool: &Arc<Pool>, app: AppId) {
    let sql = "SELECT DISTINCT flow_id FROM count_deltas WHERE app_id = $1 AND removal";
    let folding = async {
        let read = |cells: &mut Cells| cells.id(FlowId::from_uuid);
        for _ in 0..REMOVAL_ROUNDS {
            let flows = pool.many_by_index(sql, &[&app.uuid()], read).await?;
            if flows.is_empty() {
                break;
            }
            for flow in flows {
                fold(pool, app, flow).await?;
            }
        }
        Ok::<(), StoreError>(())
    };
    if let Err(error) = folding.await {
        tracing::warn!(%error, "counts of removed responses will be compacted later");
    }
}

/// Folds some deltas of a flow; returns how many, and whether that was all. Returns none if another
/// node holds the lock.
async fn fold(pool: &Arc<Pool>, app: AppId, flow: FlowId) -> StoreResult<(u64, bool)> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = async {
        match count_rows::lock(&transaction, app, flow, Lock::ToFold).await? {
            Some(_) => fold_some(&transaction, app, flow).await,
            None => Ok(Ok(((0, true), BTreeSet::new()))),
        }
    };
    match body.await {
        Ok(Ok((folded, due))) => {
            let folded = end(transaction, Ok(folded)).await?;
            for day in due {
                recount::tags_of_day(pool, app, flow, day).await?;
            }
            Ok(folded)
        }
        Ok(Err(damaged)) => {
            transaction.roll_back().await;
            // The other days are folded next.
            recount::damaged_day(pool, app, flow, damaged).await.map(|()| (0, false))
        }
        Err(error) => end(transaction, Err(error)).await,
    }
}

/// The result of [`fold`], and the days that must be recounted for their tags.
type Folded = ((u64, bool), BTreeSet<Day>);

async fn fold_some(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
) -> Result<Result<Folded, DamagedDay>, TransactionError> {
    let (app_id, flow_id) = (app.uuid(), flow.uuid());
    let Some((removal, last, is_all)) = last_to_fold(transaction, app, flow).await? else {
        return Ok(Ok(((0, true), BTreeSet::new())));
    };
    let rows = transaction.query(TAKE, &[&app_id, &flow_id, &removal, &last]).await?;
    // By removal and id: a removal comes after everything that it subtracts from.
    let (mut taken, mut added) = (Vec::with_capacity(rows.len()), 0);
    for row in &rows {
        let mut cells = Cells::new(row);
        let order: (bool, Uuid) = (cells.take()?, cells.take()?);
        added += cells.take::<i64>()?.max(0);
        let flow_version_id = cells.id(FlowVersionId::from_uuid)?;
        let day = Day::from_number(cells.take()?);
        let key = DailyCountsKey { app_id: app, flow_id: flow, flow_version_id, day };
        taken.push((order, key, cells.take::<&[u8]>()?));
    }
    taken.sort_unstable_by_key(|(order, ..)| *order);
    let mut by_day: BTreeMap<DailyCountsKey, Vec<&[u8]>> = BTreeMap::new();
    for (_, key, body) in &taken {
        by_day.entry(*key).or_default().push(body);
    }
    let mut due = BTreeSet::new();
    for (key, deltas) in &by_day {
        match put(transaction, key, deltas).await? {
            Ok(is_due) => due.extend(is_due.then_some(key.day)),
            Err(why) => return Ok(Err(DamagedDay { day: key.day, why })),
        }
    }
    count_rows::add_unindexed(transaction, app, flow, added).await?;
    Ok(Ok(((taken.len() as u64, is_all), due)))
}

/// The last of the first deltas of a flow that are folded together, and whether it is the last of
/// all. Locks none of them.
async fn last_to_fold(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
) -> Result<Option<(bool, Uuid, bool)>, TransactionError> {
    let params: Params = &[&app.uuid(), &flow.uuid(), &FOLD_ROWS_MAX];
    let rows = transaction.query(FIRST, params).await?;
    let (mut last, mut size) = (None, 0);
    let is_all = (rows.len() as i64) < FOLD_ROWS_MAX;
    for row in &rows {
        let mut cells = Cells::new(row);
        let (removal, delta_id): (bool, Uuid) = (cells.take()?, cells.take()?);
        size += cells.take::<i32>()?;
        if size > FOLD_BYTES_MAX as i32
            && let Some((removal, delta_id, _)) = last
        {
            return Ok(Some((removal, delta_id, false)));
        }
        last = Some((removal, delta_id, is_all));
    }
    Ok(last)
}

/// Folds deltas into the counts of one version and day; returns whether the day must be recounted
/// for its tags.
async fn put(
    transaction: &Transaction,
    key: &DailyCountsKey,
    deltas: &[&[u8]],
) -> Result<Result<bool, Damaged>, TransactionError> {
    let gathered = match Gathered::from_deltas(deltas.iter().copied()) {
        Ok(gathered) => gathered,
        Err(damaged) => return Ok(Err(damaged)),
    };
    let mut segments = gathered.segments();
    segments.insert(Vec::new());
    let segments: Vec<Vec<u8>> = segments.into_iter().collect();
    let (app, flow, version) = (key.app_id.uuid(), key.flow_id.uuid(), key.flow_version_id.uuid());
    let day = key.day.number();
    let mut daily = DailyCounts::default();
    for row in transaction.query(PARTS, &[&app, &flow, &segments, &day, &version]).await? {
        let mut cells = Cells::new(&row);
        if let Err(damaged) = daily.load(cells.take()?, cells.take()?) {
            return Ok(Err(damaged));
        }
    }
    daily.put(&gathered);
    let is_due = daily.is_due_for_recount();
    count_rows::write(transaction, key, daily).await?;
    Ok(Ok(is_due))
}

/// Counts the next responses of a flow that were not counted when stored; ends the scan if there
/// are no more. Returns nothing if another node holds the lock.
async fn scan(
    pool: &Arc<Pool>,
    app: AppId,
    flow: FlowId,
    rows_max: usize,
) -> StoreResult<Option<u64>> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let body = async {
        match count_rows::lock(&transaction, app, flow, Lock::ToScan).await? {
            Some(Some(passed)) => {
                scan_next(&transaction, app, flow, passed, rows_max).await.map(Some)
            }
            Some(None) | None => Ok(None),
        }
    };
    let body = body.await;
    end(transaction, body).await
}

async fn scan_next(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
    passed: Uuid,
    rows_max: usize,
) -> Result<u64, TransactionError> {
    let sql = format!("SELECT counted, {RESPONSE} FROM responses WHERE {IN_SPAN} {BY_ID} LIMIT $5");
    let (mut first, mut scanned) = (id_after(passed), 0);
    let (mut deltas, mut definitions) = (Vec::new(), Definitions::new());
    let passed = loop {
        let page = RECOUNT_ROWS.min(rows_max - scanned);
        let params: Params = &[&app.uuid(), &flow.uuid(), &first, &Uuid::max(), &limit(page)];
        let mut found = Vec::with_capacity(page);
        for row in transaction.query(&sql, params).await? {
            let mut cells = Cells::new(&row);
            let at_once: bool = cells.take()?;
            found.push((at_once, codec::response(&mut cells)?));
        }
        let uncounted = || found.iter().filter(|(at_once, _)| !at_once).map(|(_, row)| row);
        definitions.extend(count_rows::definitions(transaction, app, uncounted()).await?);
        for row in uncounted() {
            counting::add(&mut deltas, row, &counting::contribution_of(&definitions, row));
        }
        scanned += found.len();
        let last = found.last().filter(|_| found.len() >= page);
        let Some(last) = last.map(|(_, row)| row.response_id.uuid()) else { break None };
        if scanned >= rows_max {
            break Some(last);
        }
        first = id_after(last);
    };
    if !deltas.is_empty() {
        transaction
            .execute(&ADD.one, &DeltaColumns::from_deltas(&deltas).params(&app.uuid()))
            .await?;
    }
    let advance = "UPDATE count_scans SET passed = $3 WHERE app_id = $1 AND flow_id = $2";
    transaction.execute(advance, &[&app.uuid(), &flow.uuid(), &passed]).await?;
    Ok(scanned as u64)
}

/// Starts a scan of a flow from its beginning, because uncounted responses are imported; discards
/// the existing counts of the flow.
///
/// Writes to every response of the flow. Used only for imported records: the first of them find a
/// store without responses, or with those of a server that ran before, and later ones find that
/// nothing is counted. Nothing else stores to the flow meanwhile; if another process may, the day
/// is recounted instead ([`super::recount`]).
pub(super) async fn begin_scan(
    transaction: &Transaction,
    app: AppId,
    flow: FlowId,
) -> Result<(), TransactionError> {
    let ids: Params = &[&app.uuid(), &flow.uuid()];
    let alone = "SELECT FROM count_scans WHERE app_id = $1 AND flow_id = $2 FOR UPDATE";
    transaction.query(alone, ids).await?;
    let begun = "SELECT FROM count_scans WHERE app_id = $1 AND flow_id = $2 \
         AND passed = '00000000-0000-0000-0000-000000000000' \
         AND NOT EXISTS (SELECT FROM counts WHERE app_id = $1 AND flow_id = $2) \
         AND NOT EXISTS (SELECT FROM count_deltas WHERE app_id = $1 AND flow_id = $2)";
    if !transaction.query(begun, ids).await?.is_empty() {
        return Ok(());
    }
    for sql in [
        "DELETE FROM counts WHERE app_id = $1 AND flow_id = $2",
        "DELETE FROM count_deltas WHERE app_id = $1 AND flow_id = $2",
        "UPDATE responses SET counted = false WHERE app_id = $1 AND flow_id = $2 AND counted",
        "INSERT INTO count_scans (app_id, flow_id, passed) \
         VALUES ($1, $2, '00000000-0000-0000-0000-000000000000') \
         ON CONFLICT (app_id, flow_id) DO UPDATE SET passed = excluded.passed",
    ] {
        transaction.execute(sql, ids).await?;
    }
    Ok(())
}

/// Deletes the counts of these days (from, to) of these apps, whose responses are removed as a
/// whole.
pub(super) async fn forget_days(
    transaction: &Transaction,
    apps: &[Uuid],
    [from, to]: [i32; 2],
) -> Result<(), TransactionError> {
    // Unfolded deltas first: this waits for a fold that has taken some, and its result is deleted
    // next.
    for table in ["count_deltas", "counts"] {
        let sql = format!(
            "DELETE FROM {table} USING flows WHERE flows.app_id = ANY($1) \
             AND {table}.app_id = flows.app_id AND {table}.flow_id = flows.flow_id \
             AND day >= $2 AND day < $3"
        );
        transaction.execute(&sql, &[&apps, &from, &to]).await?;
    }
    Ok(())
}
