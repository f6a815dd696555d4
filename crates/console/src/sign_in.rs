//! Signing in and out.
//!
//! A user signs in with e-mail and password, an operator with an admin token. The error message is
//! the same whatever was wrong, and attempts are limited. Each sign-in creates a new session
//! secret, and ends the previous session.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName};
use maud::{Markup, html};
use sluice_engine::Refusal;
use sluice_http::negotiate;

use super::addresses::{self, FORGOTTEN, SIGN_IN, local};
use super::attempts::PeerAddress;
use super::oidc::{self, Provider};
use super::parts::counted;
use super::parts::field::Field;
use super::reply::{self, Kind, Refused, Reply};
use super::request::{Fields, Query, SmallForm};
use super::{Console, document, session};

const CODE_PAGE: &str = "/console/sign-in/code";
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const WRONG_PASSWORD: &str = "The e-mail address or password is wrong.";
const WRONG_CODE: &str = "This code is wrong or was already used. Wait for the next one.";
const WRONG_TOKEN: &str = "This token is not valid. It may be mistyped, revoked or expired.";
pub(super) const NEEDS_HTTPS: &str = "Your browser reached this page over plain HTTP. The cookie that keeps you signed in is only \
     sent over HTTPS, so signing in cannot work here. Open the console under its https:// address, or, on the machine \
     itself, under http://127.0.0.1 or http://localhost.";

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new()
        .route("/console/sign-in", get(show).post(sign_in))
        .route("/console/sign-in/code", post(sign_in_with_code))
        .route("/console/sign-out", post(sign_out))
}

/// The values that the form shows.
#[derive(Debug, Clone, Copy, Default)]
struct SignInForm<'t> {
    back: &'t str,
    email: &'t str,
    with_token: bool,
    error: Option<&'t str>,
    /// The label of the OpenID provider's button.
    provider: Option<&'t str>,
    /// Whether a user can ask for a password link by e-mail.
    sends_mail: bool,
}

async fn show(
    State(console): State<Arc<Console>>,
    Query(query): Query,
    headers: HeaderMap,
) -> Reply {
    let back = query.get("to").unwrap_or_default();
    let with_token =
        query.get("with") == Some("token") || !console.engine.accounts().has_users().await?;
    let provider = console.provider.as_ref().map(Provider::button);
    let sends_mail = console.engine.sends_mail();
    let typed = SignInForm { back, with_token, provider, sends_mail, ..SignInForm::default() };
    Ok(page(Kind::Shown, typed, &headers))
}

async fn sign_in(
    State(console): State<Arc<Console>>,
    from: PeerAddress,
    headers: HeaderMap,
    SmallForm(form): SmallForm,
) -> Reply {
    let typed = SignInForm {
        back: form.get("to").unwrap_or_default(),
        email: form.get("email").unwrap_or_default(),
        with_token: form.has("token"),
        error: None,
        provider: console.provider.as_ref().map(Provider::button),
        sends_mail: console.engine.sends_mail(),
    };
    if is_plain_http(&headers) {
        return Ok(page(
            Kind::Unfinished,
            SignInForm { error: Some(NEEDS_HTTPS), ..typed },
            &headers,
        ));
    }
    if let Some(seconds) = wait(&console, &from, &headers, typed) {
        let text = format!("Too many attempts. Try again in {}.", counted(seconds, "second"));
        let typed = SignInForm { error: Some(&text), ..typed };
        return Ok(page(Kind::Limited(seconds), typed, &headers));
    }
    match authenticate(&console, &form, typed, session::secret(&headers)).await {
        Ok(secret) => {
            let to = local(typed.back).unwrap_or("/console");
            Ok(reply::see_other_with(to, &session::kept(&secret)))
        }
        Err(Refusal::Store(error)) => Err(error.into()),
        Err(Refusal::Busy) => Err(Refused::Busy),
        Err(Refusal::CodeNeeded(ticket)) => {
            Ok(code_page(Kind::Shown, &ticket.0, typed.back, None, &headers))
        }
        Err(refusal @ (Refusal::Wrong(_) | Refusal::LinkOver | Refusal::Invalid(_))) => {
            let text = if typed.with_token { WRONG_TOKEN } else { WRONG_PASSWORD };
            let account = match (refusal, typed.with_token) {
                (Refusal::Wrong(Some(user)), _) => user.to_string(),
                (_, true) => "admin token".to_owned(),
                _ => "unknown account".to_owned(),
            };
            log_failure(&console, &from, &headers, &account);
            Ok(page(Kind::Unfinished, SignInForm { error: Some(text), ..typed }, &headers))
        }
    }
}

