//! What is wrong with a form: all of it at the top, with links to the fields, and beside each field again.

use maud::{Markup, html};
use sluice_flow::definition::Fault;

/// The summary. It takes the focus, so that it is read aloud first. `field_of` gives the id of the field that a
/// pointer speaks of.
pub(in super::super) fn errors(
    faults: &[Fault],
    field_of: impl Fn(&str) -> Option<String>,
) -> Markup {
    html! {
        @if !faults.is_empty() {
            div.errors role="alert" tabindex="-1" {
                h2 { @if faults.len() == 1 { "One thing is to be corrected" } @else { (faults.len()) " things are to be corrected" } }
                ul {
                    @for fault in faults {
                        li {
                            @match field_of(&fault.pointer) {
                                Some(id) => a href={ "#" (id) } { (told(fault)) },
                                None => (told(fault)),
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A fault in words: what, and what about it.
fn told(fault: &Fault) -> String {
    let name = fault.pointer.rsplit('/').next().unwrap_or_default();
    if name.is_empty() { fault.message.clone() } else { format!("{name}: {}", fault.message) }
}
