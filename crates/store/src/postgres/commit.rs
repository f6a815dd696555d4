//! Stores many responses in one transaction: the only write on the hot path.
//!
//! Each app is first locked in shared mode against changes, so commits do not wait for each other,
//! but a publish waits for them, and they for it. Then the idempotency keys of the batch are looked
//! up. The responses with a free key, or none, are stored, and a further statement takes their
//! keys. If another commit took one of these keys in between, that statement fails on the primary
//! key, and everything starts again; the lookup then finds the key. All statements are per app and
//! name it, so that on a distributed database each runs on one worker; Citus refuses them as one
//! statement with a writing CTE.
//!
//! Invitations of the responses are locked before keys are looked up, and completed once it is
//! known which responses are stored. Batches without invitations skip both steps.
//!
//! Every exchange with the server costs a turn of two processes, so there are as few as possible:
//! usually one that begins, locks and looks up, and one that stores and commits. The COMMIT is sent
//! without waiting for the insert: if that fails, the server treats the COMMIT as a rollback.
//!
//! The lock is an advisory lock. It costs no write, while a share lock on the app's row writes to
//! that row with every commit. It is also fair, while a stream of share locks starves a transaction
//! that waits to change the row. It is local to one server, so on a distributed database the row is
//! locked as well.
//!
//! A transaction that stored nothing is still committed if it found a response that a retry asks
//! about: its COMMIT is confirmed only when that response is on the standby too. A COMMIT waits
//! only if its transaction wrote something, so such a transaction locks the app's row, which is a
//! write.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures_util::FutureExt;
use sluice_flow::id::{AppId, AssignmentId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use tokio_postgres::{Row, Statement};
use uuid::Uuid;

use super::claims::{self, Links};
use super::codec::{Cells, ReadCells as _};
use super::copy;
use super::failure::TransactionError;
use super::final_exchange::{COPY, Copying, FinalExchange, STORE, Statements, key_of};
use super::invitations::{self, Locked};
use super::pool::{Params, Pool};
use super::skip_index;
use super::transaction::{BEGIN, NotCommitted, SET_AND_QUEUE, Transaction};
use crate::{Digest, IdempotencyKey, NewResponse, Outcome, StoreError, StoreResult};

/// How often a transaction that lost a race is tried.
const TRIES: u32 = 5;

/// Columns of [`SET_AND_QUEUE`] before the time.
const SET_COLUMNS: usize = 5;
/// For the apps after the first; see [`SET_AND_QUEUE`].
const QUEUE: &str = "SELECT pg_advisory_xact_lock_shared($1)";
/// A separate statement after the lock, so that it sees what was committed while waiting for it.
const READ: &str = "SELECT public_revision FROM apps WHERE app_id = $1";
const READ_AND_LOCK: &str = "SELECT public_revision FROM apps WHERE app_id = $1 FOR SHARE";
/// The digest is absent if the response was deleted, or no longer has the content that was sent
/// with the key. Both lookups are subqueries that the planner cannot join otherwise: a plan made
/// while the tables are small would still read all keys of the app when they are large.
const UNDER_KEYS: &str = "SELECT taken.* FROM unnest($2::uuid[]) AS given (key) CROSS JOIN LATERAL ( \
     SELECT key, response_id, (SELECT digest FROM responses WHERE responses.app_id = $1 \
     AND responses.response_id = idempotency.response_id \
     AND responses.idempotency_key = idempotency.key LIMIT 1) \
     FROM idempotency WHERE app_id = $1 AND key = given.key LIMIT 1) AS taken";

/// The advisory lock number of an app's queue.
pub(super) fn queue_of(app: AppId) -> i64 {
    let bits = app.uuid().as_u128();
    ((bits >> 64) as u64 ^ bits as u64).cast_signed()
}

/// Stores the responses that can be stored and returns the outcome of each, in order.
pub(super) async fn responses(
    pool: &Arc<Pool>,
    responses: Vec<NewResponse>,
) -> StoreResult<Vec<Outcome>> {
    if responses.is_empty() {
        return pool.enter().await.map(|_| Vec::new());
    }
    pool.may_commit()?;
    let responses = Arc::new(responses);
    let mut tries = 0;
    loop {
        tries += 1;
        match attempt(pool, &responses).await {
            Err(Lost::Race) if tries < TRIES => {}
            Err(Lost::Race) => {
                let why = "lost the race against other transactions too often";
                return Err(StoreError::Failed(why.into()));
            }
            Err(Lost::Error(error)) => return Err(error),
            Ok(outcomes) => return Ok(outcomes),
        }
    }
}

/// Why an attempt did not succeed.
enum Lost {
    /// It was rolled back, and may succeed the next time.
    Race,
    Error(StoreError),
}

impl From<TransactionError> for Lost {
    fn from(error: TransactionError) -> Self {
        match error.lost_a_race() {
            true => Self::Race,
            false => Self::Error(error.of_statement()),
        }
    }
}

impl From<NotCommitted> for Lost {
    fn from(failure: NotCommitted) -> Self {
        match failure.lost_a_race() {
            true => Self::Race,
            false => Self::Error(failure.into()),
        }
    }
}

async fn attempt(
    pool: &Arc<Pool>,
    responses: &Arc<Vec<NewResponse>>,
) -> Result<Vec<Outcome>, Lost> {
    let transaction = Transaction::on(pool).await?;
    let CommitPlan { outcomes, to_store, links, way, statements, old } =
        match plan(&transaction, responses).await {
            Ok(plan) => plan,
            Err(error) => return Err(transaction.abort(error).await.into()),
        };
    let responses = claims::linked(responses, &links);
    let last = FinalExchange { responses, to_store, statements, old };
    match way {
        Ending::Copy(copy) => {
            let copied =
                transaction.end_with(move |lease| last.copy_and_commit(copy, lease).boxed());
            copied.await?;
        }
        Ending::Insert(store) => {
            let inserted =
                transaction.end_with(move |lease| last.insert_and_commit(store, lease).boxed());
            inserted.await?;
        }
        Ending::Commit => transaction.commit().await?,
        Ending::RollBack => transaction.roll_back().await,
    }
    Ok(outcomes)
}

/// The outcome of each response, provided that the insert succeeds.
struct CommitPlan {
    outcomes: Vec<Outcome>,
    /// By app, the indexes of its rows in the call.
    to_store: Vec<(AppId, Vec<usize>)>,
    links: Links,
    way: Ending,
    statements: Statements,
    /// Responses with ids not beyond this one may fall into a block of the skip index.
    old: u128,
}

/// How the transaction ends.
enum Ending {
    /// With rows, in one of two ways. Prepared now, since a failure before COMMIT is sent leaves no
    /// doubt.
    Copy(Copying),
    Insert(Statement),
    /// Without rows, but a retry is answered: see the module.
    Commit,
    RollBack,
}

async fn plan(
    transaction: &Transaction,
    responses: &[NewResponse],
) -> Result<CommitPlan, TransactionError> {
    let mut by_app: BTreeMap<AppId, Batch> = BTreeMap::new();
    for (index, response) in responses.iter().enumerate() {
        by_app.entry(response.row.app_id).or_default().rows.push((index, response));
    }
    let apps: Vec<_> = by_app.keys().copied().collect();
    let is_plain = |it: &NewResponse| it.claim.is_none() && it.invitation.is_none();
    let plain = responses.iter().all(is_plain);
    let keys: Vec<Uuid> = responses.iter().filter_map(key_of).collect();
    let with = match transaction.is_spread() {
        true => With::RowLock,
        // If no invitation or respondent must be found first, the copy starts in the first
        // exchange.
        false if plain && apps.len() == 1 => With::Copy { keys: &keys },
        false => With::Nothing,
    };
    // Prepared before a copy starts: during it nothing else may be sent.
    let statements = Statements::prepare(transaction).await?;
    let Begun { newest, found, copy, now } = begin_and_lock(transaction, &apps, with).await?;
    let mut outcomes = vec![Outcome::Stale; responses.len()];
    let mut to_store = Vec::with_capacity(apps.len());
    let mut links = Links::new();
    for ((app, mut batch), newest) in by_app.into_iter().zip(newest) {
        let locked = batch.lock_invitations(transaction, app).await?;
        match with {
            With::Copy { .. } => batch.note_taken(&found)?,
            With::Nothing | With::RowLock => batch.look_up_keys(transaction, app).await?,
        }
        batch.claim(newest, &locked);
        claims::settle(transaction, app, &batch.to_store, &mut links).await?;
        invitations::complete(transaction, app, batch.to_store.iter().map(|(_, it)| *it)).await?;
        to_store.push((app, batch.to_store.iter().map(|(index, _)| *index).collect()));
        for (index, outcome) in batch.outcomes() {
            outcomes[index] = outcome;
        }
    }
    let way = ending(transaction, &apps, &outcomes, copy).await?;
    let old = v7(skip_index::old_at(now), 0, 0).as_u128();
    Ok(CommitPlan { outcomes, to_store, links, way, statements, old })
}

async fn ending(
    transaction: &Transaction,
    apps: &[AppId],
    outcomes: &[Outcome],
    copy: Option<Copying>,
) -> Result<Ending, TransactionError> {
    let is_replay = |outcome: &Outcome| matches!(outcome, Outcome::Replayed(_));
    if outcomes.contains(&Outcome::Stored) {
        return Ok(match copy {
            Some(copy) => Ending::Copy(copy),
            None if transaction.is_spread() => Ending::Insert(transaction.prepare(&STORE).await?),
            None => Ending::Copy(Box::pin(transaction.copy(&COPY).await?)),
        });
    }
    if !outcomes.iter().any(is_replay) {
        // A copy that was started in vain ends with a server error; the rollback reverts it.
        return Ok(Ending::RollBack);
    }
    if let Some(copy) = copy {
        transaction.end_copy(copy, copy::of(std::iter::empty())).await?;
    }
    for app in apps {
        transaction.query(READ_AND_LOCK, &[&app.uuid()]).await?;
    }
    Ok(Ending::Commit)
}

/// What to send with the first exchange.
#[derive(Clone, Copy)]
enum With<'k> {
    Nothing,
    /// A lock on the app's row.
    RowLock,
    /// The lookup of these keys, and the start of a copy.
    Copy {
        keys: &'k [Uuid],
    },
}