/// Signs in with the code of the second factor, after the password.
async fn sign_in_with_code(
    State(console): State<Arc<Console>>,
    from: PeerAddress,
    headers: HeaderMap,
    SmallForm(form): SmallForm,
) -> Reply {
    let (ticket, back) = (form.get("ticket").unwrap_or_default(), form.raw("to"));
    let over = || Err(Refused::SignedOut { back: back.to_owned() });
    let Some(user) = console.engine.accounts().ticket_holder(ticket) else { return over() };
    let wait = console.attempts.count_address(&from, &headers);
    if let Some(seconds) = wait.or_else(|| console.attempts.count_code(user)) {
        let text = format!("Too many attempts. Try again in {}.", counted(seconds, "second"));
        return Ok(code_page(Kind::Limited(seconds), ticket, back, Some(&text), &headers));
    }
    let code = form.get("code").unwrap_or_default();
    match console.engine.accounts().sign_in_with_code(ticket, code, session::secret(&headers)).await
    {
        Ok(secret) => {
            let to = local(back).unwrap_or("/console");
            Ok(reply::see_other_with(to, &session::kept(&secret)))
        }
        Err(Refusal::Store(error)) => Err(error.into()),
        Err(Refusal::Busy) => Err(Refused::Busy),
        Err(Refusal::Wrong(_)) => {
            log_failure(&console, &from, &headers, &user.to_string());
            Ok(code_page(Kind::Unfinished, ticket, back, Some(WRONG_CODE), &headers))
        }
        Err(Refusal::LinkOver | Refusal::CodeNeeded(_) | Refusal::Invalid(_)) => over(),
    }
}

/// Logs a failed sign-in with the account (a user's id, never what was typed) and the client
/// address.
pub(super) fn log_failure(
    console: &Console,
    from: &PeerAddress,
    headers: &HeaderMap,
    account: &str,
) {
    let address = console.attempts.address(from, headers);
    tracing::warn!(%account, %address, "console: sign-in failed");
}

/// Asks for the code of the second factor.
pub(super) fn code_page(
    kind: Kind,
    ticket: &str,
    back: &str,
    error: Option<&str>,
    headers: &HeaderMap,
) -> Response {
    let content = html! {
        h1 { "Second factor" }
        @if let Some(error) = error { div.errors role="alert" tabindex="-1" { p { (error) } } }
        form.form method="post" action=(CODE_PAGE) {
            input type="hidden" name="ticket" value=(ticket);
            input type="hidden" name="to" value=(back);
            (code_field().draw())
            button.button.primary type="submit" { "Sign in" }
        }
        p.muted { "Lost the app and the recovery codes? Ask an owner to reset your second factor." }
        p.muted { a href=(addresses::returning(SIGN_IN, back)) { "Start over" } }
    };
    let theme = session::theme_of(headers);
    let markup = document::bare("Second factor", theme, &["base.js"], content);
    reply::page(kind, markup, negotiate::accepts_gzip(headers))
}

pub(super) fn code_field() -> Field<'static> {
    Field {
        id: "code",
        label: "Code",
        hint: Some("Six digits from your authenticator app, or a recovery code."),
        required: true,
        autocomplete: Some("one-time-code"),
        mono: true,
        ..Field::default()
    }
}

fn wait(
    console: &Console,
    from: &PeerAddress,
    headers: &HeaderMap,
    typed: SignInForm,
) -> Option<u64> {
    console.attempts.count_address(from, headers).or_else(|| match typed.with_token {
        true => None,
        false => console.attempts.count_account(typed.email, from, headers),
    })
}

