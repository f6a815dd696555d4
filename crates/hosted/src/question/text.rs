//! Text inputs.
//!
//! No field has a `maxlength`: it would silently truncate pasted text. Numbers are text inputs,
//! since browsers disagree about what a number input accepts.

use maud::{Markup, html};

use super::QuestionView;

/// The visible lines of a long text.
const ROWS: &str = "5";

impl QuestionView<'_> {
    pub(super) fn line(
        &self,
        kind: &str,
        mode: Option<&str>,
        autocomplete: Option<&str>,
    ) -> Markup {
        html! {
            input.text
                type=(kind)
                name=(self.field())
                value=[self.sent()]
                inputmode=[mode]
                autocomplete=[autocomplete]
                aria-labelledby={ "p-" (self.question.id) }
                aria-describedby=[self.described_by()]
                aria-required=[self.question.required.then_some("true")]
                aria-invalid=[self.error.map(|_| "true")]
                autofocus[self.is_focused(0)];
        }
    }

    pub(super) fn date(&self, min: Option<&str>, max: Option<&str>) -> Markup {
        html! {
            input.text
                type="date"
                name=(self.field())
                value=[self.sent()]
                min=[min]
                max=[max]
                aria-labelledby={ "p-" (self.question.id) }
                aria-describedby=[self.described_by()]
                aria-required=[self.question.required.then_some("true")]
                aria-invalid=[self.error.map(|_| "true")]
                autofocus[self.is_focused(0)];
        }
    }

    pub(super) fn text_area(&self) -> Markup {
        html! {
            textarea.text
                name=(self.field())
                rows=(ROWS)
                aria-labelledby={ "p-" (self.question.id) }
                aria-describedby=[self.described_by()]
                aria-required=[self.question.required.then_some("true")]
                aria-invalid=[self.error.map(|_| "true")]
                autofocus[self.is_focused(0)] {
                // HTML drops a line break right after the opening tag, so a text that starts with
                // one needs another.
                "\n" (self.sent().unwrap_or_default())
            }
        }
    }
}
