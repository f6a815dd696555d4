//! The controls above the table: a search, a form that adds filters, and a chip for each filter
//! with a link that removes it.

use std::collections::BTreeSet;

use maud::{Markup, html};
use sluice_engine::QuestionHistory;
use sluice_engine::rows::ResponseRow;
use sluice_flow::id::FlowId;
use sluice_flow::submission::{Admission, Texts, each_entry};

use super::view::{Part, View, When};

/// The characters of an option that a chip shows.
const CHIP_CHARS: usize = 40;
/// The most tag values to choose from.
const OFFERED_MAX: usize = 200;

pub(super) fn bar(
    flow: FlowId,
    asked: &QuestionHistory,
    view: &View,
    rows: &[ResponseRow],
) -> Markup {
    html! {
        section.response-filters aria-label="Filters" {
            (search(flow, view))
            details.adding {
                summary.button { "Add filter" }
                (adding(flow, asked, view, &Tags::of(rows)))
            }
            @if view.is_filtered() { (chips(flow, asked, view)) }
        }
    }
}

fn search(flow: FlowId, view: &View) -> Markup {
    let without = View { search: None, part: Part::Newest, ..view.clone() };
    html! {
        form.search method="get" action=(View::default().address(flow)) role="search" {
            (hidden(&without.pairs()))
            label.unseen for="search" { "Search in text answers" }
            input.input type="search" id="search" name="search" placeholder="Search in text answers" maxlength="200"
                value=(view.search.as_deref().unwrap_or_default());
            button.button type="submit" { "Search" }
        }
    }
}

fn hidden(pairs: &[(String, String)]) -> Markup {
    html! { @for (name, value) in pairs { input type="hidden" name=(name) value=(value); } }
}

/// All filters, in one form that works without a script.
fn adding(flow: FlowId, asked: &QuestionHistory, view: &View, tags: &Tags) -> Markup {
    let kept = View {
        version: None,
        from: None,
        to: None,
        admission: None,
        part: Part::Newest,
        ..view.clone()
    };
    let day =
        |when: Option<When>| when.map(|when| when.to_string().chars().take(10).collect::<String>());
    html! {
        form.card.form method="get" action=(View::default().address(flow)) {
            (hidden(&kept.pairs()))
            input type="hidden" name="apply" value="1";
            fieldset.inline {
                legend.label { "Received (days in UTC)" }
                div.field { label for="from" { "From" } input.input type="date" id="from" name="from" value=[day(view.from)]; }
                div.field { label for="to" { "To" } input.input type="date" id="to" name="to" value=[day(view.to)]; }
            }
            fieldset.inline {
                legend.label { "Answer" }
                div.field { label for="question" { "Question" } (questions(asked)) }
                div.field {
                    label for="value" { "Value" }
                    input.input type="text" id="value" name="value" list="choices" maxlength="500" autocomplete="off";
                    (choices(asked))
                }
            }
            fieldset.inline {
                legend.label { "A tag" }
                div.field { label for="tag_name" { "Name" } input.input type="text" id="tag_name" name="tag_name" list="tag_names" maxlength="64" autocomplete="off"; }
                div.field { label for="tag_value" { "Value" } input.input type="text" id="tag_value" name="tag_value" list="tag_values" maxlength="500" autocomplete="off"; }
                datalist id="tag_names" { @for name in &tags.names { option value=(name) {} } }
                datalist id="tag_values" { @for value in &tags.values { option value=(value) {} } }
            }
            div.inline { (versions(asked, view)) (admissions(view)) }
            div.buttons { button.button.primary type="submit" { "Apply" } }
        }
    }
}

fn questions(asked: &QuestionHistory) -> Markup {
    html! {
        select.input id="question" name="question" {
            option value="" { "Choose a question" }
            @for question in &asked.questions { option value=(question.id) { (cut(&question.prompt)) } }
        }
    }
}

/// The choices of all questions; the script shows those of the selected question.
fn choices(asked: &QuestionHistory) -> Markup {
    html! {
        datalist id="choices" {
            @if let Some(newest) = asked.newest() {
                @for question in newest.definition.questions() {
                    @for (_, label) in question.question_type.choices() {
                        option value=(label) data-question=(question.id) {}
                    }
                }
            }
        }
    }
}

