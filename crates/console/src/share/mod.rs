//! Sharing a flow: its link with a QR code, the embed snippet, invitations, and the three API calls
//! with real ids.

mod calls;
pub(super) mod code;
mod invitation_email;
mod invitations;
mod link;
mod short_path;
mod test_link;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use sluice_engine::rows::{AppRow, FlowState, IdentityVerification, Scope};
use sluice_flow::id::FlowId;

use self::invitation_email::EmailForm;
use self::invitations::{InvitationForm, InvitationPermissions, Invitations};
use self::link::HostedLink;
use self::short_path::ShortPathForm;
use super::Console;
use super::frame::{Frame, NavItem, Tab};
use super::reply::{Kind, Refused, Reply};
use super::request::{Fields, PathParam, Query};
use super::session::Visitor;
use super::sidebar::{FlowStage, Sidebar};
use super::steps;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/flows/{flowId}/share", get(show))
        .route("/console/flows/{flowId}/share/code.svg", get(link::code_file))
        .route("/console/flows/{flowId}/try", get(test_link::open))
        .route("/console/flows/{flowId}/share/test-links/revoke", post(test_link::revoke))
        .route("/console/flows/{flowId}/share/path", post(short_path::change))
        .route("/console/flows/{flowId}/share/invitations", post(invitations::invite))
        .route("/console/flows/{flowId}/share/invitation-email", post(invitation_email::save))
        .route("/console/flows/{flowId}/share/invitations.csv", post(invitations::file))
        .route(
            "/console/flows/{flowId}/share/invitations/{flowAssignmentId}/revoke",
            post(invitations::revoke),
        )
}

async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query,
) -> Reply {
    page(&console, &visitor, flow, &query, TypedForms::default()).await
}

/// The values typed into a form of the page, with their faults.
#[derive(Debug, Clone, Default)]
struct TypedForms<'t> {
    invitations: InvitationForm<'t>,
    short_path: ShortPathForm<'t>,
    email: EmailForm,
}

/// The page, with the values typed into its forms and their faults.
async fn page(
    console: &Console,
    visitor: &Visitor,
    flow: FlowId,
    query: &Fields,
    typed: TypedForms<'_>,
) -> Result<Response, Refused> {
    let (sidebar, state) = Sidebar::flow(console, visitor, flow).await?;
    let engine = &console.engine;
    let app = sidebar.own()?.detail().await?;
    let hosted = engine.links().flow(&flow.to_string()).await?.ok();
    let invitations = Invitations::read(&state, query).await?;
    let short_path = state.short_path().await?;
    let (app_id, is_living) = (state.flow.app_id, state.flow.archived_at.is_none());
    let permissions = InvitationPermissions {
        write: is_living && visitor.actor.may(Scope::Write, app_id),
        export: visitor.actor.may(Scope::Export, app_id),
        send: engine.sends_mail(),
    };
    let faults = [&typed.invitations.faults, &typed.short_path.faults, &typed.email.faults];
    let is_faulty = faults.into_iter().any(|faults| !faults.is_empty());
    let email = match permissions.write && permissions.send {
        true => typed.email.draw(flow, state.invitation_email()?),
        false => html! {},
    };
    let kind = if is_faulty { Kind::Unfinished } else { Kind::Shown };
    let base = engine.addresses().public_url;
    let path_form = html! {
        @if permissions.write { (typed.short_path.draw(flow, base, short_path.as_deref())) }
    };
    let tested = match permissions.write {
        true => test_link::card(base, &state)?,
        false => html! {},
    };
    let content = html! {
        (state_note(&sidebar, &state))
        @if let Some(hosted) = &hosted {
            (verification_note(&app.row))
            @let link = HostedLink::new(base, hosted, short_path.as_deref(), query);
            (link.card(&path_form))
            (link.embed_card(&app.row))
        }
        (tested)
        (invitations.card(flow, permissions, hosted.is_some(), &typed.invitations, &email))
        @if let Some(hosted) = &hosted { (calls::card(base, &app, hosted)) }
    };
    let title = format!("Share · {}", state.flow.name);
    let frame = Frame::new(visitor, &sidebar, NavItem::Flow(&state, Tab::Share), &title);
    Ok(frame.done(query.get("done")).script("share.js").page(kind, content))
}

/// Why the flow cannot be answered now, and what to do about it.
fn state_note(sidebar: &Sidebar, state: &FlowState) -> Markup {
    let edit = format!("/console/flows/{}/edit", state.flow.flow_id);
    html! {
        @match sidebar.stage(state) {
            FlowStage::Draft => (steps::first_run(sidebar, state, "Publish the flow before you share it.")),
            FlowStage::Scheduled => p.note { "This flow is published but not open yet. Its page shows when it opens." },
            FlowStage::Closed => p.note.warn { "This flow is closed and accepts no responses. " a href=(edit) { "Change its schedule" } " to open it again." },
            FlowStage::Archived => p.note.warn { "This flow is archived. It has no page and accepts no responses." },
            FlowStage::Open => {},
        }
    }
}

/// What changes if a token is required.
fn verification_note(app: &AppRow) -> Markup {
    html! {
        @if app.identity_verification == IdentityVerification::Enforce {
            div.note.warn {
                p { strong { "The link needs a token. " }
                    "This app enforces identity verification: respondents need a token signed by your server." }
                p { "Put it into the fragment of the link (" code { "#token=…" } "), send it to an embedded page by " code { "postMessage" }
                    ", and send it to the API as " code { "Authorization: Bearer …" } ". "
                    a href={ "/console/apps/" (app.app_id) "/settings/identity" } { "Identity verification" } }
            }
        }
    }
}
