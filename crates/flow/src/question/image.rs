//! Images of questions and options: an uploaded asset, and a text in its place.

use serde::Serialize;
use serde_json::{Value, json};

use crate::definition::limits::ALT_CHARS_MAX;
use crate::definition::reader::{ObjectReader, text_schema};
use crate::id::{AssetId, DIGITS};

/// An image. Whether the app has the asset is not checked here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Image {
    pub asset_id: AssetId,
    /// What it shows, for readers who do not see it; absent if it is decorative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
}

/// The field `image`.
pub(super) fn read(reader: &mut ObjectReader<'_>) -> Option<Image> {
    let value = reader.field("image")?;
    let mut reader = ObjectReader::open(value, reader.at("image"), reader.faults)?;
    let asset_id = reader.needed("assetId").and_then(|id| {
        let parsed = id.as_str().unwrap_or_default().parse::<AssetId>();
        parsed.map_err(|error| reader.fault("assetId", error.to_string())).ok()
    });
    let alt = reader.text("alt", ALT_CHARS_MAX);
    reader.close();
    Some(Image { asset_id: asset_id?, alt })
}

pub(crate) fn schema() -> Value {
    let id = format!("^{}[0-9A-Za-z]{{{DIGITS}}}$", AssetId::PREFIX);
    let alt = json!({"anyOf": [text_schema(ALT_CHARS_MAX), {"type": "null"}]});
    json!({
        "type": "object",
        "properties": {"assetId": {"type": "string", "pattern": id}, "alt": alt},
        "required": ["assetId"],
        "additionalProperties": false,
    })
}
