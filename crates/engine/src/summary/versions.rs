//! The published versions of a flow, with their definitions.

use std::sync::Arc;

use sluice_flow::definition::Definition;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::question::Question;
use sluice_flow::time::Timestamp;

use crate::admin::AdminResult;
use crate::core::Core;

/// The number of versions to read at a time.
const VERSIONS_PAGE: usize = 100;

/// A published version.
pub(crate) struct Version {
    pub(crate) flow_version_id: FlowVersionId,
    pub(crate) number: u32,
    pub(crate) published_at: Timestamp,
    /// `None` if it cannot be read: the version is then summarised without its questions.
    pub(crate) definition: Option<Arc<Definition>>,
}

impl Version {
    pub(crate) fn questions(&self) -> &[Question] {
        self.definition.as_ref().map_or(&[], |definition| definition.questions())
    }

    pub(crate) fn question(&self, id: &str) -> Option<&Question> {
        self.definition.as_ref()?.question(id)
    }
}

/// All of them, newest first.
pub(crate) async fn published_versions(
    core: &Core,
    app: AppId,
    flow: FlowId,
) -> AdminResult<Vec<Version>> {
    let mut versions = Vec::new();
    let mut before = None;
    loop {
        let page = core.store.list_versions(app, flow, before, VERSIONS_PAGE).await?;
        let is_last = page.len() < VERSIONS_PAGE;
        before = page.last().map(|last| last.number);
        for row in page {
            versions.push(Version {
                flow_version_id: row.flow_version_id,
                number: row.number,
                published_at: row.times.published_at.unwrap_or(row.created_at),
                definition: core.definitions.readable(&row),
            });
        }
        if is_last {
            return Ok(versions);
        }
    }
}
