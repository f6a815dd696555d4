//! Times: rendered in UTC, and shown in the reader's time zone by the script.

use maud::{Markup, html};
use sluice_flow::time::Timestamp;

/// A date and a time of day.
pub(in super::super) fn time(at: Timestamp) -> Markup {
    let text = at.to_string();
    // 2026-11-15T02:00:00.000Z
    let (day, clock) = (text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default());
    html! { time datetime=(text) { (day) " " (clock) " UTC" } }
}

/// How long ago something was; the script shows the exact time on hover.
pub(in super::super) fn ago(at: Timestamp) -> Markup {
    let text = at.to_string();
    let (day, clock) = (text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default());
    html! { time datetime=(text) data-ago { (day) " " (clock) " UTC" } }
}

/// The date only.
pub(in super::super) fn day(at: Timestamp) -> Markup {
    let text = at.to_string();
    html! { time datetime=(text) data-only="day" { (text.get(..10).unwrap_or_default()) } }
}
