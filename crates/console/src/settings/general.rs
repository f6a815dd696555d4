//! General settings of an app: name, retention, grace window, origins, limits, and how its hosted
//! pages are guarded. Their design is on a separate page ([`crate::design`]).

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::branding::{HostedPatch, HostedSettings};
use sluice_engine::rows::{AppRow, Scope};
use sluice_engine::{AppPatch, LimitsPatch};
use sluice_flow::definition::Fault;
use sluice_flow::id::AppId;

use super::super::Console;
use super::super::editor::settings_form::{UNITS, in_units};
use super::super::parts;
use super::super::parts::field::{Field, check, select};
use super::super::reply::{self, Kind, Reply};
use super::super::request::{Fields, Form, PathParam, Query};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::{app_page, error_of, may};

const TAB: &str = "";
const GRACE_HINT: &str = "How long a version still accepts responses after the next one is published, so that people who have it open can finish. Leave empty for one day.";
const RETENTION_HINT: &str =
    "Older responses are deleted permanently, every hour. Leave empty to keep them indefinitely.";
const ORIGINS_HINT: &str = "Sites that may embed flows and call the API from a browser, one per line, such as https://shop.example, or https://*.shop.example for all its subdomains. Leave empty to allow any.";
const CALLS_HINT: &str = "Maximum API calls of this app. Bursts may be twice as large. Leave empty for the server's limit.";
const BYTES_HINT: &str =
    "Responses beyond this are refused until midnight UTC. Leave empty for the server's limit.";

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let values = SettingsForm::from_app(&sidebar.own()?.row);
    let content = form(&visitor, &sidebar.own()?.row, &values, &[]);
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, query.get("done"), content))
}

pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Form(form_sent): Form,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    visitor.actor.need_in(Scope::Write, app, sluice_engine::Missing::App)?;
    let own = &sidebar.own()?.row;
    let values = SettingsForm::from_fields(&form_sent, own);
    let faults = match values.patch(own) {
        Err(faults) => faults,
        Ok(patch) => {
            match console.engine.app(&visitor.actor, Scope::Write, app).await?.update(&patch).await
            {
                Ok(_) => {
                    let address = format!("/console/apps/{app}/settings?done=saved");
                    return Ok(reply::see_other(&address));
                }
                Err(sluice_engine::AdminError::Invalid(faults)) => faults,
                Err(error) => return Err(error.into()),
            }
        }
    };
    let content = form(&visitor, own, &values, &faults);
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Unfinished, None, content))
}

/// The values in the form.
struct SettingsForm {
    name: String,
    grace: String,
    grace_unit: String,
    retention: String,
    origins: String,
    spam: bool,
    calls: String,
    bytes: String,
}

impl SettingsForm {
    fn from_app(app: &AppRow) -> Self {
        let hosted = HostedSettings::from_app(app);
        let number = |value: Option<u32>| value.map(|it| it.to_string()).unwrap_or_default();
        let grace = app.grace_window_seconds.map(in_units);
        Self {
            name: app.name.clone(),
            grace: grace.map(|(amount, _)| amount.to_string()).unwrap_or_default(),
            grace_unit: grace.map_or("hours", |(_, units)| units).to_owned(),
            retention: number(app.retention_days),
            origins: app.allowed_origins.join("\n"),
            spam: hosted.spam_protection,
            calls: number(app.limits.calls_per_second),
            bytes: app.limits.bytes_per_day.map(|it| it.to_string()).unwrap_or_default(),
        }
    }

    /// The values that were sent. Fields that the form does not have stay unchanged.
    fn from_fields(form: &Fields, app: &AppRow) -> Self {
        let was = Self::from_app(app);
        let text = |name: &str, was: String| {
            if form.has(name) { form.raw(name).trim().to_owned() } else { was }
        };
        Self {
            name: text("name", was.name),
            grace: text("graceWindowSeconds", was.grace),
            grace_unit: match form.has("graceWindowSeconds") {
                // A form without units sends seconds.
                true => text("graceUnit", "seconds".to_owned()),
                false => was.grace_unit,
            },
            retention: text("retentionDays", was.retention),
            origins: text("allowedOrigins", was.origins),
            spam: form.has("spamProtection"),
            calls: text("callsPerSecond", was.calls),
            bytes: text("bytesPerDay", was.bytes),
        }
    }

