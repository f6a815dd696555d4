//! Whether e-mails and webhooks are sent. A copy sends none until its operator decides.
//!
//! A restored backup and a moved database contain what was due when they were created, and the
//! original may have sent it since, or may still run. So both are held: everything else works,
//! e-mails and events are queued, and no server on that database sends anything. Resuming is a
//! decision about what waits: to send it, or to drop it. The hold is a mark of the database, which
//! no backup contains. A server can also be started so that it sends nothing, whatever the mark
//! says.

use std::sync::Arc;

use serde_json::json;
use sluice_flow::id::{AppId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, DeliveryQuery, DeliveryRow, DeliveryState, EndpointRow, EndpointWrite, MailWrite, Scope,
    Store, StoreError, StoreResult, Write,
};

use crate::admin::{AdminError, AdminResult};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::events::position_at;
use crate::handle::AppHandle;
use crate::instance::InstanceHandle;
use crate::mail::dropped;
use crate::outbound_hold::Publishes;
use crate::request_scope::RequestScope;
use crate::sink_position;

/// The rows that are dropped in one transaction.
const BATCH: usize = 500;
/// What a dropped delivery shows.
const NOT_SENT: &str = "not sent: it waited in a copy of the database, and was dropped";

/// What is held, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutboundState {
    /// Since when the database is held; absent if it is not.
    pub held_at: Option<Timestamp>,
    /// Whether this server sends nothing because of its own setting.
    pub is_held_here: bool,
    /// E-mails that are due.
    pub mails: u64,
    /// Deliveries to webhooks that wait for another attempt.
    pub deliveries: u64,
    /// Apps with webhook endpoints.
    pub apps_with_endpoints: u64,
    /// The sinks that events are published to.
    pub sinks: Vec<SinkState>,
}

/// How far events have been published to a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkState {
    pub name: String,
    /// The time of the oldest event that waits because nothing is sent; absent if there is none.
    pub waiting_since: Option<Timestamp>,
}

/// Why nothing is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboundHold {
    /// The operator started this server with sending held.
    Here,
    /// The database is a copy, which is held since this time.
    Since(Timestamp),
}

/// What to do with what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeChoice {
    Send,
    /// What was created before the hold is not sent: e-mails that are due now or wait for another
    /// attempt, and events.
    Drop,
}

impl ResumeChoice {
    pub const ALL: [Self; 2] = [Self::Send, Self::Drop];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Drop => "drop",
        }
    }
}

/// Holds a store that no server uses yet, and returns what is held.
#[boxed]
pub async fn hold(store: &Arc<dyn Store>, now: Timestamp) -> StoreResult<OutboundState> {
    store.apply(At::Instance, vec![Write::HoldOutbound(Some(now))].into()).await?;
    state(&**store, now, false).await
}

/// What a store holds, for a server that may hold it as well.
#[boxed]
pub async fn state(
    store: &dyn Store,
    now: Timestamp,
    is_held_here: bool,
) -> StoreResult<OutboundState> {
    state_of(store, now, is_held_here, None).await
}

async fn state_of(
    store: &dyn Store,
    now: Timestamp,
    is_held_here: bool,
    publishes: Option<&Publishes>,
) -> StoreResult<OutboundState> {
    let held_at = store.outbound_held_at().await?;
    let is_held = is_held_here || held_at.is_some();
    let mut sinks = Vec::new();
    for name in sink_position::names(store, publishes).await? {
        let waiting_since = match is_held {
            true => sink_position::waiting_since(store, &name, publishes, now).await?,
            false => None,
        };
        sinks.push(SinkState { name, waiting_since });
    }
    Ok(OutboundState {
        held_at,
        is_held_here,
        mails: store.count_due_mails(now).await?,
        deliveries: store.delivery_backlog().await?.waiting,
        apps_with_endpoints: store.apps_with_endpoints().await?.len() as u64,
        sinks,
    })
}

impl InstanceHandle {
    #[boxed]
    pub async fn outbound(&self) -> AdminResult<OutboundState> {
        let (core, outbound) = (self.core(), &self.core().outbound);
        let publishes = outbound.publishes.as_ref();
        Ok(state_of(&*core.store, core.now(), outbound.is_held_here, publishes).await?)
    }

    /// Why nothing is sent; absent if it is. It reads the store only while that is held.
    #[boxed]
    pub async fn outbound_hold(&self) -> AdminResult<Option<OutboundHold>> {
        let (store, outbound) = (&self.core().store, &self.core().outbound);
        if outbound.is_held_here {
            return Ok(Some(OutboundHold::Here));
        }
        Ok(outbound.held_at(&**store).await?.map(OutboundHold::Since))
    }

