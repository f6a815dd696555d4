//! Counts the answers to two questions together.
//!
//! An answer is counted under the keys of [`CountMethod`], which are numbered by the definition of
//! its version. A ranking counts by the option that is ranked first, one row of a matrix like a
//! single choice, and a text by whether there is one. A response to a version that does not ask
//! both questions is in no cell.

use std::collections::BTreeMap;

use crate::counts::CountMethod;
use crate::definition::Definition;
use crate::question::Question;
use crate::question::choice::Choice;
use crate::submission::entry;
use crate::text_map::Texts;

/// The keys of a text question.
pub const ANSWERED: u32 = 0;
pub const NOT_ANSWERED: u32 = 1;

/// The most cells that are counted separately; further ones count in the totals only.
const CELLS_MAX: usize = 50_000;

/// A question, or one row of a matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrosstabSide {
    pub question: String,
    /// The id of the row, for a matrix.
    pub row: Option<String>,
}

impl CrosstabSide {
    /// From `question`, or `question:row`.
    pub fn parse(text: &str) -> Self {
        let (question, row) = match text.split_once(':') {
            Some((question, row)) => (question, Some(row.to_owned())),
            None => (text, None),
        };
        Self { question: question.to_owned(), row }
    }

    /// Why a question cannot be counted like this, if it cannot.
    pub fn fault(&self, question: &Question) -> Option<String> {
        match (question.question_type.count_method(), &self.row) {
            (CountMethod::Never, _) => {
                Some(format!("a {} takes no answer", question.question_type.name()))
            }
            (CountMethod::Matrix { rows, .. }, None) => {
                Some(format!("must name a row of the matrix: {}", rows_of(question, rows)))
            }
            (CountMethod::Matrix { rows, .. }, Some(row))
                if !rows.iter().any(|it| it.id == *row) =>
            {
                Some(format!("must name a row of the matrix: {}", rows_of(question, rows)))
            }
            (CountMethod::Matrix { .. }, Some(_)) | (_, None) => None,
            (_, Some(_)) => Some("only a matrix has rows: leave out the colon".to_owned()),
        }
    }

    /// The keys of an answer, and whether there is one. Only a text without an answer has a key.
    fn read(&self, question: &Question, answer: Option<&Texts<'_>>) -> (Vec<u32>, bool) {
        let counted = question.question_type.count_method();
        let answer = answer.filter(|answer| !answer.is_absent());
        if counted == CountMethod::Presence {
            let is_answered = answer.is_some();
            return (vec![if is_answered { ANSWERED } else { NOT_ANSWERED }], is_answered);
        }
        let mut keys = answer.map(|answer| counted.keys(answer)).unwrap_or_default();
        match counted {
            CountMethod::Ranking(options) => keys.retain(|key| key % length(options) == 0),
            CountMethod::Matrix { rows, columns } => {
                let row = rows.iter().position(|it| Some(&it.id) == self.row.as_ref());
                let row = row.and_then(|row| u32::try_from(row).ok());
                keys.retain(|key| Some(key / length(columns)) == row);
            }
            _ => {}
        }
        let is_answered = !keys.is_empty();
        (keys, is_answered)
    }
}

fn rows_of(question: &Question, rows: &[Choice]) -> String {
    let names: Vec<String> = rows.iter().map(|it| format!("{}:{}", question.id, it.id)).collect();
    names.join(", ")
}

fn length(choices: &[Choice]) -> u32 {
    u32::try_from(choices.len()).unwrap_or(u32::MAX).max(1)
}

/// The responses of one version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CrosstabCounts {
    /// Responses that answer both questions, only one of them, or none: together all responses.
    pub both: u64,
    pub only_rows: u64,
    pub only_columns: u64,
    pub neither: u64,
    /// Responses in the table: those that answer both questions, where a text may be missing.
    pub counted: u64,
    /// Of these: those with each key.
    pub rows: BTreeMap<u32, u64>,
    pub columns: BTreeMap<u32, u64>,
    /// Of these: those with both keys.
    pub cells: BTreeMap<(u32, u32), u64>,
    /// Cells without room.
    pub uncounted: u64,
}

impl CrosstabCounts {
    /// Adds a stored response to a version that has this definition. Without a readable definition
    /// it answers neither.
    pub fn add(
        &mut self,
        definition: Option<&Definition>,
        rows: &CrosstabSide,
        columns: &CrosstabSide,
        answers: &str,
    ) {
        let read = |side: &CrosstabSide| {
            let question = definition.and_then(|it| it.question(&side.question));
            let answer = entry(answers, &side.question).ok().flatten();
            question.map(|it| side.read(it, answer.as_ref())).unwrap_or_default()
        };
        let ((row_keys, is_row), (column_keys, is_column)) = (read(rows), read(columns));
        match (is_row, is_column) {
            (true, true) => self.both += 1,
            (true, false) => self.only_rows += 1,
            (false, true) => self.only_columns += 1,
            (false, false) => self.neither += 1,
        }
        if row_keys.is_empty() || column_keys.is_empty() {
            return;
        }
        self.counted += 1;
        for key in &row_keys {
            *self.rows.entry(*key).or_default() += 1;
        }
        for key in &column_keys {
            *self.columns.entry(*key).or_default() += 1;
        }
        for row in &row_keys {
            for column in &column_keys {
                let cell = (*row, *column);
                if self.cells.len() < CELLS_MAX || self.cells.contains_key(&cell) {
                    *self.cells.entry(cell).or_default() += 1;
                } else {
                    self.uncounted += 1;
                }
            }
        }
    }

    /// How many numbers it keeps.
    pub fn entries(&self) -> usize {
        self.rows.len() + self.columns.len() + self.cells.len()
    }
}