/// A transaction that has begun.
struct Begun {
    /// The public revision of each app.
    newest: Vec<Option<u64>>,
    /// The keys that are in use.
    found: Vec<Row>,
    copy: Option<Copying>,
    /// The server's current time.
    now: Timestamp,
}

/// Begins, and locks the apps in the given order; everything for the first app is one exchange.
async fn begin_and_lock(
    transaction: &Transaction,
    apps: &[AppId],
    with: With<'_>,
) -> Result<Begun, TransactionError> {
    let begin = transaction.prepare(BEGIN).await?;
    let read = if matches!(with, With::RowLock) { READ_AND_LOCK } else { READ };
    let read = transaction.prepare(read).await?;
    let look_up = transaction.prepare(UNDER_KEYS).await?;
    if let With::Copy { .. } = with {
        // Prepared now, so that it is sent without delay below.
        transaction.prepare(&COPY).await?;
    }
    let mut newest = Vec::with_capacity(apps.len());
    let (mut found, mut copy) = (Vec::new(), None);
    let mut now = Timestamp::from_millis(0);
    let lock_timeout = transaction.lock_timeout();
    for (index, app) in apps.iter().enumerate() {
        let queue = if index == 0 { SET_AND_QUEUE } else { QUEUE };
        let queue = transaction.prepare(queue).await?;
        let (number, id) = (queue_of(*app), app.uuid());
        let queue_params: Params<'_> =
            if index == 0 { &[&number, &lock_timeout] } else { &[&number] };
        let read_params: Params<'_> = &[&id];
        let begin = async {
            match index {
                0 => transaction.send(&begin, &[]).await.map(drop),
                _ => Ok(()),
            }
        };
        // Each future sends its message when first polled, and they are polled from left to right.
        let (begun, queued, read, looked_up, copying) = tokio::join!(
            biased;
            begin,
            transaction.send(&queue, queue_params),
            transaction.send(&read, read_params),
            async {
                match with {
                    With::Copy { keys } if !keys.is_empty() => {
                        transaction.send(&look_up, &[&id, &keys]).await
                    }
                    With::Copy { .. } | With::Nothing | With::RowLock => Ok(Vec::new()),
                }
            },
            async {
                match with {
                    With::Copy { .. } => transaction.copy(&COPY).await.map(Some),
                    With::Nothing | With::RowLock => Ok(None),
                }
            }
        );
        let refused = copying.is_err();
        let locked = begun.and(queued).and_then(|row| Ok((row, read?, looked_up?, copying?)));
        // The first refusal wins; if the copy was refused too, the connection is out of step.
        let (queued, row, looked_up, copying) =
            locked.map_err(|error| if refused { error.out_of_step() } else { error })?;
        newest.push(row.first().map(|row| Cells::of(row).revision()).transpose()?);
        found = looked_up;
        copy = copying.map(Box::pin);
        if let (0, Some(row)) = (index, queued.first()) {
            now = Timestamp::from_millis(Cells::after(row, SET_COLUMNS).take()?);
        }
    }
    Ok(Begun { newest, found, copy, now })
}

