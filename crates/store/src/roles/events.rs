//! The log of events, and webhooks, as roles of the store.

use async_trait::async_trait;
use sluice_flow::id::{AppId, DeliveryId, EndpointId, EventId, FlowId, ResponseId};
use sluice_flow::time::Timestamp;

#[cfg(doc)]
use crate::{AdminStore, EndpointWrite};
use crate::{
    Backlog, Claim, DeliveryQuery, DeliveryRow, DeliveryState, EndpointHealth, EndpointRow,
    EventRow, LogPage, LogQuery, Progress, Saved, StoreResult,
};

/// The log of an app: its responses and its other events, in the order of their ids.
#[async_trait]
pub trait EventStore: Send + Sync + 'static {
    /// A page of the log between two positions, oldest or newest first.
    ///
    /// - Rows are in the order of their ids, and `next` is the position to continue from. A reader
    ///   that continues there misses nothing: whatever becomes visible later, however long its
    ///   transaction took, comes after `next`, or is announced again after it ([`crate::LATE`]).
    /// - Newest first, the first page begins where a reader from the other end would stop, and
    ///   `next` is the position to read on before.
    /// - A page reads a limited number of rows. It may be short or empty and still advance.
    /// - A response that was deleted or erased is not in the log any more.
    async fn read_log(&self, query: &LogQuery) -> StoreResult<LogPage>;

    /// The responses of a flow that were announced again after this position ([`crate::LATE`]),
    /// also where readers may not read yet. A response that another read returned, and that was
    /// announced again, is among them if that read came first.
    async fn late_responses(
        &self,
        app: AppId,
        flow: FlowId,
        after: EventId,
    ) -> StoreResult<Vec<ResponseId>>;

    /// How long after it was stored an event can be read, usually, in milliseconds.
    fn log_delay_millis(&self) -> i64;

    /// The existing ones of these events of an app, ordered by id.
    async fn find_events(&self, app: AppId, events: &[EventId]) -> StoreResult<Vec<EventRow>>;
}

/// Webhook endpoints and deliveries. [`AdminStore::apply`] changes them ([`EndpointWrite`]);
/// workers report through [`Self::save_progress`], which moves no revision. The erasure of a person
/// and the deletion of a response remove the replies about it from the deliveries, in their
/// transaction, and count that ([`EndpointRow::removals`]).
#[async_trait]
pub trait EndpointStore: Send + Sync + 'static {
    /// The endpoints of an app, in order of creation.
    async fn list_endpoints(&self, app: AppId) -> StoreResult<Vec<EndpointRow>>;

    /// Deliveries of an endpoint, newest first.
    async fn list_deliveries(&self, query: &DeliveryQuery) -> StoreResult<Vec<DeliveryRow>>;

    async fn find_delivery(
        &self,
        app: AppId,
        endpoint: EndpointId,
        delivery: DeliveryId,
    ) -> StoreResult<Option<DeliveryRow>>;

    /// The waiting deliveries of an endpoint that are due, longest due first and those of a batch
    /// next to one another, in the order of their ids; and how many wait in total.
    async fn due_deliveries(
        &self,
        app: AppId,
        endpoint: EndpointId,
        now: Timestamp,
        limit: usize,
    ) -> StoreResult<(Vec<DeliveryRow>, usize)>;

    /// Takes endpoints of a lane that are due, enabled and leased by no one, longest due first. Of
    /// several workers, one gets an endpoint, until its lease ends or [`Self::save_progress`]
    /// releases it. The returned rows say since when they were due.
    async fn claim_endpoints(&self, claim: Claim) -> StoreResult<Vec<EndpointRow>>;

    /// Writes what a worker did, durably and at once, and returns the endpoint as it is then.
    /// Writes nothing if the worker no longer has this lease (not even if it has got another one
    /// since), or if it has replies that an erasure or a deletion may concern ([`Saved`]).
    async fn save_progress(&self, progress: Progress) -> StoreResult<Saved>;

    /// Makes these endpoints due at this time, unless they are disabled or due earlier. Returns
    /// those that could not be changed just now: they have to be woken again.
    async fn wake_endpoints(
        &self,
        endpoints: Vec<(AppId, EndpointId)>,
        due_at: Timestamp,
    ) -> StoreResult<Vec<(AppId, EndpointId)>>;

    /// The apps with enabled endpoints, ordered by id.
    async fn apps_with_endpoints(&self) -> StoreResult<Vec<AppId>>;

    async fn delivery_backlog(&self) -> StoreResult<Backlog>;

    /// The outcomes of the deliveries to each endpoint of an app, ordered by its id. `waiting` is
    /// counted up to this limit. As [`Self::delivery_times`], it reads only an index.
    async fn endpoint_health(
        &self,
        app: AppId,
        waiting_max: usize,
    ) -> StoreResult<Vec<EndpointHealth>>;

    /// The states of the deliveries of an endpoint, and when they were last sent: the newest ones
    /// of each state, up to this number.
    async fn delivery_times(
        &self,
        app: AppId,
        endpoint: EndpointId,
        each_max: usize,
    ) -> StoreResult<Vec<(DeliveryState, Timestamp)>>;
}
