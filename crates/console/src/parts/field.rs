//! A labelled control, with its hint and its error.

use maud::{Markup, html};

/// A text field. Set what differs from the default, then draw it.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Field<'f> {
    pub(in super::super) id: &'f str,
    /// The name it is sent under, if that is not its id.
    pub(in super::super) name: Option<&'f str>,
    pub(in super::super) label: &'f str,
    pub(in super::super) value: &'f str,
    pub(in super::super) hint: Option<&'f str>,
    pub(in super::super) error: Option<&'f str>,
    /// The type of the input; empty is `text`.
    pub(in super::super) kind: &'f str,
    pub(in super::super) required: bool,
    pub(in super::super) autocomplete: Option<&'f str>,
    /// The number of lines; 0 is a single-line input.
    pub(in super::super) lines: u32,
    pub(in super::super) mono: bool,
}

impl Field<'_> {
    pub(in super::super) fn draw(&self) -> Markup {
        let described = self.described();
        let name = self.name.unwrap_or(self.id);
        let invalid = self.error.map(|_| "true");
        let class = if self.mono { "input mono" } else { "input" };
        html! {
            div.field {
                label for=(self.id) { (self.label) }
                @if let Some(hint) = self.hint { p.hint id={ (self.id) "-hint" } { (hint) } }
                @if self.lines > 0 {
                    textarea class=(class) id=(self.id) name=(name) rows=(self.lines) required[self.required]
                        aria-describedby=[&described] aria-invalid=[invalid] { "\n" (self.value) }
                } @else {
                    input class=(class) id=(self.id) name=(name) value=(self.value)
                        type=(if self.kind.is_empty() { "text" } else { self.kind })
                        required[self.required] autocomplete=[self.autocomplete]
                        aria-describedby=[&described] aria-invalid=[invalid];
                }
                @if let Some(error) = self.error { p.error id={ (self.id) "-error" } { (self.sentence(error)) } }
            }
        }
    }

    /// An error as a sentence that names the field. One that is a sentence already stays.
    fn sentence(&self, error: &str) -> String {
        let is_part = error.chars().next().is_some_and(char::is_lowercase);
        let name = self.label.split(['(', ',']).next().unwrap_or_default().trim();
        let end = if error.ends_with(['.', '!', '?']) { "" } else { "." };
        if is_part { format!("{name} {error}{end}") } else { format!("{error}{end}") }
    }

    fn described(&self) -> Option<String> {
        let hint = self.hint.map(|_| format!("{}-hint", self.id));
        let error = self.error.map(|_| format!("{}-error", self.id));
        let both: Vec<String> = hint.into_iter().chain(error).collect();
        (!both.is_empty()).then(|| both.join(" "))
    }
}

/// A drop-down list: each option is a value and its label.
pub(in super::super) fn select(
    id: &str,
    label: &str,
    options: &[(&str, &str)],
    chosen: &str,
) -> Markup {
    html! {
        div.field {
            label for=(id) { (label) }
            select.input id=(id) name=(id) {
                @for (value, words) in options {
                    option value=(value) selected[*value == chosen] { (words) }
                }
            }
        }
    }
}

/// A checkbox.
pub(in super::super) fn check(id: &str, value: &str, label: &str, checked: bool) -> Markup {
    html! {
        label.check { input type="checkbox" id=(id) name=(id) value=(value) checked[checked]; span { (label) } }
    }
}
