//! The e-mail of a flow's invitations: its text, its reminders, and the state of each.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::mail::MailStatus;
use sluice_engine::rows::{MailEnd, Scope};
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowId;
use sluice_flow::invitation_email::{InvitationEmail, REMINDER_DAYS, REMINDERS_MAX};
use sluice_flow::page_language::PageLanguage;

use super::{TypedForms, page};
use crate::Console;
use crate::parts::field::{Field, select};
use crate::parts::{day, errors};
use crate::reply::{self, Reply};
use crate::request::{Fields, Form, PathParam, faults_of};
use crate::session::Visitor;

/// The languages of what surrounds the text, as tags and names; the first is that of the flow.
fn languages() -> Vec<(&'static str, &'static str)> {
    let named = PageLanguage::ALL.iter().map(|it| (it.tag(), it.name()));
    std::iter::once(("", "The language of the flow")).chain(named).collect()
}

/// The values of the form: those of the flow, or those that were typed, with their faults.
#[derive(Debug, Clone, Default)]
pub(super) struct EmailForm {
    pub(super) typed: Option<InvitationEmail>,
    pub(super) faults: Vec<Fault>,
}

impl EmailForm {
    pub(super) fn draw(&self, flow: FlowId, stored: InvitationEmail) -> Markup {
        let email = self.typed.clone().unwrap_or(stored);
        let subject = Field {
            id: "subject",
            label: "Subject",
            hint: Some("Leave it empty for “Invitation” and the title of the flow."),
            value: &email.subject,
            ..Field::default()
        };
        let text = Field {
            id: "text",
            label: "Text",
            hint: Some(
                "Links, **emphasis** and lists work. The personal link and a link to unsubscribe follow it.",
            ),
            value: &email.text,
            lines: 6,
            ..Field::default()
        };
        let (reminders, days) = (email.reminders.to_string(), email.reminder_days.to_string());
        let often = format!("0 to {REMINDERS_MAX}, only to people who have not answered.");
        let between = format!("{} to {}.", REMINDER_DAYS.start(), REMINDER_DAYS.end());
        let number = |id, label, hint, value| Field {
            id,
            label,
            hint: Some(hint),
            value,
            kind: "number",
            required: true,
            ..Field::default()
        };
        html! {
            details.more #invitation-email open[!self.faults.is_empty()] {
                summary { "E-mail text and reminders" }
                form.form method="post" action={ "/console/flows/" (flow) "/share/invitation-email#invitations" } {
                    (errors(&self.faults, field_of))
                    (subject.draw())
                    (text.draw())
                    (select("language", "Language of the rest", &languages(), email.language.as_deref().unwrap_or_default()))
                    (number("reminders", "Reminders", &often, &reminders).draw())
                    (number("reminder-days", "Days between two e-mails", &between, &days).draw())
                    div.buttons { button.button type="submit" { "Save" } }
                }
            }
        }
    }
}

/// The field that a fault belongs to.
fn field_of(pointer: &str) -> Option<String> {
    Some(match pointer.trim_start_matches('/') {
        "reminderDays" => "reminder-days".to_owned(),
        name => name.to_owned(),
    })
}

/// Saves the text and the reminders, or shows what is wrong with them.
pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    // A number that cannot be read is out of range.
    let number = |name: &str| form.raw(name).trim().parse().unwrap_or(u32::MAX);
    let email = InvitationEmail {
        subject: form.raw("subject").trim().to_owned(),
        text: form.raw("text").trim().to_owned(),
        language: Some(form.raw("language").to_owned()).filter(|tag| !tag.is_empty()),
        reminders: number("reminders"),
        reminder_days: number("reminder-days"),
    };
    match faults_of(opened.set_invitation_email(&email).await)? {
        Ok(()) => {
            Ok(reply::see_other(&format!("/console/flows/{flow}/share?done=saved#invitations")))
        }
        Err(faults) => {
            let email = EmailForm { typed: Some(email), faults };
            let typed = TypedForms { email, ..TypedForms::default() };
            page(&console, &visitor, flow, &Fields::default(), typed).await
        }
    }
}

/// The state of the e-mail of an invitation.
pub(super) fn status(mail: Option<&MailStatus>) -> Markup {
    let Some(mail) = mail else { return html! { span.muted { "Not sent" } } };
    let sent = html! {
        @if let Some(at) = mail.sent_at {
            @if mail.sent > 1 { "Sent " (mail.sent) " times, last " (day(at)) } @else { "Sent " (day(at)) }
        }
    };
    html! {
        @match mail.ended {
            Some(MailEnd::Bounced) => {
                strong { "Bounced" }
                p.hint { "The mail server refused the address" @if let Some(reply) = &mail.reply { " (" (reply) ")" } "." }
            }
            Some(MailEnd::Failed) => { strong { "Not delivered" } p.hint { "Every attempt failed." } }
            Some(MailEnd::Unsubscribed) => { "Unsubscribed" @if mail.sent > 0 { p.hint { (sent) } } }
            Some(MailEnd::Closed) => {
                @if mail.sent == 0 { "Waiting" } @else { (sent) }
                p.hint { "The flow is closed. The next e-mail is sent when it opens again." }
            }
            Some(MailEnd::Stopped) if mail.sent == 0 => { span.muted { "Not sent" } }
            Some(MailEnd::Stopped) => (sent),
            None if mail.sent == 0 => {
                "Waiting"
                @if let Some(reply) = &mail.reply { p.hint { "Tried; the mail server answered " (reply) "." } }
            }
            None => {
                (sent)
                @if let Some(next) = mail.next_at { p.hint { "Reminder " (day(next)) } }
            }
        }
    }
}
