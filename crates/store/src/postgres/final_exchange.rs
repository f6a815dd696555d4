//! The final exchange of a commit: sends the rows together with COMMIT.
//!
//! COMMIT does not wait until the rows are accepted. If they are refused, the server treats it as a
//! rollback. So a refusal of the rows is certain, and any other failure is in doubt.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, SinkExt};
use sluice_flow::time::Timestamp;
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::types::ToSql;
use tokio_postgres::{CopyInSink, Error, Statement};
use uuid::Uuid;

use super::announce::{ANNOUNCE, Announced, announced};
use super::by_app::{AppColumn, ByApp, groups, rows_of_one_app};
use super::columns::{Columns, arrays, names};
use super::failure::TransactionError;
use super::pool::Lease;
use super::transaction::{NotCommitted, Transaction};
use super::{copy, counts, skip_index};
use crate::counting::deltas_of;
use crate::{NewResponse, StoreError};

pub(super) static STORE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO responses (app_id, counted, {}) {}",
        names().join(", "),
        rows_of_one_app("$1::uuid, true", &arrays())
    )
});
pub(super) static COPY: LazyLock<String> = LazyLock::new(copy::statement);
/// Fails if a key is in use.
pub(super) static TAKE_KEYS: LazyLock<ByApp> =
    LazyLock::new(|| ByApp::insert("idempotency", &[("key", "uuid"), ("response_id", "uuid")], ""));

/// The idempotency key of a response, as it is stored.
pub(super) fn key_of(response: &NewResponse) -> Option<Uuid> {
    response.idempotency_key.map(Uuid::from_bytes)
}

/// A COPY that is waiting for its rows.
pub(super) type Copying = Pin<Box<CopyInSink<Bytes>>>;

/// The last exchange: stores the rows and commits.
pub(super) struct FinalExchange {
    pub(super) responses: Arc<Vec<NewResponse>>,
    /// The indexes of the rows.
    pub(super) to_store: Vec<usize>,
    pub(super) statements: Statements,
    /// The server's time, read while the apps were locked.
    pub(super) now: Timestamp,
    /// A response with an id after this one falls into no block.
    pub(super) blocks_end: u128,
}

/// What is sent after the rows.
pub(super) struct Statements {
    is_spread: bool,
    /// [`TAKE_KEYS`].
    take_keys: Statement,
    /// [`counts::ADD`]: stored rows are counted in the same transaction.
    count: Statement,
    /// [`skip_index::UNFILL`].
    unfill: Statement,
    /// [`ANNOUNCE`].
    announce: Statement,
}

impl Statements {
    pub(super) async fn prepare(transaction: &Transaction) -> Result<Self, TransactionError> {
        let is_spread = transaction.is_spread();
        Ok(Self {
            is_spread,
            take_keys: transaction.prepare(TAKE_KEYS.form(is_spread)).await?,
            count: transaction.prepare(counts::ADD.form(is_spread)).await?,
            unfill: transaction.prepare(skip_index::UNFILL).await?,
            announce: transaction.prepare(ANNOUNCE.form(is_spread)).await?,
        })
    }
}

type Ended = Result<(), NotCommitted>;
/// The apps of rows, and two columns of ids.
type IdPairs = (AppColumn, Vec<Uuid>, Vec<Uuid>);

impl FinalExchange {
    pub(super) async fn copy_and_commit(self, mut copy: Copying, lease: &Lease) -> Ended {
        let rows = copy::encode(self.to_store.iter().map(|&index| &self.responses[index]));
        copy.feed(rows).await.map_err(|error| NotCommitted::Before(error.into()))?;
        // Each future sends its message when first polled, and they are polled from left to right.
        let (copied, taken, ended) = tokio::join!(
            biased;
            copy.as_mut().finish(),
            self.take_keys(lease),
            self.finish(lease),
        );
        all_accepted(copied, self.to_store.len())?;
        taken.and(ended)
    }

    /// The rows, as groups that one statement can take.
    fn groups(&self) -> Vec<Vec<&NewResponse>> {
        let rows = self.to_store.iter().map(|&index| &self.responses[index]);
        groups(self.statements.is_spread, rows, |response| response.row.app_id)
    }

    /// The keys of the rows.
    fn keys(&self, groups: &[Vec<&NewResponse>]) -> Vec<IdPairs> {
        id_pairs(groups, self.statements.is_spread, |response| {
            Some((key_of(response)?, response.row.response_id.uuid()))
        })
    }

    /// By app, the flows and ids of rows that may fall into a block: they are stored late, or a
    /// clock was set back.
    fn late(&self) -> Vec<IdPairs> {
        let is_late =
            |response: &&NewResponse| response.row.response_id.uuid().as_u128() <= self.blocks_end;
        let rows = self.to_store.iter().map(|&index| &self.responses[index]);
        let by_app = groups(true, rows.filter(is_late), |response| response.row.app_id);
        id_pairs(&by_app, true, |NewResponse { row, .. }| {
            Some((row.flow_id.uuid(), row.response_id.uuid()))
        })
    }

    /// What the rows add to the counts.
    fn counted(&self, groups: &[Vec<&NewResponse>]) -> Vec<(AppColumn, counts::DeltaColumns)> {
        let of_group = |rows: &Vec<&NewResponse>| {
            let deltas = deltas_of(rows.iter().copied());
            let apps = deltas.iter().map(|delta| delta.key.app_id);
            let apps = AppColumn::new(self.statements.is_spread, apps);
            (apps, counts::DeltaColumns::from_deltas(&deltas))
        };
        groups.iter().map(of_group).collect()
    }

