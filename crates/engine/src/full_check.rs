//! Whether a flow has all the responses that it accepts, for its public status.
//!
//! Any node may store the last response, so the number is read again from the store, at most once a
//! second, and only for flows that close after a number of responses. Once a flow is full, it stays
//! so until a change to it replaces its cached entry. While the store cannot be read, the last
//! answer is used: the status is information, the store itself refuses responses beyond the limit.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use sluice_flow::closing::Closing;
use sluice_flow::id::{AppId, FlowId};
use sluice_store::{FlowRow, Store, StoreResult};

/// How old the answer may be, in milliseconds.
const AGE_MILLIS_MAX: u64 = 1_000;
/// Stands for the time of the last check when the next one is due.
const DUE: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct FullCheck {
    app: AppId,
    flow: FlowId,
    closing: Closing,
    started: Instant,
    /// The time of the last check, in milliseconds after `started`.
    checked: AtomicU64,
    is_full: AtomicBool,
}

impl FullCheck {
    /// `None` if the flow does not close after a number of responses.
    pub(crate) async fn new(
        store: &dyn Store,
        flow: &FlowRow,
        now: Instant,
    ) -> StoreResult<Option<Self>> {
        let closing = flow.limits()?;
        if closing.close_after.is_none() {
            return Ok(None);
        }
        let (app, flow) = (flow.app_id, flow.flow_id);
        let (checked, is_full) = (AtomicU64::new(0), AtomicBool::new(false));
        let check = Self { app, flow, closing, started: now, checked, is_full };
        check.read(store).await?;
        Ok(Some(check))
    }

    /// Whether the flow is full. One caller at a time reads the store; the others get the last
    /// answer.
    pub(crate) async fn is_full(&self, store: &dyn Store, now: Instant) -> bool {
        let millis = now.saturating_duration_since(self.started).as_millis();
        let millis = u64::try_from(millis).unwrap_or(DUE - 1);
        let checked = self.checked.load(Ordering::Acquire);
        let is_due = checked == DUE || millis.saturating_sub(checked) >= AGE_MILLIS_MAX;
        if is_due
            && !self.is_full.load(Ordering::Acquire)
            && self
                .checked
                .compare_exchange(checked, millis, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
            && let Err(error) = self.read(store).await
        {
            tracing::warn!(%error, flow = %self.flow, "cannot read how many responses a flow has");
        }
        self.is_full.load(Ordering::Acquire)
    }

    /// The last answer.
    pub(crate) fn is_known_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    /// Reads the answer now, unless it is known.
    pub(crate) async fn confirm(&self, store: &dyn Store, now: Instant) {
        self.checked.store(DUE, Ordering::Release);
        self.is_full(store, now).await;
    }

    async fn read(&self, store: &dyn Store) -> StoreResult<()> {
        let found = store.read_closing_counts(self.app, &[self.flow]).await?;
        let is_full = found.first().is_none_or(|row| row.counts.closes(&self.closing));
        self.is_full.store(is_full, Ordering::Release);
        Ok(())
    }
}
