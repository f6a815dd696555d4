//! The design of hosted pages: the tab of a flow, and the page of its app's settings. Both are one
//! form next to a preview; changes take effect at once, without publishing.

mod form;
mod notes;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::HeaderMap;
use http::header::ACCEPT;
use maud::{Markup, html};
use serde_json::{Map, Value, json};
use sluice_engine::branding::{HostedPatch, HostedSettings, design_of};
use sluice_engine::design::DesignPatch;
use sluice_engine::rows::{FlowState, Scope};
use sluice_engine::templates::templates;
use sluice_engine::{AppHandle, AppPatch, FlowPatch, Missing};
use sluice_flow::definition::Fault;
use sluice_flow::design::{Design, DesignField};
use sluice_flow::id::{AppId, FlowId};

use self::form::DesignForm;
use super::Console;
use super::editor::images;
use super::flows::may_write;
use super::frame::{Frame, NavItem, Tab, Width};
use super::parts::errors;
use super::parts::fault::message;
use super::reply::{self, Kind, Reply};
use super::request::{Fields, Form, PathParam, Query, faults_of};
use super::session::Visitor;
use super::settings::app_frame;
use super::sidebar::Sidebar;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/flows/{flowId}/design", get(show).post(save))
        .route("/console/flows/{flowId}/design/reset", post(reset))
        .route("/console/apps/{appId}/settings/design", get(show_app).post(save_app))
        .route("/console/apps/{appId}/settings/design/images", post(upload))
}

async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query,
) -> Reply {
    let (sidebar, handle) = Sidebar::flow(&console, &visitor, flow).await?;
    let app = handle.app().await?;
    flow_page(&visitor, &sidebar, &app, &handle, None, query.get("done"))
}

/// The tab of a flow, with what was sent if that could not be saved.
fn flow_page(
    visitor: &Visitor,
    sidebar: &Sidebar,
    app: &AppHandle,
    state: &FlowState,
    refused: Option<(&Fields, &[Fault])>,
    done: Option<&str>,
) -> Reply {
    let app = HostedSettings::from_app(&app.row).design;
    let own = design_of(&state.flow);
    let flow = state.flow.flow_id;
    let base = format!("/console/flows/{flow}");
    let writes = may_write(visitor, state.flow.app_id) && state.flow.archived_at.is_none();
    let (sent, faults) = refused.unzip();
    let faults = faults.unwrap_or_default();
    let uploads = format!("{base}/images");
    let form = DesignForm { own: &own, app: Some(&app), uploads: &uploads, sent, faults };
    let settings = format!("/console/apps/{}/settings/design", state.flow.app_id);
    let content = html! {
        (errors(faults, form::field_of))
        (panes(&format!("{base}/preview"), html! {
            p.hint {
                "Changes take effect immediately, without publishing. Anything you do not change follows "
                a href=(settings) { "the app’s design" } "."
            }
            (design_form(&format!("{base}/design"), &form, writes))
            @if writes {
                form.buttons id="reset" method="post" action={ (base) "/design/reset" } hidden[own.is_empty()]
                    data-confirm="Use the app’s design? This flow’s own settings are removed." {
                    button.button type="submit" { "Use the app’s design" }
                }
            }
        }))
    };
    let title = format!("Design of {}", state.flow.name);
    let frame = Frame::new(visitor, sidebar, NavItem::Flow(state, Tab::Design), &title);
    let kind = if faults.is_empty() { Kind::Shown } else { Kind::Unfinished };
    Ok(frame.done(done).width(Width::Wide).script("design.js").page(kind, content))
}

fn panes(preview: &str, write: Markup) -> Markup {
    html! {
        div.editor.designer id="designer" {
            div.panes {
                section.write.stack aria-label="Design" { (write) }
                section.preview-pane aria-label="Preview" {
                    div.toolbar {
                        h2 { "Preview" }
                        div.chips role="group" aria-label="Theme of the preview" data-themes hidden {
                            button.chip type="button" data-previews="light" aria-pressed="false" { "Light" }
                            button.chip type="button" data-previews="dark" aria-pressed="false" { "Dark" }
                        }
                        a.button.small.quiet href=(preview) target="_blank" rel="noopener" { "Open in new tab" }
                    }
                    div.stage { iframe title="Preview of the flow" src=(preview) {} }
                    p.hint { "Preview: answers are not saved." }
                }
            }
        }
    }
}

fn design_form(action: &str, form: &DesignForm<'_>, writes: bool) -> Markup {
    html! {
        form.form id="design" method="post" action=(action) {
            fieldset.stack disabled[!writes] { (form.fields()) }
            @if writes { noscript { button.button.primary type="submit" { "Save design" } } }
        }
    }
}