    /// For a distributed database, see [`copy`]. The keys come first: if one is in use, no row has
    /// been written in vain.
    pub(super) async fn insert_and_commit(self, store: Statement, lease: &Lease) -> Ended {
        let mut columns = Vec::new();
        for rows in self.groups() {
            let Some(first) = rows.first() else { continue };
            let of_app = rows.iter().map(|it| (&it.row, it.idempotency_key.as_ref()));
            columns.push(Columns::new(first.row.app_id, &of_app.collect::<Vec<_>>()));
        }
        let params: Vec<_> = columns.iter().map(Columns::params).collect();
        let stores = params.iter().map(|params| lease.execute(&store, params).boxed());
        // Each future sends its message when first polled, and they are polled from left to right.
        let (taken, stored, ended) = tokio::join!(
            biased;
            self.take_keys(lease),
            in_order(stores.collect()),
            self.finish(lease),
        );
        taken?;
        for (of_app, stored) in columns.iter().zip(stored) {
            all_accepted(stored, of_app.len())?;
        }
        ended
    }

    /// Takes the keys of the rows.
    async fn take_keys(&self, lease: &Lease) -> Ended {
        let keys = self.keys(&self.groups());
        let params: Vec<_> = keys.iter().map(params_of).collect();
        let statement = &self.statements.take_keys;
        let taken = params.iter().map(|params| lease.execute(statement, params).boxed());
        let taken = in_order(taken.collect()).await;
        keys.iter().zip(taken).try_for_each(|((_, keys, _), taken)| all_accepted(taken, keys.len()))
    }

    /// Sends what the rows add to the counts, clears the filters that late rows fall into,
    /// announces those that readers may have passed, and sends COMMIT after it.
    async fn finish(&self, lease: &Lease) -> Ended {
        let Statements { count, unfill, announce, is_spread, .. } = &self.statements;
        let (counted, late) = (self.counted(&self.groups()), self.late());
        let count_params: Vec<_> =
            counted.iter().map(|(apps, it)| it.params(apps.param())).collect();
        let late_params: Vec<_> = late.iter().map(params_of).collect();
        let rows = self.to_store.iter().map(|&index| &self.responses[index]);
        let late_rows = announced(*is_spread, rows, self.now);
        let announced_params: Vec<_> = late_rows.iter().map(Announced::params).collect();
        let counts = count_params.iter().map(|params| lease.execute(count, params).boxed());
        let unfilled = late_params.iter().map(|params| lease.execute(unfill, params).boxed());
        let announced =
            announced_params.iter().map(|params| lease.execute(announce, params).boxed());
        let (counts, unfilled, announced, committed) = tokio::join!(
            biased;
            in_order(counts.collect()),
            in_order(unfilled.collect()),
            in_order(announced.collect()),
            lease.batch_execute("COMMIT")
        );
        for ((_, counted), counts) in counted.iter().zip(counts) {
            all_accepted(counts, counted.len())?;
        }
        // If it was refused, so was the COMMIT.
        let refused = unfilled.into_iter().chain(announced).find_map(Result::err);
        refused.map_or(committed, Err).map_err(|error| NotCommitted::At(error.into()))
    }
}

/// The id pairs of each group; empty groups are skipped. In the same order everywhere, so that two
/// batches never wait for each other's keys.
fn id_pairs(
    groups: &[Vec<&NewResponse>],
    is_spread: bool,
    pair: impl Fn(&NewResponse) -> Option<(Uuid, Uuid)>,
) -> Vec<IdPairs> {
    let of_group = |rows: &Vec<&NewResponse>| {
        let pairs =
            rows.iter().filter_map(|it| pair(it).map(|(one, two)| (it.row.app_id, one, two)));
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        let apps = AppColumn::new(is_spread, pairs.iter().map(|(app, ..)| *app));
        let (one, two): (Vec<Uuid>, Vec<Uuid>) =
            pairs.into_iter().map(|(_, one, two)| (one, two)).unzip();
        (!one.is_empty()).then_some((apps, one, two))
    };
    groups.iter().filter_map(of_group).collect()
}

fn params_of((apps, one, two): &IdPairs) -> [&(dyn ToSql + Sync); 3] {
    [apps.param(), one, two]
}

/// Whether all rows were accepted. COMMIT is already sent: unless the server refused something
/// before it with a plain error, it may have been carried out. An error that ends the session may
/// come from a pooler that does not know what its server did.
fn all_accepted(stored: Result<u64, Error>, sent: usize) -> Ended {
    let stored = stored.map_err(|error| {
        let severity = error.as_db_error().and_then(DbError::parsed_severity);
        match severity == Some(Severity::Error) {
            true => NotCommitted::Before(error.into()),
            false => NotCommitted::At(error.into()),
        }
    })?;
    if stored != sent as u64 {
        let why = "fewer rows were stored than sent";
        return Err(NotCommitted::At(StoreError::InDoubt(why.into()).into()));
    }
    Ok(())
}

/// Sends all of these without waiting in between, in order, and waits for the answers.
pub(super) async fn in_order<T>(mut sent: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    // Each future sends its message when first polled.
    let mut ended: Vec<Option<T>> = Vec::with_capacity(sent.len());
    poll_fn(|context| {
        ended.extend(sent.iter_mut().map(|one| match one.as_mut().poll(context) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }));
        Poll::Ready(())
    })
    .await;
    let mut answers = Vec::with_capacity(sent.len());
    for (one, ended) in sent.into_iter().zip(ended) {
        answers.push(match ended {
            Some(answer) => answer,
            None => one.await,
        });
    }
    answers
}
