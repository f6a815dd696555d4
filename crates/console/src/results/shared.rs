//! A report as its readers see it: without signing in, and without a way into the console.
//!
//! Unknown, expired and revoked links get the same page. A password is exchanged for a cookie that
//! is limited to the address of the report. Deliberately absent: links to other pages, respondents,
//! and every question that the author has not chosen.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use http::HeaderMap;
use maud::{Markup, html};
use sluice_engine::reports::{LockedReport, OpenReport};
use sluice_engine::{AdminError, Refusal};
use sluice_flow::time::Timestamp;
use sluice_http::negotiate;

use super::query::ResultsQuery;
use super::reader::Reader;
use super::results_data::{Reading, ResultsData};
use super::{card, computing, head};
use crate::attempts::PeerAddress;
use crate::computing::Numbers;
use crate::parts::field::Field;
use crate::parts::{counted, time};
use crate::reply::{self, Kind};
use crate::request::{Fields, SmallForm};
use crate::session;
use crate::sign_in::{NEEDS_HTTPS, is_plain_http};
use crate::{Console, document};

/// Browsers accept it over HTTPS only.
const COOKIE: &str = "__Secure-report";
const WRONG_PASSWORD: &str = "This password is wrong. Ask the person who sent you the link.";

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    path: SecretPath,
    headers: HeaderMap,
) -> Response {
    let secret = secret_of(path);
    let shown = async {
        let Some(locked) = console.engine.links().report(&secret).await? else { return Ok(None) };
        let pass = session::cookie(&headers, COOKIE);
        match locked.open(pass).await? {
            Some(report) => opened(&console, &secret, &report, &headers).await,
            None => Ok(Some(password_page(Kind::Shown, &secret, None, &headers))),
        }
    };
    shown.await.map_or_else(|error| failed(&error), |page| page.unwrap_or_else(unavailable))
}

type SecretPath = Result<Path<String>, PathRejection>;

/// The secret in the path. A path that cannot be decoded is like an unknown one.
fn secret_of(path: SecretPath) -> String {
    path.map(|Path(secret)| secret).unwrap_or_default()
}

/// Exchanges the password for a cookie.
pub(super) async fn unlock(
    State(console): State<Arc<Console>>,
    path: SecretPath,
    from: PeerAddress,
    headers: HeaderMap,
    SmallForm(form): SmallForm,
) -> Response {
    let secret = secret_of(path);
    let locked = match console.engine.links().report(&secret).await {
        Ok(Some(locked)) => locked,
        Ok(None) => return unavailable(),
        Err(error) => return failed(&error),
    };
    if !locked.needs_password() {
        return reply::see_other(&format!("/r/{secret}"));
    }
    let refused = |kind, error: &str| password_page(kind, &secret, Some(error), &headers);
    if is_plain_http(&headers) {
        return refused(Kind::Unfinished, NEEDS_HTTPS);
    }
    if let Some(seconds) = wait(&console, &locked, &from, &headers) {
        let text = format!("Too many attempts. Try again in {}.", counted(seconds, "second"));
        return refused(Kind::Limited(seconds), &text);
    }
    match locked.unlock(form.raw("password")).await {
        Ok((pass, seconds)) => {
            let path = format!("/r/{secret}");
            let rules = "Secure; HttpOnly; SameSite=Lax";
            let cookie = format!("{COOKIE}={}; Path={path}; {rules}; Max-Age={seconds}", pass.0);
            reply::see_other_with(&path, &cookie)
        }
        Err(Refusal::Busy) => {
            refused(Kind::Away, "The server is busy. Try again in a few seconds.")
        }
        Err(Refusal::Store(error)) => failed(&error.into()),
        Err(
            Refusal::Wrong(_) | Refusal::CodeNeeded(_) | Refusal::LinkOver | Refusal::Invalid(_),
        ) => {
            let (report, address) = (locked.id(), console.attempts.address(&from, &headers));
            tracing::warn!(%report, %address, "report: wrong password");
            refused(Kind::Unfinished, WRONG_PASSWORD)
        }
    }
}

/// Counts an attempt: by address, and by report like an account.
fn wait(
    console: &Console,
    locked: &LockedReport,
    from: &PeerAddress,
    headers: &HeaderMap,
) -> Option<u64> {
    let attempts = &console.attempts;
    let by_report = || attempts.count_account(&locked.id().to_string(), from, headers);
    attempts.count_address(from, headers).or_else(by_report)
}

