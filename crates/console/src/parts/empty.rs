//! An empty state: why there is nothing, and what to do next.

use maud::{Markup, html};

pub(in super::super) fn empty(title: &str, text: &str, next: Markup) -> Markup {
    html! {
        section.empty {
            h2 { (title) }
            p { (text) }
            div.buttons { (next) }
        }
    }
}
