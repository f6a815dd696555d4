//! The log of deliveries, and sending again.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use sluice_flow::event::EventType;
use sluice_flow::event::payload::Payload;
use sluice_flow::id::{DeliveryId, EndpointId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{
    DeliveryQuery, DeliveryRow, DeliveryState, EndpointWrite, Redelivery, Scope, StoreError, Write,
};

use super::attempt::{Attempt, Item, send};
use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::conflict::retry_on_conflict;
use crate::events::find_payloads;
use crate::handle::AppHandle;
use crate::outbound_hold::held;

/// A delivery, with its payload if its event still exists.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub row: DeliveryRow,
    pub payload: Option<Payload>,
}

impl AppHandle {
    /// Deliveries of an endpoint, newest first: those that wait, and the last finished ones.
    #[boxed]
    pub async fn list_deliveries(
        &self,
        endpoint: EndpointId,
        state: Option<DeliveryState>,
        after: Option<DeliveryId>,
        limit: usize,
    ) -> AdminResult<Vec<DeliveryRow>> {
        let core = self.permit.core(Scope::Admin)?;
        self.endpoint_row(core, endpoint).await?;
        let app_id = self.app_id();
        let query = DeliveryQuery { app_id, endpoint_id: endpoint, state, after, limit };
        Ok(core.store.list_deliveries(&query).await?)
    }

    /// A delivery with its payload.
    #[boxed]
    pub async fn delivery(&self, endpoint: EndpointId, id: DeliveryId) -> AdminResult<Delivery> {
        let core = self.permit.core(Scope::Admin)?;
        let found = core.store.find_delivery(self.app_id(), endpoint, id).await?;
        let row = found.ok_or(AdminError::NotFound(Missing::Delivery))?;
        let payload = match row.kind.parse::<EventType>() {
            Ok(kind) => {
                let mut found = find_payloads(core, self.app_id(), &[(row.event_id, kind)]).await?;
                found.remove(&row.event_id)
            }
            Err(_) => None,
        };
        Ok(Delivery { row, payload })
    }

    /// Sends the event of a delivery again, regardless of its previous outcome.
    #[boxed]
    pub async fn redeliver(&self, endpoint: EndpointId, id: DeliveryId) -> AdminResult<()> {
        let found = self.delivery(endpoint, id).await?;
        if found.payload.is_none() {
            let detail = "the event of this delivery no longer exists";
            return Err(AdminError::conflict("event_gone", detail));
        }
        self.redeliver_all(endpoint, Redelivery::One(id), json!({"deliveryId": id})).await
    }

    /// Sends deliveries again that were given up and last sent at or after this time.
    #[boxed]
    pub async fn redeliver_failed(
        &self,
        endpoint: EndpointId,
        since: Timestamp,
    ) -> AdminResult<()> {
        let which = Redelivery::FailedSince(since);
        self.redeliver_all(endpoint, which, json!({"since": since})).await
    }

    async fn redeliver_all(
        &self,
        endpoint_id: EndpointId,
        which: Redelivery,
        detail: serde_json::Value,
    ) -> AdminResult<()> {
        let core = self.permit.core(Scope::Admin)?;
        self.update_endpoint(endpoint_id, |row| {
            let (app_id, at) = (row.app_id, core.now());
            let again = EndpointWrite::Redeliver { app_id, endpoint_id, which, at };
            Ok((vec![again], AuditAction::EndpointRedelivered, detail.clone()))
        })
        .await
        .map(|_| ())
    }

    /// Sends a test event now, once, and returns its outcome. It appears in the log of deliveries,
    /// and in no other log.
    #[boxed]
    pub async fn send_test_event(&self, endpoint: EndpointId) -> AdminResult<DeliveryRow> {
        let core = self.permit.core(Scope::Admin)?;
        let row = Arc::new(self.endpoint_row(core, endpoint).await?);
        let Some(sender) = core.deliveries.sender.clone() else {
            let detail = "this server sends no webhooks";
            return Err(AdminError::conflict("webhooks_unavailable", detail));
        };
        if core.outbound.is_held(&*core.store).await? {
            return Err(held());
        }
        let Ok(_turn) = core.deliveries.tests.0.try_acquire() else {
            let detail = "too many test events are being sent; try again in a few seconds";
            return Err(AdminError::conflict("too_many_tests", detail));
        };
        let data = json!({"appId": self.app_id(), "webhookId": endpoint}).to_string();
        let data =
            RawValue::from_string(data).map_err(|error| StoreError::Failed(Box::new(error)))?;
        let event = EventId::from_uuid(core.new_id());
        let payload = Payload::new(event, EventType::EndpointTest, data);
        let attempt = Attempt(vec![Item::first(core, &row, payload, None)]);
        core.begin_effect().await?;
        let mut attempted = send(Arc::clone(core), sender, Arc::default(), row, attempt).await;
        let Some(sent) = attempted.deliveries.pop() else {
            return Err(AdminError::NotFound(Missing::Delivery));
        };
        let delivery = &sent;
        retry_on_conflict(|_| async move {
            let expected = self.permit.current_revision().await?;
            // It may have been deleted while the request was sent.
            self.endpoint_row(core, endpoint).await?;
            let detail = json!({"status": delivery.status});
            let audit = self.permit.audit(AuditAction::EndpointTested, endpoint, &detail);
            let log = EndpointWrite::Delivery(Box::new(delivery.clone()));
            let writes = vec![Write::Endpoint(log), Write::Audit(audit)];
            self.permit.change_quietly(Scope::Admin, expected, writes).await
        })
        .await?;
        Ok(sent)
    }
}
