//! Which columns an export has, and the value of each.
//!
//! The order is the same for every export of a flow: what every response has, then the questions in
//! the order in which versions first asked them, then tags by name, then the context. A question
//! that was removed keeps its column. A column is named after its question: by its id, with the
//! prefix `answer.` if a fixed column has that name; or by its text. A caller may choose columns
//! and their order ([`ChosenColumns`]).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use sluice_flow::id::FlowVersionId;
use sluice_flow::question::Shape;
use sluice_flow::submission::Texts;
use sluice_flow::time::Timestamp;
use sluice_store::ResponseRow;

use super::ValuesAs;
use super::chosen::{ChosenColumn, ChosenColumns};
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
#[derive(Debug)]
struct FixedExportColumn {
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
) -> FixedExportColumn {
    FixedExportColumn { name, kind, write }
}

/// The columns before the questions.
static FIRST: [FixedExportColumn; 11] = [
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
/// The answers that have no column, because the definition of their version cannot be read. Only
/// then exports have it, unless it is chosen.
static OTHER_ANSWERS: FixedExportColumn = fixed("answers.other", ColumnKind::Text, |it, cells| {
    optional(cells, it.flat.other_answers().as_deref());
});
/// The score. Only exports of a flow with scores have it, unless it is chosen.
static SCORE: FixedExportColumn =
    fixed("score", ColumnKind::Number, |it, cells| match &it.row.score {
        Some(score) => cells.number(score),
        None => cells.empty(),
    });
/// The column of the tags that have none of their own.
const OTHER_TAGS: &str = "tags.other";

/// The columns after the questions and the tags.
static LAST: [FixedExportColumn; 6] = [
    fixed(OTHER_TAGS, ColumnKind::Text, |it, cells| {
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

/// Where the cells of a column come from.
#[derive(Debug, Clone, Copy)]
enum Source {
    Fixed(&'static FixedExportColumn),
    /// The question, or the tag, at this position.
    Question(usize),
    Tag(usize),
}

fn fixed_column(name: &str) -> Option<&'static FixedExportColumn> {
    fixed_columns().find(|column| column.name == name)
}

fn fixed_columns() -> impl Iterator<Item = &'static FixedExportColumn> {
    FIRST.iter().chain([&SCORE, &OTHER_ANSWERS]).chain(&LAST)
}

/// Whether every export can have a column with this name.
pub(super) fn has_fixed(name: &str) -> bool {
    fixed_column(name).is_some()
}

#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) layout: RowLayout,
    pub(super) values: ValuesAs,
    /// From left to right.
    sources: Vec<Source>,
    /// The name of each question's column.
    names: Vec<String>,
    /// Oldest first; empty if neither labels nor a codebook need them.
    versions: Vec<HistoricVersion>,
    by_id: HashMap<FlowVersionId, KnownVersion>,
    /// For each question, the labels that several of its options have.
    shared_labels: Vec<HashSet<String>>,
}

/// What the cells of a version's responses need.
#[derive(Debug)]
struct KnownVersion {
    /// Its id as text, and its number.
    name: (String, u32),
    /// Its position among the versions; none if its definition cannot be read.
    at: Option<usize>,
    /// By the position of the question; built when the first response needs them.
    labels: OnceLock<Vec<Option<AnswerLabels>>>,
}

impl Columns {
    pub(super) fn new(
        asked: QuestionHistory,
        tags: Vec<String>,
        values: ValuesAs,
        has_codebook: bool,
        chosen: Option<&ChosenColumns>,
    ) -> Self {
        let QuestionHistory { questions, mut versions, unreadable } = asked;
        let is_scored = versions.iter().any(|version| version.definition.is_scored());
        let known = |id: FlowVersionId, number: u32, at: Option<usize>| {
            (id, KnownVersion { name: (id.to_string(), number), at, labels: OnceLock::new() })
        };
        let readable =
            versions.iter().enumerate().map(|(at, it)| known(it.id, it.number, Some(at)));
        let others = unreadable.iter().map(|(id, number)| known(*id, *number, None));
        let by_id = readable.chain(others).collect();
        let shared_labels = match values {
            ValuesAs::Ids => Vec::new(),
            ValuesAs::Labels => {
                labels::shared(versions.iter().map(|it| &*it.definition), &questions)
            }
        };
        if values == ValuesAs::Ids && !has_codebook {
            versions.clear();
        }
        let names = match values {
            ValuesAs::Ids => questions.iter().map(name_by_id).collect(),
            ValuesAs::Labels => {
                let fixed = fixed_columns().map(|column| column.name.to_lowercase());
                let tags = tags.iter().map(|tag| tag_name(tag).to_lowercase());
                labels::titles(&questions, fixed.chain(tags).collect())
            }
        };
        let layout = RowLayout::new(questions, tags, !unreadable.is_empty());
        let sources = match chosen {
            None => all_sources(&layout, is_scored, !unreadable.is_empty()),
            Some(chosen) => chosen_sources(&layout, chosen),
        };
        Self { layout, values, sources, names, versions, by_id, shared_labels }
    }

    /// Every column, in order.
    pub(super) fn all(&self) -> Vec<Column> {
        let column = |source: &Source| match *source {
            Source::Fixed(column) => Column { name: column.name.to_owned(), kind: column.kind },
            Source::Question(at) => {
                let kind = match self.layout.questions[at].shape {
                    Shape::Number => ColumnKind::Number,
                    Shape::Date => ColumnKind::Date,
                    Shape::List => ColumnKind::List,
                    Shape::Text | Shape::Word | Shape::Nothing => ColumnKind::Text,
                };
                Column { name: self.names[at].clone(), kind }
            }
            Source::Tag(at) => {
                Column { name: tag_name(&self.layout.tags[at]), kind: ColumnKind::List }
            }
        };
        self.sources.iter().map(column).collect()
    }

    /// Whether the question at this position has a column.
    #[cfg(feature = "parquet")]
    pub(super) fn has_question(&self, position: usize) -> bool {
        self.sources.iter().any(|it| matches!(it, Source::Question(at) if *at == position))
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
        let known = self.by_id.get(&version).filter(|_| self.values == ValuesAs::Labels);
        known.map_or(&[], |known| {
            known.labels.get_or_init(|| {
                let Some(at) = known.at else { return Vec::new() };
                let definition = &self.versions[at].definition;
                labels::of_version(definition, &self.layout.questions, &self.shared_labels)
            })
        })
    }

    /// Writes the cells of a row, from left to right.
    pub(super) fn write_cells(
        &self,
        row: &ResponseRow,
        flat: &FlatRow<'_>,
        cells: &mut impl Cells,
    ) {
        let response = Response { columns: self, row, flat };
        let labels = self.labels(row.flow_version_id);
        for source in &self.sources {
            match *source {
                Source::Fixed(column) => (column.write)(&response, cells),
                Source::Question(at) => {
                    let (shape, answer) = (self.layout.questions[at].shape, &flat.answers[at]);
                    match (labels.get(at), answer) {
                        (Some(Some(labels)), Some(answer)) => {
                            self::answer(cells, shape, Some(&labelled(labels, answer)));
                        }
                        _ => self::answer(cells, shape, answer.as_ref()),
                    }
                }
                Source::Tag(at) => match &flat.tags[at] {
                    Some(texts) => cells.list(texts.as_slice()),
                    None => cells.empty(),
                },
            }
        }
    }
}

fn all_sources(layout: &RowLayout, is_scored: bool, has_other_answers: bool) -> Vec<Source> {
    let score = is_scored.then_some(Source::Fixed(&SCORE)).into_iter();
    let questions = score.chain((0..layout.questions.len()).map(Source::Question));
    let questions = questions.chain(has_other_answers.then_some(Source::Fixed(&OTHER_ANSWERS)));
    let tags = (0..layout.tags.len()).map(Source::Tag);
    let first = FIRST.iter().map(Source::Fixed).chain(questions);
    first.chain(tags).chain(LAST.iter().map(Source::Fixed)).collect()
}

fn chosen_sources(layout: &RowLayout, chosen: &ChosenColumns) -> Vec<Source> {
    let mut sources = Vec::new();
    for column in &chosen.0 {
        match column {
            ChosenColumn::Fixed(name) => sources.extend(fixed_column(name).map(Source::Fixed)),
            ChosenColumn::Question(id) => {
                sources.extend(layout.position(id).map(Source::Question));
            }
            ChosenColumn::Tag(name) => {
                sources.extend(layout.tags.binary_search(name).ok().map(Source::Tag));
            }
            // Those that have no column of their own in the list.
            ChosenColumn::Tags => {
                let rest = layout.tags.iter().enumerate();
                let rest = rest.filter(|(_, name)| !chosen.has_tag(name));
                sources.extend(rest.map(|(at, _)| Source::Tag(at)));
                // Those that have no column at all.
                if !chosen.has_fixed(OTHER_TAGS) {
                    sources.extend(fixed_column(OTHER_TAGS).map(Source::Fixed));
                }
            }
        }
    }
    sources
}

/// The name of a question's column by its id. It does not depend on whether this flow has the fixed
/// column.
fn name_by_id(question: &HistoricQuestion) -> String {
    match has_fixed(&question.id) {
        true => format!("answer.{}", question.id),
        false => question.id.clone(),
    }
}

fn tag_name(tag: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response_columns;

    #[test]
    fn every_column_of_a_table_is_a_column_of_exports() {
        for column in response_columns::FixedColumn::ALL {
            assert!(has_fixed(column.as_str()), "{column:?}");
        }
    }
}
