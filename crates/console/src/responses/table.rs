//! The table: one row per response, with the answers to the first questions.

use maud::{Markup, html};
use sluice_engine::QuestionHistory;
use sluice_engine::rows::ResponseRow;
use sluice_flow::id::FlowId;
use sluice_flow::question::Question;
use sluice_flow::submission::{Admission, Texts, each_entry};

use super::query::{ListPosition, ResponsesQuery};
use crate::answer_filters::{admission_label, cut};
use crate::parts::time;

/// The number of questions with a column; the others are on the page of a response.
const QUESTIONS_MAX: usize = 6;
/// The most tags in a row, and the most characters of a text.
const TAGS_MAX: usize = 3;
const TEXT_CHARS: usize = 90;

/// The columns of the table.
pub(super) struct TableColumns<'a> {
    history: &'a QuestionHistory,
    questions: Vec<&'a Question>,
}

impl<'a> TableColumns<'a> {
    pub(super) fn new(history: &'a QuestionHistory) -> Self {
        let newest = history.newest().map_or(&[][..], |version| version.definition.questions());
        let answerable = newest.iter().filter(|it| it.question_type.is_answerable());
        Self { history, questions: answerable.take(QUESTIONS_MAX).collect() }
    }
}

/// The whole table; without rows it may be hidden until the first arrives.
pub(super) fn table(
    flow: FlowId,
    columns: &TableColumns<'_>,
    query: &ResponsesQuery,
    rows: &[ResponseRow],
    hidden: bool,
) -> Markup {
    html! {
        div.scroll hidden[hidden] tabindex="0" role="region" aria-label="Responses" {
            table.table.hover.responses-table {
                thead {
                    tr {
                        th scope="col" { "Received" }
                        th scope="col" { "Version" }
                        @for question in &columns.questions { th.prompt scope="col" title=(question.prompt) { (cut(&question.prompt)) } }
                        th scope="col" { "Tags" }
                        th scope="col" { "Consent" }
                    }
                }
                tbody data-rows { @for row in rows { (self::row(flow, columns, query, row)) } }
            }
        }
    }
}

pub(super) fn row(
    flow: FlowId,
    columns: &TableColumns<'_>,
    query: &ResponsesQuery,
    row: &ResponseRow,
) -> Markup {
    let id = row.response_id;
    let address = query
        .with_position(ListPosition::Newest)
        .address_of(&format!("/console/flows/{flow}/responses/{id}"));
    let version = columns.history.version(row.flow_version_id);
    let answers = entries(&row.answers);
    let answer = |question: &Question| {
        let texts = &answers.iter().find(|(id, _)| *id == question.id)?.1;
        // Use the version that was answered, which may have had other options.
        let history = version.and_then(|version| version.definition.question(&question.id));
        Some(in_words(history.unwrap_or(question), texts))
    };
    html! {
        tr data-id=(id) {
            td data-label="Received" { a href=(address) data-panel { (time(id.made_at())) } }
            td data-label="Version" { @if let Some(version) = version { (version.number) } @else { "–" } }
            @for question in &columns.questions {
                td data-label=(cut(&question.prompt)) {
                    @match answer(question) {
                        Some(words) => bdi { (shortened(&words)) },
                        None => span.muted { "–" },
                    }
                }
            }
            td data-label="Tags" { (tags(row)) }
            td data-label="Consent" {
                @if row.admission == Admission::Admitted { (admission_label(row.admission)) }
                @else { span.muted { (admission_label(row.admission)) } }
            }
        }
    }
}

fn tags(row: &ResponseRow) -> Markup {
    let tags = entries(row.tags.as_deref().unwrap_or("{}"));
    html! {
        @if tags.is_empty() { span.muted { "–" } }
        @else {
            span.response-tags {
                @for (name, texts) in tags.iter().take(TAGS_MAX) {
                    span.tag { bdi { (cut(name)) } ": " bdi { (cut(&texts.join(", "))) } } " "
                }
                @if tags.len() > TAGS_MAX { span.muted { "+" (tags.len() - TAGS_MAX) } }
            }
        }
    }
}

/// The entries of a stored map of texts; empty if it is not readable.
pub(super) fn entries(json: &str) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    let read = each_entry(json, |name, texts| {
        let texts = match texts {
            Texts::One(text) => vec![text.into_owned()],
            Texts::Many(texts) => texts.into_iter().map(|text| text.into_owned()).collect(),
        };
        all.push((name.into_owned(), texts));
    });
    if read.is_err() {
        all.clear();
    }
    all
}

/// An answer as displayed, with labels instead of ids.
pub(super) fn in_words(question: &Question, texts: &[String]) -> String {
    let words: Vec<_> =
        texts.iter().map(|text| question.question_type.in_words(text).into_owned()).collect();
    words.join(", ")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}
