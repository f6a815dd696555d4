//! What changed between two definitions, as a list; what parts the results stands out.

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

/// How many of them part the results, in words; nothing where none does.
pub(super) fn warning(changes: &[Change]) -> Markup {
    let breaking = changes.iter().filter(|change| change.breaks.is_some()).count();
    html! {
        @if breaking > 0 {
            p.note.warn {
                @if breaking == 1 { "One change splits" } @else { (breaking) " changes split" }
                " the results: earlier and later answers are not comparable there. These changes are marked below."
            }
        }
    }
}
