//! Signing in and out.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::HeaderMap;
use maud::html;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::parts::field::Field;
use super::reply::{self, Answer, Kind};
use super::request::{Form, Query};
use super::{Console, frame, session};
use crate::negotiate;

const PAGE: &str = "/console/sign-in";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route(PAGE, get(show).post(sign_in)).route("/console/sign-out", post(sign_out))
}

/// Where to sign in, to come back to a page of the console.
pub(super) fn address(back: &str) -> String {
    if local(back).is_none() {
        return PAGE.to_owned();
    }
    format!("{PAGE}?to={}", utf8_percent_encode(back, NON_ALPHANUMERIC))
}

/// A page of the console and nothing else, so that no link can lead away from here.
fn local(back: &str) -> Option<&str> {
    let inside =
        back == "/console" || back.starts_with("/console/") || back.starts_with("/console?");
    (inside && back.is_ascii() && !back.contains(['\\', '\r', '\n'])).then_some(back)
}

async fn show(Query(query): Query, headers: HeaderMap) -> Response {
    page(Kind::Shown, query.get("to").unwrap_or_default(), None, &headers)
}

async fn sign_in(
    State(console): State<Arc<Console>>,
    headers: HeaderMap,
    Form(form): Form,
) -> Answer {
    let token = form.get("token").unwrap_or_default();
    let back = form.get("to").unwrap_or_default();
    if console.engine.authenticate(token).await?.is_none() {
        let text = "This token is not valid. It may be mistyped, revoked or expired.";
        return Ok(page(Kind::Unfinished, back, Some(text), &headers));
    }
    let cookie = session::kept(token);
    Ok(reply::see_other_with(local(back).unwrap_or("/console"), &cookie))
}

async fn sign_out() -> Response {
    reply::see_other_with(PAGE, &session::dropped())
}

fn page(kind: Kind, back: &str, error: Option<&str>, headers: &HeaderMap) -> Response {
    let token = Field {
        id: "token",
        label: "Admin token",
        hint: Some("It was printed when the service was started for the first time."),
        kind: "password",
        required: true,
        autocomplete: Some("current-password"),
        error,
        ..Field::default()
    };
    let content = html! {
        h1 { "Sign in to Sluice" }
        form.form method="post" action=(PAGE) {
            input type="hidden" name="to" value=(back);
            (token.draw())
            button.button.primary type="submit" { "Sign in" }
        }
    };
    let theme = session::theme_of(headers);
    let markup = frame::bare("Sign in", theme, &["base.js"], content);
    reply::page(kind, markup, negotiate::takes_gzip(headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_signing_in_only_a_page_of_the_console_is_gone_to() {
        for (back, there) in [
            ("/console", true),
            ("/console/flows/fl_1/edit?x=y", true),
            ("/console?x", true),
            ("/consoles", false),
            ("//evil.example/console", false),
            ("https://evil.example/console", false),
            ("/console/\\evil", false),
            ("/console/\r\nset-cookie: a", false),
            ("", false),
        ] {
            assert_eq!(local(back).is_some(), there, "{back}");
        }
    }
}
