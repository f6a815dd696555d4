//! The short path of a flow's hosted page: `/f/my-survey` besides `/f/fl_…`, which always works.

use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::short_path;
use sluice_store::{Scope, ShortPathRow, Write};

use crate::admin::{AdminError, AdminResult};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::core::Core;
use crate::handle::FlowHandle;

impl FlowHandle {
    #[boxed]
    pub async fn short_path(&self) -> AdminResult<Option<String>> {
        let core = self.permit.core(Scope::Read)?;
        let row = core.store.short_path_of(self.app_id(), self.flow_id()).await?;
        Ok(row.map(|row| row.path))
    }

    /// Gives the flow a path, or removes it; returns the path. The previous path is free from then
    /// on.
    #[boxed]
    pub async fn set_short_path(&self, path: Option<&str>) -> AdminResult<Option<String>> {
        let core = self.permit.core(Scope::Write)?;
        let invalid = |why: &str| AdminError::Invalid(vec![Fault::new("/path", why)]);
        let path = path.map(short_path::check).transpose().map_err(invalid)?;
        if self.short_path().await? == path {
            return Ok(path);
        }
        let taken = || invalid("is already used by another flow");
        if self.is_taken(core, path.as_deref()).await? {
            return Err(taken());
        }
        let (app_id, flow_id) = (self.app_id(), self.flow_id());
        let changed = self.change(Scope::Write, |_, _| {
            let row = path.clone().map(|path| ShortPathRow { app_id, flow_id, path });
            let write = row.map_or(Write::DeleteShortPath(app_id, flow_id), Write::ShortPath);
            let detail = json!({"shortPath": path});
            let audit = self.permit.audit(AuditAction::FlowUpdated, flow_id, &detail);
            Ok((vec![write, Write::Audit(audit)].into(), ()))
        });
        match changed.await {
            Ok(()) => Ok(path),
            // Another flow may have got it in the meantime.
            Err(AdminError::Store(_)) if self.is_taken(core, path.as_deref()).await? => {
                Err(taken())
            }
            Err(error) => Err(error),
        }
    }

    async fn is_taken(&self, core: &Core, path: Option<&str>) -> AdminResult<bool> {
        let Some(path) = path else { return Ok(false) };
        let row = core.store.find_short_path(path).await?;
        Ok(row.is_some_and(|row| row.flow_id != self.flow_id()))
    }
}
