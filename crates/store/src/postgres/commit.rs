//! Stores many responses in one transaction: the only write on the hot path.
//!
//! Each app is first locked in shared mode against changes ([`super::first_exchange`]), so commits
//! do not wait for each other, but a publish waits for them, and they for it. Then the idempotency
//! keys of the batch are looked up, or assumed to be free ([`plan`]). The responses with a free
//! key, or none, are stored, and a further statement takes their keys. If another commit took one
//! of these keys in between, that statement fails on the primary key, and everything starts again;
//! the lookup then finds the key.
//! On a distributed database all statements are per app and name it ([`super::by_app`]).
//!
//! Invitations of the responses are locked before keys are looked up, and completed once it is
//! known which responses are stored. The counts of flows that limit their responses are locked
//! after them. Batches without invitations or limits skip these steps.
//!
//! Every exchange with the server costs a turn of two processes, so there are as few as possible:
//! usually one that begins, locks and looks up, and one that stores and commits
//! ([`super::final_exchange`]). The COMMIT is sent without waiting for the insert: if that fails,
//! the server treats the COMMIT as a rollback.
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

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures_util::FutureExt;
use sluice_flow::id::{AppId, AssignmentId, ResponseId};
use sluice_flow::issue::Full;
use sluice_flow::time::Timestamp;
use tokio_postgres::{Row, Statement};
use uuid::Uuid;

use super::by_app::{AppColumn, groups};
use super::claims::{self, Links};
use super::closing;
use super::codec::{Cells, ReadCells as _};
use super::copy;
use super::failure::TransactionError;
use super::final_exchange::{COPY, Copying, FinalExchange, STORE, Statements, key_of};
use super::first_exchange::{BeginWith, Begun, UNDER_KEYS, begin, lock_rows};
use super::invitations::{self, Locked};
use super::pool::{Params, Pool};
use super::transaction::{NotCommitted, Transaction};
use crate::room::Room;
use crate::{Digest, IdempotencyKey, IfBusy, NewResponse, Outcome, StoreError, StoreResult};

/// How often a transaction that lost a race is tried.
const TRIES: u32 = 5;

/// Stores the responses that can be stored and returns the outcome of each, in order.
pub(super) async fn responses(
    pool: &Arc<Pool>,
    responses: Vec<NewResponse>,
    if_busy: IfBusy,
) -> StoreResult<Vec<Outcome>> {
    if responses.is_empty() {
        return pool.enter().await.map(|_| Vec::new());
    }
    pool.may_commit()?;
    let responses = Arc::new(responses);
    let mut tries = 0;
    loop {
        tries += 1;
        match attempt(pool, &responses, if_busy, tries == 1).await {
            Err(Lost::Race) if tries < TRIES => {}
            // Whichever app it is about, the others must not fail because of it.
            Err(Lost::Race | Lost::Refused(_)) if if_busy == IfBusy::Skip => {
                return Ok(vec![Outcome::Busy; responses.len()]);
            }
            Err(Lost::Race) => {
                let why = "lost the race against other transactions too often";
                return Err(StoreError::Failed(why.into()));
            }
            Err(Lost::Refused(error) | Lost::Error(error)) => return Err(error),
            Ok(outcomes) => return Ok(outcomes),
        }
    }
}

/// Why an attempt did not succeed.
enum Lost {
    /// It was rolled back, and may succeed the next time.
    Race,
    /// It was rolled back because of some of its rows.
    Refused(StoreError),
    Error(StoreError),
}

impl From<TransactionError> for Lost {
    fn from(error: TransactionError) -> Self {
        match error.lost_a_race() {
            true => Self::Race,
            false if error.is_about_rows() => Self::Refused(error.of_statement()),
            false => Self::Error(error.of_statement()),
        }
    }
}

impl From<NotCommitted> for Lost {
    fn from(failure: NotCommitted) -> Self {
        match failure {
            _ if failure.lost_a_race() => Self::Race,
            NotCommitted::Before(error) => Self::from(error),
            NotCommitted::At(_) => Self::Error(failure.into()),
        }
    }
}

