//! The codebook of a flow: every question and option of every version, with their ids and labels.
//!
//! One row per option; a question without options has one row. The rows are the second sheet of
//! XLSX, and a file of their own in CSV.

use sluice_flow::counts::Counted;
use sluice_flow::question::Question;
use sluice_flow::question::choice::Choice;
use sluice_store::Scope;

use super::columns::{Cells, Columns};
use super::csv::{self, CsvRow};
use super::{ValuesAs, file_name};
use crate::admin::AdminResult;
use crate::handle::FlowHandle;
use crate::question_history::{self, HistoricVersion, QuestionHistory};

/// The name of each column.
pub(super) const HEADER: [&str; 9] = [
    "version",
    "flowVersionId",
    "column",
    "questionId",
    "type",
    "question",
    "part",
    "optionId",
    "label",
];

/// A codebook as a file.
#[derive(Debug)]
pub struct Codebook {
    pub file_name: String,
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

impl FlowHandle {
    /// The questions and options of all published versions, as CSV.
    pub async fn codebook(&self) -> AdminResult<Codebook> {
        let core = self.permit.core(Scope::Read)?;
        let asked =
            question_history::read(&*core.store, &core.definitions, self.app_id(), self.flow_id())
                .await?;
        let name = format!("{} codebook", self.flow.name);
        Ok(Codebook {
            file_name: file_name(&name, core.now(), &csv::FORMAT),
            media_type: csv::FORMAT.media_type,
            bytes: as_csv(asked),
        })
    }
}

fn as_csv(asked: QuestionHistory) -> Vec<u8> {
    let columns = Columns::new(asked, Vec::new(), ValuesAs::Ids);
    let (mut out, mut room) = (Vec::new(), String::new());
    let mut row = CsvRow::new(&mut out, &mut room);
    HEADER.iter().for_each(|name| row.text(name));
    row.end();
    for entry in entries(&columns) {
        let mut row = CsvRow::new(&mut out, &mut room);
        entry.write(&mut row);
        row.end();
    }
    out
}

/// One row: a question, or one of its options.
pub(super) struct Entry<'c> {
    version: &'c HistoricVersion,
    column: &'c str,
    question: &'c Question,
    choice: Option<(&'static str, String, String)>,
}

impl Entry<'_> {
    pub(super) fn write(&self, cells: &mut impl Cells) {
        cells.whole(self.version.number);
        cells.plain(&self.version.id.to_string());
        cells.text(self.column);
        cells.text(&self.question.id);
        cells.plain(self.question.question_type.name());
        cells.text(&self.question.prompt);
        match &self.choice {
            Some((part, id, label)) => {
                cells.plain(part);
                cells.text(id);
                cells.text(label);
            }
            None => (0..3).for_each(|_| cells.empty()),
        }
    }
}

/// Every row, oldest version first.
pub(super) fn entries(columns: &Columns) -> impl Iterator<Item = Entry<'_>> {
    columns.versions().iter().flat_map(move |version| {
        let questions = version.definition.questions().iter();
        questions.flat_map(move |question| {
            let column = columns.layout.position(&question.id).map(|at| columns.name_at(at));
            let entry = move |choice| Some(Entry { version, column: column?, question, choice });
            let choices = choices(question);
            let alone = choices.is_empty().then_some(None);
            alone.into_iter().chain(choices.into_iter().map(Some)).filter_map(entry)
        })
    })
}

/// The part, the id and the label of each option.
fn choices(question: &Question) -> Vec<(&'static str, String, String)> {
    let named = |part: &'static str, choices: &[Choice]| {
        let choice = |it: &Choice| (part, it.id.clone(), it.label.clone());
        choices.iter().map(choice).collect::<Vec<_>>()
    };
    match question.question_type.counted() {
        Counted::Matrix { rows, columns } => {
            [named("row", rows), named("column", columns)].concat()
        }
        _ => {
            let choices = question.question_type.choices().into_iter();
            choices.map(|(id, label)| ("option", id, label)).collect()
        }
    }
}
