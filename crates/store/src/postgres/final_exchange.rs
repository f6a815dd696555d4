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
use sluice_flow::id::AppId;
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::types::ToSql;
use tokio_postgres::{CopyInSink, Error, Statement};
use uuid::Uuid;

use super::columns::{Columns, given, names};
use super::pool::Lease;
use super::transaction::NotCommitted;
use super::{copy, counts};
use crate::counting::deltas_of;
use crate::{NewResponse, StoreError};

pub(super) static STORE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO responses (app_id, {}, counted) SELECT apps.app_id, given.*, true \
         FROM apps, {} WHERE apps.app_id = $1",
        names().join(", "),
        given()
    )
});
pub(super) static COPY: LazyLock<String> = LazyLock::new(copy::statement);

/// A COPY that is waiting for its rows.
pub(super) type Copying = Pin<Box<CopyInSink<Bytes>>>;

/// The last exchange: stores the rows and commits.
pub(super) struct FinalExchange {
    pub(super) responses: Arc<Vec<NewResponse>>,
    pub(super) to_store: Vec<(AppId, Vec<usize>)>,
    /// [`counts::ADD`]: stored rows are counted in the same transaction.
    pub(super) count: Statement,
    /// [`skip_index::UNFILL`], for responses with ids not beyond `old`.
    pub(super) unfill: Statement,
    pub(super) old: u128,
}

/// How rows are inserted. Prepared earlier, since a failure before COMMIT is sent leaves no doubt.
pub(super) enum InsertMethod {
    Copy(Copying),
    Insert(Statement),
}

type Ended = Result<(), NotCommitted>;

impl FinalExchange {
    pub(super) async fn copy_and_commit(self, mut copy: Copying, lease: &Lease) -> Ended {
        let indexes = self.to_store.iter().flat_map(|(_, indexes)| indexes);
        let sent = indexes.clone().count();
        let rows = copy::of(indexes.map(|&index| &self.responses[index]));
        copy.feed(rows).await.map_err(|error| NotCommitted::Before(error.into()))?;
        let counted = self.counted();
        let late = self.late();
        // Each future sends its message when first polled, and they are polled from left to right.
        let (copied, (counts, committed)) = tokio::join!(
            biased;
            copy.as_mut().finish(),
            self.count_and_commit(&counted, &late, lease),
        );
        settled(copied, sent)?;
        for (of_app, counts) in counted.iter().zip(counts) {
            settled(counts, of_app.1.len())?;
        }
        committed.map_err(|error| NotCommitted::At(error.into()))
    }

    /// What the rows of each app add to the counts.
    fn counted(&self) -> Vec<(Uuid, counts::DeltaColumns)> {
        let of_app = |(app, indexes): &(AppId, Vec<usize>)| {
            let rows = indexes.iter().map(|&index| &self.responses[index]);
            (app.uuid(), counts::DeltaColumns::of(&deltas_of(rows)))
        };
        self.to_store.iter().filter(|(_, indexes)| !indexes.is_empty()).map(of_app).collect()
    }

    /// By app, the flows and ids of rows stored so late that they may fall into a block.
    fn late(&self) -> Vec<(Uuid, Vec<Uuid>, Vec<Uuid>)> {
        let of_app = |(app, indexes): &(AppId, Vec<usize>)| {
            let rows = indexes.iter().map(|&index| &self.responses[index].row);
            let late = rows.filter(|row| row.response_id.uuid().as_u128() <= self.old);
            let (flows, ids): (Vec<Uuid>, Vec<Uuid>) =
                late.map(|row| (row.flow_id.uuid(), row.response_id.uuid())).unzip();
            (!ids.is_empty()).then(|| (app.uuid(), flows, ids))
        };
        self.to_store.iter().filter_map(of_app).collect()
    }

    pub(super) async fn insert_and_commit(self, store: Statement, lease: &Lease) -> Ended {
        let of_app = |(app, indexes): &(AppId, Vec<usize>)| {
            let rows = indexes.iter().map(|&index| &self.responses[index]);
            let rows: Vec<_> = rows.map(|it| (&it.row, it.idempotency_key.as_ref())).collect();
            Columns::of(*app, &rows)
        };
        let columns: Vec<_> =
            self.to_store.iter().filter(|(_, indexes)| !indexes.is_empty()).map(of_app).collect();
        let params: Vec<_> = columns.iter().map(Columns::params).collect();
        let stores = params.iter().map(|params| lease.execute(&store, params).boxed());
        let counted = self.counted();
        let late = self.late();
        // Each future sends its message when first polled, and they are polled from left to right.
        let (stored, (counts, committed)) = tokio::join!(
            biased;
            in_order(stores.collect()),
            self.count_and_commit(&counted, &late, lease),
        );
        for (of_app, stored) in columns.iter().zip(stored) {
            settled(stored, of_app.len())?;
        }
        for (of_app, counts) in counted.iter().zip(counts) {
            settled(counts, of_app.1.len())?;
        }
        committed.map_err(|error| NotCommitted::At(error.into()))
    }

    /// Sends what the rows of each app add to the counts, clears the filters that late rows fall
    /// into, and sends COMMIT after it.
    async fn count_and_commit(
        &self,
        counted: &[(Uuid, counts::DeltaColumns)],
        late: &[(Uuid, Vec<Uuid>, Vec<Uuid>)],
        lease: &Lease,
    ) -> (Vec<Result<u64, Error>>, Result<(), Error>) {
        let params: Vec<_> = counted.iter().map(|(app, it)| it.params(app, &false)).collect();
        let counts = params.iter().map(|params| lease.execute(&self.count, params).boxed());
        let late: Vec<[&(dyn ToSql + Sync); 3]> =
            late.iter().map(|(app, flows, ids)| [app as _, flows as _, ids as _]).collect();
        let late = late.iter().map(|params| lease.execute(&self.unfill, params).boxed());
        let (counts, late, committed) = tokio::join!(
            biased;
            in_order(counts.collect()),
            in_order(late.collect()),
            lease.batch_execute("COMMIT")
        );
        // If it was refused, so was the COMMIT.
        let refused = late.into_iter().find_map(Result::err);
        (counts, refused.map_or(committed, Err))
    }
}

/// Whether all rows were accepted. COMMIT is already sent: unless the server refused something
/// before it with a plain error, it may have been carried out. An error that ends the session may
/// come from a pooler that does not know what its server did.
fn settled(stored: Result<u64, Error>, sent: usize) -> Ended {
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
async fn in_order<T>(mut sent: Vec<BoxFuture<'_, T>>) -> Vec<T> {
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