/// The first attempt may assume that keys are free, see [`plan`].
async fn attempt(
    pool: &Arc<Pool>,
    responses: &Arc<Vec<NewResponse>>,
    if_busy: IfBusy,
    is_first_attempt: bool,
) -> Result<Vec<Outcome>, Lost> {
    let transaction = Transaction::on(pool).await?;
    let CommitPlan { outcomes, to_store, links, way, statements, now } =
        match plan(&transaction, responses, if_busy, is_first_attempt).await {
            Ok(plan) => plan,
            Err(error) => return Err(transaction.abort(error).await.into()),
        };
    let responses = claims::linked(responses, &links);
    let blocks_end = pool.block_horizon().at(now);
    let last = FinalExchange { responses, to_store, statements, now, blocks_end };
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
    /// The indexes of the rows in the call.
    to_store: Vec<usize>,
    links: Links,
    way: Ending,
    statements: Statements,
    /// The server's time, read while the apps were locked.
    now: Timestamp,
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

/// On a distributed database a lookup of keys is one more statement for each app, and nearly all
/// keys are free. So the first attempt to store plain rows has none: if a key is in use, taking it
/// fails, and the next attempt looks up.
async fn plan(
    transaction: &Transaction,
    responses: &[NewResponse],
    if_busy: IfBusy,
    is_first_attempt: bool,
) -> Result<CommitPlan, TransactionError> {
    let apps: BTreeSet<AppId> = responses.iter().map(|it| it.row.app_id).collect();
    let apps: Vec<AppId> = apps.into_iter().collect();
    // If no invitation, respondent or limit must be found first, the copy starts in the first
    // exchange.
    let is_plain =
        |it: &NewResponse| it.claim.is_none() && it.invitation.is_none() && it.limits.is_empty();
    let are_plain = responses.iter().all(is_plain);
    let is_first = !transaction.is_spread() && are_plain;
    let (of_keys, keys) = keys_of(false, responses.iter());
    let with = match is_first {
        true => BeginWith::Copy { apps: &of_keys, keys: &keys },
        false => BeginWith::Nothing,
    };
    // Prepared before a copy starts: during it nothing else may be sent.
    let statements = Statements::prepare(transaction).await?;
    let Begun { newest, found, copy, now, .. } = begin(transaction, &apps, if_busy, with).await?;
    let mut batch =
        Batch { rows: responses.iter().enumerate().collect(), newest, ..Batch::default() };
    let locked = batch.lock_invitations(transaction).await?;
    batch.room = closing::lock(transaction, batch.locked_rows()).await?;
    // A row that is not stored needs the lookup: taking its key is not tried.
    let takes_every_key = is_first_attempt && are_plain && batch.are_fresh();
    match is_first {
        true => batch.note_taken(&found)?,
        false if takes_every_key => {}
        false => batch.look_up_keys(transaction).await?,
    }
    batch.claim(&locked);
    let mut links = Links::new();
    claims::settle(transaction, &batch.to_store, &mut links).await?;
    batch.complete_invitations(transaction).await?;
    closing::write(transaction, std::mem::take(&mut batch.room)).await?;
    let to_store = batch.to_store.iter().map(|(index, _)| *index).collect();
    let outcomes = batch.outcomes();
    let way = ending(transaction, responses, &outcomes, copy).await?;
    Ok(CommitPlan { outcomes, to_store, links, way, statements, now })
}

/// The keys of rows, with their apps.
fn keys_of<'r>(
    is_spread: bool,
    rows: impl Iterator<Item = &'r NewResponse> + Clone,
) -> (AppColumn, Vec<Uuid>) {
    let keyed = rows.filter(|it| it.idempotency_key.is_some());
    let apps = AppColumn::new(is_spread, keyed.clone().map(|it| it.row.app_id));
    (apps, keyed.filter_map(key_of).collect())
}

async fn ending(
    transaction: &Transaction,
    responses: &[NewResponse],
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
        transaction.end_copy(copy, copy::encode(std::iter::empty())).await?;
    }
    let replayed = outcomes.iter().zip(responses).filter(|(outcome, _)| is_replay(outcome));
    let apps: BTreeSet<AppId> = replayed.map(|(_, it)| it.row.app_id).collect();
    // One write is enough on one server.
    let servers = if transaction.is_spread() { apps.len() } else { 1 };
    lock_rows(transaction, apps.into_iter().take(servers)).await?;
    Ok(Ending::Commit)
}

