//! Admin tokens: for programs, and for operators. A secret is shown once.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::rows::{Scope, TokenRow};
use sluice_engine::{AdminError, NewToken};
use sluice_flow::definition::Fault;
use sluice_flow::id::TokenId;
use sluice_flow::time::{DAY_MILLIS, Timestamp};

use super::super::Console;
use super::super::parts::field::Field;
use super::super::parts::{self, ago, time};
use super::super::reply::{self, Kind, Reply};
use super::super::request::{Fields, Form, PathParam, Query};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::{error_of, instance_page, places};

const TAB: &str = "tokens";
const SCOPES: [(&str, Scope, &str); 5] = [
    ("read", Scope::Read, "Read: flows, responses and results"),
    ("write", Scope::Write, "Write: also edit and publish flows"),
    ("export", Scope::Export, "Export: download responses"),
    ("erase", Scope::Erase, "Erase: delete responses and respondents"),
    ("admin", Scope::Admin, "Admin: everything"),
];

#[derive(Default)]
struct TokensPage {
    secret: Option<(String, String)>,
    faults: Vec<Fault>,
    typed: Fields,
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Query(query): Query,
) -> Reply {
    Ok(render(&console, &visitor, Kind::Shown, query.get("done"), TokensPage::default()).await?)
}

pub(super) async fn create(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Form(form): Form,
) -> Reply {
    let held = |word: &str| form.all("scope").any(|it| it == word);
    visitor.actor.need_instance(Scope::Admin)?;
    let days = form.get("days").map(str::parse::<u32>).transpose();
    let days = days
        .map_err(|_| Fault::new("/days", "must be a whole number of days, or empty for no expiry"));
    let (place, days) = match (places::chosen(&form), days) {
        (Ok(place), Ok(days)) => (place, days),
        (place, days) => {
            let faults = place.err().into_iter().chain(days.err()).collect();
            let page = TokensPage { faults, typed: form, ..TokensPage::default() };
            return Ok(render(&console, &visitor, Kind::Unfinished, None, page).await?);
        }
    };
    let now = console.engine.now().as_millis();
    let new = NewToken {
        name: form.get("name").unwrap_or_default().to_owned(),
        scopes: SCOPES.iter().filter(|(word, ..)| held(word)).map(|it| it.1).collect(),
        app_id: place,
        expires_at: days.map(|days| {
            Timestamp::from_millis(now.saturating_add(i64::from(days).saturating_mul(DAY_MILLIS)))
        }),
    };
    match console.engine.instance(&visitor.actor)?.create_token(new).await {
        Ok((row, secret)) => {
            let page = TokensPage { secret: Some((row.name, secret.0)), ..TokensPage::default() };
            Ok(render(&console, &visitor, Kind::Shown, None, page).await?)
        }
        Err(error) => {
            let page =
                TokensPage { faults: places::faults(error)?, typed: form, ..TokensPage::default() };
            Ok(render(&console, &visitor, Kind::Unfinished, None, page).await?)
        }
    }
}

pub(super) async fn revoke(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(token): PathParam<TokenId>,
) -> Reply {
    console.engine.instance(&visitor.actor)?.revoke_token(token).await?;
    Ok(reply::see_other("/console/settings/tokens?done=ended"))
}

async fn render(
    console: &Console,
    visitor: &Visitor,
    kind: Kind,
    done: Option<&str>,
    page: TokensPage,
) -> Result<Response, AdminError> {
    let tokens = console.engine.instance(&visitor.actor)?.list_tokens().await?;
    let sidebar = Sidebar::instance(console, visitor).await?;
    let content = html! {
        @if let Some((name, secret)) = &page.secret {
            section.note.good role="status" {
                p { strong { "The token “" (name) "”" } " – it is shown only once." }
                (parts::code("secret", "Admin token", secret))
            }
        }
        (list(&tokens, &sidebar))
        (form(&sidebar, &page))
    };
    Ok(instance_page(visitor, &sidebar, TAB, kind, done, content))
}

fn list(tokens: &[TokenRow], sidebar: &Sidebar) -> Markup {
    let app_name = |token: &TokenRow| match token.app_id {
        None => "All apps".to_owned(),
        Some(app) => places::app_name(sidebar, app),
    };
    let scopes = |token: &TokenRow| {
        let held = SCOPES.iter().filter(|(_, scope, _)| token.scopes.contains(scope));
        held.map(|(word, ..)| *word).collect::<Vec<_>>().join(", ")
    };
    html! {
        section.card {
            h2 { "Admin tokens" }
            p { "For programs that use the admin API, and for operators. People should sign in as users instead." }
            @if tokens.is_empty() { p.muted { "No tokens yet. The token in the server's environment is not listed." } }
            @else { div.scroll tabindex="0" role="region" aria-label="Tokens" {
                table.table.stacks {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "Scopes" } th scope="col" { "App" } th scope="col" { "Created" } th scope="col" { "Expires" } th scope="col" { span.unseen { "Actions" } } } }
                    tbody {
                        @for token in tokens {
                            tr {
                                td data-label="Name" { (token.name) }
                                td data-label="Scopes" { (scopes(token)) }
                                td data-label="App" { (app_name(token)) }
                                td data-label="Created" { (parts::day(token.created_at)) }
                                td data-label="Expires" { @match (token.revoked_at, token.expires_at) {
                                    (Some(at), _) => { "Revoked " (ago(at)) }
                                    (None, Some(at)) => (time(at)),
                                    (None, None) => "Never",
                                } }
                                td {
                                    @if token.revoked_at.is_none() {
                                        form method="post" action={ "/console/settings/tokens/" (token.token_id) "/revoke" } data-confirm="Revoke this token? Requests with it will be refused." {
                                            button.button.small.danger type="submit" { "Revoke" span.unseen { " " (token.name) } }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            } }
        }
    }
}

fn form(sidebar: &Sidebar, page: &TokensPage) -> Markup {
    let field_of = |pointer: &str| {
        let name = pointer.split('/').nth(1)?;
        Some(if name == "expiresAt" { "days" } else { name }.to_owned())
    };
    let name = Field {
        id: "name",
        label: "Name",
        required: true,
        value: page.typed.raw("name"),
        error: error_of(&page.faults, "name", field_of),
        ..Field::default()
    };
    let days = Field {
        id: "days",
        label: "Expires after, in days",
        hint: Some("Leave empty for no expiry."),
        kind: "number",
        value: page.typed.raw("days"),
        error: error_of(&page.faults, "days", field_of),
        ..Field::default()
    };
    let place_error = error_of(&page.faults, "appId", field_of);
    html! {
        section.card {
            h2 { "New token" }
            (parts::errors(&page.faults, field_of))
            form.form method="post" action="/console/settings/tokens" {
                (name.draw())
                fieldset id="scopes" tabindex="-1" {
                    legend.label { "Scopes" }
                    @if let Some(error) = error_of(&page.faults, "scopes", field_of) { p.error { (error) } }
                    @for (word, _, text) in SCOPES {
                        label.check { input type="checkbox" name="scope" value=(word) checked[page.typed.all("scope").any(|it| it == word)]; span { (text) } }
                    }
                }
                (places::field("appId", sidebar, page.typed.raw("appId"), place_error))
                (days.draw())
                div.buttons { button.button.primary type="submit" { "Create token" } }
            }
        }
    }
}
