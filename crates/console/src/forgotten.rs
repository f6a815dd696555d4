//! A user asks for a password link by e-mail. The reply is the same whether or not the address has
//! an account, and attempts are limited like those to sign in. Without a mail server there is no
//! such page.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::HeaderMap;
use maud::{Markup, html};
use sluice_engine::people::LINK_HOURS;
use sluice_http::negotiate;

use super::addresses::{FORGOTTEN, SIGN_IN};
use super::attempts::PeerAddress;
use super::parts::counted;
use super::parts::field::Field;
use super::reply::{self, Kind, Refused, Reply};
use super::request::{SmallForm, language};
use super::{Console, document, session};

const TITLE: &str = "Reset your password";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/forgotten", get(show).post(send))
}

async fn show(State(console): State<Arc<Console>>, headers: HeaderMap) -> Reply {
    must_send_mail(&console)?;
    Ok(page(Kind::Shown, &form("", None), &headers))
}

async fn send(
    State(console): State<Arc<Console>>,
    from: PeerAddress,
    headers: HeaderMap,
    SmallForm(sent): SmallForm,
) -> Reply {
    must_send_mail(&console)?;
    let email = sent.get("email").unwrap_or_default();
    let attempts = &console.attempts;
    let wait = attempts.count_address(&from, &headers);
    if let Some(seconds) = wait.or_else(|| attempts.count_account(email, &from, &headers)) {
        let text = format!("Too many attempts. Try again in {}.", counted(seconds, "second"));
        return Ok(page(Kind::Limited(seconds), &form(email, Some(&text)), &headers));
    }
    console.engine.accounts().forgot_password(email, language(&headers));
    let content = html! {
        p { "If this address belongs to an account, a link is on its way. It works once and expires after "
            (LINK_HOURS) " hours." }
        p.muted { "Nothing arrived after a few minutes? Check the spam folder, or ask an owner for a link. You can ask again after ten minutes." }
        p { a href=(SIGN_IN) { "Back to sign-in" } }
    };
    Ok(page(Kind::Shown, &content, &headers))
}

fn must_send_mail(console: &Console) -> Result<(), Refused> {
    if console.engine.sends_mail() { Ok(()) } else { Err(Refused::NoSuchPage) }
}

fn form(email: &str, error: Option<&str>) -> Markup {
    let field = Field {
        id: "email",
        label: "E-mail address",
        value: email,
        kind: "email",
        required: true,
        autocomplete: Some("username"),
        ..Field::default()
    };
    html! {
        @if let Some(error) = error { div.errors role="alert" tabindex="-1" { p { (error) } } }
        form.form method="post" action=(FORGOTTEN) {
            (field.draw())
            button.button.primary type="submit" { "Send link" }
        }
        p.muted { a href=(SIGN_IN) { "Back to sign-in" } }
    }
}

fn page(kind: Kind, content: &Markup, headers: &HeaderMap) -> Response {
    let content = html! { h1 { (TITLE) } (content) };
    let markup = document::bare(TITLE, session::theme_of(headers), &["base.js"], content);
    reply::page(kind, markup, negotiate::accepts_gzip(headers))
}