/// A key of an app.
type KeyOfApp = (AppId, IdempotencyKey);

/// The rows of a call, and what is known about them.
#[derive(Default)]
struct Batch<'a> {
    /// With their indexes in the call.
    rows: Vec<(usize, &'a NewResponse)>,
    /// The public revision of each app that is locked; rows of other apps are left out.
    newest: HashMap<AppId, Option<u64>>,
    /// Judged at the newest public revision, the first of the call with their key, and the key is
    /// free.
    to_store: Vec<(usize, &'a NewResponse)>,
    /// The keys in use; without a digest if only the use of the key is known.
    taken: HashMap<KeyOfApp, (ResponseId, Option<Digest>)>,
    /// Their invitation accepts no response, or was claimed by the row with this index.
    uninvited: HashMap<usize, Option<usize>>,
    /// The room in flows that limit their responses.
    room: Room,
    /// The flow of these has no room for them.
    full: HashMap<usize, Full>,
}

impl<'a> Batch<'a> {
    /// The rows of apps that are locked.
    fn locked_rows(&self) -> impl Iterator<Item = &'a NewResponse> {
        let rows = self.rows.iter().map(|(_, it)| *it);
        rows.filter(|it| self.newest.contains_key(&it.row.app_id))
    }

    /// Whether all rows of apps that are locked were judged at the newest public revision.
    fn are_fresh(&self) -> bool {
        let is_fresh =
            |it: &NewResponse| self.newest.get(&it.row.app_id) == Some(&Some(it.public_revision));
        self.locked_rows().all(is_fresh)
    }

    /// Locks the invitations of these rows; without any, which is usual, no query is sent.
    async fn lock_invitations(
        &self,
        transaction: &Transaction,
    ) -> Result<Locked, TransactionError> {
        let mut by_app: BTreeMap<AppId, Vec<Uuid>> = BTreeMap::new();
        for response in self.locked_rows() {
            if let Some(invited) = response.invitation {
                let ids = by_app.entry(response.row.app_id).or_default();
                ids.push(invited.assignment_id.uuid());
            }
        }
        let mut locked = Locked::new();
        for (app, ids) in by_app {
            locked.extend(invitations::lock(transaction, app, &ids).await?);
        }
        Ok(locked)
    }

    async fn complete_invitations(
        &self,
        transaction: &Transaction,
    ) -> Result<(), TransactionError> {
        let invited = self.to_store.iter().map(|(_, it)| *it).filter(|it| it.invitation.is_some());
        for rows in groups(true, invited, |it| it.row.app_id) {
            let Some(first) = rows.first() else { continue };
            invitations::complete(transaction, first.row.app_id, rows.iter().copied()).await?;
        }
        Ok(())
    }

    fn claim(&mut self, locked: &Locked) {
        let mut keys = HashSet::new();
        let mut claimed = HashMap::new();
        let (uninvited, newest) = (&mut self.uninvited, &self.newest);
        // Later rows do not get the room that a row takes.
        let (full, room) = (&mut self.full, RefCell::new(&mut self.room));
        let has_room = |(index, it): &&(usize, &'a NewResponse)| {
            let refusal = room.borrow().full(it);
            full.extend(refusal.map(|refusal| (*index, refusal)));
            refusal.is_none()
        };
        let is_fresh = |(_, it): &&(usize, &'a NewResponse)| {
            newest.get(&it.row.app_id) == Some(&Some(it.public_revision))
        };
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
        let taken = &self.taken;
        let is_free = |(_, it): &&(usize, &'a NewResponse)| {
            key_of_app(it).is_none_or(|key| keys.insert(key) && !taken.contains_key(&key))
        };
        let rows = self.rows.iter().filter(is_fresh).filter(has_room);
        let to_store = rows.filter(invited).filter(is_free);
        let to_store = to_store.inspect(|(_, it)| room.borrow_mut().take(it));
        self.to_store = to_store.copied().collect();
        // In the order of the primary key: rows of a flow follow each other in the table and in its
        // index.
        self.to_store
            .sort_by_key(|(_, NewResponse { row, .. })| (row.app_id, row.flow_id, row.response_id));
    }

    /// Looks up which keys are in use; without any keys no query is sent.
    async fn look_up_keys(&mut self, transaction: &Transaction) -> Result<(), TransactionError> {
        let is_spread = transaction.is_spread();
        let keyed = self.locked_rows().filter(|it| it.idempotency_key.is_some());
        for rows in groups(is_spread, keyed, |it| it.row.app_id) {
            let (apps, keys) = keys_of(is_spread, rows.into_iter());
            let found =
                transaction.query(UNDER_KEYS.form(is_spread), &[apps.param(), &keys]).await?;
            self.note_taken(&found)?;
        }
        Ok(())
    }

    /// Records the rows of [`UNDER_KEYS`].
    fn note_taken(&mut self, found: &[Row]) -> StoreResult<()> {
        for row in found {
            let (key, found) = under_key(&mut Cells::new(row))?;
            self.taken.insert(key, found);
        }
        Ok(())
    }

    /// The outcome row by row, as if the rows had arrived one after another.
    fn outcomes(mut self) -> Vec<Outcome> {
        let stored: HashSet<usize> = self.to_store.iter().map(|(index, _)| *index).collect();
        let mut outcomes = Vec::with_capacity(self.rows.len());
        for (index, response) in self.rows {
            let (id, digest) = (response.row.response_id, response.row.digest);
            let key = key_of_app(response);
            let taken = key.and_then(|key| self.taken.get(&key));
            outcomes.push(match taken {
                _ if !self.newest.contains_key(&response.row.app_id) => Outcome::Busy,
                // Without a digest, a retry cannot be distinguished from a different submission.
                Some((by, None)) => Outcome::Replayed(*by),
                Some((by, Some(theirs))) if *theirs == digest => Outcome::Replayed(*by),
                Some(_) => Outcome::KeyReused,
                None if stored.contains(&index) => {
                    self.taken.extend(key.map(|key| (key, (id, Some(digest)))));
                    Outcome::Stored
                }
                None => match self.uninvited.get(&index) {
                    _ if self.full.contains_key(&index) => Outcome::Full(self.full[&index]),
                    Some(None) => Outcome::Uninvited,
                    Some(Some(by)) if stored.contains(by) => Outcome::Uninvited,
                    // The row that claimed the invitation was not stored, so it may still be free.
                    Some(Some(_)) | None => Outcome::Stale,
                },
            });
        }
        outcomes
    }
}

