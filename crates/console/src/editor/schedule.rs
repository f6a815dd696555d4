//! When responses are accepted: the live window, the grace window of a superseded version, and the
//! limits on their number.
//! Changes apply immediately, without publishing.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use http::header::ACCEPT;
use maud::{Markup, html};
use serde_json::json;
use sluice_engine::rows::{FlowState, Scope};
use sluice_engine::{AdminError, ClosingState};
use sluice_flow::definition::Fault;
use sluice_flow::id::FlowId;
use sluice_flow::lifecycle::GRACE_DEFAULT_SECONDS;

use super::limits::{self, LimitsForm};
use super::settings_form::{SettingsValues, UNITS, in_units, patch_of, shown_name};
use crate::Console;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::errors;
use crate::parts::field::Field;
use crate::parts::labels;
use crate::reply::{self, Kind, Reply};
use crate::request::{Form, PathParam, faults_of};
use crate::session::Visitor;
use crate::sidebar::{FlowStage, Sidebar};

/// The form with the stored values.
pub(super) fn form(state: &FlowState, closing: &ClosingState, app_grace: Option<u32>) -> Markup {
    let stored = SettingsValues::stored(state);
    let limits = LimitsForm::stored(closing);
    render(
        state,
        closing,
        app_grace,
        &ScheduleForm { shown: stored.clone(), values: stored, limits },
        &[],
    )
}

/// The content of the form.
struct ScheduleForm {
    values: SettingsValues,
    /// What the page showed first.
    shown: SettingsValues,
    limits: LimitsForm,
}

fn render(
    state: &FlowState,
    closing: &ClosingState,
    app_grace: Option<u32>,
    form: &ScheduleForm,
    faults: &[Fault],
) -> Markup {
    let values = &form.values;
    let is_own = values.grace == "own";
    let inherited = app_grace.or(state.app_grace_window_seconds);
    let whose = if inherited.is_some() { "the app" } else { "the default" };
    let inherited = duration_text(inherited.unwrap_or(GRACE_DEFAULT_SECONDS));
    let field = |id, label, kind, value| Field {
        id,
        label,
        kind,
        value,
        error: faults
            .iter()
            .find(|it| named_field(&it.pointer) == id)
            .map(|it| it.message.as_str()),
        ..Field::default()
    };
    let name = Field {
        hint: Some("Shown only in this console. Leave empty to use the title."),
        ..field("name", "Internal name", "text", &values.name)
    };
    let labels = Field {
        hint: Some(labels::HINT),
        autocomplete: Some("off"),
        ..field("labels", "Labels", "text", &values.labels)
    };
    html! {
        form.form id="schedule" method="post" action={ "/console/flows/" (state.flow.flow_id) "/schedule" } {
            @for (name, value) in form.shown.pairs() { input type="hidden" name=(shown_name(name)) value=(value); }
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
                label.check { input type="radio" name="grace" value="inherited" checked[!is_own]; span { "Same as " (whose) ": " (inherited) } }
                label.check { input type="radio" name="grace" value="own" checked[is_own]; span { "Only for this flow:" } }
                div.inline {
                    (field("amount", "Amount", "number", &values.amount).draw())
                    div.field { label for="unit" { "Unit" } select.input id="unit" name="unit" {
                        @for (units, _, _) in UNITS { option value=(units) selected[units == values.unit] { (units) } }
                    } }
                }
                p.hint { "0 seconds means no grace window: forms opened before can no longer be sent." }
            }
            (limits::fields(state, closing, &form.limits, faults))
            (name.draw())
            (labels.draw())
            noscript { button.button.primary type="submit" { "Save settings" } }
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
        _ if pointer.starts_with("/labels") => "labels",
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
    let faults = match faults_of(saved)? {
        Ok(_) if is_script => return stored_reply(&console, &visitor, flow).await,
        Ok(_) => {
            return Ok(reply::see_other(&format!(
                "/console/flows/{flow}/edit?done=saved#schedule"
            )));
        }
        Err(faults) => faults,
    };
    if is_script {
        return Ok(faulty_reply(&faults));
    }
    let sidebar = Sidebar::app(&console, &visitor, state.flow.app_id).await?;
    let has_shown = form.has(&shown_name("name"));
    let shown =
        if has_shown { SettingsValues::shown(&form) } else { SettingsValues::stored(&state) };
    let values = ScheduleForm {
        values: SettingsValues::sent(&form),
        shown,
        limits: LimitsForm::sent(&form),
    };
    let closing = state.closing().await?;
    let content = html! {
        (errors(&faults, |pointer| Some(named_field(pointer))))
        (render(&state, &closing, None, &values, &faults))
    };
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Edit), "Settings");
    Ok(frame.script("editor.js").width(Width::Narrow).page(Kind::Unfinished, content))
}

/// The reply to the script: the state of the flow and its limits after the change.
async fn stored_reply(console: &Console, visitor: &Visitor, flow: FlowId) -> Reply {
    let state = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let closing = state.closing().await?;
    let stage = FlowStage::new(&state, console.engine.now()).or_full(closing.is_full());
    let (class, label) = (stage.class(), stage.label());
    let limits = limits::fields(&state, &closing, &LimitsForm::stored(&closing), &[]);
    let limits = console.mount.markup(limits.into_string());
    let stored = SettingsValues::stored(&state);
    let values: BTreeMap<_, _> = stored.pairs().collect();
    let stage = json!({"class": class, "label": label});
    let reply = json!({"faults": [], "state": stage, "values": values, "limits": limits});
    Ok(reply::json(Kind::Shown, &reply))
}

/// The same with what is wrong, by field.
fn faulty_reply(faults: &[Fault]) -> Response {
    let listed = faults.iter().map(|fault| {
        let message = fault.message.replace("startsAt", "the start").replace("endsAt", "the end");
        json!({"field": named_field(&fault.pointer), "message": message})
    });
    reply::json(Kind::Unfinished, &json!({"faults": listed.collect::<Vec<_>>()}))
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
}
