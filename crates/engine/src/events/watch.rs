//! Follows the log of an app, for readers that wait for what comes next.

use std::sync::Arc;
use std::time::Duration;

use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{AppId, EventId};
use sluice_store::Scope;

use super::{EventPage, PAGE_BYTES_MAX, read, start};
use crate::admin::AdminResult;
use crate::boxed;
use crate::core::Core;
use crate::handle::AppHandle;
use crate::watches::WatchSlot;

/// How often the log is read while there are no new events.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A reader that waits.
pub struct EventWatch {
    core: Arc<Core>,
    app_id: AppId,
    filter: EventFilter,
    after: EventId,
    limit: usize,
    _slot: WatchSlot,
}

impl std::fmt::Debug for EventWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventWatch").finish_non_exhaustive()
    }
}

impl AppHandle {
    /// Starts to follow the log after a position; from its beginning if there is none.
    pub fn watch_events(
        &self,
        filter: EventFilter,
        after: Option<EventId>,
        limit: usize,
    ) -> AdminResult<EventWatch> {
        let core = self.permit.core(Scope::Read)?;
        let slot = core.watches.take(&self.permit.actor().name)?;
        Ok(EventWatch {
            core: Arc::clone(core),
            app_id: self.app_id(),
            filter,
            after: after.unwrap_or_else(start),
            limit,
            _slot: slot,
        })
    }
}

impl EventWatch {
    /// Waits for the next events. The page is empty if there were none within this time, or if
    /// searching the log took longer; in that case `has_more` is set.
    #[boxed]
    pub async fn next(&mut self, wait: Duration) -> AdminResult<EventPage> {
        let deadline = tokio::time::Instant::now() + wait;
        let most = (self.limit, PAGE_BYTES_MAX);
        loop {
            let page = read(&self.core, self.app_id, &self.filter, self.after, most).await?;
            self.after = page.next;
            if !page.events.is_empty() {
                return Ok(page);
            }
            if page.has_more {
                if tokio::time::Instant::now() >= deadline {
                    return Ok(page);
                }
                continue;
            }
            let next = tokio::time::Instant::now() + POLL_INTERVAL;
            if next > deadline {
                tokio::time::sleep_until(deadline).await;
                return Ok(page);
            }
            tokio::time::sleep_until(next).await;
        }
    }
}
