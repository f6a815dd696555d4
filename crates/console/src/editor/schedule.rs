//! When responses are accepted: the live window, the grace window of a superseded version, and the
//! limits on their number.
//! Changes apply immediately, without publishing.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use http::header::ACCEPT;
use maud::{Markup, html};
use serde_json::json;
use sluice_engine::rows::{FlowState, Scope};
use sluice_engine::{AdminError, ClosingState, FlowPatch};
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowId;
use sluice_flow::lifecycle::GRACE_DEFAULT_SECONDS;
use sluice_flow::time::{Timestamp, Window};

use super::limits::{self, LimitsForm};
use crate::Console;
use crate::flow_header::title;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::errors;
use crate::parts::field::Field;
use crate::reply::{self, Kind, Reply};
use crate::request::{Fields, Form, PathParam};
use crate::session::Visitor;
use crate::sidebar::{FlowStage, Sidebar};

/// Units of the grace window, largest first.
const UNITS: [(&str, &str, u32); 4] = [
    ("days", "day", 86_400),
    ("hours", "hour", 3_600),
    ("minutes", "minute", 60),
    ("seconds", "second", 1),
];

/// A title may be longer than a name.
const NAME_CHARS_MAX: usize = 200;

/// The content of the form.
struct ScheduleForm<'f> {
    name: &'f str,
    starts: String,
    ends: String,
    /// Whether the flow has a separate grace window; otherwise the app's applies.
    is_own: bool,
    amount: String,
    unit: &'f str,
    limits: LimitsForm,
}

/// The form with the stored values.
pub(super) fn form(state: &FlowState, closing: &ClosingState, app_grace: Option<u32>) -> Markup {
    let Window { starts_at, ends_at } = state.flow.live;
    let own = state.flow.grace_window_seconds;
    let (amount, unit) = own.map_or((24, "hours"), in_units);
    // A flow with the name of its title has no internal name.
    let name = if state.flow.name == title(state) { "" } else { &state.flow.name };
    let values = ScheduleForm {
        name,
        starts: starts_at.map(minutes).unwrap_or_default(),
        ends: ends_at.map(minutes).unwrap_or_default(),
        is_own: own.is_some(),
        amount: amount.to_string(),
        unit,
        limits: LimitsForm::stored(closing),
    };
    render(state, closing, app_grace, &values, &[])
}

fn render(
    state: &FlowState,
    closing: &ClosingState,
    app_grace: Option<u32>,
    values: &ScheduleForm<'_>,
    faults: &[Fault],
) -> Markup {
    let inherited = app_grace.or(state.app_grace_window_seconds);
    let whose = if inherited.is_some() { "the app" } else { "the default" };
    let inherited = duration_text(inherited.unwrap_or(GRACE_DEFAULT_SECONDS));
    let field = |id, label, kind, value| Field {
        id,
        label,
        kind,
        value,
        error: faults.iter().find(|it| field_of(&it.pointer) == id).map(|it| it.message.as_str()),
        ..Field::default()
    };
    let name = Field {
        hint: Some("Shown only in this console. Leave empty to use the title."),
        ..field("name", "Internal name", "text", values.name)
    };
    html! {
        form.form id="schedule" method="post" action={ "/console/flows/" (state.flow.flow_id) "/schedule" } {
            p.hint { "These settings take effect immediately, without publishing." }
            fieldset.stack {
                legend.label { "Live window" }
                p.hint { "All versions accept responses from the start until the end. Leave empty for no limit. Times are in " span data-utc { "UTC" } "." }
                div.inline {
                    (field("startsAt", "Starts", "datetime-local", &values.starts).draw())
                    (field("endsAt", "Ends", "datetime-local", &values.ends).draw())
                }
            }
            fieldset.stack {
                legend.label { "Grace window" }
                p.hint { "How long people who opened a version can still send it after a newer one is published. Applies from the next publish." }
                label.check { input type="radio" name="grace" value="inherited" checked[!values.is_own]; span { "Same as " (whose) ": " (inherited) } }
                label.check { input type="radio" name="grace" value="own" checked[values.is_own]; span { "Only for this flow:" } }
                div.inline {
                    (field("amount", "Amount", "number", &values.amount).draw())
                    div.field { label for="unit" { "Unit" } select.input id="unit" name="unit" {
                        @for (units, _, _) in UNITS { option value=(units) selected[units == values.unit] { (units) } }
                    } }
                }
                p.hint { "0 seconds means no grace window: forms opened before can no longer be sent." }
            }
            (limits::fields(state, closing, &values.limits, faults))
            (name.draw())
            noscript { button.button.primary type="submit" { "Save schedule" } }
        }
    }
}

