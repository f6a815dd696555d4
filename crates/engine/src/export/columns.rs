//! Which columns an export has, and the value of each.
//!
//! The order is the same for every export of a flow: what every response has, then the questions in
//! the order in which versions first asked them, then tags by name, then the context. A question
//! that was removed keeps its column. A column is named after its question, with the prefix
//! `answer.` if a fixed column has that name.

use std::borrow::Cow;
use std::collections::HashMap;

use sluice_flow::id::FlowVersionId;
use sluice_flow::question::Shape;
use sluice_flow::submission::Texts;
use sluice_flow::time::Timestamp;
use sluice_store::ResponseRow;

use super::Headings;
use super::flat_row::{FlatRow, RowLayout};
use crate::question_history::{HistoricQuestion, QuestionHistory};

/// The type of the values in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Whole,
    Number,
    Date,
    Time,
    Flag,
    List,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// The heading for people.
    pub(super) heading: String,
    pub(super) kind: ColumnKind,
}

/// Receives the cells of one row after the other, from left to right.
pub(super) trait Cells {
    fn empty(&mut self);
    /// A text from a respondent or an author.
    fn text(&mut self, text: &str);
    /// A text that Sluice made, such as an id: it needs no escaping.
    fn plain(&mut self, text: &str);
    fn whole(&mut self, number: u32);
    /// A decimal number as it was written.
    fn number(&mut self, number: &str);
    /// `YYYY-MM-DD`.
    fn date(&mut self, date: &str);
    fn time(&mut self, time: Timestamp);
    fn flag(&mut self, flag: bool);
    fn list(&mut self, texts: &[Cow<'_, str>]);
}

/// A column that every export has.
struct FixedColumn {
    name: &'static str,
    kind: ColumnKind,
    write: fn(&Response<'_>, &mut dyn Cells),
}

/// The data for the cells of a row.
struct Response<'a> {
    columns: &'a Columns,
    row: &'a ResponseRow,
    flat: &'a FlatRow<'a>,
}

const fn fixed(
    name: &'static str,
    kind: ColumnKind,
    write: fn(&Response<'_>, &mut dyn Cells),
) -> FixedColumn {
    FixedColumn { name, kind, write }
}

/// The columns before the questions.
static FIRST: [FixedColumn; 11] = [
    fixed("responseId", ColumnKind::Text, |it, cells| cells.plain(&it.row.response_id.to_string())),
    fixed("receivedAt", ColumnKind::Time, |it, cells| cells.time(it.row.response_id.made_at())),
    fixed("flowVersionId", ColumnKind::Text, |it, cells| match it.version() {
        Some((id, _)) => cells.plain(id),
        None => cells.plain(&it.row.flow_version_id.to_string()),
    }),
    fixed("version", ColumnKind::Whole, |it, cells| match it.version() {
        Some((_, number)) => cells.whole(*number),
        None => cells.empty(),
    }),
    fixed("respondentAnalyticsAdmission", ColumnKind::Text, |it, cells| {
        cells.plain(it.row.admission.as_str());
    }),
    fixed("respondentId", ColumnKind::Text, |it, cells| match it.row.respondent_id {
        Some(id) => cells.plain(&id.to_string()),
        None => cells.empty(),
    }),
    fixed("identityVerified", ColumnKind::Flag, |it, cells| cells.flag(it.row.identity_verified)),
    fixed("identities.userId", ColumnKind::Text, |it, cells| {
        optional(cells, it.flat.user_id.as_deref());
    }),
    fixed("identities.traits.email", ColumnKind::Text, |it, cells| {
        optional(cells, it.flat.email.as_deref());
    }),
    fixed("identities.other", ColumnKind::Text, |it, cells| {
        optional(cells, it.flat.other_identities().as_deref());
    }),
    fixed("flowAssignmentId", ColumnKind::Text, |it, cells| {
        optional(cells, it.row.flow_assignment_id.as_deref());
    }),
];
/// The columns after the questions and the tags.
static LAST: [FixedColumn; 6] = [
    fixed("tags.other", ColumnKind::Text, |it, cells| {
        optional(cells, it.flat.other_tags().as_deref());
    }),
    fixed("context.locale", ColumnKind::Text, |it, cells| it.context(0, cells)),
    fixed("context.page.path", ColumnKind::Text, |it, cells| it.context(1, cells)),
    fixed("context.page.referrer", ColumnKind::Text, |it, cells| it.context(2, cells)),
    fixed("context.page.search", ColumnKind::Text, |it, cells| it.context(3, cells)),
    fixed("context.userAgent", ColumnKind::Text, |it, cells| it.context(4, cells)),
];

impl Response<'_> {
    /// The id of its version as text, and the version's number.
    fn version(&self) -> Option<&(String, u32)> {
        self.columns.versions.get(&self.row.flow_version_id)
    }

    fn context(&self, at: usize, cells: &mut dyn Cells) {
        optional(cells, self.flat.context[at].as_deref());
    }
}

#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) layout: RowLayout,
    /// Each version's id as text, and its number.
    versions: HashMap<FlowVersionId, (String, u32)>,
    headings: Headings,
}

impl Columns {
    pub(super) fn new(asked: QuestionHistory, tags: Vec<String>, headings: Headings) -> Self {
        let QuestionHistory { questions, versions } = asked;
        let versions = versions.into_iter().map(|it| (it.id, (it.id.to_string(), it.number)));
        let versions = versions.collect();
        Self { layout: RowLayout::new(questions, tags), versions, headings }
    }

