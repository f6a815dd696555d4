//! Rows of webhook endpoints and of deliveries, and their changes.
//!
//! An endpoint has a cursor into the log of its app: what precedes it was sent, or waits in
//! `deliveries` for its next attempt. So an event that was not sent yet costs nothing, however many
//! there are. The worker of an endpoint holds its lease, which is not part of the row.

use serde::{Deserialize, Serialize};
use sluice_flow::event::payload::{completed_id, created_id};
use sluice_flow::id::{AppId, DeliveryId, EndpointId, EventId, FlowId, ResponseId};
use sluice_flow::time::Timestamp;

/// Identifies a worker on endpoints: a random number of one process.
pub type WorkerId = [u8; 16];

/// A URL that receives events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointRow {
    pub app_id: AppId,
    pub endpoint_id: EndpointId,
    pub url: String,
    pub description: String,
    /// The name of the format of its requests.
    pub format: String,
    /// Whether several events share a request.
    #[serde(default)]
    pub batch: bool,
    /// The names of the event types that it receives; empty means all.
    pub types: Vec<String>,
    /// The flows whose events it receives; empty means all.
    pub flows: Vec<FlowId>,
    /// Sealed.
    pub secret: String,
    /// Sealed; signs as well until `previous_until`.
    pub previous_secret: Option<String>,
    pub previous_until: Option<Timestamp>,
    pub created_at: Timestamp,
    /// Everything up to this position was sent, or waits for another attempt.
    pub cursor: EventId,
    /// Since when no delivery has succeeded; absent if the last one did.
    pub failing_since: Option<Timestamp>,
    /// The number of attempts that failed since one succeeded.
    pub failures: u32,
    pub disabled_at: Option<Timestamp>,
    /// Why it was disabled, as a name; absent if a person did it.
    pub disabled_reason: Option<String>,
    /// When it needs a worker next.
    pub due_at: Timestamp,
    /// How often replies about the responses of its app were removed by an erasure or a deletion.
    #[serde(default)]
    pub removals: u32,
}

/// Whether an event was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// The last attempt failed, or none was made; another one follows.
    Waiting,
    Delivered,
    /// Given up.
    Failed,
}

impl DeliveryState {
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Delivered, Self::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

/// The attempts to send one event to one endpoint, with the result of the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryRow {
    pub app_id: AppId,
    pub endpoint_id: EndpointId,
    pub delivery_id: DeliveryId,
    pub event_id: EventId,
    /// The name of the event's type.
    pub kind: String,
    pub state: DeliveryState,
    pub attempts: u32,
    /// When it is sent again; present exactly if it is waiting.
    pub next_at: Option<Timestamp>,
    /// When it was last sent.
    pub attempted_at: Timestamp,
    /// The status of the last reply; absent if there was none.
    pub status: Option<u32>,
    pub latency_millis: u32,
    /// The beginning of the last reply.
    pub reply: Option<String>,
    /// Why there was no reply.
    pub error: Option<String>,
    /// The id of the message, if the event shared its last request with others: they are sent again
    /// together.
    #[serde(default)]
    pub batch_id: Option<String>,
}

/// Which deliveries to send again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redelivery {
    One(DeliveryId),
    /// Those that were given up, and were last sent at or after this time.
    FailedSince(Timestamp),
}

/// A change to an endpoint, as part of a change to its app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointWrite {
    /// Inserts an endpoint, or replaces the settings of an existing one: not its cursor, its health
    /// or whether it is disabled.
    Put(Box<EndpointRow>),
    /// Removes an endpoint with its deliveries.
    Delete(AppId, EndpointId),
    /// Continues an endpoint after this position, from now on.
    Replay { app_id: AppId, endpoint_id: EndpointId, cursor: EventId, due_at: Timestamp },
    /// Ends deliveries.
    Disable { app_id: AppId, endpoint_id: EndpointId, at: Timestamp, reason: Option<String> },
    /// Resumes deliveries where they ended, with a clean record.
    Enable { app_id: AppId, endpoint_id: EndpointId, due_at: Timestamp },
    /// Sends events again; their attempts start from the beginning.
    Redeliver { app_id: AppId, endpoint_id: EndpointId, which: Redelivery, at: Timestamp },
    /// Adds to the log of deliveries, or replaces an entry.
    Delivery(Box<DeliveryRow>),
}