/// The field that a fault belongs to, also among those of the limits.
fn named_field(pointer: &str) -> String {
    limits::field_of(pointer).unwrap_or_else(|| field_of(pointer).to_owned())
}

fn field_of(pointer: &str) -> &'static str {
    match pointer {
        "/name" => "name",
        "/liveWindow/startsAt" => "startsAt",
        "/liveWindow/endsAt" => "endsAt",
        _ => "amount",
    }
}

pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    headers: HeaderMap,
    Form(form): Form,
) -> Reply {
    let is_script = headers.get(ACCEPT).is_some_and(|accepted| accepted == "application/json");
    let state = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let saved = match patch_of(&form, &state) {
        Ok(patch) => state.update(&patch).await,
        Err(faults) => Err(AdminError::Invalid(faults)),
    };
    let faults = match saved {
        Ok(_) if is_script => return stored_reply(&console, &visitor, flow).await,
        Ok(_) => {
            return Ok(reply::see_other(&format!(
                "/console/flows/{flow}/edit?done=saved#schedule"
            )));
        }
        Err(AdminError::Invalid(faults)) => faults,
        Err(error) => return Err(error.into()),
    };
    if is_script {
        return Ok(faulty_reply(&faults));
    }
    let sidebar = Sidebar::app(&console, &visitor, state.flow.app_id).await?;
    let values = ScheduleForm {
        name: form.raw("name"),
        starts: form.raw("startsAt").to_owned(),
        ends: form.raw("endsAt").to_owned(),
        is_own: form.get("grace") == Some("own"),
        amount: form.raw("amount").to_owned(),
        unit: form.raw("unit"),
        limits: LimitsForm::sent(&form),
    };
    let closing = state.closing().await?;
    let content = html! {
        (errors(&faults, |pointer| Some(named_field(pointer))))
        (render(&state, &closing, None, &values, &faults))
    };
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Edit), "Schedule");
    Ok(frame.script("editor.js").width(Width::Narrow).page(Kind::Unfinished, content))
}

/// The reply to the script: the state of the flow and its limits after the change.
async fn stored_reply(console: &Console, visitor: &Visitor, flow: FlowId) -> Reply {
    let state = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let closing = state.closing().await?;
    let stage = FlowStage::new(&state, console.engine.now()).or_full(closing.is_full());
    let (class, label) = (stage.class(), stage.label());
    let limits = limits::fields(&state, &closing, &LimitsForm::stored(&closing), &[]);
    let limits = limits.into_string();
    let reply = json!({"faults": [], "state": {"class": class, "label": label}, "limits": limits});
    Ok(reply::json(Kind::Shown, &reply))
}

/// The same with what is wrong, by field.
fn faulty_reply(faults: &[Fault]) -> Response {
    let listed = faults.iter().map(|fault| {
        let message = fault.message.replace("startsAt", "the start");
        json!({"field": named_field(&fault.pointer), "message": message})
    });
    reply::json(Kind::Unfinished, &json!({"faults": listed.collect::<Vec<_>>()}))
}

/// A time as a form field has it, in UTC, to the minute.
fn minutes(at: Timestamp) -> String {
    at.to_string().get(..16).unwrap_or_default().to_owned()
}

