//! When answers are taken: the live window, and the grace of a version that was replaced. It counts at once, without a publish.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::FlowState;
use sluice_engine::{AdminError, FlowPatch};
use sluice_flow::id::FlowId;
use sluice_flow::lifecycle::GRACE_DEFAULT_SECONDS;
use sluice_flow::time::{Timestamp, Window};

use crate::console::Console;
use crate::console::around::Around;
use crate::console::frame::{Frame, Place, Tab, Width};
use crate::console::parts::errors;
use crate::console::parts::field::Field;
use crate::console::reply::{self, Answer, Kind};
use crate::console::request::{At, Form};
use crate::console::session::Visitor;

/// Units that a grace is given in, largest first.
const UNITS: [(&str, &str, u32); 4] = [
    ("days", "day", 86_400),
    ("hours", "hour", 3_600),
    ("minutes", "minute", 60),
    ("seconds", "second", 1),
];

/// What stands in the form.
struct Filled<'f> {
    name: &'f str,
    starts: String,
    ends: String,
    /// How many of which unit; nothing is the app's.
    grace: Option<(u32, &'f str)>,
}

/// The form as it is stored.
pub(super) fn form(state: &FlowState, app_grace: Option<u32>) -> Markup {
    let Window { starts_at, ends_at } = state.flow.live;
    let filled = Filled {
        name: &state.flow.name,
        starts: starts_at.map(minutes).unwrap_or_default(),
        ends: ends_at.map(minutes).unwrap_or_default(),
        grace: state.flow.grace_window_seconds.map(in_units),
    };
    drawn(state, app_grace, &filled)
}

fn drawn(state: &FlowState, app_grace: Option<u32>, filled: &Filled<'_>) -> Markup {
    let inherited = app_grace.or(state.app_grace_window_seconds);
    let whose = if inherited.is_some() { "the app's" } else { "the default" };
    let inherited = span_words(inherited.unwrap_or(GRACE_DEFAULT_SECONDS));
    let (amount, unit) = filled.grace.unwrap_or((24, "hours"));
    let name = Field {
        id: "name",
        label: "Name",
        value: filled.name,
        required: true,
        hint: Some("What it is called in this console. Respondents see the title."),
        ..Field::default()
    };
    html! {
        form.form id="schedule" method="post" action={ "/console/flows/" (state.flow.flow_id) "/schedule" } {
            (name.draw())
            fieldset.stack {
                legend.label { "Live window" }
                p.hint { "Answers are taken from the start to before the end, in every version. Empty is without limit. Times are in " span data-utc { "UTC" } "." }
                div.inline {
                    (moment("startsAt", "Takes answers from", &filled.starts))
                    (moment("endsAt", "Until before", &filled.ends))
                }
            }
            fieldset.stack {
                legend.label { "Grace" }
                p.hint { "How long people who opened a version can still send it after a newer one is published. It counts from the next publish on." }
                label.check { input type="radio" name="grace" value="inherited" checked[filled.grace.is_none()]; span { "As " (whose) ": " (inherited) } }
                label.check { input type="radio" name="grace" value="own" checked[filled.grace.is_some()]; span { "For this flow:" } }
                div.inline {
                    div.field { label for="amount" { "So many" } input.input type="number" id="amount" name="amount" min="0" value=(amount); }
                    div.field { label for="unit" { "Unit" } select.input id="unit" name="unit" {
                        @for (units, _, _) in UNITS { option value=(units) selected[units == unit] { (units) } }
                    } }
                }
                p.hint { "0 seconds is none: what was opened before cannot be sent any more." }
            }
            div.buttons { button.button.primary type="submit" { "Save the schedule" } }
        }
    }
}

fn moment(id: &str, label: &str, value: &str) -> Markup {
    html! {
        div.field {
            label for=(id) { (label) }
            input.input type="datetime-local" id=(id) name=(id) value=(value);
        }
    }
}

pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    At(flow): At<FlowId>,
    Form(form): Form,
) -> Answer {
    let state = console.engine.get_flow(&visitor.actor, flow).await?;
    super::need_write(&visitor, state.flow.app_id)?;
    let unit =
        UNITS.iter().find(|(units, ..)| form.get("unit") == Some(units)).unwrap_or(&UNITS[1]);
    let amount: u32 = form.get("amount").and_then(|amount| amount.parse().ok()).unwrap_or(0);
    let is_own = form.get("grace") == Some("own");
    let patch = FlowPatch {
        name: form.get("name").map(str::to_owned),
        live_window: Some(Window {
            starts_at: read(form.get("startsAt")),
            ends_at: read(form.get("endsAt")),
        }),
        grace_window_seconds: Some(is_own.then(|| amount.saturating_mul(unit.2))),
    };
    let faults = match console.engine.update_flow(&visitor.actor, flow, &patch).await {
        Ok(_) => {
            return Ok(reply::see_other(&format!(
                "/console/flows/{flow}/edit?done=saved#schedule"
            )));
        }
        Err(AdminError::Invalid(faults)) => faults,
        Err(error) => return Err(error.into()),
    };
    let around = Around::app(&console, &visitor, state.flow.app_id).await?;
    let filled = Filled {
        name: form.raw("name"),
        starts: form.raw("startsAt").to_owned(),
        ends: form.raw("endsAt").to_owned(),
        grace: is_own.then_some((amount, unit.0)),
    };
    let field_of = |pointer: &str| {
        Some(match pointer {
            "/name" => "name".to_owned(),
            "/liveWindow/endsAt" => "endsAt".to_owned(),
            _ => "amount".to_owned(),
        })
    };
    let content = html! { (errors(&faults, field_of)) (drawn(&state, None, &filled)) };
    let frame = Frame::new(&visitor, &around, Place::Flow(&state, Tab::Edit), "Schedule");
    Ok(frame.script("editor.js").width(Width::Narrow).page(Kind::Unfinished, content))
}

/// A moment as a field has it, in UTC, to the minute.
fn minutes(at: Timestamp) -> String {
    at.to_string().get(..16).unwrap_or_default().to_owned()
}

/// What a field says, read in UTC; a script has brought it there from the reader's zone.
fn read(text: Option<&str>) -> Option<Timestamp> {
    let text = text?;
    let seconds = if text.len() == 16 { ":00Z" } else { "Z" };
    format!("{text}{seconds}").parse().ok()
}

/// A span in its largest whole unit.
fn in_units(seconds: u32) -> (u32, &'static str) {
    let unit = UNITS.iter().find(|(_, _, unit)| seconds > 0 && seconds.is_multiple_of(*unit));
    let (units, _, unit) = unit.unwrap_or(&UNITS[3]);
    (seconds / unit, units)
}

/// A span in words, such as `24 hours` or `1 day`.
pub(super) fn span_words(seconds: u32) -> String {
    let (amount, units) = in_units(seconds);
    let one = UNITS.iter().find(|(many, ..)| *many == units).map_or(units, |(_, one, _)| one);
    if amount == 1 { format!("1 {one}") } else { format!("{amount} {units}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_said_in_its_largest_whole_unit() {
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
            assert_eq!(span_words(seconds), words);
        }
    }

    #[test]
    fn a_moment_goes_out_and_comes_back_the_same() {
        let at: Timestamp = "2026-11-15T02:30:00.000Z".parse().unwrap();
        assert_eq!(minutes(at), "2026-11-15T02:30");
        assert_eq!(read(Some("2026-11-15T02:30")), Some(at));
        assert_eq!(read(Some("2026-11-15T02:30:00")), Some(at));
        assert_eq!((read(None), read(Some("soon"))), (None, None));
    }
}
