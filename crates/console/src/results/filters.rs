//! The filters above the results: links and a form, which work without a script.

use maud::{Markup, html};
use sluice_engine::QuestionHistory;
use sluice_flow::id::FlowId;
use sluice_flow::time::Day;

use super::query::{Compare, PERIODS, Period, ResultsQuery, as_value};
use super::results_data::ResultsData;
use crate::answer_filters::{self, SentForm, admission_label, admissions};
use crate::parts::{errors, number};

/// Why a filter by tag excludes a comparison by tag.
const ONE_TAG: &str =
    "You can use only one tag at a time. Remove the tag filter to compare by tags.";

pub(super) fn bar(flow: FlowId, data: &ResultsData) -> Markup {
    html! {
        section.filters-bar aria-label="Filters" {
            (folded(&data.query, data.sent.fault.is_some(), html! {
                (periods(&data.query, |query| query.address(flow)))
                (form(flow, data))
                (adding(flow, &data.query, &data.history, &data.sent))
            }))
            (chosen(flow, data))
        }
    }
}

/// On a phone the filters are opened by a button that names the period; elsewhere they are always
/// visible.
pub(super) fn folded(query: &ResultsQuery, open: bool, filters: Markup) -> Markup {
    html! {
        details.fold.folded-filters open[open] {
            summary.button { "Filters" span.muted { (query.period.label()) } }
            div.filters { (filters) }
        }
    }
}

/// `address` is that of the page with another query.
pub(super) fn periods(query: &ResultsQuery, address: impl Fn(&ResultsQuery) -> String) -> Markup {
    let ResultsQuery { period, .. } = *query;
    let link = |own: Period| {
        html! { a.chip href=(address(&query.with_period(own))) aria-current=[(own == period).then_some("true")] { (own.label()) } }
    };
    let is_between = matches!(period, Period::Between(..));
    html! {
        div.chips role="group" aria-label="Period" {
            (link(Period::All))
            @for days in PERIODS { (link(Period::Last(days))) }
            details.between open[is_between] {
                summary.chip.on[is_between] { @if is_between { (period.label()) } @else { "Custom dates" } }
                (between(query, &address(&ResultsQuery::default())))
            }
        }
    }
}

/// A custom period.
fn between(query: &ResultsQuery, action: &str) -> Markup {
    let (from, to) = match query.period {
        Period::Between(from, to) => (from, to),
        _ => (None, None),
    };
    let value = |day: Option<Day>| day.map(|day| day.to_string()).unwrap_or_default();
    let others = query.with_period(Period::All).pairs();
    html! {
        form.inline method="get" action=(action) {
            (hidden(&others))
            div.field { label for="from" { "From (UTC)" } input.input type="date" id="from" name="from" value=(value(from)); }
            div.field { label for="to" { "To" } input.input type="date" id="to" name="to" value=(value(to)); }
            button.button type="submit" { "Show" }
        }
    }
}

pub(super) fn hidden(pairs: &[(String, String)]) -> Markup {
    html! { @for (name, value) in pairs { input type="hidden" name=(name) value=(value); } }
}

/// Version, tag and comparison. The script submits the form on every change.
fn form(flow: FlowId, data: &ResultsData) -> Markup {
    let summary = &data.summary;
    html! {
        form.inline.choices method="get" action=(ResultsQuery::default().address(flow)) data-send {
            (hidden(&data.query.period.pairs()))
            (hidden(&data.query.kept_pairs()))
            @if summary.versions.len() > 1 || data.query.version.is_some() { (versions(data)) }
            @if !summary.tags.is_empty() || data.query.tag.is_some() { (tags(data)) }
            (comparisons(data))
            button.button type="submit" { "Apply" }
        }
    }
}

/// The form that adds a filter by an answer or by consent.
fn adding(
    flow: FlowId,
    query: &ResultsQuery,
    history: &QuestionHistory,
    sent: &SentForm,
) -> Markup {
    let kept = ResultsQuery { admission: None, ..query.clone() };
    html! {
        details.adding open[sent.fault.is_some()] {
            summary.button { "Add filter" }
            form.card.form method="get" action=(ResultsQuery::default().address(flow)) {
                (hidden(&kept.pairs()))
                input type="hidden" name="apply" value="1";
                (errors(sent.fault.as_slice(), answer_filters::field_of))
                (answer_filters::form_fields(history, &sent.fields))
                div.inline { (admissions(query.admission)) }
                p.hint { "Results filtered by answers or consent are computed from the responses. With many responses, this takes a moment." }
                div.buttons { button.button.primary type="submit" { "Apply" } }
            }
        }
    }
}

