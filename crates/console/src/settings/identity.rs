//! Identity verification: its mode, its keys, and the counts of token checks.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::rows::{IdentityKeyKind, IdentityKeyRow, IdentityVerification, Scope};
use sluice_engine::verify::TokenOutcome;
use sluice_engine::{AdminError, AppPatch, Missing, NewIdentityKey, VerificationReport};
use sluice_flow::definition::Fault;
use sluice_flow::id::AppId;

use super::super::Console;
use super::super::parts::field::{Field, select};
use super::super::parts::{self, ago, number, time};
use super::super::reply::{self, Kind, Refused, Reply};
use super::super::request::{Fields, Form, PathParam, Query, faults_of};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::{app_page, error_of, may};

const TAB: &str = "identity";
const MODES: [(&str, IdentityVerification, &str); 3] = [
    ("off", IdentityVerification::Off, "Off: tokens are ignored. Anyone can send any user ID."),
    (
        "observe",
        IdentityVerification::Observe,
        "Observe: tokens are checked and counted, but nothing is refused. Check the counts below before you enforce.",
    ),
    (
        "enforce",
        IdentityVerification::Enforce,
        "Enforce: reading or answering a flow requires a valid token.",
    ),
];

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let page = IdentityPage::default();
    Ok(render(&console, &visitor, app, Kind::Shown, query.get("done"), page).await?)
}

pub(super) async fn set_mode(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Form(form): Form,
) -> Reply {
    visitor.actor.need_in(Scope::Admin, app, Missing::App)?;
    let chosen = MODES.iter().find(|(word, ..)| form.get("mode") == Some(word));
    let (_, mode, _) = chosen.ok_or(Refused::Unreadable)?;
    let patch = AppPatch { identity_verification: Some(*mode), ..AppPatch::default() };
    match faults_of(
        console.engine.app(&visitor.actor, Scope::Write, app).await?.update(&patch).await,
    )? {
        Ok(_) => Ok(reply::see_other(&format!("/console/apps/{app}/settings/identity?done=saved"))),
        Err(faults) => {
            let page = IdentityPage { mode_faults: faults, ..IdentityPage::default() };
            Ok(render(&console, &visitor, app, Kind::Unfinished, None, page).await?)
        }
    }
}

pub(super) async fn create(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Form(form): Form,
) -> Reply {
    visitor.actor.need_in(Scope::Admin, app, Missing::App)?;
    let new = new_key(&form);
    let opened = console.engine.app(&visitor.actor, Scope::Admin, app).await?;
    match faults_of(opened.create_identity_key(&new).await)? {
        Ok((row, Some(secret))) => {
            let page =
                IdentityPage { secret: Some((row.kid, secret.0)), ..IdentityPage::default() };
            Ok(render(&console, &visitor, app, Kind::Shown, None, page).await?)
        }
        Ok((_, None)) => {
            Ok(reply::see_other(&format!("/console/apps/{app}/settings/identity?done=created")))
        }
        Err(faults) => {
            let page = IdentityPage { key_faults: faults, typed: form, ..IdentityPage::default() };
            Ok(render(&console, &visitor, app, Kind::Unfinished, None, page).await?)
        }
    }
}

pub(super) async fn revoke(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Form(form): Form,
) -> Reply {
    visitor.actor.need_in(Scope::Admin, app, Missing::App)?;
    console
        .engine
        .app(&visitor.actor, Scope::Admin, app)
        .await?
        .revoke_identity_key(form.raw("kid"))
        .await?;
    Ok(reply::see_other(&format!("/console/apps/{app}/settings/identity?done=ended")))
}

fn new_key(form: &Fields) -> NewIdentityKey {
    let text = |name: &str| form.get(name).map(str::to_owned);
    let kind = match form.get("type") {
        Some("publicKey") => IdentityKeyKind::PublicKey,
        Some("jwks") => IdentityKeyKind::Jwks,
        _ => IdentityKeyKind::Hs256,
    };
    let is = |wanted| kind == wanted;
    NewIdentityKey {
        kind,
        pem: text("pem").filter(|_| is(IdentityKeyKind::PublicKey)),
        jwk: None,
        url: text("url").filter(|_| is(IdentityKeyKind::Jwks)),
        kid: text("kid").filter(|_| !is(IdentityKeyKind::Jwks)),
        issuer: text("issuer"),
    }
}

