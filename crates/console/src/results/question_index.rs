//! The index of the questions: links to the cards, beside them or above them.

use maud::{Markup, html};

use super::results_data::ResultsData;

/// Fewer cards need no index.
const CARDS_MIN: usize = 3;

/// On a wide screen it is always visible; on others it is opened.
pub(super) fn index(data: &ResultsData) -> Markup {
    let questions = &data.summary.questions;
    html! {
        @if questions.len() >= CARDS_MIN {
            nav.index aria-label="Questions" {
                details.fold {
                    summary.button { "Go to question" }
                    ol {
                        @for (at, question) in questions.iter().enumerate() {
                            li { a href={ "#question-" (at + 1) } dir="auto" { (question.prompt) } }
                        }
                    }
                }
            }
        }
    }
}
