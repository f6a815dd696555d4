//! How often the visitor gets notifications of new responses by e-mail.

use std::sync::Arc;

use axum::extract::State;
use http::HeaderMap;
use maud::{Markup, html};
use sluice_engine::AdminError;
use sluice_engine::mail::NoticeFrequency;
use sluice_engine::rows::Scope;
use sluice_flow::id::FlowId;

use super::query::ResponsesQuery;
use crate::Console;
use crate::frame::{Frame, NavItem, Tab};
use crate::reply::{self, Kind, Refused, Reply};
use crate::request::{Form, PathParam, Query, language};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// The address of the page.
fn address(flow: FlowId) -> String {
    format!("{}/notices", ResponsesQuery::path(flow))
}

/// The button that leads here, for users, if there is a mail server.
pub(super) fn button(console: &Console, visitor: &Visitor, flow: FlowId) -> Markup {
    html! {
        @if console.engine.sends_mail() && visitor.user_id.is_some() {
            a.button.quiet href=(address(flow)) { "Notifications" }
        }
    }
}

pub(super) async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let chosen = state.notices().await?.ok_or(Refused::NoSuchPage)?;
    let content = html! {
        p { a href=(ResponsesQuery::path(flow)) { "← All responses" } }
        section.card aria-labelledby="notices" {
            h2 id="notices" { "E-mail notifications" }
            p.muted { "Only you get them. They quote the answers and link to each response; they never say who answered." }
            form.form method="post" action=(address(flow)) {
                fieldset {
                    legend { "E-mail me about new responses" }
                    @for frequency in NoticeFrequency::ALL {
                        label.check {
                            input type="radio" name="frequency" value=(frequency.as_str()) checked[frequency == chosen];
                            span { (label(frequency)) }
                        }
                    }
                }
                div.buttons { button.button.primary type="submit" { "Save" } }
            }
        }
    };
    let title = format!("Notifications · {}", state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Responses), &title);
    Ok(frame.done(fields.get("done")).page(Kind::Shown, content))
}

fn label(frequency: NoticeFrequency) -> &'static str {
    match frequency {
        NoticeFrequency::Off => "Never",
        NoticeFrequency::Soon => "Within two minutes, several together",
        NoticeFrequency::Daily => "Once a day, at 7:00 UTC",
    }
}

pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    headers: HeaderMap,
    Form(form): Form,
) -> Reply {
    let wanted = form.get("frequency").unwrap_or_default();
    let chosen = NoticeFrequency::ALL.into_iter().find(|it| it.as_str() == wanted);
    let chosen = chosen.ok_or(Refused::Unreadable)?;
    let opened = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    match opened.set_notices(chosen, language(&headers)).await {
        Ok(()) => {
            let done = match chosen {
                NoticeFrequency::Off => "notices-off",
                NoticeFrequency::Soon | NoticeFrequency::Daily => "notices-saved",
            };
            Ok(reply::see_other(&format!("{}?done={done}", address(flow))))
        }
        Err(AdminError::Conflict { .. }) => Err(Refused::NoSuchPage),
        Err(error) => Err(error.into()),
    }
}
