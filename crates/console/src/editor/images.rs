//! Stores an image for the script, which writes its id into the draft.

use std::sync::Arc;

use axum::extract::{Request, State};
use serde::Serialize;
use sluice_engine::assets::UPLOAD_BYTES_MAX;
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, AppHandle};
use sluice_flow::id::{AssetId, FlowId};

use crate::Console;
use crate::reply::{self, Kind, Refused, Reply};
use crate::request::{PathParam, read_up_to};
use crate::session::Visitor;

/// The stored image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    asset_id: AssetId,
}

/// Why an image was not stored, as a sentence.
#[derive(Debug, Serialize)]
struct NotStored {
    message: String,
}

pub(super) async fn upload(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    request: Request,
) -> Reply {
    // Checked first: a visitor who may not write learns nothing about other errors.
    let flow = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    store(&flow.app().await?, request).await
}

/// Stores an image of the app, and replies with its id or with what is wrong.
pub(crate) async fn store(app: &AppHandle, request: Request) -> Reply {
    let refused = |kind, message: String| Ok(reply::json(kind, &NotStored { message }));
    let file = match read_up_to(UPLOAD_BYTES_MAX, request).await {
        Ok(file) => file,
        Err(Refused::TooLarge) => {
            return refused(Kind::TooLarge, "The image is larger than 2 MB.".to_owned());
        }
        Err(unread) => return Err(unread),
    };
    match app.upload_asset(file).await {
        Ok(uploaded) => Ok(reply::json(Kind::Shown, &Stored { asset_id: uploaded.asset.asset_id })),
        Err(AdminError::Invalid(faults)) => {
            let faults: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
            refused(Kind::Unfinished, format!("The image {}.", faults.join(", ")))
        }
        Err(AdminError::Conflict { detail, .. }) => {
            refused(Kind::Conflict, format!("Not stored: {detail}."))
        }
        Err(error) => Err(error.into()),
    }
}
