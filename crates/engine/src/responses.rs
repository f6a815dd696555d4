//! Stored responses: listed, read, deleted.

use serde_json::json;
use sluice_flow::id::{FlowId, FlowVersionId, ResponseId};
use sluice_flow::time::Timestamp;
use sluice_store::{Change, Order, ResponseQuery, ResponseRow, Scope, StoreError, Write};

use crate::actor::Actor;
use crate::admin::{AdminError, AdminResult, Missing};
use crate::apps::CONFLICT_RETRIES;
use crate::engine::Engine;

/// Which responses of a flow to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseFilter {
    pub version: Option<FlowVersionId>,
    /// Received at or after.
    pub from: Option<Timestamp>,
    /// Received before.
    pub to: Option<Timestamp>,
    pub tags: Vec<(String, String)>,
    pub after: Option<ResponseId>,
    pub order: Order,
    pub limit: usize,
}

impl Engine {
    pub async fn list_responses(
        &self,
        actor: &Actor,
        flow: FlowId,
        filter: ResponseFilter,
    ) -> AdminResult<Vec<ResponseRow>> {
        let state = self.flow_for(actor, Scope::Read, flow).await?;
        let query = ResponseQuery {
            app_id: state.flow.app_id,
            flow_id: flow,
            version: filter.version,
            from: filter.from,
            to: filter.to,
            tags: filter.tags,
            after: filter.after,
            order: filter.order,
            limit: filter.limit,
        };
        Ok(self.store.list_responses(&query).await?)
    }

    pub async fn get_response(&self, actor: &Actor, id: ResponseId) -> AdminResult<ResponseRow> {
        self.response_for(actor, Scope::Read, id).await
    }

    pub async fn delete_response(&self, actor: &Actor, id: ResponseId) -> AdminResult<()> {
        for _ in 0..CONFLICT_RETRIES {
            let row = self.response_for(actor, Scope::Erase, id).await?;
            let app = self.app_for(actor, Scope::Erase, row.app_id).await?;
            let detail = json!({"flowId": row.flow_id});
            let audit = self.audit(actor, Some(row.app_id), "response.deleted", id, &detail);
            let rows = vec![Write::DeleteResponse(id), Write::Audit(audit)];
            match self.change_quietly(row.app_id, app.revision, Change::new(move || rows)).await {
                Err(AdminError::Store(StoreError::Conflict)) => {}
                done => return done,
            }
        }
        Err(StoreError::Conflict.into())
    }

    async fn response_for(
        &self,
        actor: &Actor,
        scope: Scope,
        id: ResponseId,
    ) -> AdminResult<ResponseRow> {
        let found = self.store.find_response(id).await?;
        let row = found.ok_or(AdminError::NotFound(Missing::Response))?;
        actor.need_in(scope, row.app_id, Missing::Response)?;
        Ok(row)
    }
}