/// The changes that the form requests, or the faults of all invalid fields; nothing is guessed.
fn patch_of(form: &Fields, state: &FlowState) -> Result<FlowPatch, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut fault = |pointer: &str, message: &str| {
        faults.push(Fault { pointer: pointer.to_owned(), message: message.to_owned() });
    };
    let title = || title(state).chars().take(NAME_CHARS_MAX).collect();
    let name = form.get("name").map_or_else(title, str::to_owned);
    let Window { starts_at, ends_at } = state.flow.live;
    let mut moment = |id: &str, stored| {
        bound(form, id, stored).unwrap_or_else(|InvalidTime| {
            let message = "must be a date and a time, or empty for no limit";
            fault(&format!("/liveWindow/{id}"), message);
            None
        })
    };
    let (starts_at, ends_at) = (moment("startsAt", starts_at), moment("endsAt", ends_at));
    let grace_window_seconds = match form.get("grace") {
        Some("own") => Some(grace(form).or_else(|| {
            fault("/amount", "must be a whole number of days, hours, minutes or seconds");
            None
        })),
        Some("inherited") => Some(None),
        _ => None,
    };
    let live_window = Some(Window { starts_at, ends_at });
    let limits = LimitsForm::sent(form);
    let has_limits = form.has("closeAfter");
    let patch = FlowPatch {
        name: Some(name),
        live_window,
        grace_window_seconds,
        close_after: has_limits.then(|| limits.close_after()),
        quotas: has_limits.then(|| limits.quotas()),
        design: None,
    };
    if faults.is_empty() { Ok(patch) } else { Err(faults) }
}

/// The text of a field is not a valid time.
#[derive(Debug, PartialEq, Eq)]
struct InvalidTime;

/// One end of the live window. The field has only minutes: if it is unchanged, the stored value
/// stays exact to the millisecond.
fn bound(
    form: &Fields,
    id: &str,
    stored: Option<Timestamp>,
) -> Result<Option<Timestamp>, InvalidTime> {
    let Some(text) = form.get(id) else { return Ok(None) };
    match stored {
        Some(at) if minutes(at) == text => Ok(stored),
        _ => read(text).map(Some).ok_or(InvalidTime),
    }
}

/// The flow's grace window in seconds. A value that does not fit becomes the maximum, which the
/// engine refuses.
fn grace(form: &Fields) -> Option<u32> {
    let (.., unit) = UNITS.iter().find(|(units, ..)| form.get("unit") == Some(units))?;
    let amount: u64 = form.get("amount")?.parse().ok()?;
    Some(u32::try_from(amount.saturating_mul(u64::from(*unit))).unwrap_or(u32::MAX))
}

/// The time in a field, in UTC; the script has converted it from the reader's time zone.
fn read(text: &str) -> Option<Timestamp> {
    let seconds = if text.len() == 16 { ":00Z" } else { "Z" };
    format!("{text}{seconds}").parse().ok()
}

/// A duration in its largest whole unit.
fn in_units(seconds: u32) -> (u32, &'static str) {
    let unit = UNITS.iter().find(|(_, _, unit)| seconds > 0 && seconds.is_multiple_of(*unit));
    let (units, _, unit) = unit.unwrap_or(&UNITS[3]);
    (seconds / unit, units)
}

/// A duration in words, such as `24 hours` or `1 day`.
pub(super) fn duration_text(seconds: u32) -> String {
    let (amount, units) = in_units(seconds);
    let one = UNITS.iter().find(|(many, ..)| *many == units).map_or(units, |(_, one, _)| one);
    if amount == 1 { format!("1 {one}") } else { format!("{amount} {units}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_uses_its_largest_whole_unit() {
        for (seconds, words) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (90, "90 seconds"),
            (60, "1 minute"),
            (3_600, "1 hour"),
            (5_400, "90 minutes"),
            (86_400, "1 day"),
            (129_600, "36 hours"),
            (7 * 86_400, "7 days"),
        ] {
            assert_eq!(duration_text(seconds), words);
        }
    }

    #[test]
    fn a_time_survives_a_round_trip() {
        let at: Timestamp = "2026-11-15T02:30:00.000Z".parse().unwrap();
        assert_eq!(minutes(at), "2026-11-15T02:30");
        assert_eq!(read("2026-11-15T02:30"), Some(at));
        assert_eq!(read("2026-11-15T02:30:00"), Some(at));
        assert_eq!(read("soon"), None);
    }
}
