//! Where the images of an app are used: in which questions of which flows, and in which designs.
//!
//! It reads what a deletion reads, so an image that is listed as not used can be deleted.

use serde_json::Value;
use sluice_flow::id::{AssetId, FlowId};
use sluice_flow::time::Timestamp;
use sluice_store::{Scope, VersionRow};

use crate::admin::AdminResult;
use crate::boxed;
use crate::branding::{HostedSettings, design_of};
use crate::definitions::stored_json;
use crate::handle::AppHandle;

/// Where an image is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssetUses {
    /// Whether it is the background in the app's design.
    pub in_app_design: bool,
    /// In order of creation.
    pub flows: Vec<FlowUse>,
}

impl AssetUses {
    pub fn is_empty(&self) -> bool {
        !self.in_app_design && self.flows.is_empty()
    }
}

/// A flow that uses an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowUse {
    pub flow_id: FlowId,
    pub name: String,
    pub is_archived: bool,
    /// Whether it is the background in the flow's design.
    pub in_design: bool,
    /// The prompts of the questions with the image, or with an option that has it: each once, in
    /// the order of the newest version. Empty for a question without a prompt.
    pub prompts: Vec<String>,
    /// When responses to these questions end, if only replaced versions have them.
    pub ends_at: Option<Timestamp>,
}

impl AppHandle {
    /// Where these images are used, in the same order.
    #[boxed]
    pub async fn asset_uses(&self, assets: &[AssetId]) -> AdminResult<Vec<AssetUses>> {
        let core = self.permit.core(Scope::Read)?;
        let found = core.store.flows_naming(self.app_id(), assets, core.now()).await?;
        let of_app = HostedSettings::from_app(&self.row).design.background_image();
        let mut uses: Vec<AssetUses> = assets
            .iter()
            .map(|asset| AssetUses { in_app_design: of_app == Some(*asset), flows: Vec::new() })
            .collect();
        for (flow, versions) in &found {
            let in_design = design_of(flow).background_image();
            let versions = newest_first(versions);
            for (asset, uses) in assets.iter().zip(&mut uses) {
                let naming: Vec<_> =
                    versions.iter().filter(|(_, text)| names(text, *asset)).collect();
                let in_design = in_design == Some(*asset);
                if naming.is_empty() && !in_design {
                    continue;
                }
                uses.flows.push(FlowUse {
                    flow_id: flow.flow_id,
                    name: flow.name.clone(),
                    is_archived: flow.archived_at.is_some(),
                    in_design,
                    prompts: prompts(naming.iter().map(|(_, definition)| definition), *asset),
                    ends_at: last_end(naming.iter().map(|(version, _)| *version)),
                });
            }
        }
        Ok(uses)
    }
}

/// The draft, then versions by descending number, each with its definition.
fn newest_first(versions: &[VersionRow]) -> Vec<(&VersionRow, Value)> {
    let mut versions: Vec<_> = versions.iter().collect();
    versions.sort_by_key(|it| (it.times.published_at.is_some(), std::cmp::Reverse(it.number)));
    let parsed = versions.into_iter();
    parsed.map(|it| (it, stored_json(it).unwrap_or_default())).collect()
}

/// Whether any part of a definition is the id of the asset. A draft may have it anywhere.
fn names(part: &Value, asset: AssetId) -> bool {
    match part {
        Value::String(text) => text.parse() == Ok(asset),
        Value::Array(items) => items.iter().any(|it| names(it, asset)),
        Value::Object(fields) => fields.values().any(|it| names(it, asset)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn prompts<'d>(definitions: impl Iterator<Item = &'d Value>, asset: AssetId) -> Vec<String> {
    let mut prompts = Vec::new();
    for definition in definitions {
        let questions = definition["questions"].as_array().into_iter().flatten();
        for question in questions.filter(|it| names(it, asset)) {
            let prompt = question["prompt"].as_str().unwrap_or_default().trim().to_owned();
            if !prompts.contains(&prompt) {
                prompts.push(prompt);
            }
        }
    }
    prompts
}

/// When the last of these versions ends; none if one of them has no end.
fn last_end<'v>(versions: impl Iterator<Item = &'v VersionRow>) -> Option<Timestamp> {
    let ends: Option<Vec<_>> = versions.map(|it| it.times.grace_ends_at).collect();
    ends?.into_iter().max()
}
