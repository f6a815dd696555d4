//! A Citus cluster: a coordinator that all nodes of the service connect to, and workers that have
//! the tables of apps.
//!
//! Everything here runs only if the database has the extension and tables are distributed with it.
//! Other code needs only [`super::pool::Pool::is_spread`].

mod layout;
mod shards;
mod workers;

use std::time::Duration;

use tokio_postgres::Client;

use super::connect::{self, ConnectError};
use super::failure::RedactedError;

pub(super) use workers::{WeakWorker, Workers, ask, open_since, set_up};

/// The workers if tables are distributed with Citus. Refuses a cluster on which a table is not
/// where it belongs.
pub(super) async fn find(
    client: &Client,
    deadline: Duration,
) -> Result<Option<Workers>, ConnectError> {
    let unanswered = |error: tokio_postgres::Error| ConnectError::Unreachable {
        place: "the coordinator of Citus".to_owned(),
        reason: RedactedError::new(&error).to_string(),
    };
    let placed = connect::answered(deadline, layout::check(client)).await?.map_err(unanswered)?;
    if !placed? {
        return Ok(None);
    }
    let workers = Workers::default();
    let asked = workers::ask(client, &workers);
    connect::answered(deadline, asked).await?.map_err(unanswered)?;
    Ok(Some(workers))
}

/// Refuses a cluster with a worker that could lose acknowledged rows.
pub(super) fn must_be_durable(workers: &Workers) -> Result<(), ConnectError> {
    match workers.weak() {
        None => Ok(()),
        Some(WeakWorker { worker, found }) => Err(ConnectError::WorkerNotDurable { worker, found }),
    }
}
