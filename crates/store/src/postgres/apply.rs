//! One change: its rows, and the revisions and feed position that announce it.
//!
//! The revisions and the feed are updated only here. An app's public revision *is* the feed
//! position of its last public change. The feed is one row, locked by its writer until the commit.
//! So positions become visible in order, and public changes (but not submissions) are serialised.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_flow::id::AppId;

use super::admin_requests;
use super::assets;
use super::closing;
use super::codec::{Cells, ReadCells as _};
use super::counts;
use super::endpoints;
use super::events;
use super::failure::TransactionError;
use super::first_exchange::queue_of;
use super::invitations;
use super::listen::CHANNEL;
use super::mails;
use super::people;
use super::pool::Pool;
use super::put;
use super::removal;
use super::reports;
use super::short_paths;
use super::test_responses;
use super::transaction::{LOCK, QUEUE, Transaction, end};
use crate::{At, Change, PeopleWrite, StoreError, StoreResult, Write};

/// The queue for writing the first app or token; it belongs to no app.
const FIRST_QUEUE: i64 = i64::from_be_bytes(*b"sluice 1");

/// Writes the rows that `change` makes, provided that the app has not changed.
pub(super) async fn change(pool: &Arc<Pool>, at: At, change: Change) -> StoreResult<()> {
    pool.may_commit()?;
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    match write(&transaction, at, change).await {
        Ok(Written::Nothing) => {
            transaction.roll_back().await;
            Ok(())
        }
        Ok(Written::Rows(removed)) => {
            end(transaction, Ok(())).await?;
            if let Some(app) = removed {
                counts::fold_removals(pool, app).await;
            }
            Ok(())
        }
        Err(error) => end(transaction, Err(error)).await,
    }
}

enum Written {
    /// With the app from which a response was removed, if any.
    Rows(Option<AppId>),
    /// There were no rows.
    Nothing,
}

async fn write(
    transaction: &Transaction,
    at: At,
    change: Change,
) -> Result<Written, TransactionError> {
    let mut touched = TouchedApps::default();
    let as_expected = match at {
        At::App { app, expected } => {
            transaction.query(QUEUE, &[&queue_of(app)]).await?;
            let found = transaction.query(LOCK, &[&app.uuid()]).await?;
            touched.note(app, false);
            found.first().map(|row| Cells::new(row).revision()).transpose()? == Some(expected)
        }
        At::Instance => true,
        At::FirstApp => {
            is_empty(transaction, "SELECT NOT EXISTS (SELECT FROM app_directory)").await?
        }
        At::FirstToken => is_empty(transaction, "SELECT NOT EXISTS (SELECT FROM tokens)").await?,
        At::People { expected } => people::advance(transaction, expected).await?,
    };
    if !as_expected {
        return Err(StoreError::Conflict.into());
    }
    // The change is the caller's code: it may block for a short time, and a panic in it must not
    // stop the store.
    let mut writes = tokio::task::spawn_blocking(|| change.rows())
        .await
        .map_err(|_| StoreError::Failed("the change panicked".into()))?;
    if writes.is_empty() {
        return Ok(Written::Nothing);
    }
    writes.sort_by_key(rank);
    let mut removed = None;
    let locked = match at {
        At::App { app, .. } => Some(app),
        At::Instance | At::FirstApp | At::FirstToken | At::People { .. } => None,
    };
    for row in &writes {
        if let Some(app) = put_one(transaction, row, locked).await? {
            touched.note(app, row.is_public());
            removed = removed.or(matches!(row, Write::DeleteResponse(_)).then_some(app));
        }
    }
    touched.advance(transaction).await?;
    Ok(Written::Rows(removed))
}

/// Whether a table has no row. Callers that would write its first row check one after another, and
/// each sees what the one before it has committed.
async fn is_empty(transaction: &Transaction, sql: &str) -> Result<bool, TransactionError> {
    transaction.query(QUEUE, &[&FIRST_QUEUE]).await?;
    let rows = transaction.query(sql, &[]).await?;
    let empty = rows.first().map(|row| Cells::new(row).take()).transpose()?;
    Ok(empty.unwrap_or(false))
}

/// Referenced rows come first.
fn rank(write: &Write) -> u8 {
    match write {
        Write::App(_) | Write::People(PeopleWrite::User(_)) => 0,
        Write::Key(_) | Write::IdentityKey(_) | Write::Flow(_) | Write::Token(_) => 1,
        Write::Version(_) => 2,
        Write::CapGrace(_)
        | Write::Audit(_)
        | Write::DeleteResponse(_)
        | Write::Invitations(_)
        | Write::Invitation(_)
        | Write::Report(_)
        | Write::DeleteReport(..)
        | Write::Closing(_)
        | Write::DeleteShortPath(..)
        | Write::ShortPath(_)
        | Write::Test(_)
        | Write::Mail(_)
        | Write::HoldOutbound(_)
        | Write::AdminRequest(_)
        | Write::Asset(_)
        | Write::DeleteAsset(..)
        | Write::Event(_)
        | Write::Endpoint(_)
        | Write::People(_) => 3,
    }
}