async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    headers: HeaderMap,
    Form(sent): Form,
) -> Reply {
    let handle = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let changes = form::changes(&sent);
    let patch = FlowPatch { design: Some(Some(changes.clone())), ..FlowPatch::default() };
    let saved = handle.update(&patch).await;
    let faults = match faults_of(saved)? {
        Ok(state) if is_script(&headers) => {
            let app = console.engine.app(&visitor.actor, Scope::Read, state.flow.app_id).await?;
            let app = HostedSettings::from_app(&app.row).design;
            return Ok(stored_reply(&changes, &design_of(&state.flow), Some(&app)));
        }
        Ok(_) => {
            return Ok(reply::see_other(&format!("/console/flows/{flow}/design?done=saved")));
        }
        Err(faults) if is_script(&headers) => return Ok(faulty_reply(&faults)),
        Err(faults) => faults,
    };
    let sidebar = Sidebar::app(&console, &visitor, handle.app_id()).await?;
    let app = handle.app().await?;
    flow_page(&visitor, &sidebar, &app, &handle, Some((&sent, &faults)), None)
}

/// Removes all custom values of a flow.
async fn reset(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
) -> Reply {
    let handle = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    handle.update(&FlowPatch { design: Some(None), ..FlowPatch::default() }).await?;
    Ok(reply::see_other(&format!("/console/flows/{flow}/design?done=design-reset")))
}

async fn show_app(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let app = console.engine.app(&visitor.actor, Scope::Read, app).await?;
    app_design(&visitor, &sidebar, &app, None, query.get("done"))
}

fn app_design(
    visitor: &Visitor,
    sidebar: &Sidebar,
    app: &AppHandle,
    refused: Option<(&Fields, &[Fault])>,
    done: Option<&str>,
) -> Reply {
    let row = &app.row;
    let own = HostedSettings::from_app(row).design;
    let (sent, faults) = refused.unzip();
    let faults = faults.unwrap_or_default();
    let base = format!("/console/apps/{}", row.app_id);
    let uploads = format!("{base}/settings/design/images");
    let form = DesignForm { own: &own, app: None, uploads: &uploads, sent, faults };
    let example = templates().iter().find(|it| {
        it.definition["questions"].as_array().is_some_and(|questions| !questions.is_empty())
    });
    let preview = format!("{base}/templates/{}", example.map(|it| it.id).unwrap_or_default());
    let writes = may_write(visitor, row.app_id);
    let content = html! {
        (errors(faults, form::field_of))
        (panes(&preview, html! {
            p.hint {
                "This design applies to all flows of the app. A flow can replace parts of it in its Design tab. Changes take effect immediately. "
                span id="saving" role="status" hidden {}
            }
            (design_form(&format!("{base}/settings/design"), &form, writes))
        }))
    };
    let kind = if faults.is_empty() { Kind::Shown } else { Kind::Unfinished };
    Ok(app_frame(visitor, sidebar, "design", done, "design.js", |frame, tabs| {
        frame.width(Width::Wide).page(kind, html! { (tabs) (content) })
    }))
}

async fn save_app(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    headers: HeaderMap,
    Form(sent): Form,
) -> Reply {
    visitor.actor.need_in(Scope::Write, app, Missing::App)?;
    let handle = console.engine.app(&visitor.actor, Scope::Write, app).await?;
    let changes = form::changes(&sent);
    let hosted = HostedPatch { design: changes.clone(), ..HostedPatch::default() };
    let patch = AppPatch { hosted: Some(Some(hosted)), ..AppPatch::default() };
    let faults = match faults_of(handle.update(&patch).await)? {
        Ok(detail) if is_script(&headers) => {
            let own = HostedSettings::from_app(&detail.row).design;
            return Ok(stored_reply(&changes, &own, None));
        }
        Ok(_) => {
            let address = format!("/console/apps/{app}/settings/design?done=saved");
            return Ok(reply::see_other(&address));
        }
        Err(faults) if is_script(&headers) => return Ok(faulty_reply(&faults)),
        Err(faults) => faults,
    };
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    app_design(&visitor, &sidebar, &handle, Some((&sent, &faults)), None)
}

/// Stores an image for the background.
async fn upload(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    request: Request,
) -> Reply {
    let app = console.engine.app(&visitor.actor, Scope::Write, app).await?;
    images::store(&app, request).await
}

fn is_script(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_some_and(|accepted| accepted == "application/json")
}

/// The reply to the script: what the changed parts are now, and what the colours mean. The other
/// parts stay as the page has them, so that it sends none of them the next time.
fn stored_reply(changes: &DesignPatch, own: &Design, app: Option<&Design>) -> Response {
    let was: Map<String, Value> = changes
        .fields()
        .map(|field| (field.name().to_owned(), form::mark(field, own.get(field)).into()))
        .collect();
    let notes: Map<String, Value> = [DesignField::AccentColor, DesignField::Background]
        .into_iter()
        .map(|field| (field.name().to_owned(), notes::for_field(field, own, app).into()))
        .collect();
    let reply = json!({"faults": [], "was": was, "notes": notes, "isOwn": !own.is_empty()});
    reply::json(Kind::Shown, &reply)
}

fn faulty_reply(faults: &[Fault]) -> Response {
    let listed: Vec<Value> = faults
        .iter()
        .map(|fault| json!({"field": form::field_of(&fault.pointer), "message": message(fault)}))
        .collect();
    reply::json(Kind::Unfinished, &json!({"faults": listed}))
}
