//! Endpoints and the outcomes of their deliveries, for administrators. Every read has a limit,
//! however large the backlog.

use sluice_flow::event::delivery::WAITING_MAX;
use sluice_flow::id::{DeliveryId, EndpointId};
use sluice_flow::time::Timestamp;
use sluice_store::{DeliveryQuery, DeliveryRow, DeliveryState, EndpointHealth, Scope};

use super::Endpoint;
use super::worker::KEPT_MAX;
use crate::admin::AdminResult;
use crate::boxed;
use crate::events::position_at;
use crate::handle::AppHandle;

/// Waiting deliveries are counted up to this number.
pub const WAITING_COUNTED_MAX: usize = WAITING_MAX + 1;

/// An endpoint, its health and a page of its deliveries.
#[derive(Debug, Clone)]
pub struct EndpointOverview {
    pub endpoint: Endpoint,
    /// The last attempt that succeeded, if its delivery is still kept.
    pub last_success: Option<Timestamp>,
    /// How many deliveries wait for another attempt, up to [`WAITING_COUNTED_MAX`].
    pub waiting: usize,
    /// How many deliveries failed, of those that are kept.
    pub failed: usize,
    /// The states of the kept deliveries, and when they were last sent.
    pub sent: Vec<(DeliveryState, Timestamp)>,
    /// Newest first.
    pub deliveries: Vec<DeliveryRow>,
}

impl AppHandle {
    /// The endpoints of the app with their health, oldest first.
    #[boxed]
    pub async fn list_endpoint_health(&self) -> AdminResult<Vec<(Endpoint, EndpointHealth)>> {
        let core = self.permit.core(Scope::Admin)?;
        let endpoints = self.list_endpoints().await?;
        let found = core.store.endpoint_health(self.app_id(), WAITING_COUNTED_MAX).await?;
        let health = |endpoint_id: EndpointId| {
            let known = found.iter().copied().find(|it| it.endpoint_id == endpoint_id);
            // It may have been created since.
            known.unwrap_or(EndpointHealth { endpoint_id, last_success: None, waiting: 0 })
        };
        let with_health = |endpoint: Endpoint| {
            let health = health(endpoint.endpoint_id);
            (endpoint, health)
        };
        Ok(endpoints.into_iter().map(with_health).collect())
    }

    /// An endpoint with its health, and its deliveries in a state, older than one of them.
    #[boxed]
    pub async fn endpoint_overview(
        &self,
        id: EndpointId,
        state: Option<DeliveryState>,
        after: Option<DeliveryId>,
        limit: usize,
    ) -> AdminResult<EndpointOverview> {
        let core = self.permit.core(Scope::Admin)?;
        let endpoint = self.endpoint(id).await?;
        let each_max = WAITING_COUNTED_MAX.max(KEPT_MAX);
        let sent = core.store.delivery_times(self.app_id(), id, each_max).await?;
        let app_id = self.app_id();
        let query = DeliveryQuery { app_id, endpoint_id: id, state, after, limit };
        let deliveries = core.store.list_deliveries(&query).await?;
        let of = |state: DeliveryState| sent.iter().filter(move |(it, _)| *it == state);
        Ok(EndpointOverview {
            last_success: of(DeliveryState::Delivered).map(|(_, sent)| *sent).max(),
            waiting: of(DeliveryState::Waiting).count(),
            failed: of(DeliveryState::Failed).count(),
            endpoint,
            sent,
            deliveries,
        })
    }

    /// Sends everything since a time again.
    #[boxed]
    pub async fn replay_endpoint_since(
        &self,
        id: EndpointId,
        since: Timestamp,
    ) -> AdminResult<Endpoint> {
        self.replay_endpoint(id, position_at(since)).await
    }
}