    /// The changes against the stored values, or the faults of invalid fields.
    fn patch(&self, app: &AppRow) -> Result<AppPatch, Vec<Fault>> {
        let was = Self::from_app(app);
        let mut faults = Vec::new();
        let mut number = |pointer: &str, text: &str| -> Option<u64> {
            let read = text.parse().ok();
            if !text.is_empty() && read.is_none() {
                faults.push(Fault::new(pointer, "must be a whole number, or empty"));
            }
            read
        };
        let unit = UNITS.iter().find(|(units, ..)| self.grace_unit == *units);
        let unit = unit.map_or(1, |(.., seconds)| u64::from(*seconds));
        let grace = number("/graceWindowSeconds", &self.grace);
        let grace = grace.map(|amount| amount.saturating_mul(unit));
        let days = number("/retentionDays", &self.retention);
        let calls = number("/limits/callsPerSecond", &self.calls);
        let bytes = number("/limits/bytesPerDay", &self.bytes);
        if !faults.is_empty() {
            return Err(faults);
        }
        // A number that does not fit is outside every range, so the engine refuses it.
        let small = |number: Option<u64>| number.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
        let limits = LimitsPatch {
            calls_per_second: (self.calls != was.calls).then_some(small(calls)),
            bytes_per_day: (self.bytes != was.bytes).then_some(bytes),
        };
        let origins = self.origins.split_whitespace().map(str::to_owned).collect();
        let hosted = HostedPatch {
            spam_protection: (self.spam != was.spam).then_some(self.spam),
            ..HostedPatch::default()
        };
        Ok(AppPatch {
            name: (self.name != was.name).then(|| self.name.clone()),
            grace_window_seconds: (small(grace) != app.grace_window_seconds)
                .then_some(small(grace)),
            retention_days: (self.retention != was.retention).then_some(small(days)),
            allowed_origins: (self.origins != was.origins).then_some(origins),
            hosted: (hosted != HostedPatch::default()).then_some(Some(hosted)),
            limits: (limits != LimitsPatch::default()).then_some(Some(limits)),
            ..AppPatch::default()
        })
    }
}

/// The id of the field that a pointer refers to.
fn field_of(pointer: &str) -> Option<String> {
    let inner = pointer.strip_prefix("/hosted").or_else(|| pointer.strip_prefix("/limits"));
    let pointer = inner.unwrap_or(pointer);
    pointer.split('/').nth(1).map(str::to_owned)
}

fn form(visitor: &Visitor, app: &AppRow, values: &SettingsForm, faults: &[Fault]) -> Markup {
    let error = |name: &str| error_of(faults, name, field_of);
    let own = |id, label, hint, value| Field {
        id,
        label,
        hint,
        value,
        error: error(id),
        ..Field::default()
    };
    let may_write = may(visitor, Scope::Write, app.app_id);
    html! {
        (parts::errors(faults, field_of))
        form.form method="post" action={ "/console/apps/" (app.app_id) "/settings" } {
            fieldset.stack disabled[!may_write] {
                section.card {
                    h2 { "Name" }
                    (Field { required: true, ..own("name", "Name of the app", None, &values.name) }.draw())
                    p.muted { "Its ID is " code { (app.app_id) } "." }
                }
                section.card {
                    h2 { "Time limits" }
                    div.inline {
                        (Field { kind: "number", ..own("graceWindowSeconds", "Grace window", Some(GRACE_HINT), &values.grace) }.draw())
                        (select("graceUnit", "Unit of the grace window", &UNITS.map(|(units, ..)| (units, units)), &values.grace_unit))
                    }
                    @if may(visitor, Scope::Erase, app.app_id) {
                        (Field { kind: "number", ..own("retentionDays", "Keep responses, in days", Some(RETENTION_HINT), &values.retention) }.draw())
                    } @else {
                        p.muted { "Responses are kept " @if values.retention.is_empty() { "indefinitely" } @else { "for " (values.retention) @if values.retention == "1" { " day" } @else { " days" } } ". Owners can change this." }
                    }
                }
                section.card {
                    h2 { "Sites" }
                    (Field { lines: 3, mono: true, ..own("allowedOrigins", "Allowed origins", Some(ORIGINS_HINT), &values.origins) }.draw())
                }
                section.card {
                    h2 { "Limits" }
                    @if visitor.actor.may_instance(Scope::Admin) {
                        (Field { kind: "number", ..own("callsPerSecond", "Calls per second", Some(CALLS_HINT), &values.calls) }.draw())
                        (Field { kind: "number", ..own("bytesPerDay", "Bytes stored per day", Some(BYTES_HINT), &values.bytes) }.draw())
                    } @else {
                        p.muted { (limits(app)) " Server administrators can change this." }
                    }
                }
                section.card {
                    h2 { "Hosted pages" }
                    (check("spamProtection", "yes", "Ask suspected bots to confirm", values.spam))
                    p.muted { "Colours, fonts and logos are in " a href={ "/console/apps/" (app.app_id) "/settings/design" } { "Design" } "." }
                }
            }
            @if may_write { div.buttons { button.button.primary type="submit" { "Save" } } }
        }
    }
}

/// The limits of an app as a sentence.
fn limits(app: &AppRow) -> String {
    let of = |own: Option<String>| own.unwrap_or_else(|| "the server's limit".to_owned());
    let calls = of(app.limits.calls_per_second.map(|it| it.to_string()));
    let bytes = of(app.limits.bytes_per_day.map(|it| it.to_string()));
    format!("Calls per second: {calls}. Bytes stored per day: {bytes}.")
}
