//! Controls for choosing: options, a drop-down list, a ranking, a matrix.

use maud::{Markup, html};
use sluice_flow::phrase::fill;
use sluice_flow::question::choice::{Choice, OTHER_PREFIX, OptionOrder, Options};
use sluice_flow::score::Score;

use super::QuestionView;

impl QuestionView<'_> {
    pub(super) fn choices(&self, kind: &str, options: &Options) -> Markup {
        let choices = html! {
            @for (at, option) in options.option_order.arrange(&options.options, self.seed).into_iter().enumerate() {
                @let label = self.texts.label(self.label("options", option));
                (self.pictured_choice(kind, &option.id, option.score, label, at, self.option_picture(option)))
            }
            @if options.allow_other {
                (self.choice(kind, OTHER_PREFIX, None, html! { (self.texts.words.form.other) }, options.options.len()))
                (self.own_answer())
            }
        };
        match Self::has_pictures(options) {
            true => html! { div.pictures { (choices) } },
            false => choices,
        }
    }

    /// The author's text of a choice, in the reader's language.
    fn label<'c>(&'c self, field: &str, choice: &'c Choice) -> &'c str {
        self.texts.wording.label(self.question, field, choice)
    }

    pub(super) fn choice(
        &self,
        kind: &str,
        value: &str,
        score: Option<Score>,
        label: Markup,
        at: usize,
    ) -> Markup {
        self.pictured_choice(kind, value, score, label, at, html! {})
    }

    fn pictured_choice(
        &self,
        kind: &str,
        value: &str,
        score: Option<Score>,
        label: Markup,
        at: usize,
        picture: Markup,
    ) -> Markup {
        let field = self.field();
        html! {
            label.choice {
                (picture)
                input type=(kind) name=(field) value=(value) data-score=[score]
                    checked[self.form.has(&field, value)] autofocus[self.is_focused(at)];
                span dir="auto" { (label) }
            }
        }
    }

    /// The free-text field of "other".
    fn own_answer(&self) -> Markup {
        let name = format!("other.{}", self.question.id);
        html! {
            input.text.other
                type="text" name=(name) value=[self.form.get(&name)]
                aria-label=(self.texts.words.form.own_answer);
        }
    }

    pub(super) fn dropdown(&self, options: &Options) -> Markup {
        let field = self.field();
        let is_chosen = |value: &str| self.form.has(&field, value);
        html! {
            select.text
                name=(field)
                aria-labelledby={ "p-" (self.question.id) }
                aria-describedby=[self.described_by()]
                aria-required=[self.question.required.then_some("true")]
                aria-invalid=[self.error.map(|_| "true")]
                autofocus[self.is_focused(0)] {
                option value="" { (self.texts.words.form.choose) }
                @for option in options.option_order.arrange(&options.options, self.seed) {
                    @let label = self.label("options", option);
                    option value=(option.id) data-score=[option.score]
                        data-parts=[self.texts.script_parts(label)]
                        selected[is_chosen(&option.id)] { (self.texts.plain_label(label)) }
                }
                @if options.allow_other {
                    option value=(OTHER_PREFIX) selected[is_chosen(OTHER_PREFIX)] { (self.texts.words.form.other) }
                }
            }
            @if options.allow_other { (self.own_answer()) }
        }
    }

    pub(super) fn ranking(&self, options: &[Choice], order: OptionOrder) -> Markup {
        let position = |label: &str| fill(self.texts.words.form.position, &[("label", label)]);
        html! {
            ol.ranking {
                @for (at, option) in order.arrange(options, self.seed).into_iter().enumerate() {
                    @let name = format!("rank.{}.{}", self.question.id, option.id);
                    @let label = self.label("options", option);
                    li data-option=(option.id) {
                        span.label dir="auto" { (self.texts.label(label)) }
                        select name=(name) autofocus[self.is_focused(at)]
                            data-parts=[self.texts.script_parts(&position(label))]
                            aria-label=(position(&self.texts.plain_label(label))) {
                            option value="" { "–" }
                            @for place in 1..=options.len() {
                                @let place = place.to_string();
                                option selected[self.form.has(&name, &place)] { (place) }
                            }
                        }
                    }
                }
            }
        }
    }

    pub(super) fn matrix(&self, rows: &[Choice], columns: &[Choice]) -> Markup {
        let column = |choice| self.label("columns", choice);
        html! {
            div.grid {
                table.matrix {
                    thead {
                        tr {
                            td {}
                            @for choice in columns { th scope="col" dir="auto" { (self.texts.label(column(choice))) } }
                        }
                    }
                    tbody {
                        @for (row_at, row) in rows.iter().enumerate() {
                            @let name = format!("matrix.{}.{}", self.question.id, row.id);
                            @let label = self.label("rows", row);
                            tr {
                                th scope="row" dir="auto" { (self.texts.label(label)) }
                                @for (at, choice) in columns.iter().enumerate() {
                                    @let cell = format!("{label}: {}", column(choice));
                                    td {
                                        label.cell {
                                            input type="radio" name=(name) value=(choice.id)
                                                checked[self.form.has(&name, &choice.id)]
                                                data-parts=[self.texts.script_parts(&cell)]
                                                autofocus[self.is_focused(row_at + at)]
                                                aria-label=(self.texts.plain_label(&cell));
                                            span aria-hidden="true" dir="auto" { (self.texts.label(column(choice))) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
