//! Serves uploaded images at `/a/{assetId}`. An image never changes under its id, so browsers may
//! keep it for a year.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use sluice_flow::id::AssetId;
use sluice_http::{reply, store_down};

use super::{Hosted, head_of};

/// The route template.
pub(super) const IMAGE: &str = "/a/{assetId}";

/// The path of an image.
pub(super) fn path(asset: AssetId) -> String {
    format!("/a/{asset}")
}

pub(super) async fn image(
    State(hosted): State<Arc<Hosted>>,
    Path(asset): Path<String>,
    request: Request,
) -> Response {
    let (peer, head) = head_of(request);
    if let Err(limited) = hosted.admit(peer, &head.headers) {
        return reply::Refusal::RateLimited(limited).reply();
    }
    match hosted.engine.links().image(&asset).await {
        Ok(Some(image)) => reply::file(image.content_type, &image.served, &head.headers),
        Ok(None) => reply::Refusal::RouteNotFound.reply(),
        Err(error) => {
            store_down(&error, "an image cannot be read");
            reply::Refusal::StoreDown.reply()
        }
    }
}
