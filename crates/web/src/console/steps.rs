//! What to do next with a flow that has no response yet: from a draft to the first result in four steps.

use maud::{Markup, html};
use sluice_engine::rows::FlowState;

use super::around::{Around, Status};

/// The steps, with the next one marked. `why` says why there is nothing to see on the page it stands on.
pub(super) fn first_run(around: &Around, state: &FlowState, why: &str) -> Markup {
    let flow = state.flow.flow_id;
    let status = Status::of(state, around.now);
    let next = match status {
        Status::Draft => 1,
        _ => 2,
    };
    let edit = format!("/console/flows/{flow}/edit");
    let share = format!("/console/flows/{flow}/share");
    html! {
        section.empty.first-run {
            h2 { "No responses yet" }
            p { (why) }
            ol.first-steps {
                (step(0, next, "Write it", "Questions from a template or your own.", html! {
                    a href=(edit) { "Edit the questions" }
                }))
                (step(1, next, "Publish it", "Only what is published can be answered.", html! {
                    a.button.primary href=(edit) { "Review and publish" }
                }))
                (step(2, next, "Answer it once yourself", closed(status), html! {
                    a.button.primary href={ "/f/" (flow) } target="_blank" rel="noopener" { "Send a test answer" }
                }))
                (step(3, next, "Share it", "Then the results fill up by themselves.", html! {
                    a href=(share) { "Link, embed, invitations" }
                }))
            }
        }
    }
}

/// Why a test answer may not be possible now.
fn closed(status: Status) -> &'static str {
    match status {
        Status::Scheduled => "It is published, and opens on its date; then it can be answered.",
        Status::Closed => {
            "It is closed now. Change its schedule, or publish it again, to take answers."
        }
        Status::Archived => "It is archived and takes no answers.",
        Status::Draft | Status::Open => "It takes a minute, and shows what respondents see.",
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