impl EndpointWrite {
    pub(crate) fn app_id(&self) -> AppId {
        match self {
            Self::Put(row) => row.app_id,
            Self::Delivery(row) => row.app_id,
            Self::Delete(app, _) => *app,
            Self::Replay { app_id, .. }
            | Self::Disable { app_id, .. }
            | Self::Enable { app_id, .. }
            | Self::Redeliver { app_id, .. } => *app_id,
        }
    }
}

/// Which deliveries of an endpoint to list, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryQuery {
    pub app_id: AppId,
    pub endpoint_id: EndpointId,
    pub state: Option<DeliveryState>,
    /// Older than this one.
    pub after: Option<DeliveryId>,
    pub limit: usize,
}

/// Takes endpoints that are due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub worker: WorkerId,
    pub now: Timestamp,
    /// When the lease ends, unless it is renewed.
    pub until: Timestamp,
    pub limit: usize,
    pub lane: EndpointLane,
    /// Endpoints that the worker knows as slow.
    pub slow: Vec<EndpointId>,
}

/// Which endpoints a worker takes: those with slow receivers do not delay the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointLane {
    /// Not known as slow.
    Prompt,
    /// Known as slow.
    Slow,
}

/// What a worker did for an endpoint, and what it does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub app_id: AppId,
    pub endpoint_id: EndpointId,
    pub worker: WorkerId,
    /// When the lease ends, as it was last set. Together with the worker this identifies the lease.
    pub leased_until: Timestamp,
    /// The cursor that the worker read, and the one to continue from. If the endpoint has another
    /// cursor by now, that stays.
    pub from: EventId,
    pub to: EventId,
    pub failing_since: Option<Timestamp>,
    pub failures: u32,
    /// Inserted, or replacing the delivery with the same id.
    pub deliveries: Vec<DeliveryRow>,
    /// Waiting deliveries whose event no longer exists.
    pub dropped: Vec<DeliveryId>,
    /// The end of the lease if the worker continues; otherwise the endpoint is released. It is due
    /// again at `due_at`, with its next waiting delivery, or at once if it was woken since.
    pub lease_until: Option<Timestamp>,
    pub due_at: Timestamp,
    /// Finished deliveries beyond this number, and those older than `keep_since`, are removed.
    pub keep: usize,
    pub keep_since: Timestamp,
    /// [`EndpointRow::removals`] from before the worker read what it sent.
    pub removals: u32,
}

/// The result of saving a worker's progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    /// It is written; with the endpoint as it is then.
    Done(Box<EndpointRow>),
    /// Nothing is written: the progress has replies, and replies about responses of the app were
    /// removed in the meantime. The worker drops its replies about responses that are gone or have
    /// changed, and tries again with this number.
    RepliesRemoved { removals: u32 },
    /// Nothing is written: the worker no longer has this lease, or the endpoint was disabled or
    /// removed.
    LeaseLost,
}

impl Progress {
    /// Whether a removal of replies since this number of them concerns this progress.
    pub(crate) fn is_outdated(&self, removals: u32) -> bool {
        let has_text = |row: &DeliveryRow| row.reply.is_some() || row.error.is_some();
        self.removals != removals && self.deliveries.iter().any(has_text)
    }
}

/// The columns of an endpoint that an administrator sets.
pub(crate) const SETTINGS: &[&str] = &[
    "url",
    "description",
    "format",
    "batch",
    "types",
    "flows",
    "secret",
    "previous_secret",
    "previous_until",
];

/// The columns of a list after its keys.
pub(crate) fn columns_after(list: &'static str, keys: usize) -> Vec<&'static str> {
    list.split(", ").map(str::trim).skip(keys).collect()
}

/// The assignments of an upsert that replaces these columns.
pub(crate) fn replacing(columns: &[&str]) -> String {
    let set: Vec<_> = columns.iter().map(|name| format!("{name} = excluded.{name}")).collect();
    set.join(", ")
}

/// The events that follow from a stored response, whose deliveries an erasure affects.
pub(crate) fn events_of(response: ResponseId) -> [EventId; 2] {
    [created_id(response), completed_id(response)]
}

/// The backlog of the whole instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Failed deliveries that wait for another attempt.
    pub waiting: u64,
    /// When the oldest of them was first sent.
    pub oldest: Option<Timestamp>,
}
