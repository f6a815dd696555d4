//! A text to copy: commands, keys, links.

use maud::{Markup, html};

/// A block of code with a button that copies it. The id must be unique on the page.
pub(in super::super) fn code(id: &str, label: &str, text: &str) -> Markup {
    html! {
        div.code {
            pre tabindex="0" role="region" aria-label=(label) { code id=(id) { (text) } }
            button.button.small.copy type="button" data-copy=(id) aria-label={ "Copy: " (label) } { "Copy" }
        }
    }
}
