//! New responses as they arrive, for clients that watch a flow.
//!
//! A watch polls the store when this process has stored something, and every few seconds for
//! responses that other nodes stored. With several writers, a response may become visible after one
//! with a later id; so each poll overlaps the last, and skips responses that were already sent. The
//! first poll starts at the last response that the page has, however old: a page that was in the
//! background for an hour misses nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::id::ResponseId;
use sluice_flow::time::Timestamp;
use sluice_store::{Order, ResponseQuery, ResponseRow, Scope, Store};

use crate::admin::AdminResult;
use crate::boxed;
use crate::clock::Clock;
use crate::handle::FlowHandle;
use crate::metrics::Metrics;
use crate::responses::{Paging, ResponseFilter, response_query};
pub use crate::watches::TOO_MANY_OF_ONE;
use crate::watches::WatchSlot;

/// How often to check whether this process has stored anything.
const TICK: Duration = Duration::from_millis(300);
/// How often to poll for responses that other nodes stored.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// How far back a poll reads.
const OVERLAP_SECONDS: i64 = 10;
/// The maximum number of responses that one poll returns; if more arrive, the newest.
const ROWS_MAX: usize = 100;

/// A subscription to the new responses of a flow.
pub struct Watch {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    query: ResponseQuery,
    /// Responses received earlier are not sent.
    begun: Timestamp,
    /// The responses that were sent, as far back as a poll reads.
    sent: BTreeSet<ResponseId>,
    /// The result of the first poll, until it is sent.
    found: Vec<ResponseRow>,
    is_behind: bool,
    stored: u64,
    polled_at: Instant,
    _slot: WatchSlot,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl FlowHandle {
    /// Starts to watch the responses that pass the filter, beginning after `since`. Responses
    /// received shortly before `since` are sent as well: they may have become visible after it.
    #[boxed]
    pub async fn watch_responses(
        &self,
        filter: &ResponseFilter,
        since: Option<ResponseId>,
    ) -> AdminResult<Watch> {
        let core = self.permit.core(Scope::Read)?;
        let slot = core.watches.take(&self.permit.actor().name)?;
        let paging = Paging { after: None, order: Order::Desc, limit: ROWS_MAX };
        let query = response_query(core, self, filter, paging, None).await?;
        let begun = since.map_or(core.now(), ResponseId::made_at).plus_seconds(-OVERLAP_SECONDS);
        let mut watch = Watch {
            store: Arc::clone(&core.store),
            clock: Arc::clone(&core.clock),
            metrics: Arc::clone(&core.metrics),
            query,
            begun: filter.from.map_or(begun, |from| from.max(begun)),
            sent: since.into_iter().collect(),
            found: Vec::new(),
            is_behind: false,
            // Read before the poll, so that responses stored during it cause another poll.
            stored: core.metrics.stored(),
            polled_at: Instant::now(),
            _slot: slot,
        };
        let (found, next) = watch.poll(watch.begun).await?;
        watch.found = found;
        watch.is_behind = since.zip(next).is_some_and(|(since, next)| next > since);
        Ok(watch)
    }
}

impl Watch {
    /// Whether more responses arrived than were sent: on the first call after `since`, later after
    /// the previous call. Some are then missing, and a client that wants them reads the list again.
    pub fn is_behind(&mut self) -> bool {
        std::mem::take(&mut self.is_behind)
    }

    /// Waits for new responses and returns them, oldest first.
    #[boxed]
    pub async fn next(&mut self) -> AdminResult<Vec<ResponseRow>> {
        if !self.found.is_empty() {
            return Ok(std::mem::take(&mut self.found));
        }
        loop {
            tokio::time::sleep(TICK).await;
            let stored = self.metrics.stored();
            if stored == self.stored && self.polled_at.elapsed() < POLL_INTERVAL {
                continue;
            }
            self.stored = stored;
            let back = self.clock.now().plus_seconds(-OVERLAP_SECONDS);
            let (fresh, next) = self.poll(self.begun.max(back)).await?;
            self.is_behind |= next.is_some();
            if !fresh.is_empty() {
                return Ok(fresh);
            }
        }
    }

    /// The responses received at or after `from` that were not sent yet; and, if there are more,
    /// where to continue. A poll that ended early because few responses pass the filter does not
    /// count as having more.
    async fn poll(
        &mut self,
        from: Timestamp,
    ) -> AdminResult<(Vec<ResponseRow>, Option<ResponseId>)> {
        self.polled_at = Instant::now();
        self.query.from = Some(from);
        let page = self.store.list_responses(&self.query).await?;
        let oldest_is_new =
            page.rows.last().is_some_and(|row| !self.sent.contains(&row.response_id));
        let is_full = page.rows.len() >= ROWS_MAX && oldest_is_new;
        let next = page.next.filter(|_| is_full);
        let mut fresh = page.rows;
        fresh.reverse();
        fresh.retain(|row| self.sent.insert(row.response_id));
        // Later polls do not read further back.
        let back = self.clock.now().plus_seconds(-OVERLAP_SECONDS);
        self.sent.retain(|id| id.made_at() >= back);
        Ok((fresh, next))
    }
}