    /// Sends e-mails and webhooks again, on all servers of the database. Returns how many e-mails
    /// and deliveries were dropped. Changes nothing if they are not held.
    #[boxed]
    pub async fn resume_outbound(&self, waiting: ResumeChoice) -> AdminResult<(u64, u64)> {
        let core = self.core();
        let Some(held_at) = core.store.outbound_held_at().await? else { return Ok((0, 0)) };
        // Positions of sinks are no change of the store's revision: the condition comes first.
        core.begin_effect().await?;
        let (mut mails, mut deliveries) = (0, 0);
        if waiting == ResumeChoice::Drop {
            mails = drop_mails(core, held_at).await?;
            for app in core.store.apps_with_endpoints().await? {
                deliveries += self.drop_deliveries(app, held_at).await?;
            }
            if !sink_position::skip_to(core, position_at(held_at)).await? {
                let detail = "another server publishes the events; stop it, then try again";
                return Err(AdminError::conflict("sink_in_use", detail));
            }
        }
        let detail = json!({"waiting": waiting.as_str(), "mails": mails, "deliveries": deliveries});
        let audit = core.audit(self.actor(), None, AuditAction::OutboundResumed, "", &detail);
        let rows = vec![Write::HoldOutbound(None), Write::Audit(audit)];
        core.apply(At::Instance, rows).await?;
        Ok((mails, deliveries))
    }

    /// Continues the endpoints of an app with what happened since the hold.
    async fn drop_deliveries(&self, app: AppId, held_at: Timestamp) -> AdminResult<u64> {
        let core = self.core();
        let opened = AppHandle::open(core, self.actor(), Scope::Admin, app).await?;
        let opened = &opened;
        let mut dropped = 0;
        for endpoint in core.store.list_endpoints(app).await? {
            let mut query = DeliveryQuery {
                app_id: app,
                endpoint_id: endpoint.endpoint_id,
                state: Some(DeliveryState::Waiting),
                after: None,
                limit: BATCH,
            };
            loop {
                let waiting = core.store.list_deliveries(&query).await?;
                let is_last = waiting.len() < BATCH;
                query.after = waiting.last().map(|row| row.delivery_id);
                let old: Vec<_> = waiting.into_iter().filter(|row| !is_new(row, held_at)).collect();
                let writes = &skipping(&endpoint, &old, position_at(held_at), core.now());
                if !writes.is_empty() {
                    retry_on_conflict(|_| async move {
                        let expected = opened.permit.current_revision().await?;
                        let writes: Vec<_> = writes.iter().cloned().map(Write::Endpoint).collect();
                        opened.permit.change_quietly(Scope::Admin, expected, writes).await
                    })
                    .await?;
                }
                dropped += old.len() as u64;
                if is_last {
                    break;
                }
            }
        }
        Ok(dropped)
    }
}

/// Whether a delivery was requested since the hold: its attempts start from the beginning.
fn is_new(row: &DeliveryRow, held_at: Timestamp) -> bool {
    row.attempts == 0 && row.next_at >= Some(held_at)
}

/// Gives up deliveries of an endpoint, and continues it after a position unless it is there
/// already.
fn skipping(
    endpoint: &EndpointRow,
    old: &[DeliveryRow],
    cursor: EventId,
    now: Timestamp,
) -> Vec<EndpointWrite> {
    let given_up = |row: &DeliveryRow| {
        let (state, next_at, error) = (DeliveryState::Failed, None, Some(NOT_SENT.to_owned()));
        EndpointWrite::Delivery(Box::new(DeliveryRow { state, next_at, error, ..row.clone() }))
    };
    let mut writes: Vec<_> = old.iter().map(given_up).collect();
    if endpoint.cursor < cursor {
        let (app_id, endpoint_id) = (endpoint.app_id, endpoint.endpoint_id);
        writes.push(EndpointWrite::Replay { app_id, endpoint_id, cursor, due_at: now });
    }
    writes
}

/// Drops the e-mails from before the hold that are due or wait for another attempt.
async fn drop_mails(core: &Core, held_at: Timestamp) -> StoreResult<u64> {
    let now = core.now();
    let (mut count, mut after) = (0, None);
    loop {
        let rows = core.store.list_waiting_mails(held_at, now, after, BATCH).await?;
        let Some(last) = rows.last().map(|row| row.mail_id) else { return Ok(count) };
        let dropped_rows = rows.len() as u64;
        let settled = rows.into_iter().map(|row| {
            let revision = row.revision;
            Write::Mail(MailWrite::Settle { row: dropped(row, held_at, now), revision })
        });
        match core.apply(At::Instance, settled.collect::<Vec<_>>()).await {
            Ok(()) => (count, after) = (count + dropped_rows, Some(last)),
            // One of them was changed meanwhile; they are read again.
            Err(StoreError::Conflict) if !RequestScope::has_failed() => {}
            Err(error) => return Err(error),
        }
    }
}
