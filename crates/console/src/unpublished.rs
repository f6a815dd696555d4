//! What of a flow is not published yet: the number of changes, in words.

use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;
use sluice_engine::rows::{FlowState, VersionRow};
use sluice_engine::{stored_definition, stored_json};
use sluice_flow::definition::{Change, check, difference};

use super::parts::counted;

/// The difference between the draft of a flow and its current version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unpublished {
    /// The draft is as published, or there is none.
    Nothing,
    /// There is no published version to compare with.
    First,
    Changes(Vec<Change>),
    /// The draft has faults, or the published version cannot be read.
    Unknown,
}

/// The same, for the editor's script.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnpublishedNote {
    pub(super) text: String,
    pub(super) can_publish: bool,
    pub(super) can_discard: bool,
}

impl Unpublished {
    pub(super) fn new(state: &FlowState) -> Self {
        match &state.draft {
            None => Self::Nothing,
            Some(draft) => {
                let draft = stored_json(draft).unwrap_or_default();
                Self::between(state.current.as_ref(), &draft)
            }
        }
    }

    /// Compares a draft with the current version.
    pub(super) fn between(current: Option<&VersionRow>, draft: &Value) -> Self {
        let Some(current) = current else { return Self::First };
        let (Some(before), Ok(after)) = (stored_definition(current), check(draft)) else {
            return Self::Unknown;
        };
        let changes = difference(&before, &after);
        if changes.is_empty() && before.to_json() == after.to_json() {
            return Self::Nothing;
        }
        Self::Changes(changes)
    }

    pub(super) fn can_publish(&self) -> bool {
        *self != Self::Nothing
    }

    /// Whether there is a published version to go back to.
    pub(super) fn can_discard(&self) -> bool {
        matches!(self, Self::Changes(_) | Self::Unknown)
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Nothing => "No unpublished changes".to_owned(),
            Self::First => "Not published yet".to_owned(),
            Self::Unknown => "Unpublished changes".to_owned(),
            // Such as another order of translations.
            Self::Changes(changes) if changes.is_empty() => "Unpublished changes".to_owned(),
            Self::Changes(changes) => counted(changes.len() as u64, "unpublished change"),
        }
    }

    pub(super) fn note(&self) -> UnpublishedNote {
        let (can_publish, can_discard) = (self.can_publish(), self.can_discard());
        UnpublishedNote { text: self.text(), can_publish, can_discard }
    }

    /// The note, and what can be done about it. The script shows the pages as dialogs.
    pub(super) fn actions(&self, base: &str) -> Markup {
        html! {
            div.standing {
                span id="saving" data-state="saved" hidden {}
                span.unpublished id="unpublished" { (self.text()) }
                a.button.small.quiet href={ (base) "/discard" } data-dialog data-discard hidden[!self.can_discard()] { "Discard" }
            }
            a.button.small.primary href={ (base) "/publish" } data-dialog data-publish hidden[!self.can_publish()] { "Publish" }
        }
    }
}
