//! The list of changes between two definitions; changes that split the results are highlighted.

use maud::{Markup, html};
use sluice_flow::definition::Change;

pub(super) fn list(changes: &[Change]) -> Markup {
    html! {
        @if changes.is_empty() {
            p.muted { "No changes." }
        } @else {
            ul.changes {
                @for change in changes {
                    li.breaks[change.breaks.is_some()] {
                        (change.text)
                        @if let Some(why) = change.breaks { span.hint { (why) } }
                    }
                }
            }
        }
    }
}

/// A warning with the number of changes that split the results, if any.
pub(super) fn warning(changes: &[Change]) -> Markup {
    let breaking = changes.iter().filter(|change| change.breaks.is_some()).count();
    html! {
        @if breaking > 0 {
            p.note.warn {
                @if breaking == 1 { "One change splits" } @else { (breaking) " changes split" }
                " the results: earlier and later answers are not comparable there. "
                @if breaking == 1 { "It is marked below." } @else { "They are marked below." }
            }
        }
    }
}
