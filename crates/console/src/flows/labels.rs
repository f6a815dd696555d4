//! The labels of a flow: chips in the list, which lead to all flows with the same label, and the
//! dialog that changes them. The settings of the flow have the same field.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sluice_engine::FlowPatch;
use sluice_engine::rows::{FlowState, Scope};
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowId;
use sluice_flow::labels;

use crate::Console;
use crate::frame::{Frame, NavItem, Width};
use crate::parts::errors;
use crate::parts::field::Field;
use crate::parts::labels::{HINT, in_text, joined};
use crate::reply::{self, Kind, Reply};
use crate::request::{Form, PathParam, faults_of};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// The field with the labels that the page showed first.
const SHOWN: &str = "shown.labels";

/// The parameter that filters the list, with a mark before it.
pub(super) fn parameter(mark: char, label: Option<&str>) -> String {
    let encoded = label.map(|label| utf8_percent_encode(label, NON_ALPHANUMERIC).to_string());
    encoded.map(|label| format!("{mark}label={label}")).unwrap_or_default()
}

/// The labels of a flow in the list; `base` is the address of the list.
pub(super) fn chips(base: &str, labels: &[String]) -> Markup {
    html! {
        @if !labels.is_empty() {
            ul.labels aria-label="Labels" {
                @for label in labels {
                    li { a.chip href={ (base) (parameter('?', Some(label))) } { bdi { (label) } } }
                }
            }
        }
    }
}

pub(super) async fn ask(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let form = form(&state, &joined(&state.flow.labels), &[]);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flows, "Labels").width(Width::Narrow);
    Ok(frame.page(Kind::Shown, form))
}

fn form(state: &FlowState, text: &str, faults: &[Fault]) -> Markup {
    let flow = &state.flow;
    let field = Field {
        id: "labels",
        label: "Labels",
        hint: Some(HINT),
        value: text,
        error: faults.first().map(|fault| fault.message.as_str()),
        autocomplete: Some("off"),
        ..Field::default()
    };
    html! {
        section.card data-dialog-body {
            h2 { "Labels of “" (flow.name) "”" }
            form.form method="post" action={ "/console/flows/" (flow.flow_id) "/labels" } {
                (errors(faults, |_| Some("labels".to_owned())))
                input type="hidden" name=(SHOWN) value=(joined(&flow.labels));
                (field.draw())
                div.buttons {
                    button.button.primary type="submit" { "Save" }
                    a.button href={ "/console/apps/" (flow.app_id) } data-closes { "Cancel" }
                }
            }
        }
    }
}

pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let state = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let text = form.raw("labels");
    let saved = || Ok(reply::see_other(&format!("/console/apps/{}?done=saved", state.app_id())));
    // What a colleague saved meanwhile stays.
    if form.has(SHOWN) && form.raw(SHOWN).trim() == text.trim() {
        return saved();
    }
    let shown = in_text(form.raw(SHOWN));
    let labels = labels::merged(&state.flow.labels, &shown, &in_text(text));
    let patch = FlowPatch { labels: Some(labels), ..FlowPatch::default() };
    match faults_of(state.update(&patch).await)? {
        Ok(_) => saved(),
        Err(faults) => {
            let sidebar = Sidebar::app(&console, &visitor, state.app_id()).await?;
            let content = self::form(&state, text, &faults);
            let frame = Frame::new(&visitor, &sidebar, NavItem::Flows, "Labels");
            Ok(frame.width(Width::Narrow).page(Kind::Unfinished, content))
        }
    }
}
