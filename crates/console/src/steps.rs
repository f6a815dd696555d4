//! Next steps for a flow without responses: from a draft to the first result in four steps.

use maud::{Markup, html};
use sluice_engine::rows::FlowState;
use sluice_engine::stored_json;

use super::editor::faults;
use super::sidebar::{FlowStage, Sidebar};

/// The steps, with the next one highlighted. `why` explains why the page is empty.
pub(super) fn first_run(sidebar: &Sidebar, state: &FlowState, why: &str) -> Markup {
    let flow = state.flow.flow_id;
    let status = sidebar.stage(state);
    let next = match status {
        FlowStage::Draft if is_blank(state) => 0,
        FlowStage::Draft => 1,
        _ => 2,
    };
    let edit = format!("/console/flows/{flow}/edit");
    let share = format!("/console/flows/{flow}/share");
    html! {
        section.empty.first-run {
            h2 { "No responses yet" }
            p { (why) }
            ol.first-steps {
                (step(0, next, "Write", "Use a template or your own questions.", html! {
                    a.button.primary href=(edit) { "Add questions" }
                }))
                (step(1, next, "Publish", "Respondents see only published versions.", html! {
                    a.button.primary href={ "/console/flows/" (flow) "/publish" } data-dialog { "Review and publish" }
                }))
                (step(2, next, "Answer", closed(status), html! {
                    a.button.primary href={ "/f/" (flow) } target="_blank" rel="noopener" { "Send the first response" }
                }))
                (step(3, next, "Share", "Send the link and watch the results.", html! {
                    a href=(share) { "Link, embed, invitations" }
                }))
            }
        }
    }
}

/// Whether nothing is written in the draft yet.
fn is_blank(state: &FlowState) -> bool {
    let draft = state.draft.as_ref().and_then(|draft| stored_json(draft).ok());
    draft.is_some_and(|definition| faults::is_blank(&definition))
}

/// Why a response may not be possible now.
fn closed(status: FlowStage) -> &'static str {
    match status {
        FlowStage::Scheduled => "It is published but not open yet.",
        FlowStage::Closed => "It is closed. Change its schedule to accept responses.",
        FlowStage::Archived => "It is archived and accepts no responses.",
        FlowStage::Draft | FlowStage::Open => "It takes a minute and shows what respondents see.",
    }
}

fn step(at: usize, next: usize, name: &str, text: &str, way: Markup) -> Markup {
    let state = if at < next {
        "done"
    } else if at == next {
        "next"
    } else {
        "later"
    };
    html! {
        li class={ "first-step " (state) } aria-current=[(at == next).then_some("step")] {
            p { strong { (name) } @if at < next { span.unseen { " (done)" } } }
            p.hint { (text) }
            @if at == next || at == 3 { p { (way) } }
        }
    }
}
