//! The visitor's account: name, password, second factor and sessions.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use maud::{Markup, html};
use sluice_engine::people::OwnSession;
use sluice_engine::{AdminError, Refusal};
use sluice_flow::definition::Fault;

use super::super::Console;
use super::super::attempts::PeerAddress;
use super::super::parts::field::Field;
use super::super::parts::{self, ago, time};
use super::super::reply::{self, Kind, Refused, Reply};
use super::super::request::{Form, Query};
use super::super::session::{self, Visitor};
use super::super::sidebar::Sidebar;
use super::{error_of, instance_page, second_factor};

const TAB: &str = "account";

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    headers: HeaderMap,
    Query(query): Query,
) -> Reply {
    let secret = session::secret(&headers).unwrap_or_default();
    Ok(render(&console, &visitor, secret, Kind::Shown, query.get("done"), &[]).await?)
}

/// Ends one session of the visitor.
pub(super) async fn end_session(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    headers: HeaderMap,
    Form(form): Form,
) -> Reply {
    visitor.user_id.ok_or(Refused::NoSuchPage)?;
    let secret = session::secret(&headers).unwrap_or_default();
    console
        .engine
        .accounts()
        .end_own_session(secret, form.get("session").unwrap_or_default())
        .await?;
    Ok(reply::see_other("/console/settings/account?done=ended"))
}

/// Ends all sessions of the visitor except this one.
pub(super) async fn end_others(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    headers: HeaderMap,
) -> Reply {
    visitor.user_id.ok_or(Refused::NoSuchPage)?;
    console
        .engine
        .accounts()
        .end_other_sessions(session::secret(&headers).unwrap_or_default())
        .await?;
    Ok(reply::see_other("/console/settings/account?done=ended"))
}

/// Changes the password. All other sessions of the user end.
pub(super) async fn change(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    from: PeerAddress,
    headers: HeaderMap,
    Form(form): Form,
) -> Reply {
    let Some(user) = visitor.user_id else {
        return Err(Refused::NoSuchPage);
    };
    if let Some(seconds) = console.attempts.count_account(&user.to_string(), &from, &headers) {
        return Err(Refused::Limited(seconds));
    }
    let (old, new) = (form.raw("old"), form.raw("password"));
    let changed =
        console.engine.accounts().change_password(user, old, new, session::secret(&headers)).await;
    match changed {
        Ok(secret) => {
            let address = "/console/settings/account?done=password";
            Ok(reply::see_other_with(address, &session::kept(&secret)))
        }
        Err(Refusal::Invalid(faults)) => {
            let secret = session::secret(&headers).unwrap_or_default();
            Ok(render(&console, &visitor, secret, Kind::Unfinished, None, &faults).await?)
        }
        Err(Refusal::Store(error)) => Err(error.into()),
        Err(Refusal::Busy) => Err(Refused::Busy),
        Err(Refusal::Wrong(_) | Refusal::LinkOver | Refusal::CodeNeeded(_)) => {
            Err(Refused::SignedOut { back: String::new() })
        }
    }
}

async fn render(
    console: &Console,
    visitor: &Visitor,
    secret: &str,
    kind: Kind,
    done: Option<&str>,
    faults: &[Fault],
) -> Result<Response, AdminError> {
    let sidebar = Sidebar::instance(console, visitor).await?;
    let content = match visitor.user_id {
        Some(id) => {
            let codes_left = console.engine.accounts().recovery_codes_left(id).await?;
            let sessions = console.engine.accounts().own_sessions(secret).await?;
            html! {
                (form(visitor, faults, console.provider.is_some()))
                (second_factor::section(codes_left))
                (list(&sessions))
            }
        }
        None => html! {
            section.card {
                h2 { "Your account" }
                p { "You are signed in with the admin token “" (visitor.who) "” and have its permissions. To sign in with a name and a password, ask an owner to add you as a user." }
            }
        },
    };
    Ok(instance_page(visitor, &sidebar, TAB, kind, done, content))
}

fn list(sessions: &[OwnSession]) -> Markup {
    html! {
        section.card {
            h2 { "Sessions" }
            p { "Your signed-in browsers. If you do not recognise one, end it and change your password." }
            div.scroll tabindex="0" role="region" aria-label="Sessions" {
                table.table.stacks {
                    thead { tr { th scope="col" { "Signed in" } th scope="col" { "Last used" } th scope="col" { span.unseen { "Actions" } } } }
                    tbody {
                        @for session in sessions {
                            tr {
                                td data-label="Signed in" { (ago(session.created_at)) }
                                td data-label="Last used" { (ago(session.used_at)) }
                                td {
                                    @if session.is_current { span.tag { "this session" } }
                                    @else {
                                        form method="post" action="/console/settings/account/sessions/end" {
                                            input type="hidden" name="session" value=(session.id);
                                            button.button.small type="submit" { "End" span.unseen { " the session of " (time(session.created_at)) } }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if sessions.len() > 1 {
                form method="post" action="/console/settings/account/sessions/end-others" data-confirm="End all other sessions?" {
                    button.button type="submit" { "End all others" }
                }
            }
        }
    }
}

fn form(visitor: &Visitor, faults: &[Fault], has_provider: bool) -> Markup {
    let field_of = |pointer: &str| pointer.split('/').nth(1).map(str::to_owned);
    let own = |id, label, autocomplete, hint| Field {
        id,
        label,
        hint,
        kind: "password",
        required: true,
        autocomplete: Some(autocomplete),
        error: error_of(faults, id, field_of),
        ..Field::default()
    };
    html! {
        section.card {
            h2 { "Your account" }
            p { "You are " strong { (visitor.who) } "." }
        }
        section.card {
            h2 { "Password" }
            @if has_provider {
                p { "Your password was removed when you first signed in with your organisation's account. To set a new one, ask an owner of the instance for a link." }
            }
            (parts::errors(faults, field_of))
            form.form method="post" action="/console/settings/account" {
                (own("old", "Current password", "current-password", None).draw())
                (own("password", "New password", "new-password", Some("At least 10 characters. A few words that you can remember work well.")).draw())
                div.buttons { button.button.primary type="submit" { "Change password" } }
                p.muted { "You stay signed in here. All other browsers are signed out." }
            }
        }
    }
}
