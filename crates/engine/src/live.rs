//! Responses as they arrive, for whoever watches a flow.
//!
//! A watch looks at the store when this process has stored something, and every few seconds all the
//! same for what other nodes store. Where several write, a response may become visible after one
//! with a later id; so each look goes back a little, and what was sent already is left out. The
//! first look goes back to where the page stands, however long ago that was: a page that nobody
//! looked at for an hour misses nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::id::ResponseId;
use sluice_flow::time::Timestamp;
use sluice_store::{Order, ResponseQuery, ResponseRow, Scope, Store};

use crate::admin::AdminResult;
use crate::clock::Clock;
use crate::handle::FlowHandle;
use crate::metrics::Metrics;
use crate::responses::{Paging, ResponseFilter, response_query};
use crate::watches::Place;
pub use crate::watches::{TOO_MANY_OF_ONE, WATCHES_OF_ONE_MAX};

/// How often it is asked whether this process has stored anything.
const TICK: Duration = Duration::from_millis(300);
/// How often others may have stored something.
const LOOK_EVERY: Duration = Duration::from_secs(3);
/// How far a look goes back.
const OVERLAP_SECONDS: i64 = 10;
/// Responses that one look tells of; where more arrive, the newest.
const ROWS_MAX: usize = 100;

/// Somebody who watches a flow.
pub struct Watch {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    query: ResponseQuery,
    /// Nothing that was received before is told.
    begun: Timestamp,
    /// What was told, as far as a look goes back.
    sent: BTreeSet<ResponseId>,
    /// What the first look found, until it is told.
    found: Vec<ResponseRow>,
    is_behind: bool,
    stored: u64,
    looked_at: Instant,
    _place: Place,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl FlowHandle {
    /// Begins a watch over the responses that pass the filter, from those on that came after the
    /// one named. What came shortly before that one is sent as well: it may not have been visible
    /// yet when the other was.
    pub async fn watch_responses(
        &self,
        filter: &ResponseFilter,
        since: Option<ResponseId>,
    ) -> AdminResult<Watch> {
        let core = self.permit.core(Scope::Read)?;
        let place = core.watches.take(&self.permit.actor().name)?;
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
            // Read before the look: what is stored during it is looked for again.
            stored: core.metrics.stored(),
            looked_at: Instant::now(),
            _place: place,
        };
        let (found, next) = watch.look(watch.begun).await?;
        watch.found = found;
        watch.is_behind = since.zip(next).is_some_and(|(since, next)| next > since);
        Ok(watch)
    }
}

impl Watch {
    /// Whether more has come than was sent: at first since the one named, and later since this was
    /// asked. Some are left out then, and a client that wants them reads the list again.
    pub fn is_behind(&mut self) -> bool {
        std::mem::take(&mut self.is_behind)
    }

    /// Waits until there is something new, and gives it, oldest first.
    pub async fn next(&mut self) -> AdminResult<Vec<ResponseRow>> {
        if !self.found.is_empty() {
            return Ok(std::mem::take(&mut self.found));
        }
        loop {
            tokio::time::sleep(TICK).await;
            let stored = self.metrics.stored();
            if stored == self.stored && self.looked_at.elapsed() < LOOK_EVERY {
                continue;
            }
            self.stored = stored;
            let back = self.clock.now().plus_seconds(-OVERLAP_SECONDS);
            let (fresh, next) = self.look(self.begun.max(back)).await?;
            self.is_behind |= next.is_some();
            if !fresh.is_empty() {
                return Ok(fresh);
            }
        }
    }

    /// What was received from then on and not sent yet; and how far back the look came, where it
    /// found more than it returns. A look that ended because what passes the filter is rare is not
    /// taken for that.
    async fn look(
        &mut self,
        from: Timestamp,
    ) -> AdminResult<(Vec<ResponseRow>, Option<ResponseId>)> {
        self.looked_at = Instant::now();
        self.query.from = Some(from);
        let page = self.store.list_responses(&self.query).await?;
        let oldest_is_new =
            page.rows.last().is_some_and(|row| !self.sent.contains(&row.response_id));
        let is_full = page.rows.len() >= ROWS_MAX && oldest_is_new;
        let next = page.next.filter(|_| is_full);
        let mut fresh = page.rows;
        fresh.reverse();
        fresh.retain(|row| self.sent.insert(row.response_id));
        // No later look goes back further.
        let back = self.clock.now().plus_seconds(-OVERLAP_SECONDS);
        self.sent.retain(|id| id.made_at() >= back);
        Ok((fresh, next))
    }
}
