//! Visits to published versions: checks what is reported, and counts it.

use sluice_flow::lifecycle::Accepting;
use sluice_flow::visit::{Visit, VisitFault, VisitStep};
use sluice_store::StoreResult;

use crate::boxed;
use crate::core::Core;
use crate::hosted::{HostedFlow, HostedVersion};
use crate::registry::{AppView, VersionView};

/// Why a visit is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitRefused {
    /// The app has no such published version, or it is retired.
    VersionNotFound,
    Fault(VisitFault),
}

impl Core {
    /// Counts the steps that a client reports.
    pub(crate) async fn count_visit(
        &self,
        app: &AppView,
        visit: &Visit,
    ) -> StoreResult<Result<(), VisitRefused>> {
        let Ok(id) = visit.flow_version_id.parse() else {
            return Ok(Err(VisitRefused::VersionNotFound));
        };
        let version = self.registry.version(app.app_id, id).await?;
        Ok(match version {
            Some(version) => self.count_checked(&version, visit),
            None => Err(VisitRefused::VersionNotFound),
        })
    }

    fn count_checked(&self, version: &VersionView, visit: &Visit) -> Result<(), VisitRefused> {
        let now = self.now();
        let is_gone = version.accepting(now) == Accepting::Gone;
        let published = version.published.as_ref().filter(|_| !is_gone);
        let published = published.ok_or(VisitRefused::VersionNotFound)?;
        visit.check(published.snapshot.definition()).map_err(VisitRefused::Fault)?;
        self.visits.add(version, now, &visit.steps);
        Ok(())
    }
}

impl HostedFlow {
    /// Counts the steps that the script of the page reports.
    #[boxed]
    pub async fn count_visit(&self, visit: &Visit) -> StoreResult<Result<(), VisitRefused>> {
        let version = self.version(&visit.flow_version_id).await?;
        Ok(match version.as_ref().and_then(HostedVersion::published) {
            Some(version) => self.core.count_checked(version, visit),
            None => Err(VisitRefused::VersionNotFound),
        })
    }

    /// Counts steps that the server itself has seen. A preview counts nothing.
    pub fn count_steps(&self, version: &HostedVersion, steps: &[VisitStep]) {
        if let Some(version) = version.published() {
            self.core.visits.add(version, self.core.now(), steps);
        }
    }
}
