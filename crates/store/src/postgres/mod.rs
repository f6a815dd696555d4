//! PostgreSQL: any number of nodes over one database, or over a cluster that looks like one.
//!
//! Reading order: [`ConnectError`] (what can go wrong at startup), `dsn`, `tls` and `link` (one
//! connection, and the settings that durability depends on), `migrations/` (the tables), `pool` and
//! `transaction` (deadlines, and outcomes in doubt), `stall`, `commit` and `apply` (writes),
//! `directory` (what all apps share) and `read/`, `citus/` (a database of several servers).
//!
//! Writes run in separate tasks, so a caller that goes away interrupts nothing. After an outcome in
//! doubt the store continues: the next write uses another connection, and the database itself has
//! settled the last one. Deliberately absent: anything that needs a superuser, an extension, a
//! sequence or a trigger.

mod admin_requests;
mod announce;
mod apply;
mod assets;
mod block_horizon;
mod by_app;
mod citus;
mod claims;
mod closing;
mod codec;
mod columns;
mod commit;
mod connect;
mod copy;
mod count_rows;
mod counts;
mod delivery_health;
mod directory;
mod dsn;
mod endpoints;
mod events;
mod expired_months;
mod expiry;
mod failure;
mod final_exchange;
mod first_exchange;
mod import_records;
mod invitations;
mod link;
mod listen;
mod mails;
mod marks;
mod page_check;
mod partitions;
mod people;
mod pool;
mod probe;
mod put;
mod read;
mod recount;
mod removal;
mod reports;
mod roles;
mod schema;
mod session;
mod short_paths;
mod sinks;
mod skip_index;
mod stall;
mod status;
mod test_responses;
mod tls;
mod tls_stream;
mod transaction;
mod view;
mod visits;

use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::{Damage, DamageMark, StoreError, StoreResult};
use pool::Pool;

pub use connect::{ConnectError, Options};

/// A store in a PostgreSQL database.
#[derive(Debug)]
pub struct PgStore {
    pool: Arc<Pool>,
    changed: Arc<Notify>,
    listens: bool,
    damage: Arc<Damage>,
    remembering: marks::Remembering,
    /// Background tasks: listening, and creating partitions.
    tasks: Vec<AbortHandle>,
}

impl PgStore {
    /// Connects to the database of `postgres://user:password@host/database`, and migrates its
    /// schema if needed. Several hosts, separated by commas, are tried in turn. TLS is used if the
    /// server offers it and required with `sslmode=require`; the certificate is always verified,
    /// against the system's roots or those of `sslrootcert=FILE`.
    ///
    /// A server that accepts the connection and then hangs is given up after `statement_deadline`.
    /// A migration and the wait for another node's migration may take longer: they last as long as
    /// the server still answers on a second connection.
    pub async fn connect(url: &str, options: Options) -> Result<Self, ConnectError> {
        let connector = connect::connector(url, options.connect_deadline)?;
        let deadline = options.statement_deadline;
        let (mut client, _driver) = connect::first(&connector, deadline).await?;
        schema::bring_up_to_date(&mut client, &connector, deadline).await?;
        let found_before = marks::read(&client, &connector, deadline).await?;
        let workers = citus::find(&client, deadline).await?.map(Arc::new);
        workers.as_deref().map_or(Ok(()), citus::must_be_durable)?;
        drop(client);
        let listens = options.listen;
        let (damage, remembering, found) = marks::Remembering::new(found_before);
        let pool = Pool::new(connector.clone(), options, workers.clone(), Arc::clone(&damage))?;
        let pool = Arc::new(pool);
        // Best effort, as on every following day and before blocks are added: startup waits no
        // longer for it.
        let prepare = async {
            partitions::make_ahead(&pool).await;
            skip_index::learn_horizon(&pool).await
        };
        let _late = tokio::time::timeout(deadline, prepare).await;
        let changed = Arc::new(Notify::new());
        remembering.start(Arc::clone(&pool), found);
        let ahead = partitions::keep_ahead(Arc::clone(&pool));
        let mut tasks = vec![tokio::spawn(ahead).abort_handle()];
        if let Some(workers) = workers {
            let asking = Arc::clone(&pool).keep_asking(workers);
            tasks.push(tokio::spawn(asking).abort_handle());
        }
        if listens {
            let listening = listen::listen(connector, Arc::clone(&changed));
            tasks.push(tokio::spawn(listening).abort_handle());
        }
        Ok(Self { pool, changed, listens, damage, remembering, tasks })
    }

    /// Connects to restore a backup. Until [`Self::end_restore`], the database is refused by every
    /// other connect, so that a restore that was interrupted does not look like a store.
    pub async fn connect_to_restore(url: &str, options: Options) -> Result<Self, ConnectError> {
        let place = connect::connector(url, options.connect_deadline)?.place();
        let store = Self::connect(url, options).await?;
        match marks::put_restoring(&store.pool).await {
            Ok(true) => Ok(store),
            Ok(false) => Err(ConnectError::Restoring { place }),
            Err(error) => Err(ConnectError::Unreachable { place, reason: error.to_string() }),
        }
    }

    /// The backup is restored completely: from now on the database can be used.
    pub async fn end_restore(&self) -> StoreResult<()> {
        marks::remove_restoring(&self.pool).await
    }

    /// Forgets the damage that was found in a database, because it was checked and is sound.
    /// Returns false if damage was found again since the mark was read. Servers that are connected
    /// to it still refuse submissions until they are restarted.
    pub async fn forget_damage(
        url: &str,
        options: Options,
        mark: &DamageMark,
    ) -> Result<bool, ConnectError> {
        let connector = connect::connector(url, options.connect_deadline)?;
        let (client, _driver) = connect::first(&connector, options.statement_deadline).await?;
        marks::forget_damage(&client, &connector, options.statement_deadline, mark).await
    }

    /// Connects for reading only. Creates nothing and migrates nothing: a database without a
    /// schema, or with an older one, is refused. The sessions are read-only, so the server refuses
    /// any write.
    pub async fn connect_to_read(url: &str, options: Options) -> Result<Self, ConnectError> {
        let connector = connect::connector(url, options.connect_deadline)?.for_reading();
        let (client, _driver) = connect::first(&connector, options.statement_deadline).await?;
        schema::must_be_current(&client, connector.place(), options.statement_deadline).await?;
        let found_before = marks::read(&client, &connector, options.statement_deadline).await?;
        let workers = citus::find(&client, options.statement_deadline).await?.map(Arc::new);
        drop(client);
        let damage = Arc::new(Damage::only(found_before));
        let pool = Arc::new(Pool::new(connector, options, workers, Arc::clone(&damage))?);
        let changed = Arc::new(Notify::new());
        let remembering = marks::Remembering::default();
        Ok(Self { pool, changed, listens: false, damage, remembering, tasks: Vec::new() })
    }
}

impl Drop for PgStore {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.remembering.abort();
    }
}

/// Runs a write to its end, whether or not its caller still waits.
async fn to_the_end<T: Send + 'static>(
    write: impl Future<Output = StoreResult<T>> + Send + 'static,
) -> StoreResult<T> {
    // Boxed, so that a task is compiled for each type of result and not for each write.
    let ended = tokio::spawn(write.boxed()).await;
    ended.unwrap_or_else(|error| Err(StoreError::InDoubt(Box::new(error))))
}
