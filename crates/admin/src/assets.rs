//! Assets: images for the questions and options of an app's flows.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use sluice_engine::Engine;
use sluice_engine::rows::{AssetInfo, Scope};
use sluice_flow::id::{AppId, AssetId};
use sluice_flow::time::Timestamp;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{List, PageQuery};
use super::reply::{self, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{ImageBody, PathParam, Query};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(upload, list)).routes(routes!(delete))
}

/// An image as it is stored and served.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "assetId": "as_06Dy3mWjVC9Wh9bEzFTKgV", "contentType": "image/jpeg", "width": 1600, "height": 900,
    "bytes": 182044, "url": "https://feedback.example/a/as_06Dy3mWjVC9Wh9bEzFTKgV",
    "createdAt": "2026-11-15T12:00:00.000Z"
}))]
struct Asset {
    /// Definitions name the image by this id.
    #[schema(value_type = String)]
    asset_id: AssetId,
    /// `image/png`, `image/jpeg` or `image/webp`; may differ from the type of the upload.
    content_type: &'static str,
    /// In pixels.
    width: u32,
    /// In pixels.
    height: u32,
    /// The size.
    bytes: u64,
    /// Where everyone can read it.
    url: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl Asset {
    fn new(engine: &Engine, asset: &AssetInfo) -> Self {
        Self {
            asset_id: asset.asset_id,
            content_type: asset.content_type.as_str(),
            width: asset.width,
            height: asset.height,
            bytes: asset.bytes_len,
            url: format!("{}/a/{}", engine.addresses().public_url, asset.asset_id),
            created_at: asset.created_at,
        }
    }
}

/// Upload an image
///
/// The body is the file: PNG, JPEG or WebP, at most 2 MiB, at most 4,096 pixels wide and high. It
/// is encoded again: metadata such as the location of a photo is dropped, only the first frame of
/// an animation is kept, and an image with a side of more than 2,000 pixels is scaled down. The
/// same image is stored once: uploading it again returns the existing asset. An app has at most
/// 2,000 images, which take at most 200 MiB.
#[utoipa::path(
    post, path = "/apps/{appId}/assets", operation_id = "uploadAsset", tag = "Images",
    security(("adminToken" = ["write"])),
    request_body(content(
        (Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/webp"),
    )),
    responses(
        (status = 201, description = "The stored image", body = Asset),
        (status = 200, description = "The same image, which was stored before", body = Asset),
        (status = 408, description = "`body_too_slow`: the body did not arrive in time", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`assets_full`: the app has as many images as it may have", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "`payload_too_large`: the file is larger than 2 MiB", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "`unsupported_media_type`: the content type is none of the three, or the file has a `Content-Encoding`", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "`invalid`: not such an image, damaged, or too many pixels", body = Problem, content_type = "application/problem+json"),
        CommonErrors,
    ),
)]
async fn upload(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    ImageBody(file): ImageBody,
) -> Reply {
    let uploaded = engine.app(&actor, Scope::Write, app).await?.upload_asset(file).await?;
    let asset = Asset::new(&engine, &uploaded.asset);
    if uploaded.is_new { reply::created(asset) } else { reply::ok(asset) }
}

/// List the images of an app
///
/// Newest first: at most 2,000.
#[utoipa::path(
    get, path = "/apps/{appId}/assets", operation_id = "listAssets", tag = "Images",
    security(("adminToken" = ["read"])),
    params(PageQuery<AssetId>),
    responses(
        (status = 200, description = "A page of images", body = List<Asset>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    Query(query): Query<PageQuery<AssetId>>,
) -> Reply {
    let assets = engine.app(&actor, Scope::Read, app).await?.list_assets().await?;
    let assets = assets.iter().map(|it| Asset::new(&engine, it)).collect();
    let is_passed = |it: &Asset| query.after.is_some_and(|after| it.asset_id >= after);
    reply::ok(List::from_whole(assets, query.limit, is_passed, |it| it.asset_id.to_string()))
}

/// Delete an image
///
/// Its address no longer works, but browsers that have it keep it for up to a year. Refused while a
/// draft, or a version that may still be answered, has the image.
#[utoipa::path(
    delete, path = "/apps/{appId}/assets/{assetId}", operation_id = "deleteAsset", tag = "Images",
    security(("adminToken" = ["write"])),
    responses(
        (status = 204, description = "Deleted"),
        (status = 409, description = "`asset_in_use`: the detail names a flow that has it", body = Problem, content_type = "application/problem+json"),
        CommonErrors,
    ),
)]
async fn delete(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    PathParam(asset): PathParam<AssetId>,
) -> Reply {
    engine.app(&actor, Scope::Write, app).await?.delete_asset(asset).await?;
    reply::done()
}
