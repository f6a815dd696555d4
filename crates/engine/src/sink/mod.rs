//! Publishes the event logs of all apps to another system: a sink, such as a stream of NATS.
//!
//! Every event is published at least once, with its id, by which the sink recognises a repetition.
//! The position of each app is kept in the store ([`sluice_store::SinkStore`]). One node publishes
//! at a time ([`worker`]); if it stops, another one continues. A transport provides the sink.
//! Deliberately absent: skipping an event that the sink refuses.

mod worker;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use sluice_flow::event::payload::Payload;
use sluice_flow::id::AppId;

pub(crate) use worker::SinkWorker;

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

pub type PublishFuture<'s> = Pin<Box<dyn Future<Output = Result<(), SinkError>> + Send + 's>>;

/// Takes events, within a limit of time.
pub trait EventSink: fmt::Debug + Send + Sync {
    /// The name under which positions are stored. Under a new name everything is published.
    fn name(&self) -> &str;

    /// Publishes events of an app, in order. Returns once the sink has stored all of them. After an
    /// error they are published again, also those that were stored.
    fn publish<'s>(&'s self, app: AppId, events: &'s [Payload]) -> PublishFuture<'s>;
}

/// Where events are published, and of which apps.
#[derive(Debug, Clone)]
pub struct SinkOptions {
    pub sink: Arc<dyn EventSink>,
    /// Empty means all.
    pub apps: Vec<AppId>,
}
