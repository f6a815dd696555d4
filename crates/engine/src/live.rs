//! Responses as they arrive, for whoever watches a flow.
//!
//! A watch looks at the store when this process has stored something, and every few seconds all the same for what
//! other nodes store. Where several write, a response may become visible after one with a later id; so each look
//! goes back a little, and what was told already is left out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::id::{FlowId, ResponseId};
use sluice_flow::time::Timestamp;
use sluice_store::{Order, ResponseQuery, ResponseRow, Scope, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult};
use crate::clock::Clock;
use crate::engine::Engine;
use crate::metrics::Metrics;
use crate::responses::{Paging, ResponseFilter};

/// Watches at once in one process.
const WATCHES_MAX: usize = 200;
/// How often it is asked whether this process has stored anything.
const TICK: Duration = Duration::from_millis(300);
/// How often others may have stored something.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// How far a look goes back.
const OVERLAP_SECONDS: i64 = 10;
/// Responses that one look tells of; where more arrive, the newest.
const ROWS_MAX: usize = 100;

/// The places of all watches of a process.
#[derive(Debug)]
pub(crate) struct Watches(Arc<Semaphore>);

impl Default for Watches {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(WATCHES_MAX)))
    }
}

/// Somebody who watches a flow.
pub struct Watch {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    query: ResponseQuery,
    /// Nothing that was received before is told.
    begun: Timestamp,
    /// What was told, as far as a look goes back.
    told: BTreeSet<ResponseId>,
    stored: u64,
    looked_at: Instant,
    _place: OwnedSemaphorePermit,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Engine {
    /// Begins a watch over the responses that pass the filter, from those on that came after the one named.
    pub async fn watch_responses(
        &self,
        actor: &Actor,
        flow: FlowId,
        filter: &ResponseFilter,
        since: Option<ResponseId>,
    ) -> AdminResult<Watch> {
        let state = self.flow_for(actor, Scope::Read, flow).await?;
        let place = Arc::clone(&self.watches.0).try_acquire_owned().map_err(|_| {
            AdminError::conflict("too_many_watches", "too many pages watch for responses at once")
        })?;
        let paging = Paging { after: None, order: Order::Desc, limit: ROWS_MAX };
        let query = self.response_query(state.flow.app_id, flow, filter, paging).await?;
        // A page without any may have missed what came while it was made.
        let begun = since.map_or(self.now().plus_seconds(-OVERLAP_SECONDS), ResponseId::made_at);
        let mut watch = Watch {
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            metrics: Arc::clone(&self.metrics),
            query,
            begun: filter.from.map_or(begun, |from| from.max(begun)),
            told: BTreeSet::new(),
            stored: 0,
            looked_at: Instant::now(),
            _place: place,
        };
        // What is there and no later than the one named was shown before; what is later is still to be told.
        for row in watch.look().await? {
            if since.is_none_or(|since| row.response_id > since) {
                watch.told.remove(&row.response_id);
            }
        }
        Ok(watch)
    }
}

impl Watch {
    /// Waits until there is something new, and gives it, oldest first.
    pub async fn next(&mut self) -> AdminResult<Vec<ResponseRow>> {
        loop {
            tokio::time::sleep(TICK).await;
            let stored = self.metrics.stored();
            if stored == self.stored && self.looked_at.elapsed() < LOOK_EVERY {
                continue;
            }
            self.stored = stored;
            let fresh = self.look().await?;
            if !fresh.is_empty() {
                return Ok(fresh);
            }
        }
    }

    /// What was not told yet.
    async fn look(&mut self) -> AdminResult<Vec<ResponseRow>> {
        self.looked_at = Instant::now();
        let back = self.clock.now().plus_seconds(-OVERLAP_SECONDS);
        self.query.from = Some(self.begun.max(back));
        let page = self.store.list_responses(&self.query).await?;
        let mut fresh = page.rows;
        fresh.reverse();
        fresh.retain(|row| self.told.insert(row.response_id));
        self.told.retain(|id| id.made_at() >= back);
        Ok(fresh)
    }
}