    /// Every column, in order.
    pub(super) fn all(&self) -> Vec<Column> {
        let named = |name: String, kind| Column { heading: name.clone(), name, kind };
        let fixed = |column: &FixedColumn| named(column.name.to_owned(), column.kind);
        let questions = self.layout.questions.iter().map(|question| Column {
            name: self.name_of(question),
            heading: self.heading_of(question),
            kind: match question.shape {
                Shape::Number => ColumnKind::Number,
                Shape::Date => ColumnKind::Date,
                Shape::List => ColumnKind::List,
                Shape::Text | Shape::Word | Shape::Nothing => ColumnKind::Text,
            },
        });
        let tags =
            self.layout.tags.iter().map(|name| named(format!("tag.{name}"), ColumnKind::List));
        let first = FIRST.iter().map(fixed);
        first.chain(questions).chain(tags).chain(LAST.iter().map(fixed)).collect()
    }

    /// The name of a question's column.
    pub(super) fn name_of(&self, question: &HistoricQuestion) -> String {
        match FIRST.iter().any(|column| column.name == question.id) {
            true => format!("answer.{}", question.id),
            false => question.id.clone(),
        }
    }

    /// The id after the text distinguishes questions with the same text.
    fn heading_of(&self, question: &HistoricQuestion) -> String {
        match self.headings {
            Headings::Ids => self.name_of(question),
            Headings::Texts => {
                let words: Vec<&str> = question.prompt.split_whitespace().collect();
                format!("{} [{}]", words.join(" "), question.id)
            }
        }
    }

    /// Writes the cells of a row, from left to right.
    pub(super) fn write_cells(
        &self,
        row: &ResponseRow,
        flat: &FlatRow<'_>,
        cells: &mut impl Cells,
    ) {
        let response = Response { columns: self, row, flat };
        for column in &FIRST {
            (column.write)(&response, cells);
        }
        for (question, answer) in self.layout.questions.iter().zip(&flat.answers) {
            self::answer(cells, question.shape, answer.as_ref());
        }
        for tag in &flat.tags {
            match tag {
                Some(texts) => cells.list(texts.as_slice()),
                None => cells.empty(),
            }
        }
        for column in &LAST {
            (column.write)(&response, cells);
        }
    }
}

fn optional(cells: &mut dyn Cells, text: Option<&str>) {
    match text {
        Some(text) => cells.text(text),
        None => cells.empty(),
    }
}

fn answer(cells: &mut impl Cells, shape: Shape, answer: Option<&Texts<'_>>) {
    let Some(answer) = answer else { return cells.empty() };
    match (shape, answer) {
        (Shape::List, texts) => cells.list(texts.as_slice()),
        (_, Texts::Many(texts)) => match texts.first() {
            Some(text) => cells.text(text),
            None => cells.empty(),
        },
        (_, Texts::One(text)) if text.is_empty() => cells.empty(),
        (Shape::Number, Texts::One(text)) => cells.number(text),
        (Shape::Date, Texts::One(text)) => cells.date(text),
        (Shape::Text | Shape::Word | Shape::Nothing, Texts::One(text)) => cells.text(text),
    }
}
