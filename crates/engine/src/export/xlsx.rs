//! XLSX: a sheet of responses, and a sheet with the questions and options of each version.
//!
//! Rows are written to a temporary file first, so memory does not grow with them. Texts are written
//! as text cells, so a text that looks like a formula is not run.

use std::borrow::Cow;

use rust_xlsxwriter::{ExcelDateTime, Format, Workbook, Worksheet, XlsxError};
use sluice_flow::time::{Day, Timestamp};
use sluice_store::ResponseRow;

use super::ExportFailed;
use super::codebook;
use super::columns::{Cells, Columns};
use super::flat_row::FlatRow;
use super::format::{ExportFormat, FormatWriter, ValuesAs};
use super::outlet::Outlet;

/// The longest text of a cell, in UTF-16 units.
const CELL_UNITS_MAX: usize = 32_767;
/// A number with more digits is written as a text, because spreadsheets would round it.
const DIGITS_MAX: usize = 15;
const COLUMN_WIDTH: f64 = 24.0;
/// The rows of a sheet, without its header.
const ROWS_MAX: u64 = 1_048_575;

pub(super) static FORMAT: ExportFormat = ExportFormat {
    name: "xlsx",
    extension: "xlsx",
    media_type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    label: "Excel",
    summary: "up to 1,048,575 responses, with a sheet of questions and options",
    values: "dates, numbers and texts; lists as in CSV; a second sheet, *Questions*, is the \
        [codebook](#codebook)",
    rows_max: Some(ROWS_MAX),
    has_columns: true,
    values_as: ValuesAs::Labels,
    has_codebook: true,
    followed: None,
    lines: None,
    new_writer: |columns| Ok(Box::new(Xlsx::new(columns)?)),
};

struct Xlsx {
    columns: Columns,
    book: Workbook,
    sheet: Worksheet,
    formats: Formats,
    /// The next row of the sheet.
    row: u32,
}

struct Formats {
    header: Format,
    time: Format,
    date: Format,
}

impl From<XlsxError> for ExportFailed {
    fn from(error: XlsxError) -> Self {
        Self(error.to_string())
    }
}

impl Xlsx {
    fn new(columns: Columns) -> Result<Self, ExportFailed> {
        let mut book = Workbook::new();
        let mut sheet = book.new_worksheet_with_constant_memory()?;
        sheet.set_name("Responses")?.set_freeze_panes(1, 1)?;
        let formats = Formats {
            header: Format::new().set_bold(),
            time: Format::new().set_num_format("yyyy-mm-dd hh:mm:ss.000"),
            date: Format::new().set_num_format("yyyy-mm-dd"),
        };
        Ok(Self { columns, book, sheet, formats, row: 0 })
    }

    /// Writes the sheet of questions and options. One that has more rows than a sheet ends with its
    /// last row.
    fn questions(&mut self) -> Result<(), XlsxError> {
        let mut sheet = self.book.new_worksheet_with_constant_memory()?;
        sheet.set_name("Questions")?.set_freeze_panes(1, 0)?;
        for (column, _) in (0..).zip(codebook::HEADER) {
            sheet.set_column_width(column, COLUMN_WIDTH)?;
        }
        for (column, name) in (0..).zip(codebook::HEADER) {
            sheet.write_string_with_format(0, column, name, &self.formats.header)?;
        }
        for (row, entry) in (1..=ROWS_MAX as u32).zip(codebook::entries(&self.columns)) {
            let (sheet, formats) = (&mut sheet, &self.formats);
            let mut cells = SheetRow { sheet, formats, row, column: 0, failed: None };
            entry.write(&mut cells);
            if let Some(error) = cells.failed {
                return Err(error);
            }
        }
        self.book.push_worksheet(sheet);
        Ok(())
    }
}

impl FormatWriter for Xlsx {
    fn begin(&mut self, _: &mut Vec<u8>) -> Result<(), ExportFailed> {
        let columns = self.columns.all();
        for (at, _) in (0..).zip(&columns) {
            self.sheet.set_column_width(at, COLUMN_WIDTH)?;
        }
        for (at, column) in (0..).zip(columns) {
            self.sheet.write_string_with_format(
                0,
                at,
                fitting(&column.name),
                &self.formats.header,
            )?;
        }
        self.row = 1;
        Ok(())
    }

