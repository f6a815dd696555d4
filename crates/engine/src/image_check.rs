//! Compares the images that pages show with the stored ones, for [`crate::integrity`].
//!
//! An image is needed by the current version of a flow and by a design. It may be gone from drafts,
//! which may break every rule, and from versions that have ended: then it can be deleted.

use std::collections::BTreeMap;

use sluice_flow::id::{AppId, AssetId};
use sluice_store::{Record, VersionRow};

use crate::branding::{HostedSettings, design_of};
use crate::definitions::stored_definition;

/// The images that were named and not found so far, each with the first place that names it.
#[derive(Debug, Default)]
pub(crate) struct ImageCheck(BTreeMap<(AppId, AssetId), String>);

impl ImageCheck {
    /// In the order of records: images come after everything that names them.
    pub(crate) fn note(&mut self, record: &Record) {
        match record {
            Record::App(app) => {
                let image = HostedSettings::from_app(&app.row).design.background_image();
                self.need(app.row.app_id, image, || format!("apps {}", app.row.app_id));
            }
            Record::Flow(row) => {
                let image = design_of(row).background_image();
                self.need(row.app_id, image, || format!("flows {}", row.flow_id));
            }
            Record::Version(row) if is_current(row) => {
                // A definition that cannot be read is not judged here.
                let Some(definition) = stored_definition(row) else { return };
                let images = definition.images().into_iter().map(|(_, image)| image.asset_id);
                self.need(row.app_id, images, || format!("versions {}", row.flow_version_id));
            }
            Record::Asset(row) => {
                self.0.remove(&(row.app_id, row.asset_id));
            }
            _ => {}
        }
    }

    fn need(
        &mut self,
        app: AppId,
        images: impl IntoIterator<Item = AssetId>,
        place: impl Fn() -> String,
    ) {
        for image in images {
            self.0.entry((app, image)).or_insert_with(&place);
        }
    }

    /// Where an image is named that does not exist, and which one.
    pub(crate) fn into_missing(self) -> impl Iterator<Item = (String, AssetId)> {
        self.0.into_iter().map(|((_, image), place)| (place, image))
    }
}

fn is_current(row: &VersionRow) -> bool {
    let times = &row.times;
    times.published_at.is_some() && times.superseded_at.is_none() && times.retired_at.is_none()
}
