//! The product's logo, and the favicon of its pages.

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

/// The same as a separate image.
pub(in super::super) fn address() -> &'static str {
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none' stroke='%230f8a94' \
     stroke-width='2.4' stroke-linecap='round'%3E%3Cpath d='M3 8c3 0 3 2 6 2s3-2 6-2 3 2 6 2M3 16c3 0 3 2 6 2s3-2 6-2 3 2 6 2M12 3v18'/%3E%3C/svg%3E"
}