/// The rows of one app, and what is known about them.
#[derive(Default)]
struct Batch<'a> {
    /// With their indexes in the call.
    rows: Vec<(usize, &'a NewResponse)>,
    /// Judged at the newest public revision, the first of the call with their key, and the key is
    /// free.
    to_store: Vec<(usize, &'a NewResponse)>,
    /// The keys in use; without a digest if only the use of the key is known.
    taken: HashMap<IdempotencyKey, (ResponseId, Option<Digest>)>,
    /// Their invitation accepts no response, or was claimed by the row with this index.
    uninvited: HashMap<usize, Option<usize>>,
}

impl<'a> Batch<'a> {
    /// Locks the invitations of these rows; without any, which is usual, no query is sent.
    async fn lock_invitations(
        &self,
        transaction: &Transaction,
        app: AppId,
    ) -> Result<Locked, TransactionError> {
        let invited = self.rows.iter().filter_map(|(_, response)| response.invitation);
        let ids: Vec<Uuid> = invited.map(|invited| invited.assignment_id.uuid()).collect();
        match ids.is_empty() {
            true => Ok(Locked::new()),
            false => invitations::lock(transaction, app, &ids).await,
        }
    }

    fn claim(&mut self, newest: Option<u64>, locked: &Locked) {
        let mut keys = HashSet::new();
        let mut claimed = HashMap::new();
        let uninvited = &mut self.uninvited;
        let fresh = self.rows.iter().filter(|(_, it)| newest == Some(it.public_revision));
        let invited = |(index, it): &&(usize, &'a NewResponse)| {
            let Some(invited) = it.invitation else { return true };
            if !is_open(locked, it, invited.assignment_id) {
                uninvited.insert(*index, None);
                return false;
            }
            match claimed.entry(invited.assignment_id) {
                Entry::Occupied(by) => {
                    uninvited.insert(*index, Some(*by.get()));
                    false
                }
                Entry::Vacant(free) => {
                    free.insert(*index);
                    true
                }
            }
        };
        let first = |(_, it): &&(usize, &'a NewResponse)| {
            it.idempotency_key.is_none_or(|key| keys.insert(key))
        };
        let taken = &self.taken;
        let free = |(_, it): &&(usize, &'a NewResponse)| {
            it.idempotency_key.is_none_or(|key| !taken.contains_key(&key))
        };
        self.to_store = fresh.filter(invited).filter(first).filter(free).copied().collect();
        // In the order of the primary key: rows of a flow follow each other in the table and in its
        // index.
        self.to_store.sort_by_key(|(_, response)| (response.row.flow_id, response.row.response_id));
    }

    /// Looks up which keys are in use; without any keys no query is sent.
    async fn look_up_keys(
        &mut self,
        transaction: &Transaction,
        app: AppId,
    ) -> Result<(), TransactionError> {
        let keys: Vec<Uuid> = self.rows.iter().filter_map(|(_, it)| key_of(it)).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let found = transaction.query(UNDER_KEYS, &[&app.uuid(), &keys]).await?;
        Ok(self.note_taken(&found)?)
    }

    /// Takes note of the rows of [`UNDER_KEYS`].
    fn note_taken(&mut self, found: &[Row]) -> StoreResult<()> {
        for row in found {
            let (key, found) = under_key(&mut Cells::of(row))?;
            self.taken.insert(key, found);
        }
        Ok(())
    }

    /// The outcome row by row, as if the rows had arrived one after another.
    fn outcomes(mut self) -> Vec<(usize, Outcome)> {
        let stored: HashSet<usize> = self.to_store.iter().map(|(index, _)| *index).collect();
        let mut outcomes = Vec::with_capacity(self.rows.len());
        for (index, response) in self.rows {
            let (id, digest) = (response.row.response_id, response.row.digest);
            let taken = response.idempotency_key.and_then(|key| self.taken.get(&key));
            let outcome = match taken {
                // Without a digest, a retry cannot be distinguished from a different submission.
                Some((by, None)) => Outcome::Replayed(*by),
                Some((by, Some(theirs))) if *theirs == digest => Outcome::Replayed(*by),
                Some(_) => Outcome::KeyReused,
                None if stored.contains(&index) => {
                    self.taken
                        .extend(response.idempotency_key.map(|key| (key, (id, Some(digest)))));
                    Outcome::Stored
                }
                None => match self.uninvited.get(&index) {
                    Some(None) => Outcome::Uninvited,
                    Some(Some(by)) if stored.contains(by) => Outcome::Uninvited,
                    // The row that claimed the invitation was not stored, so it may still be free.
                    Some(Some(_)) | None => Outcome::Stale,
                },
            };
            outcomes.push((index, outcome));
        }
        outcomes
    }
}

/// Whether the invitation accepts this response, at the time it was received.
fn is_open(locked: &Locked, response: &NewResponse, id: AssignmentId) -> bool {
    let row = &response.row;
    locked.get(&id).is_some_and(|(flow, times)| {
        *flow == row.flow_id && times.state(row.response_id.made_at()).refusal().is_none()
    })
}

/// Reads a row of [`UNDER_KEYS`].
fn under_key(cells: &mut Cells) -> StoreResult<(IdempotencyKey, (ResponseId, Option<Digest>))> {
    let key = cells.id(Uuid::into_bytes)?;
    Ok((key, (cells.id(ResponseId::from_uuid)?, cells.optional_id(Uuid::into_bytes)?)))
}

/// The response that a key was used for, and its digest. A hit is an acknowledgement, so it is made
/// durable like one: the COMMIT after it is confirmed only when everything before it is.
pub(super) async fn find_by_idempotency_key(
    pool: &Arc<Pool>,
    app: AppId,
    key: &IdempotencyKey,
) -> StoreResult<Option<(ResponseId, Option<Digest>)>> {
    let keys = vec![Uuid::from_bytes(*key)];
    let params: Params = &[&app.uuid(), &keys];
    let Some((_, found)) = pool.one(UNDER_KEYS, params, under_key).await? else {
        return Ok(None);
    };
    pool.may_commit()?;
    let transaction = Transaction::on(pool).await.map_err(TransactionError::of_statement)?;
    match begin_and_lock(&transaction, &[app], With::RowLock).await {
        Ok(_) => transaction.commit().await.map_err(NotCommitted::nothing_written)?,
        Err(error) => return Err(transaction.abort(error).await.of_statement()),
    }
    Ok(Some(found))
}