fn versions(data: &ResultsData) -> Markup {
    html! {
        div.field {
            label for="version" { "Version" }
            select.input id="version" name="version" {
                option value="" { "All versions" }
                @for version in &data.summary.versions {
                    option value=(version.flow_version_id) selected[data.query.version == Some(version.flow_version_id)] {
                        "Version " (version.number) " (" (number(version.responses)) ")"
                    }
                }
            }
        }
    }
}

fn tags(data: &ResultsData) -> Markup {
    let is_chosen = |name: &str, value: &str| {
        data.query.tag.as_ref().is_some_and(|(own, own_value)| own == name && own_value == value)
    };
    html! {
        div.field {
            label for="tag" { "Tag" }
            select.input id="tag" name="tag" {
                option value="" { "Any tag" }
                @for tag in &data.summary.tags {
                    optgroup label=(tag.name) {
                        @for (value, count) in &tag.values {
                            option value=(as_value(&tag.name, value)) selected[is_chosen(&tag.name, value)] {
                                (tag.name) ": " (value) " (" (number(*count)) ")"
                            }
                        }
                    }
                }
            }
        }
    }
}

fn comparisons(data: &ResultsData) -> Markup {
    let is = |compare: &Compare| data.query.compare.as_ref() == Some(compare);
    html! {
        div.field {
            label for="compare" { "Compare" }
            select.input id="compare" name="compare" {
                option value="" { "Nothing" }
                option value="period" selected[is(&Compare::Period)] { "With the previous period" }
                @if data.summary.versions.len() > 1 {
                    option value="version" selected[is(&Compare::Version)] { "By version" }
                }
                @if data.query.tag.is_none() {
                    @for tag in &data.summary.tags {
                        @let compare = Compare::Tag(tag.name.clone());
                        option value=(compare) selected[is(&compare)] { "By " (tag.name) }
                    }
                }
            }
        }
    }
}

/// The active filters, each with a link that removes it.
fn chosen(flow: FlowId, data: &ResultsData) -> Markup {
    let query = &data.query;
    let number_of =
        |id| data.summary.versions.iter().find(|it| it.flow_version_id == id).map(|it| it.number);
    let are_two_tags = query.tag.is_some() && matches!(query.compare, Some(Compare::Tag(_)));
    let out = |without: ResultsQuery, words: Markup| {
        html! { a.chip.on href=(without.address(flow)) { span.chip-words { (words) } span aria-hidden="true" { "×" } span.unseen { "remove this filter" } } }
    };
    html! {
        @if *query != query.unfiltered() {
            div.chips role="group" aria-label="Chosen filters" {
                @if let Some(id) = query.version {
                    (out(ResultsQuery { version: None, ..query.clone() }, html! {
                        @match number_of(id) { Some(number) => { "Version " (number) }, None => "Unknown version" }
                    }))
                }
                @if let Some((name, value)) = &query.tag {
                    (out(ResultsQuery { tag: None, ..query.clone() }, html! { (name) ": " bdi { (value) } }))
                }
                @if let Some(admission) = query.admission {
                    (out(ResultsQuery { admission: None, ..query.clone() }, html! { (admission_label(admission)) }))
                }
                @for (at, (name, value)) in query.answers.iter().enumerate() {
                    (out(query.without_answer(at), answer_filters::words(&data.history, name, value)))
                }
                @if let Some(compare) = &query.compare {
                    (out(ResultsQuery { compare: None, ..query.clone() }, html! {
                        @match compare {
                            Compare::Tag(name) if are_two_tags => { "Not compared by " (name) },
                            compare => (compare.label()),
                        }
                    }))
                }
                @if query.tag.is_some() { span.hint { (ONE_TAG) } }
                @if data.groups.is_empty() && query.compare.is_some() && !are_two_tags {
                    span.hint { "Nothing to compare here" }
                }
            }
        }
    }
}
