//! A text to copy: commands, keys, links.

use maud::{Markup, html};

/// A block of code with a button that copies it. The id must be unique on the page.
pub(in super::super) fn code(id: &str, label: &str, text: &str) -> Markup {
    // A single line, such as a secret to type, wraps on a narrow screen; several lines keep their
    // shape.
    let is_line = !text.trim_end().contains('\n');
    html! {
        div.code {
            pre.wraps[is_line] tabindex="0" role="region" aria-label=(label) { code id=(id) { (text) } }
            button.button.small.copy type="button" data-copy=(id) aria-label={ "Copy: " (label) } { "Copy" }
        }
    }
}
