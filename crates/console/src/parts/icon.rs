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

/// The path of the icon of a question type.
pub(in super::super) fn question_type(name: &str) -> &'static str {
    match name {
        "shortText" => "M4 9h16v6H4zM8 9v6",
        "longText" => "M4 6h16M4 10h16M4 14h16M4 18h9",
        "email" => "M3 6h18v12H3zM3 7l9 7 9-7",
        "url" => "M9 15 15 9M11 6l1-1a4.2 4.2 0 0 1 6 6l-1 1M13 18l-1 1a4.2 4.2 0 0 1-6-6l1-1",
        "phone" => {
            "M6 3h4l1 5-2.5 1.5a11 11 0 0 0 5 5L15 12l5 1v4a3 3 0 0 1-3 3A14 14 0 0 1 4 6a3 3 0 0 1 2-3z"
        }
        "number" => "M9 4 7 20M17 4l-2 16M4 9h17M3 15h17",
        "date" => "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4",
        "singleChoice" => {
            "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4z"
        }
        "multipleChoice" => "M4 4h16v16H4zM8 12l3 3 5-6",
        "dropdown" => "M3 7h18v10H3zM14 11l2 2 2-2",
        "ranking" => "M10 6h10M10 12h10M10 18h10M4 8V4L3 5M3 16h3l-3 4h3",
        "matrix" => "M4 4h16v16H4zM4 10h16M4 15h16M10 4v16M15 4v16",
        "rating" => "m12 3 2.7 5.7 6.3.8-4.6 4.3 1.2 6.2-5.6-3-5.6 3 1.2-6.2L3 9.5l6.3-.8z",
        "nps" => "M4 18a9 9 0 1 1 16 0M12 16l4-6",
        "yesNo" => "M3 12l4 4 6-8M16 8l5 8M21 8l-5 8",
        "consent" => "M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6zM9 12l2 2 4-4",
        "statement" => "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01",
        _ => "M4 6h16v12H4z",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sluice_flow::question::QuestionType;

    use super::*;

    #[test]
    fn every_question_type_has_a_separate_icon() {
        let names = QuestionType::OFFERED.iter().map(|(name, ..)| *name);
        let icons: BTreeSet<&str> = names.map(question_type).collect();
        assert_eq!(icons.len(), QuestionType::OFFERED.len());
        assert!(!icons.contains(question_type("unknown")));
    }
}
