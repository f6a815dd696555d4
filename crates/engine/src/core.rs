//! What all use cases share: the store, the clock, the cache of published flows, and writes to the
//! store.
//!
//! Use cases do not know [`crate::Engine`]; they take this. Use cases on an app or a flow get it
//! from a handle, which returns it only for a scope that it has proved ([`crate::handle`]).

use std::sync::Arc;
use std::time::Duration;

use sluice_flow::id::{AppId, AuditId};
use sluice_flow::time::Timestamp;
use sluice_store::{At, AuditRow, Change, Store, StoreError};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use uuid::Uuid;

use crate::actor::Actor;
use crate::audit_action::AuditAction;
use crate::clock::Clock;
use crate::commit::Committer;
use crate::computed::cache::Computations;
use crate::definitions::Definitions;
use crate::erasure::Erasures;
use crate::export::pipe::Exports;
use crate::ids::Ids;
use crate::images::Images;
use crate::mail_transport::MailOptions;
use crate::metrics::Metrics;
use crate::outbound_hold::Outbound;
use crate::people::password::Passwords;
use crate::registry::Registry;
use crate::request_scope::RequestScope;
use crate::stop::Stop;
use crate::unavailable::NotReady;
use crate::verify::Verifying;
use crate::visit_counts::VisitCounts;
use crate::watches::Watches;
use crate::webhooks::outbox::Deliveries;

/// How often an idle server checks that the files of its store are in place.
const FILES_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) registry: Registry,
    pub(crate) committer: Committer,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) verifying: Verifying,
    pub(crate) exports: Arc<Exports>,
    pub(crate) computations: Computations,
    pub(crate) visits: Arc<VisitCounts>,
    pub(crate) watches: Watches,
    pub(crate) passwords: Passwords,
    pub(crate) images: Images,
    pub(crate) definitions: Definitions,
    pub(crate) erasures: Arc<Erasures>,
    pub(crate) deliveries: Deliveries,
    /// Absent if there is no mail server.
    pub(crate) mail: Option<MailOptions>,
    pub(crate) outbound: Outbound,
    /// When sending webhooks and e-mails must stop.
    pub(crate) stop: Arc<Stop>,
    /// The hash of the admin token from the environment.
    pub(crate) environment_token: Option<[u8; 32]>,
    /// Without a trailing slash.
    pub(crate) public_url: String,
    /// Where the console is; the public URL, unless the administration has a separate address.
    pub(crate) admin_url: String,
    pub(crate) body_bytes_max: usize,
    /// The last readiness check ([`crate::readiness`]), and when it was.
    pub(crate) last_check: Mutex<Option<(Instant, Result<(), NotReady>)>>,
    /// Set when the outcome of a write is unknown.
    pub(crate) lost: watch::Sender<bool>,
}

impl Core {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn new_id(&self) -> Uuid {
        self.ids.next(self.clock.now())
    }

    /// Writes the rows of a change. Writes to an app go through its handle instead
    /// ([`crate::handle::Permit::change`]).
    pub(crate) async fn apply(&self, at: At, change: impl Into<Change>) -> Result<(), StoreError> {
        let Some(request) = RequestScope::current() else {
            return self.watched(self.store.apply(at, change.into()).await);
        };
        request.check(&*self.store, at).await?;
        let change = request.marked(change.into(), self.now());
        self.watched(self.store.apply(at, change).await)?;
        request.note_written(at);
        Ok(())
    }

    /// Records that the request is about to have an effect outside a transaction: something is
    /// sent, or removed in parts. Call it before that. Evaluates the condition of the request
    /// first.
    pub(crate) async fn begin_effect(&self) -> Result<(), StoreError> {
        let Some(request) = RequestScope::current() else { return Ok(()) };
        request.check(&*self.store, At::Instance).await?;
        if let Some(mark) = request.mark(self.now()) {
            self.watched(self.store.apply(At::Instance, vec![mark].into()).await)?;
        }
        request.note_effect();
        Ok(())
    }

    /// Detects a write with an unknown outcome, or a store that has stopped: both end the process.
    pub(crate) fn watched<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error @ (StoreError::Unknown(_) | StoreError::Closed)) = &result
            && !self.lost.send_replace(true)
        {
            let source = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(%error, source, "the store can no longer be written to");
        }
        result
    }

    /// Checks that the files of the store are in place, also while nothing is written.
    pub(crate) async fn watch_files(self: Arc<Self>) {
        while self.watched(self.store.check_files().await).is_ok() {
            tokio::time::sleep(FILES_INTERVAL).await;
        }
    }

    pub(crate) fn audit(
        &self,
        actor: &Actor,
        app_id: Option<AppId>,
        action: AuditAction,
        subject: impl ToString,
        detail: &serde_json::Value,
    ) -> AuditRow {
        AuditRow {
            audit_id: AuditId::from_uuid(self.new_id()),
            app_id,
            actor: actor.name.clone(),
            action: action.as_str().to_owned(),
            subject: subject.to_string(),
            detail: detail.to_string(),
        }
    }
}
