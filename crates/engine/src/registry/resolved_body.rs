//! The response body of a resolve request.

use std::sync::Arc;

use serde::Serialize;
use sluice_flow::definition::Kind;
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::lifecycle::{FlowStatus, GRACE_DEFAULT_SECONDS};
use sluice_flow::payload::Generation;
use sluice_flow::time::{Timestamp, Window};
use sluice_store::FlowState;

use crate::encoded_body::EncodedBody;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResolvedBody<'a> {
    flow_id: FlowId,
    flow_version_id: FlowVersionId,
    kind: Kind,
    name: &'a str,
    number: u32,
    published_at: Timestamp,
    payload_generations: Vec<&'static str>,
    status: FlowStatus,
    live_window: Window,
    grace_window_seconds: u32,
}

/// The body for each status, in the order of [`FlowStatus`]: the window changes the status without
/// a write. Absent if nothing is published.
pub(super) fn by_status(state: &FlowState) -> Option<[Arc<EncodedBody>; 3]> {
    let version = state.current.as_ref()?;
    let published_at = version.times.published_at?;
    let body = |status| ResolvedBody {
        flow_id: state.flow.flow_id,
        flow_version_id: version.flow_version_id,
        kind: state.flow.kind,
        name: &state.flow.name,
        number: version.number,
        published_at,
        payload_generations: Generation::ALL.iter().map(|it| it.as_str()).collect(),
        status,
        live_window: state.flow.live,
        grace_window_seconds: grace_seconds(state),
    };
    Some([FlowStatus::Scheduled, FlowStatus::Open, FlowStatus::Closed].map(|status| {
        Arc::new(EncodedBody::new(serde_json::to_vec(&body(status)).unwrap_or_default()))
    }))
}

/// The grace period that publishing this flow gives to the previous version.
pub(crate) fn grace_seconds(state: &FlowState) -> u32 {
    let own = state.flow.grace_window_seconds;
    own.or(state.app_grace_window_seconds).unwrap_or(GRACE_DEFAULT_SECONDS)
}