/// What a page shows besides the stored data.
#[derive(Default)]
struct IdentityPage {
    /// A key that was just created, and its secret.
    secret: Option<(String, String)>,
    mode_faults: Vec<Fault>,
    key_faults: Vec<Fault>,
    typed: Fields,
}

async fn render(
    console: &Console,
    visitor: &Visitor,
    app: AppId,
    kind: Kind,
    done: Option<&str>,
    page: IdentityPage,
) -> Result<Response, AdminError> {
    let sidebar = Sidebar::app(console, visitor, app).await?;
    let keys = sidebar.own()?.list_identity_keys().await?;
    let report = sidebar.own()?.verification_report()?;
    let may_change = may(visitor, Scope::Admin, app);
    let content = html! {
        @if let Some((kid, secret)) = &page.secret {
            section.note.good role="status" {
                p { strong { "The signing secret of " (kid) } " – it is shown only once. Keep it on your server, not in a page or an app." }
                (parts::code("secret", "Signing secret", secret))
            }
        }
        (mode(app, report.mode, may_change, &page.mode_faults))
        (counts(&report))
        (keys_of(app, &keys, may_change))
        @if may_change { (make(app, &page)) }
    };
    Ok(app_page(visitor, &sidebar, TAB, kind, done, content))
}

fn mode(app: AppId, current: IdentityVerification, may_change: bool, faults: &[Fault]) -> Markup {
    html! {
        section.card {
            h2 { "Mode" }
            p { "Your server can sign a token that proves a user's identity. Sluice then links responses only to verified users." }
            (parts::errors(faults, |_| Some("mode-enforce".to_owned())))
            form.form method="post" action={ "/console/apps/" (app) "/settings/identity" } {
                fieldset disabled[!may_change] {
                    legend.unseen { "Mode" }
                    @for (word, value, text) in MODES {
                        label.check {
                            input type="radio" id={ "mode-" (word) } name="mode" value=(word) checked[value == current];
                            span { (text) }
                        }
                    }
                }
                @if may_change { div.buttons { button.button.primary type="submit" { "Save mode" } } }
            }
        }
    }
}

