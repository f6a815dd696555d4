//! The controls above the table: a search, a form that adds filters, and a chip for each filter
//! with a link that removes it.

use std::collections::BTreeSet;

use maud::{Markup, html};
use sluice_engine::QuestionHistory;
use sluice_engine::rows::ResponseRow;
use sluice_flow::id::FlowId;
use sluice_flow::submission::{Texts, each_entry};

use super::query::{ListPosition, ResponsesQuery, TimeBound};
use crate::answer_filters::{self, SentForm, admission_label, admissions, cut};
use crate::parts::errors;

/// The most tag values to choose from.
const OFFERED_MAX: usize = 200;

/// The controls, with others that follow them.
pub(super) fn bar(
    flow: FlowId,
    history: &QuestionHistory,
    query: &ResponsesQuery,
    rows: &[ResponseRow],
    sent: &SentForm,
    more: Markup,
) -> Markup {
    html! {
        section.response-filters aria-label="Filters" {
            (search(flow, query))
            details.adding open[sent.fault.is_some()] {
                summary.button { "Add filter" }
                (adding(flow, history, query, &Tags::from_rows(rows), sent))
            }
            (more)
            @if query.is_filtered() { (chips(flow, history, query)) }
        }
    }
}

fn search(flow: FlowId, query: &ResponsesQuery) -> Markup {
    let without = ResponsesQuery { search: None, position: ListPosition::First, ..query.clone() };
    html! {
        form.search method="get" action=(ResponsesQuery::path(flow)) role="search" {
            (hidden(&without.pairs()))
            label.unseen for="search" { "Search in text answers" }
            input.input type="search" id="search" name="search" placeholder="Search in text answers" maxlength="200"
                value=(query.search.as_deref().unwrap_or_default());
            button.button type="submit" { "Search" }
        }
    }
}

fn hidden(pairs: &[(String, String)]) -> Markup {
    html! { @for (name, value) in pairs { input type="hidden" name=(name) value=(value); } }
}

/// All filters, in one form that works without a script.
fn adding(
    flow: FlowId,
    history: &QuestionHistory,
    query: &ResponsesQuery,
    tags: &Tags,
    sent: &SentForm,
) -> Markup {
    let kept = ResponsesQuery {
        version: None,
        from: None,
        to: None,
        admission: None,
        position: ListPosition::First,
        ..query.clone()
    };
    let day = |when: Option<TimeBound>| {
        when.map(|when| when.to_string().chars().take(10).collect::<String>())
    };
    html! {
        form.card.form method="get" action=(ResponsesQuery::path(flow)) {
            (hidden(&kept.pairs()))
            input type="hidden" name="apply" value="1";
            (errors(sent.fault.as_slice(), answer_filters::field_of))
            fieldset.inline {
                legend.label { "Received (days in UTC)" }
                div.field { label for="from" { "From" } input.input type="date" id="from" name="from" value=[day(query.from)]; }
                div.field { label for="to" { "To" } input.input type="date" id="to" name="to" value=[day(query.to)]; }
            }
            (answer_filters::form_fields(history, &sent.fields))
            fieldset.inline {
                legend.label { "A tag" }
                div.field { label for="tag_name" { "Name" } input.input type="text" id="tag_name" name="tag_name" list="tag_names" maxlength="64" autocomplete="off" value=[sent.fields.get("tag_name")]; }
                div.field { label for="tag_value" { "Value" } input.input type="text" id="tag_value" name="tag_value" list="tag_values" maxlength="500" autocomplete="off" value=[sent.fields.get("tag_value")]; }
                datalist id="tag_names" { @for name in &tags.names { option value=(name) {} } }
                datalist id="tag_values" { @for value in &tags.values { option value=(value) {} } }
            }
            div.inline { (versions(history, query)) (admissions(query.admission)) }
            div.buttons { button.button.primary type="submit" { "Apply" } }
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
    fn from_rows(rows: &[ResponseRow]) -> Self {
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

fn versions(history: &QuestionHistory, query: &ResponsesQuery) -> Markup {
    html! {
        div.field {
            label for="version" { "Version" }
            select.input id="version" name="version" {
                option value="" { "All versions" }
                @for (id, number) in history.numbers().into_iter().rev() {
                    option value=(id.to_string()) selected[query.version == Some(id)] { "Version " (number) }
                }
            }
        }
    }
}

/// The active filters, each with a link that removes it.
fn chips(flow: FlowId, history: &QuestionHistory, query: &ResponsesQuery) -> Markup {
    let plain = query.with_position(ListPosition::First);
    let out = |without: ResponsesQuery, words: Markup| {
        html! { a.chip.on href=(without.address(flow)) { span.chip-words { (words) } span aria-hidden="true" { "×" } span.unseen { "remove this filter" } } }
    };
    let without = |list: &[(String, String)], at: usize| {
        let others = list.iter().enumerate().filter(|(index, _)| *index != at);
        others.map(|(_, pair)| pair.clone()).collect::<Vec<_>>()
    };
    html! {
        div.chips role="group" aria-label="Chosen filters" {
            @if let Some(words) = &query.search { (out(ResponsesQuery { search: None, ..plain.clone() }, html! { "“" bdi { (cut(words)) } "”" })) }
            @if let Some(from) = query.from { (out(ResponsesQuery { from: None, ..plain.clone() }, html! { "From " (from) })) }
            @if let Some(to) = query.to { (out(ResponsesQuery { to: None, ..plain.clone() }, html! { "To " (to) })) }
            @if let Some(id) = query.version {
                (out(ResponsesQuery { version: None, ..plain.clone() }, html! {
                    @match history.number(id) { Some(number) => { "Version " (number) }, None => "Unknown version" }
                }))
            }
            @if let Some(admission) = query.admission { (out(ResponsesQuery { admission: None, ..plain.clone() }, html! { (admission_label(admission)) })) }
            @for (at, (name, value)) in query.tags.iter().enumerate() {
                (out(ResponsesQuery { tags: without(&query.tags, at), ..plain.clone() }, html! { bdi { (name) } ": " bdi { (cut(value)) } }))
            }
            @for (at, (question, value)) in query.answers.iter().enumerate() {
                (out(ResponsesQuery { answers: without(&query.answers, at), ..plain.clone() }, answer_filters::words(history, question, value)))
            }
            a href=(query.unfiltered().address(flow)) { "Clear all" }
        }
    }
}
