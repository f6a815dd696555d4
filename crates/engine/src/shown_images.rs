//! The images that definitions name: which of them an app does not have, their sizes, and an image
//! as it is sent.

use std::collections::{BTreeSet, HashMap};

use sluice_flow::definition::{Definition, Fault};
use sluice_flow::id::{AppId, AssetId};
use sluice_store::{AssetRow, Store, StoreResult};

use crate::encoded_body::EncodedBody;

/// Width and height of images, in pixels.
pub(crate) type ImageSizes = HashMap<AssetId, (u32, u32)>;

/// An image, ready to send.
#[derive(Debug, Clone)]
pub struct ServedImage {
    pub(crate) app_id: AppId,
    pub content_type: &'static str,
    pub served: EncodedBody,
}

impl From<AssetRow> for ServedImage {
    fn from(row: AssetRow) -> Self {
        let (app_id, content_type) = (row.app_id, row.content_type.as_str());
        Self { app_id, content_type, served: EncodedBody::uncompressed(row.bytes) }
    }
}

/// The images of the definition that the app does not have.
pub(crate) async fn missing_images(
    store: &dyn Store,
    app: AppId,
    definition: &Definition,
) -> StoreResult<Vec<Fault>> {
    let named = definition.images();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let stored: BTreeSet<_> =
        store.list_assets(app).await?.into_iter().map(|it| it.asset_id).collect();
    let missing = named.into_iter().filter(|(_, image)| !stored.contains(&image.asset_id));
    Ok(missing
        .map(|(place, _)| Fault::new(format!("{place}/assetId"), "must be an image of this app"))
        .collect())
}

/// The sizes of the images that a definition names. Pages work without them, so a failed read must
/// not prevent a version from being served and answered.
pub(crate) async fn image_sizes(
    store: &dyn Store,
    app: AppId,
    definition: &Definition,
) -> ImageSizes {
    let named: BTreeSet<_> =
        definition.images().into_iter().map(|(_, image)| image.asset_id).collect();
    if named.is_empty() {
        return ImageSizes::new();
    }
    let stored = store.list_assets(app).await.unwrap_or_else(|error| {
        tracing::warn!(%app, %error, "the sizes of images cannot be read; pages are shown without them");
        Vec::new()
    });
    let named = stored.into_iter().filter(|it| named.contains(&it.asset_id));
    named.map(|it| (it.asset_id, (it.width, it.height))).collect()
}
