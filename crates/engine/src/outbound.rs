//! Whether e-mails and webhooks are sent. A copy sends none until its operator decides.
//!
//! A restored backup and a moved database have what was due when they were made, and the original
//! may have sent it since, or may still run. So both are held: everything else works, what is to be
//! sent is queued, and no server on that database sends anything. Resuming is a decision about what
//! waits: to send it, or to drop it. The hold is a mark of the database, which no backup contains. A
//! server can also be started so that it sends nothing, whatever the mark says.

use std::sync::Arc;

use serde_json::json;
use sluice_flow::id::{AppId, EventId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::{
    At, DeliveryQuery, DeliveryState, EndpointWrite, MailLane, MailWrite, Scope, Store,
    StoreResult, Write,
};

use crate::admin::AdminResult;
use crate::audit_action::AuditAction;
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::handle::AppHandle;
use crate::instance::InstanceHandle;
use crate::mail::dropped;

/// The rows that are dropped in one transaction.
const BATCH: usize = 500;
/// What a dropped delivery shows.
const NOT_SENT: &str = "not sent: it waited in a copy of the database, and was dropped";

/// What is held, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
}

/// What to do with what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    Send,
    /// E-mails that are due now are not sent, and no event from before now is delivered.
    Drop,
}

impl Waiting {
    pub const ALL: [Self; 2] = [Self::Send, Self::Drop];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Drop => "drop",
        }
    }
}

/// Holds a store that no server uses yet, and returns what is held.
pub async fn hold(store: &Arc<dyn Store>, now: Timestamp) -> StoreResult<OutboundState> {
    store.apply(At::Instance, vec![Write::HoldOutbound(Some(now))].into()).await?;
    state(&**store, now, false).await
}

/// What a store holds, for a server that may hold it as well.
pub async fn state(
    store: &dyn Store,
    now: Timestamp,
    is_held_here: bool,
) -> StoreResult<OutboundState> {
    Ok(OutboundState {
        held_at: store.outbound_held_at().await?,
        is_held_here,
        mails: store.count_due_mails(now).await?,
        deliveries: store.delivery_backlog().await?.waiting,
        apps_with_endpoints: store.apps_with_endpoints().await?.len() as u64,
    })
}

impl InstanceHandle {
    pub async fn outbound(&self) -> AdminResult<OutboundState> {
        let core = self.core();
        Ok(state(&*core.store, core.now(), core.outbound.is_held_here).await?)
    }

    /// Sends e-mails and webhooks again, on all servers of the database. Returns how many e-mails and
    /// deliveries were dropped. Changes nothing if they are not held.
    pub async fn resume_outbound(&self, waiting: Waiting) -> AdminResult<(u64, u64)> {
        let core = self.core();
        if core.store.outbound_held_at().await?.is_none() {
            return Ok((0, 0));
        }
        let (mut mails, mut deliveries) = (0, 0);
        if waiting == Waiting::Drop {
            for lane in [MailLane::Passwords, MailLane::Bulk] {
                mails += drop_mails(core, lane).await?;
            }
            for app in core.store.apps_with_endpoints().await? {
                deliveries += self.drop_deliveries(app).await?;
            }
        }
        let detail = json!({"waiting": waiting.as_str(), "mails": mails, "deliveries": deliveries});
        let audit = core.audit(self.actor(), None, AuditAction::OutboundResumed, "", &detail);
        let rows = vec![Write::HoldOutbound(None), Write::Audit(audit)];
        core.apply(At::Instance, rows).await?;
        Ok((mails, deliveries))
    }

    /// Continues the endpoints of an app with what happens from now on.
    async fn drop_deliveries(&self, app: AppId) -> AdminResult<u64> {
        let core = self.core();
        let opened = AppHandle::open(core, self.actor(), Scope::Admin, app).await?;
        let opened = &opened;
        let mut dropped = 0;
        for endpoint in core.store.list_endpoints(app).await? {
            let endpoint_id = endpoint.endpoint_id;
            let query = DeliveryQuery {
                app_id: app,
                endpoint_id,
                state: Some(DeliveryState::Waiting),
                after: None,
                limit: BATCH,
            };
            loop {
                let waiting = core.store.list_deliveries(&query).await?;
                let is_last = waiting.len() < BATCH;
                let waiting = &waiting;
                retry_on_conflict(|_| async move {
                    let expected = opened.permit.current_revision().await?;
                    let now = core.now();
                    let cursor = EventId::from_uuid(v7(now, 0, 0));
                    let mut writes: Vec<_> = waiting
                        .iter()
                        .map(|row| {
                            let mut row = row.clone();
                            (row.state, row.next_at) = (DeliveryState::Failed, None);
                            row.error = Some(NOT_SENT.to_owned());
                            EndpointWrite::Delivery(Box::new(row))
                        })
                        .collect();
                    writes.push(EndpointWrite::Replay {
                        app_id: app,
                        endpoint_id,
                        cursor,
                        due_at: now,
                    });
                    let writes: Vec<_> = writes.into_iter().map(Write::Endpoint).collect();
                    opened.permit.change_quietly(Scope::Admin, expected, writes).await
                })
                .await?;
                dropped += waiting.len() as u64;
                if is_last {
                    break;
                }
            }
        }
        Ok(dropped)
    }
}

/// Drops the e-mails of a lane that are due.
async fn drop_mails(core: &Core, lane: MailLane) -> StoreResult<u64> {
    let now = core.now();
    let mut count = 0;
    loop {
        let due = core.store.list_due_mails(lane, now, BATCH).await?;
        if due.is_empty() {
            return Ok(count);
        }
        count += due.len() as u64;
        let settled = due.into_iter().map(|row| {
            let revision = row.revision;
            Write::Mail(MailWrite::Settle { row: dropped(row, now), revision })
        });
        core.apply(At::Instance, settled.collect::<Vec<_>>()).await?;
    }
}
