//! Stores many responses in one transaction: the only write on the hot path.
//!
//! Each app is first locked in shared mode against changes, so commits do not wait for each other,
//! but a publish waits for them, and they for it. Then one statement takes the free idempotency
//! keys, and a second stores the responses that got their key or have none. Both statements are per
//! app and name it, so that on a distributed database each runs on one worker; Citus refuses them
//! as one statement with a writing CTE.
//!
//! Invitations of the responses are locked before any key is taken, and completed once it is known
//! which responses are stored. Batches without invitations skip both steps.
//!
//! Every exchange with the server costs a turn of two processes, so there are as few as possible:
//! one that begins and locks, one for keys if there are any, and one that stores and commits. The
//! COMMIT is sent without waiting for the insert: if that fails, the server treats the COMMIT as a
//! rollback.
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
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};
use uuid::Uuid;

use super::claims::{self, Links};
use super::codec::{Cells, ReadCells as _};
use super::counts;
use super::failure::TransactionError;
use super::final_exchange::{COPY, Copying, FinalExchange, InsertMethod, STORE};
use super::invitations::{self, Locked};
use super::pool::Pool;
use super::skip_index;
use super::transaction::{BEGIN, NotCommitted, SET_AND_QUEUE, Transaction};
use crate::{Digest, IdempotencyKey, NewResponse, Outcome, StoreError, StoreResult};

/// How often a transaction that lost a race is tried.
const TRIES: u32 = 5;

/// Columns of [`SET_AND_QUEUE`] before the time.
const SET_COLUMNS: usize = 3;
/// For the apps after the first; see [`SET_AND_QUEUE`].
const QUEUE: &str = "SELECT pg_advisory_xact_lock_shared($1)";
/// A separate statement after the lock, so that it sees what was committed while waiting for it.
const READ: &str = "SELECT public_revision FROM apps WHERE app_id = $1";
const READ_AND_LOCK: &str = "SELECT public_revision FROM apps WHERE app_id = $1 FOR SHARE";
const UNDER_KEYS: &str =
    "SELECT key, response_id, digest FROM idempotency WHERE app_id = $1 AND key = ANY($2)";

/// `apps` is joined for its one row, so that a distributed database knows the app of the rows.
const TAKE_KEYS: &str = "INSERT INTO idempotency (app_id, key, response_id, digest) \
     SELECT apps.app_id, given.* FROM apps, unnest($2::bytea[], $3::uuid[], $4::bytea[]) AS given \
     WHERE apps.app_id = $1 ON CONFLICT (app_id, key) DO NOTHING RETURNING key";

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
    let CommitPlan { outcomes, to_store, links, way, count, unfill, old } =
        match plan(&transaction, responses).await {
            Ok(plan) => plan,
            Err(error) => return Err(transaction.abort(error).await.into()),
        };
    let responses = claims::linked(responses, &links);
    let last = FinalExchange { responses, to_store, count, unfill, old };
    match way {
        Some(InsertMethod::Copy(copy)) => {
            let copied =
                transaction.end_with(move |lease| last.copy_and_commit(copy, lease).boxed());
            copied.await?;
        }
        Some(InsertMethod::Insert(store)) => {
            let inserted =
                transaction.end_with(move |lease| last.insert_and_commit(store, lease).boxed());
            inserted.await?;
        }
        None => transaction.roll_back().await,
    }
    Ok(outcomes)
}

