//! Saves the draft for the script: the reply has the tag of what was stored, and, on a conflict,
//! the draft that someone else saved.

use std::sync::Arc;

use axum::extract::{Request, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_engine::Saved;
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;

use super::faults::{FaultNote, notes};
use crate::Console;
use crate::reply::{self, Kind, Refused, Reply};
use crate::request::{PathParam, read_whole};
use crate::session::Visitor;
use crate::unpublished::{Unpublished, UnpublishedNote};

/// The request of the script.
#[derive(Debug, Deserialize)]
struct SaveRequest {
    /// The tag of the state that the edit started from.
    tag: String,
    definition: Value,
}

/// The reply to the script.
#[derive(Debug, Serialize)]
struct SaveReply<'t> {
    tag: &'t str,
    faults: Vec<FaultNote<'t>>,
    /// What is not published yet, for the header.
    unpublished: UnpublishedNote,
    /// The draft that someone else saved in the meantime.
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<&'t Value>,
}

pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    request: Request,
) -> Reply {
    // Checked first: a visitor who may not write learns nothing about other errors.
    let flow = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let body = read_whole(request).await?;
    let sent: SaveRequest = serde_json::from_slice(&body).map_err(|_| Refused::Unreadable)?;
    let saved = flow.save_draft(&sent.definition, &sent.tag).await?;
    let note = |definition| Unpublished::between(flow.current.as_ref(), definition).note();
    Ok(match &saved {
        Saved::Saved { tag, faults } => {
            let unpublished = note(&sent.definition);
            let faults = notes(faults, &sent.definition);
            reply::json(Kind::Shown, &SaveReply { tag, faults, unpublished, definition: None })
        }
        Saved::Overtaken(theirs) => {
            let (tag, faults) = (theirs.tag.as_str(), notes(&theirs.faults, &theirs.definition));
            let (unpublished, definition) = (note(&theirs.definition), Some(&theirs.definition));
            reply::json(Kind::Conflict, &SaveReply { tag, faults, unpublished, definition })
        }
    })
}
