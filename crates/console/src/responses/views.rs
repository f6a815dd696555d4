//! Saved views: the links above the table, and the forms that save, rename and delete them.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, FlowHandle, SavedView, VIEW_NAME_CHARS_MAX};
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowId;

use super::query::{ListPosition, ResponsesQuery};
use crate::Console;
use crate::parts::errors;
use crate::reply::{self, Refused, Reply};
use crate::request::{Fields, Form, PathParam, faults_of};
use crate::session::Visitor;

/// The views of the visitor, and what is wrong with a form that they sent.
#[derive(Debug, Default)]
pub(super) struct ViewsBar {
    pub(super) views: Vec<SavedView>,
    pub(super) sent: Fields,
    pub(super) faults: Vec<Fault>,
}

impl ViewsBar {
    /// The id of the field that has faults: the new name of a view, or that of another one.
    fn faulty_field(&self) -> String {
        let renamed = self.views.iter().position(|view| view.name == self.sent.raw("view"));
        renamed.map_or_else(|| "view_name".to_owned(), rename_field)
    }
}

fn rename_field(at: usize) -> String {
    format!("rename-{at}")
}

/// The query of a view, in the form of an address of today.
pub(super) fn query_of(view: &SavedView) -> ResponsesQuery {
    ResponsesQuery::from_fields(&Fields::parse(&view.query))
}

/// Links to all responses and to each view.
pub(super) fn links(flow: FlowId, bar: &ViewsBar, query: &ResponsesQuery) -> Markup {
    let current = query.with_position(ListPosition::First).encoded();
    let is_current = |encoded: String| (encoded == current).then_some("page");
    html! {
        @if !bar.views.is_empty() {
            nav.chips.views aria-label="Saved views" {
                a.chip href=(ResponsesQuery::default().address(flow)) aria-current=[is_current(String::new())] { "All responses" }
                @for view in &bar.views {
                    @let query = query_of(view);
                    a.chip href=(query.address(flow)) aria-current=[is_current(query.encoded())] {
                        bdi { (view.name) } @if view.is_default { span.muted { " (default)" } }
                    }
                }
            }
        }
    }
}

/// The forms.
pub(super) fn forms(flow: FlowId, bar: &ViewsBar, query: &ResponsesQuery) -> Markup {
    let path = format!("{}/views", ResponsesQuery::path(flow));
    let encoded = query.with_position(ListPosition::First).encoded();
    let current = bar.views.iter().find(|view| query_of(view).encoded() == encoded);
    let name = bar.sent.get("name").or(current.map(|view| view.name.as_str()));
    html! {
        details.adding.saved-views open[!bar.faults.is_empty()] {
            summary.button { "Save view" }
            div.card {
                (errors(&bar.faults, |_| Some(bar.faulty_field())))
                form.form method="post" action=(path) {
                    input type="hidden" name="query" value=(encoded);
                    div.field {
                        label for="view_name" { "Name" }
                        p.hint id="view_name-hint" { "Saves these filters, columns, order and row height for you. The name of an existing view replaces it." }
                        input.input type="text" id="view_name" name="name" list="view_names" required maxlength=(VIEW_NAME_CHARS_MAX) autocomplete="off"
                            aria-describedby="view_name-hint" aria-invalid=[(!bar.faults.is_empty() && !bar.sent.has("view")).then_some("true")] value=[name];
                        datalist id="view_names" { @for view in &bar.views { option value=(view.name) {} } }
                    }
                    label.check { input type="checkbox" name="default" value="1"; span { "Open responses with this view" } }
                    div.buttons { button.button.primary type="submit" { "Save" } }
                }
                @if !bar.views.is_empty() {
                    h2 { "Your views" }
                    ul.view-list { @for (at, view) in bar.views.iter().enumerate() { (manage(&path, &encoded, view, at)) } }
                }
            }
        }
    }
}

/// The form that changes one view.
fn manage(path: &str, encoded: &str, view: &SavedView, at: usize) -> Markup {
    let id = rename_field(at);
    html! {
        li {
            form.inline method="post" action={ (path) "/change" } {
                input type="hidden" name="query" value=(encoded);
                input type="hidden" name="view" value=(view.name);
                div.field {
                    label.unseen for=(id) { "Name of " (view.name) }
                    input.input type="text" id=(id) name="to" maxlength=(VIEW_NAME_CHARS_MAX) required autocomplete="off" value=(view.name);
                }
                button.button.small type="submit" name="do" value="rename" aria-label={ "Rename: " (view.name) } { "Rename" }
                @if view.is_default {
                    button.button.small type="submit" name="do" value="no-default" formnovalidate aria-label={ "Remove as default: " (view.name) } { "Remove as default" }
                } @else {
                    button.button.small type="submit" name="do" value="default" formnovalidate aria-label={ "Make default: " (view.name) } { "Make default" }
                }
                button.button.small.danger type="submit" name="do" value="delete" formnovalidate aria-label={ "Delete: " (view.name) } { "Delete" }
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
    let opened = opened(&console, &visitor, flow).await?;
    let query = sent_query(&form);
    let view = SavedView {
        name: form.get("name").unwrap_or_default().to_owned(),
        query: query.encoded(),
        is_default: form.has("default"),
    };
    let saved = opened.save_view(view).await;
    back(&console, visitor, flow, form, saved, "saved-view").await
}

pub(super) async fn change(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let opened = opened(&console, &visitor, flow).await?;
    let view = form.raw("view");
    let (changed, done) = match form.get("do") {
        Some("rename") => {
            (opened.rename_view(view, form.get("to").unwrap_or_default()).await, "saved-view")
        }
        Some("default") => (opened.set_default_view(Some(view)).await, "saved-view"),
        Some("no-default") => (opened.set_default_view(None).await, "saved-view"),
        Some("delete") => (opened.delete_view(view).await, "deleted"),
        _ => return Err(Refused::Unreadable),
    };
    back(&console, visitor, flow, form, changed, done).await
}

/// The flow, for a user. For the holder of a token, there are no views.
async fn opened(console: &Console, visitor: &Visitor, flow: FlowId) -> Result<FlowHandle, Refused> {
    visitor.user_id.ok_or(Refused::NoSuchPage)?;
    Ok(console.engine.flow(&visitor.actor, Scope::Read, flow).await?)
}

/// The query that a form was sent from.
fn sent_query(form: &Fields) -> ResponsesQuery {
    let fields = Fields::parse(form.raw("query"));
    ResponsesQuery::from_fields(&fields).with_position(ListPosition::First)
}

/// Returns to the list, or shows it with what is wrong.
async fn back(
    console: &Arc<Console>,
    visitor: Visitor,
    flow: FlowId,
    form: Fields,
    result: Result<(), AdminError>,
    done: &str,
) -> Reply {
    let query = sent_query(&form);
    match faults_of(result)? {
        Ok(()) => Ok(reply::see_other(&format!("{}&done={done}", query.address(flow)))),
        Err(faults) => {
            let fields = Fields::parse(form.raw("query"));
            super::list_page(console, visitor, flow, fields, (form, faults)).await
        }
    }
}