fn key_of_app(response: &NewResponse) -> Option<KeyOfApp> {
    response.idempotency_key.map(|key| (response.row.app_id, key))
}

/// Whether the invitation accepts this response, at the time it was received.
fn is_open(locked: &Locked, response: &NewResponse, id: AssignmentId) -> bool {
    let row = &response.row;
    locked.get(&id).is_some_and(|(flow, times)| {
        *flow == row.flow_id && times.state(row.response_id.made_at()).refusal().is_none()
    })
}

/// Reads a row of [`UNDER_KEYS`].
fn under_key(cells: &mut Cells) -> StoreResult<(KeyOfApp, (ResponseId, Option<Digest>))> {
    let key = (cells.id(AppId::from_uuid)?, cells.id(Uuid::into_bytes)?);
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
    let Some((_, found)) = pool.one(&UNDER_KEYS.one, params, under_key).await? else {
        return Ok(None);
    };
    pool.may_commit()?;
    let transaction = Transaction::on(pool).await.map_err(TransactionError::of_statement)?;
    let locked = async {
        begin(&transaction, &[app], IfBusy::Wait, BeginWith::Nothing).await?;
        lock_rows(&transaction, [app].into_iter()).await
    };
    match locked.await {
        Ok(()) => transaction.commit().await.map_err(NotCommitted::nothing_written)?,
        Err(error) => return Err(transaction.abort(error).await.of_statement()),
    }
    Ok(Some(found))
}
