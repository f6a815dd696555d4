//! Which columns an export has, and the value of each.
//!
//! The order is the same for every export of a flow: what every response has, then the questions in
//! the order in which versions first asked them, then tags by name, then the context. A question
//! that was removed keeps its column. A column is named after its question: by its id, with the
//! prefix `answer.` if a fixed column has that name; or by its text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sluice_flow::id::FlowVersionId;
use sluice_flow::question::Shape;
use sluice_flow::submission::Texts;
use sluice_flow::time::Timestamp;
use sluice_store::ResponseRow;

use super::ValuesAs;
use super::flat_row::{FlatRow, RowLayout};
use super::labels::{self, AnswerLabels};
use crate::question_history::{HistoricQuestion, HistoricVersion, QuestionHistory};

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
        Some(&self.columns.by_id.get(&self.row.flow_version_id)?.name)
    }

    fn context(&self, at: usize, cells: &mut dyn Cells) {
        optional(cells, self.flat.context[at].as_deref());
    }
}

#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) layout: RowLayout,
    pub(super) values: ValuesAs,
    /// The name of each question's column.
    names: Vec<String>,
    /// Oldest first.
    versions: Vec<HistoricVersion>,
    by_id: HashMap<FlowVersionId, KnownVersion>,
}

/// What the cells of a version's responses need.
#[derive(Debug)]
struct KnownVersion {
    /// Its id as text, and its number.
    name: (String, u32),
    /// By the position of the question; empty without labels.
    labels: Vec<Option<AnswerLabels>>,
}

impl Columns {
    pub(super) fn new(asked: QuestionHistory, tags: Vec<String>, values: ValuesAs) -> Self {
        let QuestionHistory { questions, versions } = asked;
        let known = |version: &HistoricVersion| KnownVersion {
            name: (version.id.to_string(), version.number),
            labels: match values {
                ValuesAs::Ids => Vec::new(),
                ValuesAs::Labels => labels::of_version(&version.definition, &questions),
            },
        };
        let by_id = versions.iter().map(|it| (it.id, known(it))).collect();
        let names = match values {
            ValuesAs::Ids => questions.iter().map(name_by_id).collect(),
            ValuesAs::Labels => {
                let fixed = FIRST.iter().chain(&LAST).map(|column| column.name.to_owned());
                let taken: HashSet<String> = fixed.chain(tags.iter().map(tag_name)).collect();
                labels::titles(&questions, taken)
            }
        };
        Self { layout: RowLayout::new(questions, tags), values, names, versions, by_id }
    }

    /// Every column, in order.
    pub(super) fn all(&self) -> Vec<Column> {
        let named = |name: String, kind| Column { name, kind };
        let fixed = |column: &FixedColumn| named(column.name.to_owned(), column.kind);
        let questions = self.layout.questions.iter().zip(&self.names).map(|(question, name)| {
            let kind = match question.shape {
                Shape::Number => ColumnKind::Number,
                Shape::Date => ColumnKind::Date,
                Shape::List => ColumnKind::List,
                Shape::Text | Shape::Word | Shape::Nothing => ColumnKind::Text,
            };
            named(name.clone(), kind)
        });
        let tags = self.layout.tags.iter().map(|tag| named(tag_name(tag), ColumnKind::List));
        let first = FIRST.iter().map(fixed);
        first.chain(questions).chain(tags).chain(LAST.iter().map(fixed)).collect()
    }

    pub(super) fn versions(&self) -> &[HistoricVersion] {
        &self.versions
    }

    /// The name of the column at this position among the questions.
    pub(super) fn name_at(&self, position: usize) -> &str {
        &self.names[position]
    }

    /// The labels of a version's answers, by the position of the question.
    pub(super) fn labels(&self, version: FlowVersionId) -> &[Option<AnswerLabels>] {
        self.by_id.get(&version).map_or(&[], |version| &version.labels)
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
        let labels = self.labels(row.flow_version_id);
        for (at, (question, answer)) in self.layout.questions.iter().zip(&flat.answers).enumerate()
        {
            let answer = answer.as_ref();
            match (labels.get(at), answer) {
                (Some(Some(labels)), Some(answer)) => {
                    self::answer(cells, question.shape, Some(&labelled(labels, answer)));
                }
                _ => self::answer(cells, question.shape, answer),
            }
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

/// The name of a question's column by its id.
fn name_by_id(question: &HistoricQuestion) -> String {
    match FIRST.iter().any(|column| column.name == question.id) {
        true => format!("answer.{}", question.id),
        false => question.id.clone(),
    }
}

fn tag_name(tag: &String) -> String {
    format!("tag.{tag}")
}

/// An answer with the labels of its options.
pub(super) fn labelled<'t>(labels: &'t AnswerLabels, answer: &'t Texts<'_>) -> Texts<'t> {
    match answer {
        Texts::One(text) => Texts::One(labels.label(text)),
        Texts::Many(texts) => Texts::Many(texts.iter().map(|text| labels.label(text)).collect()),
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
