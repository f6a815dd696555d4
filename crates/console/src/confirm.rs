//! Confirming the user's identity, before actions that require a recent sign-in.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::HeaderMap;
use http::header::REFERER;
use maud::{Markup, html};
use sluice_engine::Refusal;
use sluice_engine::people::FRESH_MINUTES;

use super::Console;
use super::addresses::{self, CONFIRM, local};
use super::attempts::PeerAddress;
use super::document;
use super::oidc::{self, Provider};
use super::parts::field::Field;
use super::reply::{self, Kind, Refused, Reply};
use super::request::{Query, SmallForm};
use super::session::{self, Visitor};
use super::sign_in;

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route("/console/confirm", get(show).post(confirm))
}

async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    headers: HeaderMap,
    Query(query): Query,
) -> Reply {
    let back = query.get("to").map_or_else(|| referring_page(&headers), str::to_owned);
    page(&console, &visitor, Kind::Shown, &back, None).await
}

async fn confirm(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    from: PeerAddress,
    headers: HeaderMap,
    SmallForm(form): SmallForm,
) -> Reply {
    let back = form.get("to").unwrap_or_default();
    let secret = session::secret(&headers).unwrap_or_default();
    let account = visitor.user_id.map_or_else(|| visitor.actor.name.clone(), |id| id.to_string());
    let wait = console.attempts.count_address(&from, &headers);
    let wait = wait.or_else(|| match visitor.user_id {
        Some(user) => console.attempts.count_code(user),
        None => console.attempts.count_account(&account, &from, &headers),
    });
    if let Some(seconds) = wait {
        return Err(Refused::Limited(seconds));
    }
    let engine = &console.engine;
    let confirmed = match visitor.user_id {
        Some(_) => {
            let code = form.get("code").unwrap_or_default();
            engine.accounts().confirm_with_password(secret, form.raw("password"), code).await
        }
        None => {
            engine
                .accounts()
                .confirm_with_token(secret, form.get("token").unwrap_or_default())
                .await
        }
    };
    match confirmed {
        Ok(()) => Ok(reply::see_other(local(back).unwrap_or("/console"))),
        Err(Refusal::Store(error)) => Err(error.into()),
        Err(Refusal::Busy) => Err(Refused::Busy),
        Err(Refusal::LinkOver) => Err(Refused::SignedOut { back: back.to_owned() }),
        Err(Refusal::Wrong(_) | Refusal::CodeNeeded(_) | Refusal::Invalid(_)) => {
            sign_in::log_failure(&console, &from, &headers, &account);
            let error = "This is not correct. Try again.";
            page(&console, &visitor, Kind::Unfinished, back, Some(error)).await
        }
    }
}

/// The page of the console that the browser comes from.
fn referring_page(headers: &HeaderMap) -> String {
    let referer = headers.get(REFERER).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let path = referer.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    let page = path.and_then(local).filter(|path| !path.starts_with(CONFIRM));
    page.unwrap_or("/console").to_owned()
}

async fn page(
    console: &Console,
    visitor: &Visitor,
    kind: Kind,
    back: &str,
    error: Option<&str>,
) -> Reply {
    let needs_code = match visitor.user_id {
        Some(id) => console.engine.accounts().recovery_codes_left(id).await?.is_some(),
        None => false,
    };
    let provider = console.provider.as_ref().filter(|_| visitor.user_id.is_some());
    let content = html! {
        h1 { "Confirm it’s you" }
        p { "Changing admin tokens, owners, password links and second factors requires a recent sign-in. After you confirm, you can change them for "
            (FRESH_MINUTES) " minutes." }
        p { strong { "Nothing has been changed yet." } " You return to the previous page and can repeat the change there." }
        @if let Some(error) = error { div.errors role="alert" tabindex="-1" { p { (error) } } }
        @if let Some(provider) = provider.map(Provider::button) {
            p.buttons { a.button href=(oidc::address_again(back)) { (provider) } }
            p.muted { "or" }
        }
        (form(visitor, needs_code, back))
        p.muted { a href=(local(back).unwrap_or("/console")) { "Go back" } }
    };
    let markup = document::bare("Confirm it’s you", visitor.theme, &["base.js"], content);
    Ok(reply::page(kind, markup, visitor.gzip))
}

fn form(visitor: &Visitor, needs_code: bool, back: &str) -> Markup {
    let own = |id, label| Field {
        id,
        label,
        kind: "password",
        required: true,
        autocomplete: Some("current-password"),
        ..Field::default()
    };
    html! {
        form.form method="post" action=(CONFIRM) {
            input type="hidden" name="to" value=(back);
            @if visitor.user_id.is_some() { (own("password", "Password").draw()) }
            @else { (own("token", "Admin token").draw()) }
            @if needs_code { (sign_in::code_field().draw()) }
            button.button.primary type="submit" { "Confirm" }
        }
    }
}

/// Redirects here, and afterwards to a page of the console.
pub(super) fn redirect_for(page: &str) -> Response {
    reply::see_other(&addresses::returning(CONFIRM, page))
}
