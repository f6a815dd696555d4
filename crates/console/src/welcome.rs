//! The page where a user sets their password, with the link that they were sent.
//!
//! The secret is in the fragment of the link, after the `#`: the browser does not send it, so it is
//! in no log. A script copies it into the form; without one, it can be pasted.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::HeaderMap;
use maud::html;
use sluice_engine::Refusal;
use sluice_engine::people::LINK_HOURS;
use sluice_flow::definition::Fault;
use sluice_http::negotiate;

use super::attempts::PeerAddress;
use super::parts::field::Field;
use super::reply::{self, Kind, Refused, Reply};
use super::request::SmallForm;
use super::{Console, document, parts, session, sign_in};

const PAGE: &str = "/console/welcome";
const PASSWORD_HINT: &str = "At least 10 characters. A few words that you can remember work well.";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().route(PAGE, get(show).post(set))
}

async fn show(headers: HeaderMap) -> Response {
    page(Kind::Shown, "", &[], &headers)
}

async fn set(
    State(console): State<Arc<Console>>,
    from: PeerAddress,
    headers: HeaderMap,
    SmallForm(form): SmallForm,
) -> Reply {
    let code = form.get("code").map(code_in).unwrap_or_default();
    if sign_in::is_plain_http(&headers) {
        let faults = [Fault::new("/code", sign_in::NEEDS_HTTPS)];
        return Ok(page(Kind::Unfinished, code, &faults, &headers));
    }
    if let Some(seconds) = console.attempts.count_address(&from, &headers) {
        let text = format!("too many attempts; try again in {}", parts::counted(seconds, "second"));
        return Ok(page(Kind::Limited(seconds), code, &[Fault::new("/code", text)], &headers));
    }
    let engine = &console.engine;
    let before = session::secret(&headers);
    match engine.accounts().set_password_by_link(code, form.raw("password"), before).await {
        Ok(secret) => Ok(reply::see_other_with("/console?done=welcome", &session::kept(&secret))),
        Err(Refusal::Invalid(faults)) => Ok(page(Kind::Unfinished, code, &faults, &headers)),
        Err(Refusal::CodeNeeded(ticket)) => {
            let to = "/console?done=welcome";
            Ok(sign_in::code_page(Kind::Shown, &ticket.0, to, None, &headers))
        }
        Err(Refusal::LinkOver | Refusal::Wrong(_)) => {
            let text = format!(
                "is not valid. A link works once and expires after {LINK_HOURS} hours. Ask the sender for a new one"
            );
            Ok(page(Kind::Unfinished, code, &[Fault::new("/code", text)], &headers))
        }
        Err(Refusal::Busy) => Err(Refused::Busy),
        Err(Refusal::Store(error)) => Err(error.into()),
    }
}

/// The whole link may have been pasted.
fn code_in(text: &str) -> &str {
    text.rsplit_once('#').map_or(text, |(_, code)| code)
}

fn page(kind: Kind, code: &str, faults: &[Fault], headers: &HeaderMap) -> Response {
    let error = |name: &str| {
        let found = faults.iter().find(|fault| fault.pointer.trim_start_matches('/') == name);
        found.map(|fault| fault.message.as_str())
    };
    let code = Field {
        id: "code",
        label: "Link",
        hint: Some("The whole link, or its part after the #."),
        value: code,
        required: true,
        autocomplete: Some("off"),
        error: error("code"),
        mono: true,
        ..Field::default()
    };
    let password = Field {
        id: "password",
        label: "New password",
        hint: Some(PASSWORD_HINT),
        kind: "password",
        required: true,
        autocomplete: Some("new-password"),
        error: error("password"),
        ..Field::default()
    };
    let content = html! {
        h1 { "Set your password" }
        (parts::errors(faults, |pointer| Some(pointer.trim_start_matches('/').to_owned())))
        form.form method="post" action=(PAGE) {
            div data-code { (code.draw()) }
            (password.draw())
            button.button.primary type="submit" { "Set password and sign in" }
        }
    };
    let theme = session::theme_of(headers);
    let markup = document::bare("Set your password", theme, &["base.js", "welcome.js"], content);
    reply::page(kind, markup, negotiate::accepts_gzip(headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_may_be_pasted_as_the_whole_link() {
        assert_eq!(code_in("https://sluice.example/console/welcome#abc"), "abc");
        assert_eq!(code_in("abc"), "abc");
    }
}
