//! Assets: images that authors upload for their flows.
//!
//! An asset never changes, and the same image is stored once per app. Anyone with the id can read
//! it. It cannot be deleted while something in use names it; a version that has ended does not
//! count, or a published image could never be deleted.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use sluice_flow::definition::Fault;
use sluice_flow::id::AssetId;
use sluice_store::{
    AssetInfo, AssetRow, FlowRow, Scope, StoreError, StoreResult, VersionRow, Write,
};

use crate::admin::{AdminError, AdminResult, Missing};
use crate::audit_action::AuditAction;
use crate::boxed;
use crate::branding::{HostedSettings, design_of};
use crate::conflict::retry_on_conflict;
use crate::core::Core;
use crate::handle::AppHandle;
use crate::images::ImageRefused;
use crate::shown_images::ServedImage;

/// The size of an upload, in bytes.
pub const UPLOAD_BYTES_MAX: usize = 2 * 1024 * 1024;
/// The size of all images of one app, in bytes.
pub const APP_BYTES_MAX: u64 = 200 * 1024 * 1024;
/// The number of images of one app.
pub const APP_ASSETS_MAX: usize = 2_000;

/// The error code for an upload beyond the limits of the app.
const ASSETS_FULL: &str = "assets_full";
/// The error code for deleting an asset that is in use.
const ASSET_IN_USE: &str = "asset_in_use";

/// An upload that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uploaded {
    pub asset: AssetInfo,
    /// Whether the app did not have the image yet.
    pub is_new: bool,
}

impl AppHandle {
    /// The images of the app, newest first.
    #[boxed]
    pub async fn list_assets(&self) -> AdminResult<Vec<AssetInfo>> {
        Ok(self.permit.core(Scope::Read)?.store.list_assets(self.app_id()).await?)
    }

    /// Stores an image. If the app has the same one already, that is returned.
    #[boxed]
    pub async fn upload_asset(&self, upload: Bytes) -> AdminResult<Uploaded> {
        let core = self.permit.core(Scope::Write)?;
        let invalid = |why: String| AdminError::Invalid(vec![Fault::new("", why)]);
        if upload.len() > UPLOAD_BYTES_MAX {
            return Err(invalid(format!("must have at most {UPLOAD_BYTES_MAX} bytes")));
        }
        // Below the reserve, the rest of the disk is for deletion and signing in.
        if core.store.disk_space().is_some_and(|it| it.free_bytes < it.reserve_bytes) {
            return Err(StoreError::DiskReserve.into());
        }
        let image = core.images.convert(upload).await.map_err(|why| match why {
            ImageRefused::Busy => StoreError::Failed(why.into()).into(),
            why => invalid(why.to_string()),
        })?;
        let image = &AssetRow {
            app_id: self.app_id(),
            asset_id: AssetId::from_uuid(core.new_id()),
            content_type: image.content_type,
            width: image.width,
            height: image.height,
            digest: AssetRow::digest_of(&image.bytes),
            created_at: core.now(),
            bytes: image.bytes,
        };
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let stored = core.store.list_assets(self.app_id()).await?;
            if let Some(same) = stored.iter().find(|it| it.digest == image.digest) {
                return Ok(Uploaded { asset: same.clone(), is_new: false });
            }
            must_have_room(&stored, image.bytes.len() as u64)?;
            let asset = image.info();
            let detail = json!({
                "contentType": asset.content_type,
                "width": asset.width,
                "height": asset.height,
                "bytes": asset.bytes_len,
            });
            let audit = self.permit.audit(AuditAction::AssetUploaded, asset.asset_id, &detail);
            let rows = vec![Write::Asset(image.clone()), Write::Audit(audit)];
            self.permit.change_quietly(Scope::Write, expected, rows).await?;
            Ok(Uploaded { asset, is_new: true })
        })
        .await
    }

    /// Deletes an image that no draft and no version in use names.
    #[boxed]
    pub async fn delete_asset(&self, asset: AssetId) -> AdminResult<()> {
        let core = self.permit.core(Scope::Write)?;
        retry_on_conflict(|is_retry| async move {
            let expected =
                if is_retry { self.permit.current_revision().await? } else { self.revision };
            let stored = core.store.list_assets(self.app_id()).await?;
            if !stored.iter().any(|it| it.asset_id == asset) {
                return Err(AdminError::NotFound(Missing::Asset));
            }
            self.must_be_unused(core, asset).await?;
            let audit = self.permit.audit(AuditAction::AssetDeleted, asset, &json!({}));
            let rows = vec![Write::DeleteAsset(self.app_id(), asset), Write::Audit(audit)];
            self.permit.change(Scope::Write, expected, rows).await
        })
        .await
    }

    async fn must_be_unused(&self, core: &Core, asset: AssetId) -> AdminResult<()> {
        let naming = core.store.flows_naming(self.app_id(), &[asset], core.now()).await?;
        let flows: Vec<_> = naming.iter().filter(|(_, versions)| !versions.is_empty()).collect();
        let Some((FlowRow { flow_id, name, .. }, _)) = flows.first() else {
            return self.must_be_in_no_design(core, asset, &naming).await;
        };
        let others = match flows.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        let detail = format!(
            "the image is used in {name:?} ({flow_id}){others}: remove it there and publish; older versions may accept responses for a while"
        );
        Err(AdminError::conflict(ASSET_IN_USE, detail))
    }

    async fn must_be_in_no_design(
        &self,
        core: &Core,
        asset: AssetId,
        naming: &[(FlowRow, Vec<VersionRow>)],
    ) -> AdminResult<()> {
        let app = core.store.find_app(self.app_id()).await?;
        let of_app =
            app.and_then(|app| HostedSettings::from_app(&app.row).design.background_image());
        if of_app == Some(asset) {
            let detail = "the image is the background in the app's design";
            return Err(AdminError::conflict(ASSET_IN_USE, detail));
        }
        let mut flows = naming.iter().map(|(flow, _)| flow);
        match flows.find(|flow| design_of(flow).background_image() == Some(asset)) {
            Some(flow) => {
                let (name, id) = (&flow.name, flow.flow_id);
                let first = if flow.archived_at.is_some() { ": restore it first" } else { "" };
                let detail =
                    format!("the image is the background in the design of {name:?} ({id}){first}");
                Err(AdminError::conflict(ASSET_IN_USE, detail))
            }
            None => Ok(()),
        }
    }
}

fn must_have_room(stored: &[AssetInfo], more: u64) -> AdminResult<()> {
    let bytes: u64 = stored.iter().map(|it| it.bytes_len).sum();
    let detail = match (stored.len() >= APP_ASSETS_MAX, bytes + more > APP_BYTES_MAX) {
        (true, _) => format!("the app has {APP_ASSETS_MAX} images, the most that it may have"),
        (_, true) => {
            format!(
                "the images of the app would take more than {} MiB",
                APP_BYTES_MAX / (1024 * 1024)
            )
        }
        (false, false) => return Ok(()),
    };
    Err(AdminError::conflict(ASSETS_FULL, format!("{detail}: delete some that are not used")))
}

impl Core {
    /// An image of any app, for everyone.
    pub(crate) async fn asset(&self, asset: &str) -> StoreResult<Option<Arc<ServedImage>>> {
        match asset.parse() {
            Ok(asset) => self.registry.asset(asset).await,
            Err(_) => Ok(None),
        }
    }
}
