//! The audit log: who changed what. It is written with every change, in the same transaction.

use sluice_flow::id::{AppId, AuditId};
use sluice_store::{AuditQuery, AuditRow, Scope};

use crate::actor::Actor;
use crate::admin::{AdminResult, Missing};
use crate::engine::Engine;

impl Engine {
    /// Entries newest first. A token bound to an app sees that app's only.
    pub async fn list_audit(
        &self,
        actor: &Actor,
        app: Option<AppId>,
        after: Option<AuditId>,
        limit: usize,
    ) -> AdminResult<Vec<AuditRow>> {
        actor.need(Scope::Admin)?;
        if let Some(app) = app {
            actor.need_in(Scope::Admin, app, Missing::App)?;
        }
        let query = AuditQuery { app_id: app.or(actor.app_id), after, limit };
        Ok(self.store.list_audit(&query).await?)
    }
}
