//! What holds for all writes of one administrator's request: the claim of its idempotency key, and
//! the condition that it sets on the current state.
//!
//! The transport runs a handler within a scope, and [`crate::core::Core::apply`], which every use
//! case writes through, reads it. So a use case neither knows about keys and conditions nor can
//! forget them. Work that outlives the request (background tasks) is outside of it.
//!
//! A condition is about what a reader sees, which is more than one row, so the store cannot compare
//! it. Instead it is evaluated between two reads of the revision that the change is based on. If
//! both are that revision, the state that was judged is the one that the store then requires, in
//! the transaction of the change: nothing can come in between, from any process.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::boxed;
use sluice_flow::time::Timestamp;
use sluice_store::{AdminRequestWrite, At, Change, Store, StoreError, StoreResult, Write};
use uuid::Uuid;

tokio::task_local! {
    static CURRENT: Arc<RequestScope>;
}

/// What a request requires of the current state before it changes anything.
pub trait Condition: Send + Sync {
    fn holds(&self) -> Pin<Box<dyn Future<Output = StoreResult<bool>> + Send + '_>>;
}

/// The scope of one request.
#[derive(Default)]
pub struct RequestScope {
    /// The ids of the request and of its claim.
    claim: Option<(Uuid, Uuid)>,
    condition: OnceLock<Box<dyn Condition>>,
    /// Whether the change that is being written has rows.
    has_rows: Arc<AtomicBool>,
    state: Mutex<RequestState>,
}

/// What is known about a request so far.
#[derive(Debug, Clone, Copy, Default)]
struct RequestState {
    /// Whether the condition held when it was needed; absent until then.
    held: Option<bool>,
    /// Whether rows of the request were written, or something was sent.
    applied: bool,
    /// What the last written change was based on.
    written: Option<At>,
}

impl fmt::Debug for RequestScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RequestScope");
        shown.field("claim", &self.claim).field("state", &self.state()).finish_non_exhaustive()
    }
}

impl RequestScope {
    pub(crate) fn claimed(request_id: Uuid, claim: Uuid) -> Self {
        Self { claim: Some((request_id, claim)), ..Self::default() }
    }

    /// The scope of the request that is being handled, or a new one.
    pub fn current_or_new() -> Arc<Self> {
        Self::current().unwrap_or_default()
    }

    pub(crate) fn current() -> Option<Arc<Self>> {
        CURRENT.try_with(Arc::clone).ok()
    }

    /// Whether the condition of the current request does not hold, so that no attempt can succeed.
    pub(crate) fn has_failed() -> bool {
        Self::current().is_some_and(|scope| scope.has_refused())
    }

    /// Sets the condition, before the handler runs. A scope has one at most.
    pub fn require(&self, condition: Box<dyn Condition>) {
        // A second one would be a fault of the transport, which sets it in one place.
        let _already_set = self.condition.set(condition);
    }

    /// Runs the handler of a request.
    pub async fn run<T>(self: Arc<Self>, handler: impl Future<Output = T>) -> T {
        CURRENT.scope(self, handler).await
    }

    /// Whether the condition held. If no change needed it, it is evaluated now.
    #[boxed]
    pub async fn held(&self) -> StoreResult<bool> {
        match (self.state().held, self.condition.get()) {
            (Some(held), _) => Ok(held),
            (None, Some(condition)) => condition.holds().await,
            (None, None) => Ok(true),
        }
    }

    /// Whether a change was not written because the condition did not hold.
    pub fn has_refused(&self) -> bool {
        self.state().held == Some(false)
    }

    /// Evaluates the condition for a change, once. A change that must not be written is a conflict,
    /// and so is one whose state is out of date: it is computed again from the current one.
    pub(crate) async fn check(&self, store: &dyn Store, at: At) -> StoreResult<()> {
        let Some(condition) = self.condition.get() else { return Ok(()) };
        match self.state().held {
            Some(true) => return Ok(()),
            Some(false) => return Err(StoreError::Conflict),
            None => {}
        }
        if revision(store, at).await? != expected(at) {
            return Err(StoreError::Conflict);
        }
        let holds = condition.holds().await?;
        if revision(store, at).await? != expected(at) {
            return Err(StoreError::Conflict);
        }
        if holds {
            return Ok(());
        }
        self.change(|state| state.held = Some(false));
        Err(StoreError::Conflict)
    }

    /// The change together with the mark that it belongs to this request. A change without rows
    /// stays without.
    pub(crate) fn marked(&self, change: Change, now: Timestamp) -> Change {
        let (mark, has_rows) = (self.mark(now), Arc::clone(&self.has_rows));
        Change::new(move || {
            let mut rows = change.rows();
            has_rows.store(!rows.is_empty(), Ordering::Relaxed);
            if !rows.is_empty() {
                rows.extend(mark);
            }
            rows
        })
    }

    pub(crate) fn mark(&self, now: Timestamp) -> Option<Write> {
        let (request_id, claim) = self.claim?;
        Some(Write::AdminRequest(AdminRequestWrite::Apply { request_id, claim, at: now }))
    }

    /// Records that a change was written, and so that the condition held.
    pub(crate) fn note_written(&self, at: At) {
        let has_rows = self.has_rows.swap(false, Ordering::Relaxed);
        self.change(|state| {
            state.held = Some(true);
            state.applied |= has_rows;
            if has_rows {
                state.written = Some(at);
            }
        });
    }

    /// Records an effect outside a change, such as an e-mail.
    pub(crate) fn note_effect(&self) {
        self.change(|state| (state.held, state.applied) = (Some(true), true));
    }

    pub(crate) fn was_applied(&self) -> bool {
        self.state().applied
    }

    /// Whether the current state is the result of the request's last change. False if that is
    /// unknown.
    pub(crate) async fn is_newest(&self, store: &dyn Store) -> StoreResult<bool> {
        let Some(at) = self.state().written else { return Ok(false) };
        let Some(expected) = expected(at) else { return Ok(false) };
        Ok(revision(store, at).await? == Some(expected + 1))
    }

    fn state(&self) -> RequestState {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut RequestState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The revision that a change is based on, if it has one.
fn expected(at: At) -> Option<u64> {
    match at {
        At::App { expected, .. } | At::People { expected } => Some(expected),
        At::Instance | At::FirstApp | At::FirstToken => None,
    }
}

/// The current revision of what a change is based on.
async fn revision(store: &dyn Store, at: At) -> StoreResult<Option<u64>> {
    match at {
        At::App { app, .. } => Ok(store.find_app(app).await?.map(|app| app.revision)),
        At::People { .. } => store.people_revision().await.map(Some),
        At::Instance | At::FirstApp | At::FirstToken => Ok(None),
    }
}
