//! The fields of the settings, and the change that a sent form requests.
//!
//! A page carries the values that it showed beside those that were entered. Only what differs is
//! changed: what a colleague saved since the page was opened stays.

use sluice_engine::FlowPatch;
use sluice_engine::limits::NAME_CHARS_MAX;
use sluice_engine::rows::FlowState;
use sluice_flow::closing::close_after_fault;
use sluice_flow::definition::Fault;
use sluice_flow::labels::merged;
use sluice_flow::time::{Timestamp, Window};

use super::limits::LimitsForm;
use crate::flow_header::title;
use crate::parts::labels;
use crate::request::Fields;

/// Units of the grace window, largest first.
pub(in super::super) const UNITS: [(&str, &str, u32); 4] = [
    ("days", "day", 86_400),
    ("hours", "hour", 3_600),
    ("minutes", "minute", 60),
    ("seconds", "second", 1),
];

/// The names of the fields, in the order of [`SettingsValues::pairs`].
pub(super) const FIELDS: [&str; 7] =
    ["name", "startsAt", "endsAt", "grace", "amount", "unit", "labels"];

/// The texts of the fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SettingsValues {
    pub(super) name: String,
    pub(super) starts: String,
    pub(super) ends: String,
    /// `own`, or `inherited` if the app's grace window applies.
    pub(super) grace: String,
    pub(super) amount: String,
    pub(super) unit: String,
    pub(super) labels: String,
}

impl SettingsValues {
    pub(super) fn stored(state: &FlowState) -> Self {
        let Window { starts_at, ends_at } = state.flow.live;
        let own = state.flow.grace_window_seconds;
        let (amount, unit) = own.map_or((24, "hours"), in_units);
        // A flow with the name of its title has no internal name.
        let name = if state.flow.name == title(state) { "" } else { &state.flow.name };
        Self {
            name: name.to_owned(),
            starts: starts_at.map(minutes).unwrap_or_default(),
            ends: ends_at.map(minutes).unwrap_or_default(),
            grace: if own.is_some() { "own" } else { "inherited" }.to_owned(),
            amount: amount.to_string(),
            unit: unit.to_owned(),
            labels: labels::joined(&state.flow.labels),
        }
    }

    /// The values that were entered.
    pub(super) fn sent(form: &Fields) -> Self {
        Self::read(|name| form.raw(name).to_owned())
    }

    /// The values that the page showed before.
    pub(super) fn shown(form: &Fields) -> Self {
        Self::read(|name| form.raw(&shown_name(name)).to_owned())
    }

    fn read(text: impl Fn(&str) -> String) -> Self {
        let [name, starts, ends, grace, amount, unit, labels] = FIELDS.map(text);
        Self { name, starts, ends, grace, amount, unit, labels }
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let Self { name, starts, ends, grace, amount, unit, labels } = self;
        let texts = [name, starts, ends, grace, amount, unit, labels];
        FIELDS.into_iter().zip(texts.map(String::as_str))
    }

    /// The flow's own grace window in seconds, `Some(None)` for the app's; `None` if it cannot be
    /// read. A value that does not fit becomes the maximum, which the engine refuses.
    fn grace_seconds(&self) -> Option<Option<u32>> {
        match self.grace.as_str() {
            "inherited" => Some(None),
            "own" => {
                let (.., unit) = UNITS.iter().find(|(units, ..)| self.unit == *units)?;
                let amount: u64 = self.amount.trim().parse().ok()?;
                let seconds = amount.saturating_mul(u64::from(*unit));
                Some(Some(u32::try_from(seconds).unwrap_or(u32::MAX)))
            }
            _ => None,
        }
    }
}

/// The name of the field with the value that the page showed.
pub(super) fn shown_name(name: &str) -> String {
    format!("shown.{name}")
}

/// Whether a field was sent with another value than the page showed. Without that value, every sent
/// field counts as changed.
pub(super) fn is_changed(form: &Fields, name: &str) -> bool {
    let shown = shown_name(name);
    form.has(name) && !(form.has(&shown) && form.raw(&shown).trim() == form.raw(name).trim())
}