/// Writes one row; returns the app whose state it belongs to, if any. `locked` is the app that the
/// change is about.
async fn put_one(
    transaction: &Transaction,
    write: &Write,
    locked: Option<AppId>,
) -> Result<Option<AppId>, TransactionError> {
    match write {
        Write::App(row) => put::app(transaction, row).await.map(|()| Some(row.app_id)),
        Write::Key(row) => put::key(transaction, row).await.map(|()| Some(row.app_id)),
        Write::IdentityKey(row) => {
            put::identity_key(transaction, row).await.map(|()| Some(row.app_id))
        }
        Write::Flow(row) => put::flow(transaction, row).await.map(|()| Some(row.app_id)),
        Write::Version(row) => put::version(transaction, row).await.map(|()| Some(row.app_id)),
        Write::CapGrace(cap) => put::grace_cap(transaction, cap).await.map(|()| Some(cap.app_id)),
        Write::Token(row) => put::token(transaction, row).await.map(|()| None),
        Write::Audit(row) => put::audit(transaction, row).await.map(|()| None),
        Write::DeleteResponse(response) => removal::response(transaction, *response, locked).await,
        Write::Invitations(rows) => {
            invitations::add(transaction, rows).await?;
            Ok(rows.first().map(|row| row.app_id))
        }
        Write::Invitation(step) => invitations::step(transaction, step).await,
        Write::Report(row) => reports::put(transaction, row).await.map(|()| Some(row.app_id)),
        Write::DeleteReport(app, report) => {
            reports::delete(transaction, *app, *report).await.map(|()| Some(*app))
        }
        Write::Closing(write) => closing::change(transaction, write).await,
        Write::ShortPath(row) => {
            short_paths::put(transaction, row).await.map(|()| Some(row.app_id))
        }
        Write::DeleteShortPath(app, flow) => {
            short_paths::delete(transaction, *app, *flow).await.map(|()| Some(*app))
        }
        Write::Test(write) => test_responses::change(transaction, write).await.map(|()| None),
        Write::Mail(write) => mails::change(transaction, write).await.map(|()| None),
        Write::AdminRequest(write) => {
            admin_requests::change(transaction, write).await.map(|()| None)
        }
        Write::HoldOutbound(at) => mails::hold(transaction, *at).await.map(|()| None),
        Write::Asset(row) => assets::put(transaction, row).await.map(|()| Some(row.app_id)),
        Write::DeleteAsset(app, asset) => {
            assets::delete(transaction, *app, *asset).await.map(|()| Some(*app))
        }
        // Like an audit entry, it changes nothing of the app.
        Write::Event(row) => events::add(transaction, row).await.map(|()| None),
        Write::Endpoint(write) => endpoints::change(transaction, write).await.map(Some),
        Write::People(write) => people::put(transaction, write).await.map(|()| None),
    }
}

/// The apps that a change touches, and whether the public API can see it.
#[derive(Debug, Default)]
struct TouchedApps(BTreeMap<AppId, bool>);

impl TouchedApps {
    fn note(&mut self, app: AppId, public: bool) {
        *self.0.entry(app).or_default() |= public;
    }

    async fn advance(self, transaction: &Transaction) -> Result<(), TransactionError> {
        let position = match self.0.values().any(|public| *public) {
            true => next_position(transaction).await?,
            false => None,
        };
        let sql = "UPDATE apps SET revision = revision + 1, \
             public_revision = coalesce($2, public_revision) WHERE app_id = $1 \
             RETURNING revision, public_revision";
        for (app, public) in self.0 {
            let position = position.filter(|_| public);
            for row in transaction.query(sql, &[&app.uuid(), &position]).await? {
                let mut cells = Cells::new(&row);
                let revisions = (cells.take()?, cells.take()?);
                put::listed_revisions(transaction, app, revisions).await?;
            }
        }
        Ok(())
    }
}

/// Takes the next feed position, and announces it when the transaction commits.
async fn next_position(transaction: &Transaction) -> Result<Option<i64>, TransactionError> {
    let next = "UPDATE feed SET position = position + 1 RETURNING position";
    let rows = transaction.query(next, &[]).await?;
    transaction.query("SELECT pg_notify($1, '')", &[&CHANNEL]).await?;
    Ok(rows.first().map(|row| Cells::new(row).take()).transpose()?)
}
