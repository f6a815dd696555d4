//! Controls for choosing: options, a drop-down list, a ranking, a matrix.

use maud::{Markup, html};
use sluice_flow::question::choice::{Choice, OTHER_PREFIX, Options};

use super::QuestionView;
use crate::words::fill;

impl QuestionView<'_> {
    pub(super) fn choices(&self, kind: &str, options: &Options) -> Markup {
        html! {
            @for (at, option) in options.options.iter().enumerate() {
                (self.choice(kind, &option.id, self.wording.label(self.question, "options", option), at))
            }
            @if options.allow_other {
                (self.choice(kind, OTHER_PREFIX, self.words.form.other, options.options.len()))
                (self.own_answer())
            }
        }
    }

    pub(super) fn choice(&self, kind: &str, value: &str, label: &str, at: usize) -> Markup {
        let field = self.field();
        html! {
            label.choice {
                input type=(kind) name=(field) value=(value) checked[self.form.has(&field, value)]
                    autofocus[self.is_focused(at)];
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
                aria-label=(self.words.form.own_answer);
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
                option value="" { (self.words.form.choose) }
                @for option in &options.options {
                    option value=(option.id) selected[is_chosen(&option.id)] {
                        (self.wording.label(self.question, "options", option))
                    }
                }
                @if options.allow_other {
                    option value=(OTHER_PREFIX) selected[is_chosen(OTHER_PREFIX)] { (self.words.form.other) }
                }
            }
            @if options.allow_other { (self.own_answer()) }
        }
    }

    pub(super) fn ranking(&self, options: &[Choice]) -> Markup {
        html! {
            ol.ranking {
                @for (at, option) in options.iter().enumerate() {
                    @let name = format!("rank.{}.{}", self.question.id, option.id);
                    @let label = self.wording.label(self.question, "options", option);
                    li data-option=(option.id) {
                        span.label dir="auto" { (label) }
                        select name=(name) autofocus[self.is_focused(at)]
                            aria-label=(fill(self.words.form.position, &[("label", label)])) {
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
        let column = |choice| self.wording.label(self.question, "columns", choice);
        html! {
            div.grid {
                table.matrix {
                    thead {
                        tr {
                            td {}
                            @for choice in columns { th scope="col" dir="auto" { (column(choice)) } }
                        }
                    }
                    tbody {
                        @for (row_at, row) in rows.iter().enumerate() {
                            @let name = format!("matrix.{}.{}", self.question.id, row.id);
                            @let label = self.wording.label(self.question, "rows", row);
                            tr {
                                th scope="row" dir="auto" { (label) }
                                @for (at, choice) in columns.iter().enumerate() {
                                    td {
                                        label.cell {
                                            input type="radio" name=(name) value=(choice.id)
                                                checked[self.form.has(&name, &choice.id)]
                                                autofocus[self.is_focused(row_at + at)]
                                                aria-label={ (label) ": " (column(choice)) };
                                            span aria-hidden="true" dir="auto" { (column(choice)) }
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
