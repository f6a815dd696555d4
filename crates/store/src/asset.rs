//! Rows of assets: images that authors upload for their flows.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sluice_flow::id::{AppId, AssetId, FlowId};
use sluice_flow::time::Timestamp;

use crate::{FlowRow, StoreError, StoreResult, VersionRow};

/// BLAKE3 of the bytes of an asset.
pub type AssetDigest = [u8; 32];

/// The form of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ImageType {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/webp")]
    WebP,
}

impl ImageType {
    /// The content type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::WebP => "image/webp",
        }
    }
}

/// An image without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetInfo {
    pub app_id: AppId,
    pub asset_id: AssetId,
    pub content_type: ImageType,
    /// In pixels.
    pub width: u32,
    pub height: u32,
    pub digest: AssetDigest,
    pub created_at: Timestamp,
    pub bytes_len: u64,
}

/// An image. It never changes; no two of an app have the same digest.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssetRow {
    pub app_id: AppId,
    pub asset_id: AssetId,
    pub content_type: ImageType,
    /// In pixels.
    pub width: u32,
    pub height: u32,
    #[serde(with = "crate::hex")]
    pub digest: AssetDigest,
    pub created_at: Timestamp,
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub bytes: Vec<u8>,
}

impl AssetRow {
    pub fn digest_of(bytes: &[u8]) -> AssetDigest {
        *blake3::hash(bytes).as_bytes()
    }

    /// Whether the bytes are those that were stored.
    pub fn is_intact(&self) -> bool {
        self.digest == Self::digest_of(&self.bytes)
    }

    /// The error for an image that is not intact.
    pub fn check_intact(&self) -> StoreResult<()> {
        match self.is_intact() {
            true => Ok(()),
            false => Err(StoreError::Damaged(format!(
                "the image {} of the app {} does not match its digest",
                self.asset_id, self.app_id
            ))),
        }
    }

    pub fn info(&self) -> AssetInfo {
        AssetInfo {
            app_id: self.app_id,
            asset_id: self.asset_id,
            content_type: self.content_type,
            width: self.width,
            height: self.height,
            digest: self.digest,
            created_at: self.created_at,
            bytes_len: self.bytes.len() as u64,
        }
    }
}

impl std::fmt::Debug for AssetRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AssetRow").field(&self.info()).finish()
    }
}

/// Flows and versions that name an asset, each flow with its versions. Versions of other flows are
/// left out.
pub(crate) fn grouped(
    flows: Vec<FlowRow>,
    versions: Vec<VersionRow>,
) -> Vec<(FlowRow, Vec<VersionRow>)> {
    let mut by_flow: BTreeMap<FlowId, Vec<VersionRow>> = BTreeMap::new();
    for version in versions {
        by_flow.entry(version.flow_id).or_default().push(version);
    }
    let mut with_versions = |flow: FlowRow| {
        let versions = by_flow.remove(&flow.flow_id).unwrap_or_default();
        (flow, versions)
    };
    flows.into_iter().map(&mut with_versions).collect()
}

fn to_text<S: serde::Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&STANDARD.encode(bytes))
}

fn from_text<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
    STANDARD.decode(&*text).map_err(serde::de::Error::custom)
}
