//! The short path of the hosted page, chosen by an author.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::Scope;
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowId;

use super::{TypedForms, page};
use crate::Console;
use crate::parts::errors;
use crate::parts::field::Field;
use crate::reply::{self, Reply};
use crate::request::{Fields, Form, PathParam, faults_of};
use crate::session::Visitor;

/// The path that was typed, shown again after an error.
#[derive(Debug, Clone, Default)]
pub(super) struct ShortPathForm<'t> {
    pub(super) path: &'t str,
    pub(super) faults: Vec<Fault>,
}

impl ShortPathForm<'_> {
    /// The form; `current` is the path that the flow has.
    pub(super) fn draw(&self, flow: FlowId, base: &str, current: Option<&str>) -> Markup {
        let is_faulty = !self.faults.is_empty();
        let hint = format!(
            "{base}/f/… with letters, digits and hyphens. The link with the flow’s id keeps working."
        );
        let field = Field {
            id: "path",
            label: "Short path",
            hint: Some(&hint),
            value: if is_faulty { self.path } else { current.unwrap_or_default() },
            autocomplete: Some("off"),
            mono: true,
            ..Field::default()
        };
        html! {
            details.more #short-path open[is_faulty] {
                summary { @if current.is_some() { "Change the short path" } @else { "Choose a short path" } }
                form.form method="post" action={ "/console/flows/" (flow) "/share/path#link-title" } {
                    (errors(&self.faults, |_| Some("path".to_owned())))
                    (field.draw())
                    div.buttons {
                        button.button type="submit" { "Save" }
                        @if current.is_some() {
                            button.button.quiet type="submit" name="remove" value="yes" { "Remove" }
                        }
                    }
                }
            }
        }
    }
}

/// Saves the path, or shows what is wrong with it.
pub(super) async fn change(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let path = form.raw("path").trim();
    let wanted = (!path.is_empty() && !form.has("remove")).then_some(path);
    match faults_of(opened.set_short_path(wanted).await)? {
        Ok(path) => {
            let done = if path.is_some() { "path-saved" } else { "path-removed" };
            Ok(reply::see_other(&format!("/console/flows/{flow}/share?done={done}#link-title")))
        }
        Err(faults) => {
            let short_path = ShortPathForm { path, faults };
            let typed = TypedForms { short_path, ..TypedForms::default() };
            page(&console, &visitor, flow, &Fields::default(), typed).await
        }
    }
}
