//! The product's logo, the favicon of its pages, and the icons: 24 units square, drawn with one
//! line in the surrounding text colour.

use maud::{Markup, html};

/// The logo: a gate in a stream, in the surrounding text colour.
pub(in super::super) fn mark() -> Markup {
    html! {
        svg viewBox="0 0 24 24" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" {
            path d="M3 8c3 0 3 2 6 2s3-2 6-2 3 2 6 2" {}
            path d="M3 16c3 0 3 2 6 2s3-2 6-2 3 2 6 2" {}
            path d="M12 3v18" {}
        }
    }
}

/// Three dots: more actions.
pub(in super::super) fn more() -> Markup {
    html! {
        svg viewBox="0 0 24 24" aria-hidden="true" focusable="false" fill="currentColor" {
            circle cx="5" cy="12" r="1.8" {}
            circle cx="12" cy="12" r="1.8" {}
            circle cx="19" cy="12" r="1.8" {}
        }
    }
}

/// An arrow back.
pub(in super::super) fn undo() -> Markup {
    stroked("M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3")
}

/// An arrow forward.
pub(in super::super) fn redo() -> Markup {
    stroked("m15 14 5-5-5-5M20 9H10a6 6 0 0 0 0 12h3")
}

/// One line in the surrounding text colour.
pub(in super::super) fn stroked(path: &str) -> Markup {
    html! {
        svg viewBox="0 0 24 24" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" {
            path d=(path) {}
        }
    }
}

/// The same as a separate image.
pub(in super::super) fn address() -> &'static str {
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='%230f8a94' \
     stroke-width='2.4' stroke-linecap='round'%3E%3Cpath d='M3 8c3 0 3 2 6 2s3-2 6-2 3 2 6 2M3 16c3 0 3 2 6 2s3-2 6-2 3 2 6 2M12 3v18'/%3E%3C/svg%3E"
}
