//! Publishes the event logs of all apps to another system: a sink, such as a stream of NATS.
//!
//! Every event is published at least once, with its id, by which the sink recognises a duplicate.
//! The position of each app is kept in the store ([`sluice_store::SinkStore`]). One node publishes
//! at a time ([`worker`]); if it stops, another one continues. A transport provides the sink. An
//! event that is too large for the sink is published without its contents
//! ([`Payload::without_contents`]). Deliberately absent: skipping an event for another reason.

mod logs;
mod worker;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sluice_flow::event::payload::Payload;
use sluice_flow::id::{AppId, EventId};

pub(crate) use worker::SinkWorker;

/// How long a sink may take to publish a page of events. Shorter than the lease of the node that
/// publishes.
pub const PUBLISH_MAX: Duration = Duration::from_secs(10);

/// Why events were not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// The sink takes nothing now: what is wrong, and what to do.
    #[error("{0}")]
    Unavailable(String),
    /// It does not take these events: why not, and what to do. Those of other apps may be taken.
    #[error("{0}")]
    Refused(String),
}

/// An event that the sink cannot take as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    pub event: EventId,
    pub bytes: usize,
    /// The most bytes that the sink takes.
    pub bytes_max: usize,
    /// Whether it was too large even without its contents, so that nothing was published.
    pub is_skipped: bool,
    /// Which limit of the sink to raise.
    pub advice: &'static str,
}

/// What was not published as a whole; empty in almost all cases.
pub type PublishFuture<'s> =
    Pin<Box<dyn Future<Output = Result<Vec<TooLarge>, SinkError>> + Send + 's>>;

/// Takes events.
pub trait EventSink: fmt::Debug + Send + Sync {
    /// The name under which positions are stored. Under a new name everything is published.
    fn name(&self) -> &str;

    /// Publishes events of an app, in order. Returns once the sink has stored all of them; one that
    /// is too large is published without its contents. After an error they are published again,
    /// also those that were stored. Dropped after [`PUBLISH_MAX`], which counts as an error.
    fn publish<'s>(&'s self, app: AppId, events: &'s [Payload]) -> PublishFuture<'s>;
}

/// Where events are published, and of which apps.
#[derive(Debug, Clone)]
pub struct SinkOptions {
    pub sink: Arc<dyn EventSink>,
    /// Empty means all.
    pub apps: Vec<AppId>,
}