/// The page of an open report; none if its filters can no longer be applied as they were chosen.
async fn opened(
    console: &Console,
    secret: &str,
    open: &OpenReport,
    headers: &HeaderMap,
) -> Result<Option<Response>, AdminError> {
    let summing = open.flow.summing().await?;
    let query = ResultsQuery::from_fields(&Fields(open.filters.clone())).known(&summing.asked());
    // A filter that is ignored would show more than the author has chosen.
    if query.pairs().len() != open.filters.len() {
        return Ok(None);
    }
    let summing = summing.comparing_tag(query.compared_tag());
    let (now, reader) = (console.engine.now(), Reader::from_report(open));
    let gzip = negotiate::accepts_gzip(headers);
    Ok(Some(match ResultsData::read(&open.flow, now, &summing, query, reader).await? {
        Reading::Ready(data) => {
            let markup = document(&open.title, content(&open.title, &data));
            reply::shared_page(Kind::Shown, markup, gzip)
        }
        Reading::Computing(progress) => {
            let here = format!("/r/{secret}");
            let content = html! {
                header.shared-head { h1 { (open.title) } }
                (computing::content(progress, &here, Numbers::Hidden))
            };
            let markup = document(&open.title, content);
            reply::reloading(reply::shared_page(Kind::Shown, markup, gzip))
        }
    }))
}

fn document(title: &str, content: Markup) -> Markup {
    let body = html! {
        main.content { div.page { (content) } }
        p.unseen id="announcer" role="status" aria-live="polite" {}
    };
    document::whole(title, None, &["base.js", "results.js"], "shared", body)
}

fn content(title: &str, data: &ResultsData) -> Markup {
    let as_of: Timestamp = data.summary.as_of.unwrap_or(data.now);
    html! {
        header.shared-head {
            div {
                h1 dir="auto" { (title) }
                p.muted { (data.words()) " · as of " (time(as_of)) }
            }
            button.button type="button" data-print hidden { "Print or save as PDF" }
        }
        @if data.summary.counting.is_some() {
            p.note { "Older responses are still being counted, so the numbers will grow." }
        }
        @if data.summary.partial || data.groups.iter().any(|(_, group)| group.partial) {
            p.note { "Some responses may be missing: this tag had too many values on some days to count all of them separately." }
        }
        @if data.summary.responses == 0 {
            p.note { "There are no responses yet." }
        } @else {
            (head::line(data, None))
            (head::responses(data))
            @for (at, question) in data.questions().enumerate() {
                (card::card(data, at, &question))
            }
        }
    }
}

fn password_page(kind: Kind, secret: &str, error: Option<&str>, headers: &HeaderMap) -> Response {
    let password = Field {
        id: "password",
        label: "Password",
        kind: "password",
        required: true,
        autocomplete: Some("off"),
        ..Field::default()
    };
    let content = html! {
        h1 { "Password required" }
        @if let Some(error) = error { div.errors role="alert" tabindex="-1" { p { (error) } } }
        p.muted { "This report is protected. The person who sent you the link knows the password." }
        form.form method="post" action={ "/r/" (secret) } {
            (password.draw())
            button.button.primary type="submit" { "Open report" }
        }
    };
    let markup = document::bare("Password required", None, &["base.js"], content);
    reply::shared_form(kind, markup, negotiate::accepts_gzip(headers))
}

/// The same page for every report that cannot be opened, so that it reveals nothing.
fn unavailable() -> Response {
    let text = "The link may be mistyped, or the report has expired or was revoked. Ask the person who sent you the link.";
    message_page(Kind::Missing, "This report is not available", text)
}

fn failed(error: &AdminError) -> Response {
    match error {
        AdminError::Store(_) | AdminError::Conflict { .. } => {
            tracing::warn!(%error, "a report cannot be shown");
            let text = "The report cannot be shown now. Try again in a few seconds.";
            message_page(Kind::Away, "Not available now", text)
        }
        AdminError::NotFound(_)
        | AdminError::Forbidden { .. }
        | AdminError::BoundToApp
        | AdminError::NotFresh
        | AdminError::Invalid(_) => unavailable(),
    }
}

fn message_page(kind: Kind, title: &str, text: &str) -> Response {
    let content = html! { h1 { (title) } p { (text) } };
    reply::shared_page(kind, document::bare(title, None, &["base.js"], content), false)
}
