//! The audit log: who changed what. It is written with every change, in the same transaction.

use sluice_flow::id::{AppId, AuditId};
use sluice_store::{AuditQuery, AuditRow, Scope};

use crate::actor::{Actor, Reach};
use crate::admin::{AdminError, AdminResult, Missing};
use crate::engine::Engine;

impl Engine {
    /// Entries newest first: of an app, or of everything. Whoever is bound to one app sees that app's only,
    /// and whoever is bound to several says which.
    pub async fn list_audit(
        &self,
        actor: &Actor,
        app: Option<AppId>,
        after: Option<AuditId>,
        limit: usize,
    ) -> AdminResult<Vec<AuditRow>> {
        let app_id = match app {
            Some(app) => {
                actor.need_in(Scope::Admin, app, Missing::App)?;
                Some(app)
            }
            None => match actor.reach(Scope::Admin)? {
                Reach::All => None,
                Reach::Apps(apps) if apps.len() == 1 => apps.first().copied(),
                Reach::Apps(_) => return Err(AdminError::BoundToApp),
            },
        };
        let query = AuditQuery { app_id, after, limit };
        Ok(self.store.list_audit(&query).await?)
    }
}
