//! The codebook of a flow: every question and option of every version, with their ids and labels.
//!
//! One row per option; a question without options has one row. The rows are the second sheet of
//! XLSX, and a separate file in CSV.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sluice_flow::counts::CountMethod;
use sluice_flow::question::Question;
use sluice_flow::question::choice::Choice;
use sluice_store::Scope;
use tokio::sync::mpsc;

use super::columns::{Cells, Columns};
use super::csv::{self, CsvRow};
use super::outlet::Outlet;
use super::pipe::WAITING_MAX;
use super::{Export, Progress, ValuesAs, file_name};
use crate::admin::AdminResult;
use crate::boxed;
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

impl FlowHandle {
    /// The questions and options of all published versions, as CSV. It takes the slot of an export:
    /// an author can make it long.
    #[boxed]
    pub async fn codebook(&self) -> AdminResult<Export> {
        let core = self.permit.core(Scope::Read)?;
        let slot = core.exports.take_slot(self.app_id())?;
        let asked =
            question_history::read(&*core.store, &core.definitions, self.app_id(), self.flow_id())
                .await?;
        let file_name = file_name(&self.flow.name, "-codebook", core.now(), &csv::FORMAT);
        let progress = Arc::new(Progress::default());
        let (pieces, chunks) = mpsc::channel(WAITING_MAX);
        let ended = Arc::clone(&progress);
        tokio::task::spawn_blocking(move || {
            let _slot = slot;
            // Fails only if the client is gone.
            if write(asked, Outlet { waiting: Vec::new(), pieces: &pieces }).is_ok() {
                ended.ended.store(true, Ordering::Relaxed);
            }
        });
        Ok(Export { format: &csv::FORMAT, file_name, progress, next: None, chunks })
    }
}

fn write(asked: QuestionHistory, mut outlet: Outlet<'_>) -> io::Result<()> {
    let columns = Columns::new(asked, Vec::new(), ValuesAs::Ids, true, None);
    let (mut line, mut room) = (Vec::new(), String::new());
    let mut row = CsvRow::new(&mut line, &mut room);
    HEADER.iter().for_each(|name| row.text(name));
    row.end();
    for entry in entries(&columns) {
        let mut row = CsvRow::new(&mut line, &mut room);
        entry.write(&mut row);
        row.end();
        outlet.write_all(&line)?;
        line.clear();
    }
    outlet.write_all(&line)?;
    outlet.send()
}

/// One row: a question, or one of its options.
pub(super) struct CodebookRow<'c> {
    version: &'c HistoricVersion,
    column: &'c str,
    question: &'c Question,
    choice: Option<(&'static str, String, String)>,
}

impl CodebookRow<'_> {
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
pub(super) fn entries(columns: &Columns) -> impl Iterator<Item = CodebookRow<'_>> {
    columns.versions().iter().flat_map(move |version| {
        let questions = version.definition.questions().iter();
        questions.flat_map(move |question| {
            let column = columns.layout.position(&question.id).map(|at| columns.name_at(at));
            let entry =
                move |choice| Some(CodebookRow { version, column: column?, question, choice });
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
    match question.question_type.count_method() {
        CountMethod::Matrix { rows, columns } => {
            [named("row", rows), named("column", columns)].concat()
        }
        _ => {
            let choices = question.question_type.choices().into_iter();
            choices.map(|(id, label)| ("option", id, label)).collect()
        }
    }
}
