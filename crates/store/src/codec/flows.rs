//! Rows of flows.

use sluice_flow::definition::Kind;
use sluice_flow::id::{AppId, FlowId};
use sluice_flow::time::Window;

use super::ReadCells;
use crate::FlowRow;

/// The columns of a flow, with this expression for its design.
macro_rules! flow_columns {
    ($design:literal) => {
        concat!(
            "flows.app_id, flows.flow_id, flows.kind, flows.name, flows.live_starts_at, \
             flows.live_ends_at, flows.grace_window_seconds, flows.closing, flows.flow_key, \
             flows.labels, ",
            $design,
            ", flows.test_links, flows.invitation_email, flows.created_at, flows.archived_at"
        )
    };
}

pub(crate) const FLOW: &str = flow_columns!("coalesce(flows.design_with_pictures, flows.design)");
/// Without the pictures of its design.
pub(crate) const LISTED_FLOW: &str = flow_columns!("flows.design");

pub(crate) fn flow<C: ReadCells>(cells: &mut C) -> Result<FlowRow, C::Error> {
    let (app_id, flow_id) = (cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?);
    Ok(FlowRow {
        app_id,
        flow_id,
        kind: kind(cells, flow_id)?,
        name: cells.text()?,
        live: Window { starts_at: cells.optional_time()?, ends_at: cells.optional_time()? },
        grace_window_seconds: cells.optional_number()?,
        closing: cells.optional_text()?,
        key: cells.optional_text()?,
        labels: cells.optional_json()?.unwrap_or_default(),
        design: cells.optional_text()?,
        test_links: cells.number()?,
        invitation_email: cells.optional_text()?,
        created_at: cells.time()?,
        archived_at: cells.optional_time()?,
    })
}

/// A newer release may have more kinds. The error names the flow, which an operator has to find.
fn kind<C: ReadCells>(cells: &mut C, flow: FlowId) -> Result<Kind, C::Error> {
    let name = cells.text()?;
    let kind = serde_json::from_value(serde_json::Value::from(name.as_str()));
    kind.map_err(|_| {
        cells.unreadable(format_args!(
            "the flow {flow} is of the kind {name:?}, which this build does not know"
        ))
    })
}
