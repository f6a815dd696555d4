//! One question of the form: its heading, its help, its error, its control.
//!
//! The control is chosen by the question's [`Input`], never by its type, so a new type can be
//! answered here without changes.

mod choice;
mod picture;
mod scale;
mod text;

use maud::{Markup, html};
use sluice_engine::HostedVersion;
use sluice_flow::question::{Format, Input, Question};

use super::form::Form;
use super::rules;
use super::texts::FlowTexts;

/// What is needed to render a question.
#[derive(Clone, Copy)]
pub(super) struct QuestionView<'a> {
    pub(super) question: &'a Question,
    pub(super) texts: FlowTexts<'a>,
    pub(super) form: &'a Form,
    /// The error message of the answer.
    pub(super) error: Option<&'a str>,
    /// The version that the question is of.
    pub(super) version: &'a HostedVersion,
    /// The section that the question is in.
    pub(super) section: Option<&'a str>,
    /// For options in random order.
    pub(super) seed: u64,
}

impl<'a> QuestionView<'a> {
    /// The whole section.
    pub(super) fn section(&self) -> Markup {
        let question = self.question;
        let id = &question.id;
        let condition =
            question.visible_if.as_ref().map(|it| serde_json::to_string(it).unwrap_or_default());
        let jumps = Some(&question.next).filter(|jumps| !jumps.is_empty());
        let jumps = jumps.map(|it| serde_json::to_string(it).unwrap_or_default());
        let input = question.question_type.input();
        let bounds = rules::Bounds::new(input);
        let rule = rules::rule(self.texts.words, input);
        let described = self.is_group().then(|| self.described_by()).flatten();
        html! {
            section.question
                id={ "q-" (id) }
                data-id=(id)
                data-type=(question.question_type.name())
                data-input=(input.as_str())
                data-required[question.required]
                data-visible-if=[condition]
                data-next=[jumps]
                data-part=[self.section]
                data-min=[bounds.min]
                data-max=[bounds.max]
                data-min-length=[bounds.min_length]
                data-max-length=[bounds.max_length]
                data-integer[bounds.integer]
                data-rule=[rule] {
                (self.picture())
                fieldset aria-describedby=[described] {
                    legend { h2 id={ "p-" (id) } dir="auto" { (self.prompt()) (self.optional()) } }
                    @if let Some(hint) = self.hint() {
                        (self.texts.blocks("hint", Some(&format!("h-{id}")), &hint))
                    }
                    @if let Some(error) = self.error { p.error id={ "e-" (id) } { (error) } }
                    (self.control())
                }
            }
        }
    }

    fn prompt(&self) -> Markup {
        self.texts.inline(self.texts.wording.prompt(self.question))
    }

    fn optional(&self) -> Markup {
        let is_optional = !self.question.required && self.question.question_type.is_answerable();
        html! { @if is_optional { " " span.optional { (self.texts.words.form.optional) } } }
    }

    /// The author's help text, or else how many options may be chosen.
    fn hint(&self) -> Option<String> {
        let help = self.texts.wording.help(self.question).map(str::to_owned);
        help.or_else(|| match self.question.question_type.input() {
            input @ Input::SomeOf { .. } => rules::rule(self.texts.words, input),
            _ => None,
        })
    }

    /// Whether the control consists of several fields, which the fieldset describes together.
    fn is_group(&self) -> bool {
        !matches!(
            self.question.question_type.input(),
            Input::Line { .. }
                | Input::Paragraph { .. }
                | Input::Number { .. }
                | Input::Date { .. }
                | Input::OneOf { dropdown: true, .. }
        )
    }

    /// The ids of the elements that describe a field.
    fn described_by(&self) -> Option<String> {
        let id = &self.question.id;
        let hint = self.hint().map(|_| format!("h-{id}"));
        let error = self.error.map(|_| format!("e-{id}"));
        let named: Vec<String> = hint.into_iter().chain(self.end_ids()).chain(error).collect();
        (!named.is_empty()).then(|| named.join(" "))
    }

    /// Whether this field of the control gets the focus: the first one, if the answer has an error.
    fn is_focused(&self, at: usize) -> bool {
        at == 0 && self.error.is_some()
    }

    /// The field name that most types use.
    fn field(&self) -> String {
        format!("answers.{}", self.question.id)
    }

    /// The value that was sent, if any.
    fn sent(&self) -> Option<&'a str> {
        self.form.get(&self.field())
    }

    fn control(&self) -> Markup {
        match self.question.question_type.input() {
            Input::Nothing => html! {},
            Input::Line { format: Format::Text, .. } => self.line("text", None, None),
            Input::Line { format: Format::Email, .. } => self.line("email", None, Some("email")),
            Input::Line { format: Format::Url, .. } => self.line("url", None, Some("url")),
            Input::Line { format: Format::Phone, .. } => self.line("tel", None, Some("tel")),
            Input::Paragraph { .. } => self.text_area(),
            Input::Number { integer, .. } => {
                self.line("text", Some(if integer { "numeric" } else { "decimal" }), None)
            }
            Input::Date { min, max } => self.date(min, max),
            Input::OneOf { options, dropdown: false } => self.choices("radio", options),
            Input::OneOf { options, dropdown: true } => self.dropdown(options),
            Input::SomeOf { options, .. } => self.choices("checkbox", options),
            Input::Order { options, order } => self.ranking(options, order),
            Input::Grid { rows, columns } => self.matrix(rows, columns),
            Input::Scale { low, high, marks, is_scored, low_label, high_label } => {
                self.scale(low..=high, marks, is_scored, [low_label, high_label])
            }
            Input::YesNo => self.yes_no(),
            Input::Tick { value } => {
                self.choice("checkbox", value, None, html! { (self.texts.words.form.agree) }, 0)
            }
        }
    }
}
