//! `matrix`: one column for each row, as `<rowId>:<columnId>`.
//!
//! Rows may be left out unless the question is required; then every row needs a column, because an
//! author who requires a matrix means all of it.

use std::borrow::Cow;

use serde::Serialize;

use crate::question::field::{Field, FieldKind};
use crate::question::input::Input;

use crate::counts::count_method::CountMethod;
use crate::definition::limits::{MATRIX_ROWS_MAX, OPTIONS_MAX};
use crate::definition::reader::ObjectReader;
use crate::issue::Code;
use crate::question::answer::Problems;
use crate::question::choice::{Choice, ChoiceFields, has, listed, read_choices};
use crate::question::rules::{Comparable, Label, Rules};
use crate::text_map::Texts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Matrix {
    pub rows: Vec<Choice>,
    pub columns: Vec<Choice>,
}

impl Rules for Matrix {
    const ICON: &str = "M4 4h16v16H4zM4 10h16M4 15h16M10 4v16M15 4v16";
    const NEEDED: &[&str] = &["rows", "columns"];

    fn read(reader: &mut ObjectReader<'_>) -> Self {
        Self {
            rows: read_choices(reader, "rows", 1..=MATRIX_ROWS_MAX, ChoiceFields::NONE),
            columns: read_choices(reader, "columns", 1..=OPTIONS_MAX, ChoiceFields::NONE),
        }
    }

    fn judge(&self, answer: &Texts<'_>, problems: &mut Problems<'_>) {
        let cells = answer.as_slice();
        if !cells.iter().all(|cell| cell.contains(':')) {
            return problems.add(Code::InvalidFormat, "takes <row>:<column> for each row");
        }
        if !cells.iter().all(|cell| is_cell(&self.rows, &self.columns, cell)) {
            let (rows, columns) = (listed(&self.rows), listed(&self.columns));
            let rule = format_args!("takes <row>:<column> of rows {rows} and columns {columns}");
            problems.add(Code::UnknownOption, rule);
        }
        let repeats = |(at, cell): (usize, &Cow<'_, str>)| {
            cells[..at].iter().any(|before| row(before) == row(cell))
        };
        // More cells than rows must repeat one; counting first makes a hostile answer cheap.
        if cells.len() > self.rows.len() || cells.iter().enumerate().any(repeats) {
            problems.add(Code::InvalidSelection, "takes one column for each row");
        }
    }

    fn is_whole(&self, answer: &Texts<'_>) -> bool {
        let cells = answer.as_slice();
        self.rows.iter().all(|wanted| cells.iter().any(|cell| row(cell) == wanted.id))
    }

    fn input(&self) -> Input<'_> {
        Input::Grid { rows: &self.rows, columns: &self.columns }
    }

    fn count_method(&self) -> CountMethod<'_> {
        CountMethod::Matrix { rows: &self.rows, columns: &self.columns }
    }

    fn comparable(&self) -> Comparable<'_> {
        Comparable::Cells { rows: &self.rows, columns: &self.columns }
    }

    fn labels(&self) -> Vec<(&'static str, Label<'_>)> {
        vec![("rows", Label::Each(&self.rows)), ("columns", Label::Each(&self.columns))]
    }

    fn fields() -> Vec<Field> {
        let choices = |max| FieldKind::Choices { min: 1, max, fields: ChoiceFields::NONE };
        vec![
            Field::new("rows", "Rows", choices(MATRIX_ROWS_MAX)),
            Field::new("columns", "Columns", choices(OPTIONS_MAX)),
        ]
    }
}

/// Whether a text names one of these rows and one of these columns.
pub(crate) fn is_cell(rows: &[Choice], columns: &[Choice], text: &str) -> bool {
    text.split_once(':').is_some_and(|(row, column)| has(rows, row) && has(columns, column))
}

fn row(cell: &str) -> &str {
    cell.split_once(':').map_or(cell, |(row, _)| row)
}