/// The outcome of each response, provided that the insert succeeds.
struct CommitPlan {
    outcomes: Vec<Outcome>,
    /// By app, the indexes of its rows in the call.
    to_store: Vec<(AppId, Vec<usize>)>,
    links: Links,
    /// How the rows are inserted; absent if there is nothing to commit.
    way: Option<InsertMethod>,
    /// The statement that counts them.
    count: Statement,
    /// The statement that clears the filters of blocks that they fall into, if an id is not beyond
    /// this one.
    unfill: Statement,
    old: u128,
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
    let is_plain = |it: &NewResponse| {
        it.idempotency_key.is_none() && it.claim.is_none() && it.invitation.is_none()
    };
    let plain = responses.iter().all(is_plain);
    let with = match transaction.is_spread() {
        true => With::RowLock,
        // If no key, invitation or respondent must be taken or found first, the copy starts in the
        // first exchange.
        false if plain && apps.len() == 1 => With::Copy,
        false => With::Nothing,
    };
    // Prepared before a copy starts: during it nothing else may be sent.
    let count = transaction.prepare(counts::ADD).await?;
    let unfill = transaction.prepare(skip_index::UNFILL).await?;
    let Begun { newest, copy, now } = begin_and_lock(transaction, &apps, with).await?;
    let mut outcomes = vec![Outcome::Stale; responses.len()];
    let mut to_store = Vec::with_capacity(apps.len());
    let mut links = Links::new();
    for ((app, mut batch), newest) in by_app.into_iter().zip(newest) {
        let locked = batch.lock_invitations(transaction, app).await?;
        batch.claim(newest, &locked);
        batch.take_keys(transaction, app).await?;
        batch.look_up_keys(transaction, app).await?;
        claims::settle(transaction, app, &batch.to_store, &mut links).await?;
        invitations::complete(transaction, app, batch.to_store.iter().map(|(_, it)| *it)).await?;
        to_store.push((app, batch.to_store.iter().map(|(index, _)| *index).collect()));
        for (index, outcome) in batch.outcomes() {
            outcomes[index] = outcome;
        }
    }
    let replays = |outcome: &Outcome| matches!(outcome, Outcome::Replayed(_));
    if outcomes.iter().any(replays) && !outcomes.contains(&Outcome::Stored) {
        for app in apps {
            transaction.query(READ_AND_LOCK, &[&app.uuid()]).await?;
        }
    }
    let says_stored = |outcome: &Outcome| matches!(outcome, Outcome::Stored | Outcome::Replayed(_));
    let way = match (outcomes.iter().any(says_stored), copy) {
        // A copy that was started in vain ends with a server error; the rollback reverts it.
        (false, _) => None,
        (true, Some(copy)) => Some(InsertMethod::Copy(copy)),
        (true, None) if transaction.is_spread() => {
            Some(InsertMethod::Insert(transaction.prepare(&STORE).await?))
        }
        (true, None) => Some(InsertMethod::Copy(Box::pin(transaction.copy(&COPY).await?))),
    };
    let old = v7(skip_index::old_at(now), 0, 0).as_u128();
    Ok(CommitPlan { outcomes, to_store, links, way, count, unfill, old })
}

/// What to send with the first exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Nothing,
    /// A lock on the app's row.
    RowLock,
    /// The start of a copy.
    Copy,
}

/// A transaction that has begun.
struct Begun {
    /// The public revision of each app.
    newest: Vec<Option<u64>>,
    copy: Option<Copying>,
    /// The server's current time.
    now: Timestamp,
}

/// Begins, and locks the apps in the given order; everything for the first app is one exchange.
async fn begin_and_lock(
    transaction: &Transaction,
    apps: &[AppId],
    with: With,
) -> Result<Begun, TransactionError> {
    let begin = transaction.prepare(BEGIN).await?;
    let read = if with == With::RowLock { READ_AND_LOCK } else { READ };
    let read = transaction.prepare(read).await?;
    if with == With::Copy {
        // Prepared now, so that it is sent without delay below.
        transaction.prepare(&COPY).await?;
    }
    let mut newest = Vec::with_capacity(apps.len());
    let mut copy = None;
    let mut now = Timestamp::from_millis(0);
    for (index, app) in apps.iter().enumerate() {
        let queue = if index == 0 { SET_AND_QUEUE } else { QUEUE };
        let queue = transaction.prepare(queue).await?;
        let (number, id) = (queue_of(*app), app.uuid());
        let (number, id): ([&(dyn ToSql + Sync); 1], [&(dyn ToSql + Sync); 1]) = ([&number], [&id]);
        let begin = async {
            match index {
                0 => transaction.send(&begin, &[]).await.map(drop),
                _ => Ok(()),
            }
        };
        // Each future sends its message when first polled, and they are polled from left to right.
        let (begun, queued, read, copying) = tokio::join!(
            biased;
            begin,
            transaction.send(&queue, &number),
            transaction.send(&read, &id),
            async {
                match with {
                    With::Copy => transaction.copy(&COPY).await.map(Some),
                    With::Nothing | With::RowLock => Ok(None),
                }
            }
        );
        let refused = copying.is_err();
        let locked = begun.and(queued).and_then(|row| Ok((row, read?, copying?)));
        // The first refusal wins; if the copy was refused too, the connection is out of step.
        let (queued, row, copying) =
            locked.map_err(|error| if refused { error.out_of_step() } else { error })?;
        newest.push(row.first().map(|row| Cells::of(row).revision()).transpose()?);
        copy = copying.map(Box::pin);
        if let (0, Some(row)) = (index, queued.first()) {
            now = Timestamp::from_millis(Cells::after(row, SET_COLUMNS).take()?);
        }
    }
    Ok(Begun { newest, copy, now })
}

