//! The table: one row per response, with the chosen columns. Its first column is the time, which
//! links to the response.

use maud::{Markup, html};
use sluice_engine::QuestionHistory;
use sluice_engine::response_columns::{FixedColumn, ResponseColumn};
use sluice_engine::response_table::SortBy;
use sluice_engine::rows::ResponseRow;
use sluice_flow::id::FlowId;
use sluice_flow::question::{Input, Question};
use sluice_flow::response_order::Direction;
use sluice_flow::submission::{Admission, Texts, each_entry};

use super::query::{ListPosition, RECEIVED, ResponsesQuery};
use crate::answer_filters::{admission_label, cut};
use crate::parts::time;

/// The number of questions with a column unless others are chosen.
const QUESTIONS_MAX: usize = 6;
/// The most tags in a cell, and the most characters of a text.
const TAGS_MAX: usize = 3;
const TEXT_CHARS: usize = 140;
/// The most answers of a response on a phone, where each has a separate line.
const CARD_ANSWERS_MAX: usize = 3;
/// Between several options in a cell; an option may contain commas.
const BETWEEN: &str = " · ";

/// The columns of the table, without the first.
pub(super) struct TableColumns<'a> {
    history: &'a QuestionHistory,
    pub(super) columns: Vec<ResponseColumn>,
}

/// The columns unless others are chosen.
pub(super) fn default_columns(history: &QuestionHistory) -> Vec<ResponseColumn> {
    let newest = history.newest().map_or(&[][..], |version| version.definition.questions());
    let answerable = newest.iter().filter(|it| it.question_type.is_answerable());
    let questions = answerable.take(QUESTIONS_MAX).map(|it| ResponseColumn::Answer(it.id.clone()));
    let score = history.newest().filter(|it| it.definition.is_scored()).map(|_| FixedColumn::Score);
    let first = [FixedColumn::Version].into_iter().chain(score).map(ResponseColumn::Fixed);
    let last = [ResponseColumn::Tags, ResponseColumn::Fixed(FixedColumn::Admission)];
    first.chain(questions).chain(last).collect()
}

impl<'a> TableColumns<'a> {
    pub(super) fn new(history: &'a QuestionHistory, query: &ResponsesQuery) -> Self {
        let columns = query.columns.clone().unwrap_or_else(|| default_columns(history));
        Self { history, columns }
    }
}

/// The name of a column on pages.
pub(super) fn label(column: &ResponseColumn, history: &QuestionHistory) -> String {
    match column {
        ResponseColumn::Fixed(fixed) => match fixed {
            FixedColumn::ReceivedAt => "Received",
            FixedColumn::ResponseId => "Response ID",
            FixedColumn::Version => "Version",
            FixedColumn::Admission => "Consent",
            FixedColumn::RespondentId => "Respondent",
            FixedColumn::UserId => "User ID",
            FixedColumn::Email => "E-mail",
            FixedColumn::Locale => "Language",
            FixedColumn::Score => "Score",
        }
        .to_owned(),
        ResponseColumn::Tags => "Tags".to_owned(),
        ResponseColumn::Tag(name) => format!("Tag {name}"),
        ResponseColumn::Answer(id) => {
            let found = history.questions.iter().find(|it| it.id == *id);
            found.map_or_else(|| id.clone(), |question| question.prompt.clone())
        }
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
            table.table.hover.responses-table data-density=(query.density.as_str()) {
                thead {
                    tr {
                        (heading(flow, columns, query, &RECEIVED))
                        @for column in &columns.columns { (heading(flow, columns, query, column)) }
                    }
                }
                tbody data-rows { @for row in rows { (self::row(flow, columns, query, row)) } }
            }
        }
    }
}

/// The name of a column. It links to the list in the order of this column, or in the reverse if it
/// is sorted by it already.
fn heading(
    flow: FlowId,
    columns: &TableColumns<'_>,
    query: &ResponsesQuery,
    column: &ResponseColumn,
) -> Markup {
    let label = label(column, columns.history);
    let direction = match &query.sort {
        Some(sort) if sort.column == *column => Some(sort.direction),
        None if *column == RECEIVED => Some(Direction::Descending),
        _ => None,
    };
    let next = direction.map_or(Direction::Ascending, Direction::reversed);
    let is_newest_first = *column == RECEIVED && next == Direction::Descending;
    let sort = SortBy { column: column.clone(), direction: next };
    let sorted = ResponsesQuery {
        sort: (!is_newest_first).then_some(sort),
        position: ListPosition::First,
        ..query.clone()
    };
    let (aria, arrow) = match direction {
        Some(Direction::Ascending) => (Some("ascending"), "↑"),
        Some(Direction::Descending) => (Some("descending"), "↓"),
        None => (None, ""),
    };
    html! {
        th.prompt.short[is_short(column, columns.history)] scope="col" title=(label) aria-sort=[aria] {
            @if column.is_sortable() || *column == RECEIVED {
                a href=(sorted.address(flow)) { span { (cut(&label)) } @if aria.is_some() { span aria-hidden="true" { (arrow) } } }
            } @else { (cut(&label)) }
        }
    }
}