/// Suggestions: the tags of the responses that are shown. Others can be typed.
#[derive(Debug, Default)]
struct Tags {
    names: BTreeSet<String>,
    values: BTreeSet<String>,
}

impl Tags {
    fn of(rows: &[ResponseRow]) -> Self {
        let mut tags = Self::default();
        for row in rows.iter().filter_map(|row| row.tags.as_deref()) {
            // Unreadable tags are skipped.
            let _unreadable = each_entry(row, |name, texts| {
                tags.names.insert(name.into_owned());
                match texts {
                    Texts::One(text) => drop(tags.values.insert(text.into_owned())),
                    Texts::Many(texts) => tags.values.extend(texts.into_iter().map(String::from)),
                }
            });
        }
        while tags.values.len() > OFFERED_MAX {
            tags.values.pop_last();
        }
        tags
    }
}

fn versions(asked: &QuestionHistory, view: &View) -> Markup {
    html! {
        div.field {
            label for="version" { "Version" }
            select.input id="version" name="version" {
                option value="" { "All versions" }
                @for version in asked.versions.iter().rev() {
                    option value=(version.id) selected[view.version == Some(version.id)] { "Version " (version.number) }
                }
            }
        }
    }
}

fn admissions(view: &View) -> Markup {
    html! {
        div.field {
            label for="admission" { "Consent" }
            select.input id="admission" name="admission" {
                option value="" { "Any" }
                @for admission in Admission::ALL {
                    option value=(admission.as_str()) selected[view.admission == Some(*admission)] { (words_of(*admission)) }
                }
            }
        }
    }
}

pub(super) fn words_of(admission: Admission) -> &'static str {
    match admission {
        Admission::Admitted => "Linked to respondent",
        Admission::CollectionOnly => "Anonymous",
    }
}

/// The active filters, each with a link that removes it.
fn chips(flow: FlowId, asked: &QuestionHistory, view: &View) -> Markup {
    let plain = view.with_part(Part::Newest);
    let out = |without: View, words: Markup| {
        html! { a.chip.on href=(without.address(flow)) { span.chip-words { (words) } span aria-hidden="true" { "×" } span.unseen { "remove this filter" } } }
    };
    let without = |list: &[(String, String)], at: usize| {
        let others = list.iter().enumerate().filter(|(index, _)| *index != at);
        others.map(|(_, pair)| pair.clone()).collect::<Vec<_>>()
    };
    html! {
        div.chips role="group" aria-label="Chosen filters" {
            @if let Some(words) = &view.search { (out(View { search: None, ..plain.clone() }, html! { "“" bdi { (cut(words)) } "”" })) }
            @if let Some(from) = view.from { (out(View { from: None, ..plain.clone() }, html! { "From " (from) })) }
            @if let Some(to) = view.to { (out(View { to: None, ..plain.clone() }, html! { "To " (to) })) }
            @if let Some(id) = view.version {
                (out(View { version: None, ..plain.clone() }, html! {
                    @match asked.version(id) { Some(version) => { "Version " (version.number) }, None => "Unknown version" }
                }))
            }
            @if let Some(admission) = view.admission { (out(View { admission: None, ..plain.clone() }, html! { (words_of(admission)) })) }
            @for (at, (name, value)) in view.tags.iter().enumerate() {
                (out(View { tags: without(&view.tags, at), ..plain.clone() }, html! { bdi { (name) } ": " bdi { (cut(value)) } }))
            }
            @for (at, (question, value)) in view.answers.iter().enumerate() {
                (out(View { answers: without(&view.answers, at), ..plain.clone() }, html! { bdi { (prompt(asked, question)) } ": " bdi { (answer(asked, question, value)) } }))
            }
            a href=(View::default().address(flow)) { "Clear all" }
        }
    }
}

fn prompt(asked: &QuestionHistory, id: &str) -> String {
    let found = asked.questions.iter().find(|question| question.id == id);
    found.map_or_else(|| id.to_owned(), |question| cut(&question.prompt))
}

fn answer(asked: &QuestionHistory, id: &str, value: &str) -> String {
    let mut versions = asked.versions.iter().rev();
    let question = versions.find_map(|version| version.definition.question(id));
    let words = question.map(|question| question.question_type.in_words(value));
    cut(&words.unwrap_or(value.into()))
}

/// The start of a long text.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(CHIP_CHARS) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}