async fn authenticate(
    console: &Console,
    form: &Fields,
    typed: SignInForm<'_>,
    before: Option<&str>,
) -> Result<sluice_engine::Secret, Refusal> {
    let engine = &console.engine;
    match typed.with_token {
        true => {
            engine
                .accounts()
                .sign_in_with_token(form.get("token").unwrap_or_default(), before)
                .await
        }
        // A password is used as typed, spaces included.
        false => {
            engine.accounts().sign_in_with_password(typed.email, form.raw("password"), before).await
        }
    }
}

/// Succeeds even if the session has already ended.
async fn sign_out(State(console): State<Arc<Console>>, headers: HeaderMap) -> Reply {
    if let Some(secret) = session::secret(&headers) {
        console.engine.accounts().sign_out(secret).await?;
    }
    Ok(reply::see_other_with(SIGN_IN, &session::dropped()))
}

fn page(kind: Kind, typed: SignInForm, headers: &HeaderMap) -> Response {
    let content = html! {
        h1 { "Sign in to Sluice" }
        @if let Some(error) = typed.error {
            div.errors role="alert" tabindex="-1" { p { (error) } }
        } @else if allows_plain_http(headers) {
            p.note.warn { (NEEDS_HTTPS) }
        }
        @if let Some(button) = typed.provider {
            p.buttons { a.button.primary href=(oidc::address(typed.back)) { (button) } }
            p.muted { "or" }
        }
        @if typed.with_token { (token_form(typed)) } @else { (password_form(typed)) }
    };
    let theme = session::theme_of(headers);
    let markup = document::bare("Sign in", theme, &["base.js"], content);
    reply::page(kind, markup, negotiate::accepts_gzip(headers))
}

fn password_form(typed: SignInForm) -> Markup {
    let email = Field {
        id: "email",
        label: "E-mail address",
        value: typed.email,
        kind: "email",
        required: true,
        autocomplete: Some("username"),
        ..Field::default()
    };
    // If there is an OpenID provider, its button is the primary one.
    let class = if typed.provider.is_some() { "button" } else { "button primary" };
    let password = Field {
        id: "password",
        label: "Password",
        kind: "password",
        required: true,
        autocomplete: Some("current-password"),
        ..Field::default()
    };
    html! {
        form.form method="post" action=(SIGN_IN) {
            input type="hidden" name="to" value=(typed.back);
            (email.draw())
            (password.draw())
            button class=(class) type="submit" { "Sign in" }
        }
        @if typed.sends_mail { p.muted { a href=(FORGOTTEN) { "Forgot your password?" } } }
        @else { p.muted { "Forgot your password? Ask an owner for a new link." } }
        p.muted { a href=(other(typed.back, "token")) { "Use an admin token" } }
    }
}

fn token_form(typed: SignInForm) -> Markup {
    let token = Field {
        id: "token",
        label: "Admin token",
        hint: Some("Printed when the server started for the first time."),
        kind: "password",
        required: true,
        autocomplete: Some("current-password"),
        ..Field::default()
    };
    html! {
        form.form method="post" action=(SIGN_IN) {
            input type="hidden" name="to" value=(typed.back);
            (token.draw())
            button.button.primary type="submit" { "Sign in" }
        }
        p.muted { a href=(other(typed.back, "password")) { "Use e-mail and password instead" } }
    }
}

fn other(back: &str, with: &str) -> String {
    let address = addresses::returning(SIGN_IN, back);
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}with={with}")
}

/// Browsers send `Sec-Fetch-Site` with every request to a secure origin, and with no other.
fn allows_plain_http(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    !headers.contains_key(SEC_FETCH_SITE) && !is_loopback(host)
}

/// Whether a form was sent from a page over plain HTTP, except on localhost.
pub(super) fn is_plain_http(headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok()).unwrap_or_default();
    origin.strip_prefix("http://").is_some_and(|host| !is_loopback(host))
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts_are_recognised_by_name_or_address() {
        for (host, is) in [
            ("localhost", true),
            ("localhost:8080", true),
            ("sluice.localhost", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("192.168.0.7:8080", false),
            ("localhost.example", false),
            ("", false),
        ] {
            assert_eq!(is_loopback(host), is, "{host}");
        }
    }
}