/// What each outcome means, and what it would mean under enforcement.
fn counts(report: &VerificationReport) -> Markup {
    let count = |checked: TokenOutcome| report.counts.get(checked);
    let invalid: u64 = TokenOutcome::ALL.into_iter().filter(|it| it.is_invalid()).map(count).sum();
    // A submission that contradicts its token was already counted as verified. Several in one
    // request share one token.
    let agreeing = count(TokenOutcome::Verified).saturating_sub(count(TokenOutcome::Mismatch));
    let rows = [
        ("Verified", agreeing, "A valid token. Accepted in every mode."),
        (
            "No token",
            count(TokenOutcome::Missing),
            "Refused by “enforce”. These pages or apps do not send a token yet.",
        ),
        (
            "Expired",
            count(TokenOutcome::Expired),
            "Refused by “enforce” until the page gets a new token.",
        ),
        (
            "Invalid",
            invalid,
            "Refused by “enforce”: wrong key, audience or format. See the details below.",
        ),
        (
            "Mismatch",
            count(TokenOutcome::Mismatch),
            "The submitted user ID or e-mail address differs from the token. Refused by “enforce”.",
        ),
        (
            "Keys unavailable",
            count(TokenOutcome::Unavailable),
            "A key set could not be fetched. “Enforce” asks the client to try again.",
        ),
    ];
    let asked: u64 = rows.iter().map(|(_, count, _)| count).sum();
    html! {
        section.card {
            h2 { "Checks" }
            @if report.mode == IdentityVerification::Off {
                p.muted { "Tokens are not checked in mode “off”. Choose “observe” to see what would be refused." }
            } @else {
                p.muted { "On this server, since " (time(report.counts.since)) "." }
                @if report.mode == IdentityVerification::Observe && asked > 0 {
                    @let refused = asked - agreeing;
                    @if refused == 0 {
                        p.note.good { "All " (number(asked)) " requests so far would be accepted by “enforce”." }
                    } @else {
                        p.note.warn { (number(refused)) " of " (number(asked)) " requests so far would be refused by “enforce”." }
                    }
                }
                div.scroll tabindex="0" role="region" aria-label="Checks" {
                    table.table {
                        thead { tr { th scope="col" { "Outcome" } th.number scope="col" { "Requests" } th scope="col" { "Meaning" } } }
                        tbody {
                            @for (word, count, meaning) in rows {
                                tr { th scope="row" { (word) } td.number { (number(count)) } td { (meaning) } }
                            }
                            @for checked in TokenOutcome::ALL.into_iter().filter(|it| it.is_invalid() && count(*it) > 0) {
                                tr { td { code { (checked.as_str()) } } td.number { (number(count(checked))) } td.muted { "A kind of “invalid”" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn keys_of(app: AppId, keys: &[IdentityKeyRow], may_change: bool) -> Markup {
    let active: Vec<_> = keys.iter().filter(|key| key.revoked_at.is_none()).collect();
    html! {
        section.card {
            h2 { "Keys" }
            @if active.is_empty() { p.muted { "No keys yet. Create one below to verify tokens." } }
            @for key in active {
                div.row {
                    div.fill {
                        p { code { (key.kid) } " · " (kind_of(key)) }
                        p.muted { "Created " (ago(key.created_at)) @if let Some(issuer) = &key.issuer { " · issuer " (issuer) } }
                    }
                    @if may_change {
                        form method="post" action={ "/console/apps/" (app) "/settings/identity/revoke" } data-confirm="Revoke this key? Tokens signed with it will be refused." {
                            input type="hidden" name="kid" value=(key.kid);
                            button.button.danger type="submit" aria-label={ "Revoke " (key.kid) } { "Revoke" }
                        }
                    }
                }
            }
        }
    }
}

fn kind_of(key: &IdentityKeyRow) -> String {
    match key.kind {
        IdentityKeyKind::Hs256 => "shared secret".to_owned(),
        IdentityKeyKind::PublicKey => "public key".to_owned(),
        IdentityKeyKind::Jwks => format!("key set at {}", key.material),
    }
}

fn make(app: AppId, page: &IdentityPage) -> Markup {
    let field_of = |pointer: &str| pointer.split('/').nth(1).map(str::to_owned);
    let faults = &page.key_faults;
    let typed = |name: &str| page.typed.raw(name).to_owned();
    let (pem, url, kid, issuer) = (typed("pem"), typed("url"), typed("kid"), typed("issuer"));
    let own = |id, label, hint, value| Field {
        id,
        label,
        hint: Some(hint),
        value,
        error: error_of(faults, id, field_of),
        ..Field::default()
    };
    let kinds = [
        ("hs256", "Shared secret, generated here"),
        ("publicKey", "Your public key (PEM)"),
        ("jwks", "URL of a key set (JWKS)"),
    ];
    html! {
        section.card {
            h2 { "New key" }
            (parts::errors(faults, field_of))
            form.form method="post" action={ "/console/apps/" (app) "/settings/identity/keys" } {
                (select("type", "Kind", &kinds, page.typed.get("type").unwrap_or("hs256")))
                div data-kind="publicKey" { (Field { lines: 3, mono: true, ..own("pem", "Public key", "RSA with at least 2048 bits, P-256 or Ed25519, as -----BEGIN PUBLIC KEY-----", &pem) }.draw()) }
                div data-kind="jwks" { (own("url", "URL", "An https URL, such as https://id.example/.well-known/jwks.json", &url).draw()) }
                details.more {
                    summary { "More" }
                    div.form {
                        (own("kid", "Key ID", "The kid in tokens. Leave empty to generate one.", &kid).draw())
                        (own("issuer", "Issuer", "The iss that tokens must have. Leave empty to accept any.", &issuer).draw())
                    }
                }
                div.buttons { button.button type="submit" { "Create key" } }
            }
        }
    }
}