    fn add(&mut self, rows: &[ResponseRow], _: &mut Vec<u8>) -> Result<(), ExportFailed> {
        let mut flat = FlatRow::new(&self.columns.layout);
        for row in rows {
            flat.fill(row, &self.columns.layout)?;
            let mut line = SheetRow {
                sheet: &mut self.sheet,
                formats: &self.formats,
                row: self.row,
                column: 0,
                failed: None,
            };
            self.columns.write_cells(row, &flat, &mut line);
            if let Some(error) = line.failed {
                return Err(error.into());
            }
            self.row += 1;
        }
        Ok(())
    }

    fn end(mut self: Box<Self>, outlet: &mut Outlet<'_>) -> Result<(), ExportFailed> {
        let sheet = std::mem::take(&mut self.sheet);
        self.book.push_worksheet(sheet);
        self.questions()?;
        Ok(self.book.save_to_writer(outlet)?)
    }
}

struct SheetRow<'s> {
    sheet: &'s mut Worksheet,
    formats: &'s Formats,
    row: u32,
    column: u16,
    failed: Option<XlsxError>,
}

impl SheetRow<'_> {
    /// Writes the next cell; the first error is kept.
    fn cell(
        &mut self,
        write: impl FnOnce(&mut Worksheet, &Formats, u32, u16) -> Result<(), XlsxError>,
    ) {
        let written = write(self.sheet, self.formats, self.row, self.column);
        self.failed = self.failed.take().or(written.err());
        self.column += 1;
    }

    fn day(&mut self, seconds: i64, millis: u16, is_time: bool) {
        self.cell(|sheet, formats, row, column| {
            let format = if is_time { &formats.time } else { &formats.date };
            let serial = ExcelDateTime::from_timestamp(seconds)?.to_excel();
            let serial = serial + f64::from(millis) / 86_400_000.0;
            sheet.write_number_with_format(row, column, serial, format).map(drop)
        });
    }
}

impl Cells for SheetRow<'_> {
    fn empty(&mut self) {
        self.column += 1;
    }

    fn text(&mut self, text: &str) {
        self.cell(|sheet, _, row, column| sheet.write_string(row, column, fitting(text)).map(drop));
    }

    fn plain(&mut self, text: &str) {
        self.text(text);
    }

    fn whole(&mut self, number: u32) {
        self.cell(|sheet, _, row, column| sheet.write_number(row, column, number).map(drop));
    }

    fn number(&mut self, number: &str) {
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        match number.parse::<f64>() {
            Ok(value) if digits <= DIGITS_MAX => {
                self.cell(|sheet, _, row, column| sheet.write_number(row, column, value).map(drop));
            }
            _ => self.text(number),
        }
    }

    fn date(&mut self, date: &str) {
        // Spreadsheets have no dates before 1900.
        const YEAR_1900: i32 = -25_567;
        match date.parse::<Day>() {
            Ok(day) if day.number() >= YEAR_1900 => {
                self.day(i64::from(day.number()) * 86_400, 0, false);
            }
            _ => self.text(date),
        }
    }

    fn time(&mut self, time: Timestamp) {
        let millis = time.as_millis();
        let rest = u16::try_from(millis.rem_euclid(1000)).unwrap_or(0);
        self.day(millis.div_euclid(1000), rest, true);
    }

    fn flag(&mut self, flag: bool) {
        self.cell(|sheet, _, row, column| sheet.write_boolean(row, column, flag).map(drop));
    }

    fn list(&mut self, texts: &[Cow<'_, str>]) {
        self.text(&super::csv::joined(texts));
    }
}

/// Truncates a text to the longest that a cell can hold.
fn fitting(text: &str) -> &str {
    if text.len() <= CELL_UNITS_MAX {
        return text;
    }
    let mut units = 0;
    let end = text.char_indices().find(|(_, letter)| {
        units += letter.len_utf16();
        units > CELL_UNITS_MAX
    });
    end.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_truncated_to_the_length_of_a_cell() {
        assert_eq!(fitting("short"), "short");
        assert_eq!(fitting(&"x".repeat(40_000)).len(), CELL_UNITS_MAX);
        let smiles = "\u{1F600}".repeat(20_000);
        assert_eq!(fitting(&smiles).encode_utf16().count(), CELL_UNITS_MAX - 1);
        let letters = "é".repeat(20_000);
        assert_eq!(fitting(&letters), letters);
    }
}