/// The changes that the form requests, or the faults of all invalid fields; nothing is guessed.
pub(super) fn patch_of(form: &Fields, state: &FlowState) -> Result<FlowPatch, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut fault = |pointer: &str, message: &str| faults.push(Fault::new(pointer, message));
    // A title may be longer than a name.
    let title = || title(state).chars().take(NAME_CHARS_MAX).collect();
    let name = is_changed(form, "name").then(|| form.get("name").map_or_else(title, str::to_owned));
    let Window { starts_at, ends_at } = state.flow.live;
    let mut moment = |id: &str, stored| {
        let changed = is_changed(form, id).then(|| bound(form, id, stored))?;
        changed.map(Some).unwrap_or_else(|InvalidTime| {
            let message = "must be a date and a time, or empty for no limit";
            fault(&format!("/liveWindow/{id}"), message);
            None
        })
    };
    let (starts_at, ends_at) = (moment("startsAt", starts_at), moment("endsAt", ends_at));
    let grace_window_seconds = grace_change(form).unwrap_or_else(|InvalidGrace| {
        fault("/amount", "must be a whole number of days, hours, minutes or seconds");
        None
    });
    let limits = LimitsForm::sent(form);
    let close_after = is_changed(form, "closeAfter").then(|| limits.close_after());
    faults.extend(close_after.and_then(close_after_fault));
    let quota_changes = limits.quota_changes().unwrap_or_else(|found| {
        faults.extend(found);
        Vec::new()
    });
    let labels = is_changed(form, "labels").then(|| {
        let [shown, sent] =
            [&shown_name("labels"), "labels"].map(|it| labels::in_text(form.raw(it)));
        merged(&state.flow.labels, &shown, &sent)
    });
    let patch = FlowPatch {
        name,
        labels,
        starts_at,
        ends_at,
        grace_window_seconds,
        close_after,
        quota_changes,
        ..FlowPatch::default()
    };
    if faults.is_empty() { Ok(patch) } else { Err(faults) }
}

/// The amount is not a number, or the unit is unknown.
#[derive(Debug, PartialEq, Eq)]
struct InvalidGrace;

/// The grace window, if the form changes it.
fn grace_change(form: &Fields) -> Result<Option<Option<u32>>, InvalidGrace> {
    let sent = SettingsValues::sent(form);
    if !matches!(sent.grace.as_str(), "own" | "inherited") {
        return Ok(None);
    }
    let seconds = sent.grace_seconds().ok_or(InvalidGrace)?;
    let shown = SettingsValues::shown(form).grace_seconds();
    Ok((shown != Some(seconds)).then_some(seconds))
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

/// A time as a form field has it, in UTC, to the minute.
fn minutes(at: Timestamp) -> String {
    at.to_string().get(..16).unwrap_or_default().to_owned()
}

/// The time in a field, in UTC; the script has converted it from the reader's time zone.
fn read(text: &str) -> Option<Timestamp> {
    let seconds = if text.len() == 16 { ":00Z" } else { "Z" };
    format!("{text}{seconds}").parse().ok()
}

/// A duration in its largest whole unit.
pub(in super::super) fn in_units(seconds: u32) -> (u32, &'static str) {
    let unit = UNITS.iter().find(|(_, _, unit)| seconds > 0 && seconds.is_multiple_of(*unit));
    let (units, _, unit) = unit.unwrap_or(&UNITS[3]);
    (seconds / unit, units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_changed_if_it_differs_from_what_was_shown() {
        for (form, is) in [
            ("", false),
            ("shown.name=a", false),
            ("name=a", true),
            ("name=", true),
            ("name=a&shown.name=a", false),
            ("name=a&shown.name=", true),
            ("name=&shown.name=a", true),
        ] {
            assert_eq!(is_changed(&Fields::parse(form), "name"), is, "{form}");
        }
    }

    #[test]
    fn the_grace_window_changes_as_a_whole() {
        let shown = "&shown.grace=own&shown.amount=24&shown.unit=hours";
        for (form, expected) in [
            ("grace=own&amount=24&unit=hours", Ok(None)),
            ("grace=own&amount=1&unit=days", Ok(None)),
            ("grace=own&amount=2&unit=days", Ok(Some(Some(172_800)))),
            ("grace=inherited&amount=2&unit=days", Ok(Some(None))),
            ("grace=own&amount=x&unit=days", Err(InvalidGrace)),
            ("amount=2", Ok(None)),
        ] {
            assert_eq!(grace_change(&Fields::parse(&format!("{form}{shown}"))), expected, "{form}");
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
