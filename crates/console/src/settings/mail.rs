//! E-mail of the instance: a test of the mail server, and what a copy holds.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::AdminError;
use sluice_engine::outbound::{OutboundState, ResumeChoice};
use sluice_flow::definition::Fault;

use super::super::Console;
use super::super::parts::field::Field;
use super::super::parts::{counted, time};
use super::super::reply::{self, Kind, Refused, Reply};
use super::super::request::{Fields, Form, Query, faults_of};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::{error_of, instance_page};

const TAB: &str = "mail";
const RESUME: &str = "/console/settings/mail/resume";

#[derive(Default)]
struct MailPage {
    /// The address of a test, and why the mail server did not accept it.
    tested: Option<(String, Option<String>)>,
    faults: Vec<Fault>,
    typed: Fields,
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Query(query): Query,
) -> Reply {
    Ok(render(&console, &visitor, Kind::Shown, query.get("done"), MailPage::default()).await?)
}

pub(super) async fn test(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Form(form): Form,
) -> Reply {
    let address = form.get("address").unwrap_or_default().trim().to_owned();
    let sent = console.engine.instance(&visitor.actor)?.send_test_mail(&address).await;
    let (kind, page) = match faults_of(sent)? {
        Ok(sent) => {
            let tested = Some((address, sent.err()));
            (Kind::Shown, MailPage { tested, typed: form, ..MailPage::default() })
        }
        Err(faults) => (Kind::Unfinished, MailPage { faults, typed: form, ..MailPage::default() }),
    };
    Ok(render(&console, &visitor, kind, None, page).await?)
}

pub(super) async fn resume(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Form(form): Form,
) -> Reply {
    let instance = console.engine.instance(&visitor.actor)?;
    let wanted = form.get("waiting").unwrap_or_default();
    let waiting = ResumeChoice::ALL.into_iter().find(|it| it.as_str() == wanted);
    instance.resume_outbound(waiting.ok_or(Refused::Unreadable)?).await?;
    Ok(reply::see_other("/console/settings/mail?done=resumed"))
}

async fn render(
    console: &Console,
    visitor: &Visitor,
    kind: Kind,
    done: Option<&str>,
    page: MailPage,
) -> Result<Response, AdminError> {
    let outbound = console.engine.instance(&visitor.actor)?.outbound().await?;
    let sidebar = Sidebar::instance(console, visitor).await?;
    let content = html! {
        @if outbound.held_at.is_some() || outbound.is_held_here { (held(&outbound)) }
        section.card aria-labelledby="mail-server" {
            h2 id="mail-server" { "Mail server" }
            @if console.engine.sends_mail() { (test_form(visitor, &page)) }
            @else {
                p { "No mail server is set up, so Sluice sends no e-mail. Everything else works: links can be copied and passed on." }
                p.muted { "To send invitations, password links and notifications, start the server with " code { "--smtp-url" } ", " code { "--mail-from" } " and " code { "--public-url" } "." }
            }
        }
    };
    Ok(instance_page(visitor, &sidebar, TAB, kind, done, content))
}

/// What a copy holds, and how to resume.
fn held(state: &OutboundState) -> Markup {
    let deliveries = match state.deliveries {
        1 => "1 webhook delivery".to_owned(),
        count => format!("{count} webhook deliveries"),
    };
    html! {
        section.card aria-labelledby="held" {
            h2 id="held" { "E-mails and webhooks are on hold" }
            p { (counted(state.mails, "e-mail")) " due, " (deliveries) " waiting." }
            @for sink in &state.sinks {
                @match sink.waiting_since {
                    Some(since) => p { "Events for " code { (sink.name) } " have been waiting since " (time(since)) "." },
                    None => p { "No events are waiting for " code { (sink.name) } "." },
                }
            }
            @match state.held_at {
                Some(at) => {
                    p { "This database was restored or moved " (time(at)) ". The original server may have sent the pending items already, or may still be running. Nothing is sent until you decide." }
                    div.buttons {
                        (resume_form("drop", "Discard pending", "Discard the e-mails, deliveries and events from before the hold, and send only those created since then?"))
                        (resume_form("send", "Send pending", "Send the pending e-mails, deliveries and events? People may get them twice if the original server has already sent them."))
                    }
                }
                None => p { "This server was started with " code { "--hold-outbound" } ". Start it without that to send." },
            }
        }
    }
}

fn resume_form(waiting: &str, label: &str, question: &str) -> Markup {
    html! {
        form method="post" action=(RESUME) data-confirm=(question) {
            input type="hidden" name="waiting" value=(waiting);
            button.button type="submit" { (label) }
        }
    }
}

fn test_form(visitor: &Visitor, page: &MailPage) -> Markup {
    let typed = page.typed.raw("address");
    let address = Field {
        id: "address",
        label: "Send to",
        value: if typed.is_empty() { &visitor.email } else { typed },
        kind: "email",
        required: true,
        error: error_of(&page.faults, "address", |pointer| {
            pointer.split('/').nth(1).map(str::to_owned)
        }),
        ..Field::default()
    };
    html! {
        p { "Send a test e-mail to see whether the mail server accepts it." }
        @match &page.tested {
            Some((to, None)) => div.note.good role="status" {
                p { "The mail server accepted the e-mail to " strong { (to) } ". Check the inbox and the spam folder." }
            },
            Some((to, Some(reason))) => div.errors role="alert" tabindex="-1" {
                p { "The e-mail to " strong { (to) } " was not sent: " (reason) "." }
                @if reason.contains("cannot be used") { p { "Check " code { "--smtp-url" } ", " code { "--mail-from" } " and " code { "SLUICE_SMTP_PASSWORD" } "." } }
            },
            None => {}
        }
        form.form method="post" action="/console/settings/mail" {
            (address.draw())
            div.buttons { button.button.primary type="submit" { "Send a test e-mail" } }
        }
    }
}
