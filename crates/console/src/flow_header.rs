//! The one header row of a flow: where it is, its title, its state, what is not published, and the
//! actions on the whole flow. The editor's script makes the title a field.

use maud::{Markup, html};
use sluice_engine::rows::{AppRow, FlowState};
use sluice_engine::stored_json;

use super::parts::icon;
use super::sidebar::FlowStage;
use super::unpublished::Unpublished;

/// What the header is rendered from.
pub(super) struct FlowHeader<'f> {
    pub(super) app: Option<&'f AppRow>,
    pub(super) state: &'f FlowState,
    pub(super) stage: FlowStage,
    /// Whether the visitor may change the flow.
    pub(super) writes: bool,
    /// The tab to return to after an action.
    pub(super) tab: &'f str,
}

impl FlowHeader<'_> {
    pub(super) fn render(&self) -> Markup {
        let flow = &self.state.flow;
        let base = format!("/console/flows/{}", flow.flow_id);
        let title = title(self.state);
        let stage = self.stage;
        let is_edited = self.writes && stage != FlowStage::Archived;
        html! {
            header.top.flow-top {
                div.heading {
                    p.crumbs {
                        @if let Some(app) = self.app { a href={ "/console/apps/" (app.app_id) } { (app.name) } }
                        @if flow.name != title { span.internal { " / " (flow.name) } }
                    }
                    div.title-row id="title-row" {
                        h1 id="flow-title" { (title) }
                        (state_of(stage))
                    }
                }
                div.actions {
                    @if is_edited { (Unpublished::new(self.state).actions(&base)) }
                    @if self.writes { (self.menu(stage, &base)) }
                }
            }
        }
    }

    fn menu(&self, stage: FlowStage, base: &str) -> Markup {
        let post = |action: &str, word: &str| {
            html! {
                form method="post" action={ (base) "/" (action) } {
                    input type="hidden" name="tab" value=(self.tab);
                    button.button.quiet type="submit" { (word) }
                }
            }
        };
        // A flow whose versions are all retired opens with its next publish.
        let is_published = self.state.current.is_some();
        html! {
            details.choices {
                summary.button.small.quiet aria-label="More actions" { (icon::more()) }
                div.list {
                    @match stage {
                        FlowStage::Open => (post("close", "Close now")),
                        FlowStage::Closed if is_published => (post("reopen", "Reopen")),
                        _ => {}
                    }
                    (post("duplicate", "Duplicate"))
                    @if stage == FlowStage::Archived { (post("restore", "Restore")) }
                    @else { a.button.quiet href={ (base) "/archive" } data-dialog { "Archive…" } }
                }
            }
        }
    }
}

/// A state as a dot and a word.
pub(super) fn state_of(status: FlowStage) -> Markup {
    html! { span.state { span class={ "dot " (status.class()) } {} (status.label()) } }
}

/// The title of the draft, or of the published version; the name if neither can be read.
pub(super) fn title(state: &FlowState) -> String {
    let row = state.draft.as_ref().or(state.current.as_ref());
    let definition = row.and_then(|row| stored_json(row).ok()).unwrap_or_default();
    let title = definition["title"].as_str().map(str::trim).filter(|title| !title.is_empty());
    title.unwrap_or(&state.flow.name).to_owned()
}
