//! The log of events, webhooks and sinks, which pass through.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use sluice_flow::id::{AppId, DeliveryId, EndpointId, EventId, FlowId, ResponseId};
use sluice_flow::time::Timestamp;
use sluice_store::*;

use super::FaultyStore;

#[async_trait]
impl EventStore for FaultyStore {
    async fn read_log(&self, query: &LogQuery) -> StoreResult<LogPage> {
        let page = self.read().read_log(query).await?;
        self.log_reads.fetch_add(1, Ordering::SeqCst);
        self.log_rows_max.fetch_max(page.entries.len(), Ordering::SeqCst);
        Ok(page)
    }
    async fn late_responses(
        &self,
        app: AppId,
        flow: FlowId,
        after: EventId,
    ) -> StoreResult<Vec<ResponseId>> {
        self.read().late_responses(app, flow, after).await
    }
    fn log_delay_millis(&self) -> i64 {
        self.inner.log_delay_millis()
    }
    async fn find_events(&self, app: AppId, events: &[EventId]) -> StoreResult<Vec<EventRow>> {
        self.read().find_events(app, events).await
    }
}

#[async_trait]
impl EndpointStore for FaultyStore {
    async fn list_endpoints(&self, app: AppId) -> StoreResult<Vec<EndpointRow>> {
        self.read().list_endpoints(app).await
    }
    async fn list_deliveries(&self, query: &DeliveryQuery) -> StoreResult<Vec<DeliveryRow>> {
        self.read().list_deliveries(query).await
    }
    async fn find_delivery(
        &self,
        app: AppId,
        endpoint: EndpointId,
        delivery: DeliveryId,
    ) -> StoreResult<Option<DeliveryRow>> {
        self.read().find_delivery(app, endpoint, delivery).await
    }
    async fn due_deliveries(
        &self,
        app: AppId,
        endpoint: EndpointId,
        now: Timestamp,
        limit: usize,
    ) -> StoreResult<(Vec<DeliveryRow>, usize)> {
        self.inner.due_deliveries(app, endpoint, now, limit).await
    }
    async fn claim_endpoints(&self, claim: Claim) -> StoreResult<Vec<EndpointRow>> {
        let taken = self.inner.claim_endpoints(claim).await?;
        self.webhook_writes.fetch_add(usize::from(!taken.is_empty()), Ordering::SeqCst);
        Ok(taken)
    }
    async fn save_progress(&self, progress: Progress) -> StoreResult<Saved> {
        self.webhook_writes.fetch_add(1, Ordering::SeqCst);
        self.inner.save_progress(progress).await
    }
    async fn wake_endpoints(
        &self,
        endpoints: Vec<(AppId, EndpointId)>,
        now: Timestamp,
    ) -> StoreResult<Vec<(AppId, EndpointId)>> {
        self.webhook_writes.fetch_add(1, Ordering::SeqCst);
        let one_less = |left: usize| left.checked_sub(1);
        let take = |left: &AtomicUsize| {
            left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
        };
        if take(&self.failing_wakes) {
            return Err(StoreError::Failed("the wake failed".into()));
        }
        if take(&self.skipped_wakes) {
            return Ok(endpoints);
        }
        self.inner.wake_endpoints(endpoints, now).await
    }
    async fn apps_with_endpoints(&self) -> StoreResult<Vec<AppId>> {
        self.inner.apps_with_endpoints().await
    }
    async fn delivery_backlog(&self) -> StoreResult<Backlog> {
        self.inner.delivery_backlog().await
    }
    async fn endpoint_health(
        &self,
        app: AppId,
        waiting_max: usize,
    ) -> StoreResult<Vec<EndpointHealth>> {
        self.read().endpoint_health(app, waiting_max).await
    }
    async fn delivery_times(
        &self,
        app: AppId,
        endpoint: EndpointId,
        each_max: usize,
    ) -> StoreResult<Vec<(DeliveryState, Timestamp)>> {
        self.read().delivery_times(app, endpoint, each_max).await
    }
}

#[async_trait]
impl SinkStore for FaultyStore {
    async fn lease_sink(&self, lease: SinkLease) -> StoreResult<bool> {
        self.webhook_writes.fetch_add(1, Ordering::Relaxed);
        self.inner.lease_sink(lease).await
    }
    async fn list_sinks(&self) -> StoreResult<Vec<String>> {
        self.read().list_sinks().await
    }
    async fn list_sink_positions(&self, sink: &str) -> StoreResult<Vec<SinkPositionRow>> {
        self.read().list_sink_positions(sink).await
    }
    async fn save_sink_positions(
        &self,
        lease: SinkLease,
        rows: Vec<SinkPositionRow>,
    ) -> StoreResult<bool> {
        self.webhook_writes.fetch_add(1, Ordering::Relaxed);
        self.inner.save_sink_positions(lease, rows).await
    }
}