/// The rows of one app, and what is known about them.
#[derive(Default)]
struct Batch<'a> {
    /// With their indexes in the call.
    rows: Vec<(usize, &'a NewResponse)>,
    /// Judged at the newest public revision, the first of the call with their key, and the key is
    /// free.
    to_store: Vec<(usize, &'a NewResponse)>,
    /// Without a digest if only the use of the key is known.
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
        self.to_store = fresh.filter(invited).filter(first).copied().collect();
        // Same order everywhere, so that two batches never wait for each other's keys.
        self.to_store.sort_by_key(|(_, response)| response.idempotency_key);
    }

    /// Takes the free keys; drops rows whose key was taken already from `to_store`.
    async fn take_keys(
        &mut self,
        transaction: &Transaction,
        app: AppId,
    ) -> Result<(), TransactionError> {
        let keyed = self.to_store.iter().map(|(_, it)| it);
        let keyed = keyed.filter_map(|it| Some((it.idempotency_key.as_ref()?, &it.row)));
        let (keys, rows): (Vec<&[u8]>, Vec<_>) = keyed.map(|(key, row)| (&key[..], row)).unzip();
        if keys.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = rows.iter().map(|row| row.response_id.uuid()).collect();
        let digests: Vec<&[u8]> = rows.iter().map(|row| &row.digest[..]).collect();
        let mut taken: HashSet<IdempotencyKey> = HashSet::new();
        for row in transaction.query(TAKE_KEYS, &[&app.uuid(), &keys, &ids, &digests]).await? {
            taken.insert(Cells::of(&row).hash()?);
        }
        self.to_store.retain(|(_, it)| it.idempotency_key.is_none_or(|key| taken.contains(&key)));
        Ok(())
    }

    /// Looks up the responses that own the keys that were not free.
    async fn look_up_keys(
        &mut self,
        transaction: &Transaction,
        app: AppId,
    ) -> Result<(), TransactionError> {
        let key = |(_, response): &(usize, &'a NewResponse)| response.idempotency_key;
        let own: HashSet<_> = self.to_store.iter().filter_map(key).collect();
        let keys = self.rows.iter().filter_map(|(_, response)| response.idempotency_key.as_ref());
        let keys: Vec<&[u8]> = keys.filter(|key| !own.contains(*key)).map(|it| &it[..]).collect();
        if !keys.is_empty() {
            for row in transaction.query(UNDER_KEYS, &[&app.uuid(), &keys]).await? {
                let (key, found) = under_key(&row)?;
                self.taken.insert(key, found);
            }
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

fn under_key(row: &Row) -> StoreResult<(IdempotencyKey, (ResponseId, Option<Digest>))> {
    let mut cells = Cells::of(row);
    Ok((cells.hash()?, (cells.id(ResponseId::from_uuid)?, cells.optional_hash()?)))
}

/// The response that a key was used for, and its digest. A hit is an acknowledgement, so it is made
/// durable like one: the COMMIT after it is confirmed only when everything before it is.
pub(super) async fn find_by_idempotency_key(
    pool: &Arc<Pool>,
    app: AppId,
    key: &IdempotencyKey,
) -> StoreResult<Option<(ResponseId, Option<Digest>)>> {
    let ids: (Uuid, [&[u8]; 1]) = (app.uuid(), [key]);
    let read = |cells: &mut Cells| {
        cells.hash()?;
        Ok((cells.id(ResponseId::from_uuid)?, cells.optional_hash()?))
    };
    let Some(found) = pool.one(UNDER_KEYS, &[&ids.0, &&ids.1[..]], read).await? else {
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
