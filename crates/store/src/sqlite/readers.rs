//! A few connections for reading, lent for one read at a time.
//!
//! Reads run on the runtime's blocking threads. Each one is short ([`super::read`] cuts long
//! searches into slices), since the log cannot be reset while an old read still uses it.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::connection::{self, ConnectionRole, Options};
use super::failure;
use super::open_error::OpenError;
use crate::{Damage, PoolStatus, StoreError, StoreResult};

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    role: ConnectionRole,
    options: Options,
    damage: Arc<Damage>,
    /// One permit for each concurrent read.
    permits: Arc<Semaphore>,
    /// Reads that wait for a permit.
    waiting: AtomicUsize,
    /// Open connections that are not in use. Opened when first needed.
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Readers {
    pub(super) fn new(
        path: &Path,
        role: ConnectionRole,
        options: Options,
        damage: &Arc<Damage>,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(options.readers.max(1)));
        let (path, damage) = (path.to_owned(), Arc::clone(damage));
        let waiting = AtomicUsize::new(0);
        Self { path, role, options, damage, permits, waiting, idle: Arc::default() }
    }

    /// Runs one read.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreResult<T> {
        let read: AnyRead = Box::new(move |connection| Ok(Box::new(read(connection)?)));
        result_of(self.run(read).await?)
    }

    /// For any type of result, so that it is compiled once and not for each of them.
    async fn run(&self, read: AnyRead) -> StoreResult<Box<dyn Any + Send>> {
        let permit = self.permit().await?;
        let idle = Arc::clone(&self.idle);
        let (path, role, options) = (self.path.clone(), self.role, self.options.clone());
        let damage = Arc::clone(&self.damage);
        let task = tokio::task::spawn_blocking(move || {
            // Released when the read ends, not when its caller stops waiting.
            let _permit = permit;
            let taken = lock(&idle).pop();
            let connection = match taken {
                Some(connection) => connection,
                None => connection::connect(&path, role, &options)
                    .map_err(|error| not_opened(&damage, error))?,
            };
            let result = read(&connection).map_err(|error| {
                failure::note_damage(&damage, &error);
                failure::of_read(error)
            });
            lock(&idle).push(connection);
            result
        });
        task.await.unwrap_or_else(|error| Err(StoreError::Failed(Box::new(error))))
    }

    async fn permit(&self) -> StoreResult<OwnedSemaphorePermit> {
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => Ok(permit),
            Err(TryAcquireError::Closed) => Err(StoreError::Closed),
            Err(TryAcquireError::NoPermits) => {
                self.waiting.fetch_add(1, Ordering::Relaxed);
                let _waits = Waits(&self.waiting);
                let permit = Arc::clone(&self.permits).acquire_owned().await;
                permit.map_err(|_| StoreError::Closed)
            }
        }
    }

    pub(super) fn status(&self) -> PoolStatus {
        let max = self.options.readers.max(1);
        PoolStatus {
            in_use: max.saturating_sub(self.permits.available_permits()),
            idle: lock(&self.idle).len(),
            waiting: self.waiting.load(Ordering::Relaxed),
            max,
        }
    }

    /// A separate connection, for a read that takes long.
    pub(super) async fn connect(&self) -> StoreResult<Connection> {
        if self.permits.is_closed() {
            return Err(StoreError::Closed);
        }
        let (path, role, options) = (self.path.clone(), self.role, self.options.clone());
        let connect = move || connection::connect(&path, role, &options);
        let connected = tokio::task::spawn_blocking(connect).await;
        let connected = connected.map_err(|error| StoreError::Failed(Box::new(error)))?;
        connected.map_err(|error| not_opened(&self.damage, error))
    }

    /// Waits for the reads in progress, then closes every connection.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.options.readers.max(1)).unwrap_or(u32::MAX);
        if let Ok(_permits) = self.permits.acquire_many(all).await {
            self.permits.close();
            lock(&self.idle).clear();
        }
    }
}

/// A read that waits, until this is dropped.
struct Waits<'a>(&'a AtomicUsize);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn not_opened(damage: &Damage, error: OpenError) -> StoreError {
    match error {
        OpenError::Damaged { .. } | OpenError::NotOurs { .. } => {
            damage.note(&error);
            StoreError::Damaged(error.to_string())
        }
        error => StoreError::Failed(Box::new(error)),
    }
}

/// A read with a result of any type.
pub(super) type AnyRead =
    Box<dyn FnOnce(&Connection) -> rusqlite::Result<Box<dyn Any + Send>> + Send>;

/// The result of an [`AnyRead`] that was made of a read with this type.
pub(super) fn result_of<T: 'static>(result: Box<dyn Any + Send>) -> StoreResult<T> {
    let result = result.downcast().map_err(|_| StoreError::Failed("a read of another type".into()));
    Ok(*result?)
}

/// A read that panicked has not corrupted the list: it had taken its connection out.
fn lock(idle: &Mutex<Vec<Connection>>) -> MutexGuard<'_, Vec<Connection>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}