/// Whether the cells of a column are short, so that it needs only little width.
fn is_short(column: &ResponseColumn, history: &QuestionHistory) -> bool {
    let ResponseColumn::Answer(id) = column else { return false };
    let newest = history.newest().and_then(|version| version.definition.question(id));
    newest.is_some_and(|question| {
        matches!(
            question.question_type.input(),
            Input::Scale { .. }
                | Input::Number { .. }
                | Input::Date { .. }
                | Input::YesNo
                | Input::Tick { .. }
        )
    })
}

pub(super) fn row(
    flow: FlowId,
    columns: &TableColumns<'_>,
    query: &ResponsesQuery,
    row: &ResponseRow,
) -> Markup {
    let id = row.response_id;
    let address = query
        .with_position(ListPosition::First)
        .address_of(&format!("{}/{id}", ResponsesQuery::path(flow)));
    let cells = Cells {
        history: columns.history,
        row,
        answers: entries(&row.answers),
        tags: entries(row.tags.as_deref().unwrap_or("{}")),
    };
    // On a phone a card has the first answers, and says how many more there are.
    let mut answers = 0;
    let shown: Vec<_> = columns
        .columns
        .iter()
        .map(|column| {
            let cell = cells.cell(column);
            let is_answer = matches!(column, ResponseColumn::Answer(_));
            answers += usize::from(is_answer && cell.is_some());
            let is_kept = !is_answer || cell.is_some() && answers <= CARD_ANSWERS_MAX;
            (column, cell, is_kept)
        })
        .collect();
    let more = match answers.saturating_sub(CARD_ANSWERS_MAX) {
        0 => None,
        1 => Some("and 1 more answer".to_owned()),
        more => Some(format!("and {more} more answers")),
    };
    html! {
        tr data-id=(id) data-more=[more] {
            td data-label="Received" { a href=(address) data-panel { (time(id.made_at())) } }
            @for (column, cell, is_kept) in shown {
                td.not-in-card[!is_kept] data-label=(cut(&label(column, columns.history))) {
                    div.cell {
                        @match cell { Some(cell) => (cell), None => span.muted { "–" } }
                    }
                }
            }
        }
    }
}

/// The parts of one response.
struct Cells<'r> {
    history: &'r QuestionHistory,
    row: &'r ResponseRow,
    answers: Vec<(String, Vec<String>)>,
    tags: Vec<(String, Vec<String>)>,
}

impl Cells<'_> {
    fn cell(&self, column: &ResponseColumn) -> Option<Markup> {
        match column {
            ResponseColumn::Fixed(FixedColumn::Version) => {
                let number = self.history.number(self.row.flow_version_id)?;
                Some(html! { (number) })
            }
            ResponseColumn::Fixed(FixedColumn::Admission) => {
                let label = admission_label(self.row.admission);
                Some(match self.row.admission {
                    Admission::Admitted => html! { (label) },
                    Admission::CollectionOnly => html! { span.muted { (label) } },
                })
            }
            ResponseColumn::Fixed(FixedColumn::ReceivedAt) => {
                Some(time(self.row.response_id.made_at()))
            }
            ResponseColumn::Fixed(FixedColumn::RespondentId) => {
                let id = self.row.respondent_id?;
                Some(html! { span.mono { (id) } })
            }
            ResponseColumn::Fixed(FixedColumn::ResponseId) => {
                Some(html! { span.mono { (self.row.response_id) } })
            }
            ResponseColumn::Fixed(
                fixed @ (FixedColumn::UserId
                | FixedColumn::Email
                | FixedColumn::Locale
                | FixedColumn::Score),
            ) => fixed.text(self.row).map(|text| short_text(&text)),
            ResponseColumn::Tags => self.all_tags(),
            ResponseColumn::Tag(name) => {
                let (_, texts) = self.tags.iter().find(|(own, _)| own == name)?;
                Some(short_text(&texts.join(", ")))
            }
            ResponseColumn::Answer(id) => {
                let (_, texts) = self.answers.iter().find(|(own, _)| own == id)?;
                Some(short_text(&self.answer(id, texts)))
            }
        }
    }

    /// An answer in the words of the version that was answered, which may have had other options.
    fn answer(&self, id: &str, texts: &[String]) -> String {
        let version = self.history.version(self.row.flow_version_id);
        let question = version.and_then(|version| version.definition.question(id));
        let words = |text: &String| match question {
            Some(question) => question.question_type.in_words(text).into_owned(),
            None => text.clone(),
        };
        texts.iter().map(words).collect::<Vec<_>>().join(BETWEEN)
    }

    fn all_tags(&self) -> Option<Markup> {
        (!self.tags.is_empty()).then(|| {
            html! {
                span.response-tags {
                    @for (name, texts) in self.tags.iter().take(TAGS_MAX) {
                        span.tag { bdi { (cut(name)) } ": " bdi { (cut(&texts.join(", "))) } } " "
                    }
                    @if self.tags.len() > TAGS_MAX { span.muted { "+" (self.tags.len() - TAGS_MAX) } }
                }
            }
        })
    }
}

/// A text; the page of the response shows it in full.
fn short_text(text: &str) -> Markup {
    html! { bdi { (shortened(text)) } }
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
