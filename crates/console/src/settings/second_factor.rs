//! The visitor's second factor: turn it on with an authenticator app, or off.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::AdminError;
use sluice_engine::people::{Enrolment, RECOVERY_CODES};
use sluice_flow::definition::Fault;
use sluice_flow::id::UserId;

use super::super::Console;
use super::super::confirm;
use super::super::parts;
use super::super::parts::field::Field;
use super::super::reply::{self, Kind, Refused, Reply};
use super::super::request::{Form, faults_of};
use super::super::session::Visitor;
use super::super::share::code::drawing;
use super::super::sidebar::Sidebar;
use super::super::sign_in::code_field;
use super::{error_of, instance_page};

const ACCOUNT: &str = "account";
const PAGE: &str = "/console/settings/account/second-factor";

/// The secret, as text and as a QR code.
pub(super) async fn show(State(console): State<Arc<Console>>, visitor: Visitor) -> Reply {
    user_of(&visitor)?;
    if !visitor.actor.is_fresh {
        return Ok(confirm::redirect_for(PAGE));
    }
    let enrolment = Enrolment::new(&visitor.email);
    Ok(render(&console, &visitor, Kind::Shown, enrolling(&enrolment, &[])).await?)
}

pub(super) async fn turn_on(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Form(form): Form,
) -> Reply {
    let user = user_of(&visitor)?;
    let (secret, code) = (form.raw("secret"), form.raw("code"));
    let accounts = console.engine.accounts();
    let codes = accounts.turn_on_second_factor(&visitor.actor, user, secret, code).await;
    match faults_of(codes)? {
        Ok(codes) => Ok(render(&console, &visitor, Kind::Shown, recovery(&codes)).await?),
        Err(faults) => {
            let email = &visitor.email;
            let same = Enrolment::again(secret, email).unwrap_or_else(|| Enrolment::new(email));
            Ok(render(&console, &visitor, Kind::Unfinished, enrolling(&same, &faults)).await?)
        }
    }
}

pub(super) async fn turn_off(State(console): State<Arc<Console>>, visitor: Visitor) -> Reply {
    let user = user_of(&visitor)?;
    console.engine.accounts().turn_off_second_factor(&visitor.actor, user).await?;
    Ok(reply::see_other("/console/settings/account?done=saved"))
}

fn user_of(visitor: &Visitor) -> Result<UserId, Refused> {
    visitor.user_id.ok_or(Refused::NoSuchPage)
}

async fn render(
    console: &Console,
    visitor: &Visitor,
    kind: Kind,
    content: Markup,
) -> Result<Response, AdminError> {
    let sidebar = Sidebar::instance(console, visitor).await?;
    Ok(instance_page(visitor, &sidebar, ACCOUNT, kind, None, content))
}

fn enrolling(enrolment: &Enrolment, faults: &[Fault]) -> Markup {
    let field_of = |pointer: &str| pointer.split('/').nth(1).map(str::to_owned);
    let mut code: Field<'_> = code_field();
    code.hint = Some("The six digits that the app shows now");
    code.error = error_of(faults, "code", field_of);
    html! {
        p { a href="/console/settings/account" { "Your account" } }
        section.card {
            h2 { "Turn on second factor" }
            p { "Scan this code with an authenticator app, or enter the secret." }
            @if let Some(drawing) = drawing(&enrolment.uri, "QR code for the authenticator app") { (drawing) }
            (parts::code("secret-text", "Secret", &enrolment.secret))
            (parts::errors(faults, field_of))
            form.form method="post" action=(PAGE) {
                input type="hidden" name="secret" value=(enrolment.secret);
                (code.draw())
                div.buttons { button.button.primary type="submit" { "Turn on" } }
            }
        }
    }
}

fn recovery(codes: &[String]) -> Markup {
    html! {
        section.note.good role="status" {
            p { strong { "The second factor is on." } " Keep these " (RECOVERY_CODES) " recovery codes in a safe place: each works once instead of a code from the app. They are shown only once." }
            (parts::code("recovery", "Recovery codes", &codes.join("\n")))
        }
        p { a href="/console/settings/account" { "Your account" } }
    }
}

/// The section of the account page.
pub(super) fn section(codes_left: Option<usize>) -> Markup {
    html! {
        section.card {
            h2 { "Second factor" }
            @match codes_left {
                None => {
                    p { "Off. With a second factor, signing in with your password also requires a code from an authenticator app." }
                    p.buttons { a.button href=(PAGE) { "Turn on" } }
                }
                Some(left) => {
                    p { "On. " (left) " of " (RECOVERY_CODES) " recovery codes are left." }
                    @if left == 0 { p.note.warn { "You have no recovery codes left. Turn the second factor off and on again to get new ones." } }
                    form method="post" action={ (PAGE) "/off" } data-confirm="Turn the second factor off?" {
                        button.button.danger type="submit" { "Turn off" }
                    }
                }
            }
        }
    }
}
