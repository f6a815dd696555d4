//! XLSX: a sheet of responses, and a sheet with the questions and options of each version.
//!
//! Rows are compressed and sent as they come, so memory does not grow with them. Texts are written
//! as text cells, so a text that looks like a formula is not run.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;

use sluice_flow::time::{Day, Timestamp};
use sluice_store::ResponseRow;

use super::ExportFailed;
use super::codebook;
use super::columns::{Cells, Columns};
use super::flat_row::FlatRow;
use super::format::{ExportFormat, FormatWriter};
use super::outlet::Outlet;
use super::values_as::ValuesAs;
use super::zip::{Archive, LONG_BYTES, OpenFile, Sizes};

/// The longest text of a cell, in UTF-16 units.
const CELL_UNITS_MAX: usize = 32_767;
/// A number with more digits is written as a text, because spreadsheets would round it.
const DIGITS_MAX: usize = 15;
const COLUMN_WIDTH: u8 = 24;
/// The rows of a sheet, without its header.
const ROWS_MAX: u64 = 1_048_575;
const COLUMNS_MAX: usize = 16_384;
/// XML is compressed in pieces of about this size.
const PIECE_BYTES: usize = 64 * 1024;
/// How much longer than the first ones later rows of a sheet may be.
const LONGER_ROWS: u64 = 2;

/// The files of a workbook beside its sheets.
const PARTS: [(&str, &str); 5] = [
    ("[Content_Types].xml", include_str!("xlsx/content_types.xml")),
    ("_rels/.rels", include_str!("xlsx/rels.xml")),
    ("xl/workbook.xml", include_str!("xlsx/workbook.xml")),
    ("xl/_rels/workbook.xml.rels", include_str!("xlsx/workbook_rels.xml")),
    ("xl/styles.xml", include_str!("xlsx/styles.xml")),
];
const RESPONSES: &str = "xl/worksheets/sheet1.xml";
const QUESTIONS: &str = "xl/worksheets/sheet2.xml";

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
    count_rows: None,
    lines: None,
    new_writer: |columns| Ok(Box::new(Xlsx::new(columns))),
};

struct Xlsx {
    columns: Columns,
    archive: Archive,
    /// The sheet of responses, once it has begun.
    sheet: Option<Sheet>,
}

/// The sheet of responses. Its file begins with its first piece, which shows how long it may
/// become.
struct Sheet {
    xml: SheetXml,
    file: Option<OpenFile>,
    /// The rows that it will have, at most.
    rows: u64,
}

impl From<std::io::Error> for ExportFailed {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl Xlsx {
    fn new(columns: Columns) -> Self {
        Self { columns, archive: Archive::default(), sheet: None }
    }

    /// Writes the sheet of questions and options. One that has more rows than a sheet ends with its
    /// last row.
    fn questions(&mut self, outlet: &mut Outlet<'_>) -> Result<(), ExportFailed> {
        let mut out = Vec::new();
        let mut file = self.archive.begin(QUESTIONS, Sizes::In32Bits, &mut out);
        let mut xml = SheetXml::new(codebook::HEADER.into_iter(), 0)?;
        for (_, entry) in (1..=ROWS_MAX).zip(codebook::entries(&self.columns)) {
            entry.write(&mut xml.begin_row());
            xml.end_row();
            if xml.text.len() >= PIECE_BYTES {
                self.archive.write(&mut file, &xml.take(), &mut out)?;
                outlet.write_all(&out)?;
                out.clear();
            }
        }
        self.archive.write(&mut file, &xml.end(), &mut out)?;
        self.archive.end(file, &mut out)?;
        Ok(outlet.write_all(&out)?)
    }
}

impl FormatWriter for Xlsx {
    fn begin(&mut self, rows: Option<u64>, out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        for (name, xml) in PARTS {
            self.archive.add(name, xml.trim_end().as_bytes(), out)?;
        }
        let columns = self.columns.all();
        let xml = SheetXml::new(columns.iter().map(|column| &*column.name), 1)?;
        self.sheet = Some(Sheet { xml, file: None, rows: rows.unwrap_or(ROWS_MAX) });
        Ok(())
    }

    fn add(&mut self, rows: &[ResponseRow], out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        let Some(sheet) = &mut self.sheet else { return Ok(()) };
        let mut flat = FlatRow::new(&self.columns.layout);
        for row in rows {
            flat.fill(row, &self.columns.layout)?;
            self.columns.write_cells(row, &flat, &mut sheet.xml.begin_row());
            sheet.xml.end_row();
            if sheet.xml.text.len() >= PIECE_BYTES {
                sheet.write(&mut self.archive, out)?;
            }
        }
        Ok(())
    }

    fn end(mut self: Box<Self>, outlet: &mut Outlet<'_>) -> Result<(), ExportFailed> {
        let mut out = Vec::new();
        if let Some(sheet) = self.sheet.take() {
            sheet.end(&mut self.archive, &mut out)?;
        }
        outlet.write_all(&out)?;
        self.questions(outlet)?;
        out.clear();
        self.archive.finish(&mut out);
        Ok(outlet.write_all(&out)?)
    }
}

impl Sheet {
    fn write(&mut self, archive: &mut Archive, out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        let sizes = sizes_of(self.xml.text.len(), self.xml.row.into(), self.rows);
        let file = self.file.get_or_insert_with(|| archive.begin(RESPONSES, sizes, out));
        Ok(archive.write(file, &self.xml.take(), out)?)
    }

    fn end(self, archive: &mut Archive, out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        let mut file = match self.file {
            Some(file) => file,
            None => archive.begin(RESPONSES, Sizes::In32Bits, out),
        };
        archive.write(&mut file, &self.xml.end(), out)?;
        Ok(archive.end(file, out)?)
    }
}

/// The room for the sizes of a sheet whose first rows have this many bytes. Later rows may be
/// several times as long.
fn sizes_of(bytes: usize, rows: u64, all_rows: u64) -> Sizes {
    let expected = bytes as u64 / rows.max(1) * all_rows;
    if expected >= LONG_BYTES / LONGER_ROWS { Sizes::In64Bits } else { Sizes::In32Bits }
}

/// The XML of a sheet, as far as it was not taken yet.
#[derive(Debug)]
struct SheetXml {
    text: String,
    /// `A`, `B` … for each column.
    letters: Vec<String>,
    /// The number of the last row.
    row: u32,
}

impl SheetXml {
    /// With a header that stays in view, and as many columns at the left.
    fn new<'n>(
        names: impl ExactSizeIterator<Item = &'n str>,
        fixed_columns: usize,
    ) -> Result<Self, ExportFailed> {
        let count = names.len();
        if count > COLUMNS_MAX {
            let reason = format!("{count} columns; a sheet has at most {COLUMNS_MAX}");
            return Err(ExportFailed(reason));
        }
        let letters: Vec<String> = (0..count.max(fixed_columns + 1)).map(column_letters).collect();
        let mut text = String::from(include_str!("xlsx/sheet_start.xml").trim_end());
        let split =
            if fixed_columns > 0 { format!(" xSplit=\"{fixed_columns}\"") } else { String::new() };
        let (corner, pane) =
            (&letters[fixed_columns], if fixed_columns > 0 { "bottomRight" } else { "bottomLeft" });
        let _ = write!(
            text,
            "<sheetViews><sheetView workbookViewId=\"0\"><pane{split} ySplit=\"1\" topLeftCell=\"{corner}2\" \
             activePane=\"{pane}\" state=\"frozen\"/></sheetView></sheetViews><cols><col min=\"1\" \
             max=\"{}\" width=\"{COLUMN_WIDTH}\" customWidth=\"1\"/></cols><sheetData>",
            letters.len(),
        );
        let mut xml = Self { text, letters, row: 0 };
        let mut header = xml.begin_row();
        names.for_each(|name| header.text_cell(name, " s=\"1\" t=\"inlineStr\""));
        xml.end_row();
        Ok(xml)
    }

    fn begin_row(&mut self) -> SheetRow<'_> {
        self.row += 1;
        let _ = write!(self.text, "<row r=\"{}\">", self.row);
        SheetRow { xml: self, column: 0 }
    }

    fn end_row(&mut self) {
        self.text.push_str("</row>");
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.text, String::with_capacity(PIECE_BYTES)).into_bytes()
    }

    fn end(mut self) -> Vec<u8> {
        self.text.push_str("</sheetData></worksheet>");
        self.text.into_bytes()
    }
}

/// `A` to `Z`, `AA` …
fn column_letters(mut column: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push((b'A' + (column % 26) as u8) as char);
        if column < 26 {
            return letters.iter().rev().collect();
        }
        column = column / 26 - 1;
    }
}

struct SheetRow<'s> {
    xml: &'s mut SheetXml,
    column: usize,
}

impl SheetRow<'_> {
    /// Begins the next cell, with these attributes.
    fn cell(&mut self, attributes: &str) -> &mut String {
        let (row, text) = (self.xml.row, &mut self.xml.text);
        let letters = self.xml.letters.get(self.column).map_or("", String::as_str);
        let _ = write!(text, "<c r=\"{letters}{row}\"{attributes}>");
        self.column += 1;
        text
    }

    fn value(&mut self, value: impl std::fmt::Display, attributes: &str) {
        let _ = write!(self.cell(attributes), "<v>{value}</v></c>");
    }

    fn text_cell(&mut self, text: &str, attributes: &str) {
        let text = fitting(text);
        if text.is_empty() {
            return self.empty();
        }
        let is_padded =
            text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace);
        let space = if is_padded { " xml:space=\"preserve\"" } else { "" };
        let cell = self.cell(attributes);
        let _ = write!(cell, "<is><t{space}>");
        escape(text, cell);
        cell.push_str("</t></is></c>");
    }
}

impl Cells for SheetRow<'_> {
    fn empty(&mut self) {
        self.column += 1;
    }

    fn text(&mut self, text: &str) {
        self.text_cell(text, " t=\"inlineStr\"");
    }

    fn plain(&mut self, text: &str) {
        self.text(text);
    }

    fn whole(&mut self, number: u32) {
        self.value(number, "");
    }

    fn number(&mut self, number: &str) {
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        match number.parse::<f64>() {
            Ok(value) if digits <= DIGITS_MAX && value.is_finite() => self.value(value, ""),
            _ => self.text(number),
        }
    }

    fn date(&mut self, date: &str) {
        match date.parse::<Day>().ok().and_then(serial_day) {
            Some(serial) => self.value(serial, " s=\"3\""),
            None => self.text(date),
        }
    }

    fn time(&mut self, time: Timestamp) {
        const DAY_MILLIS: f64 = 86_400_000.0;
        let day = time.day();
        match serial_day(day) {
            Some(serial) => {
                let millis = (time.as_millis() - day.starts_at().as_millis()) as f64;
                self.value(f64::from(serial) + millis / DAY_MILLIS, " s=\"2\"");
            }
            None => self.text(&time.to_string()),
        }
    }

    fn flag(&mut self, flag: bool) {
        self.value(u8::from(flag), " t=\"b\"");
    }

    fn list(&mut self, texts: &[Cow<'_, str>]) {
        self.text(&super::csv::joined(texts));
    }
}

/// The number of a day in a spreadsheet. There is none before 1900, and 1900 has a 29 February.
fn serial_day(day: Day) -> Option<i32> {
    const YEAR_1900: i32 = -25_567;
    const MARCH_1900: i32 = -25_508;
    let days = day.number();
    (days >= YEAR_1900).then(|| days + if days < MARCH_1900 { 25_568 } else { 25_569 })
}

/// Writes a text as XML. Characters that XML cannot hold are written as `_xHHHH_`, and so is the
/// `_` of a text that looks like one of them.
fn escape(text: &str, out: &mut String) {
    for (at, letter) in text.char_indices() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\t' | '\n' => out.push(letter),
            '\0'..=' ' if letter != ' ' => drop(write!(out, "_x{:04X}_", letter as u32)),
            '\u{FFFE}' | '\u{FFFF}' => drop(write!(out, "_x{:04X}_", letter as u32)),
            '_' if is_escape(&text[at..]) => out.push_str("_x005F_"),
            _ => out.push(letter),
        }
    }
}

fn is_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [b'_', b'x', digits @ .., ] if digits.len() >= 5
        && digits[..4].iter().all(u8::is_ascii_hexdigit) && digits[4] == b'_')
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
    fn only_a_sheet_that_may_have_4_gib_states_its_sizes_in_64_bits() {
        for (bytes, rows, all_rows, expected) in [
            (65_536, 16, 1_000, Sizes::In32Bits),
            (65_536, 16, 524_287, Sizes::In32Bits),
            (65_536, 16, 524_288, Sizes::In64Bits),
            (65_536, 16, ROWS_MAX, Sizes::In64Bits),
            (1_000_000, 1, 3_000, Sizes::In64Bits),
            (0, 0, 0, Sizes::In32Bits),
        ] {
            assert_eq!(sizes_of(bytes, rows, all_rows), expected, "{bytes} {rows} {all_rows}");
        }
    }

    #[test]
    fn a_text_is_truncated_to_the_length_of_a_cell() {
        assert_eq!(fitting("short"), "short");
        assert_eq!(fitting(&"x".repeat(40_000)).len(), CELL_UNITS_MAX);
        let smiles = "\u{1F600}".repeat(20_000);
        assert_eq!(fitting(&smiles).encode_utf16().count(), CELL_UNITS_MAX - 1);
        let letters = "é".repeat(20_000);
        assert_eq!(fitting(&letters), letters);
    }

    #[test]
    fn columns_have_letters() {
        for (column, letters) in
            [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA"), (16_383, "XFD")]
        {
            assert_eq!(column_letters(column), letters);
        }
    }

    #[test]
    fn a_text_is_escaped_as_spreadsheets_do() {
        for (text, expected) in [
            ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
            ("line\nline\ttab", "line\nline\ttab"),
            ("\0 \r \u{1b} \u{FFFE}", "_x0000_ _x000D_ _x001B_ _xFFFE_"),
            ("_x000D_ _x00 _xyz1_ __x0041_", "_x005F_x000D_ _x00 _xyz1_ __x005F_x0041_"),
            ("é \u{1F600}", "é \u{1F600}"),
        ] {
            let mut found = String::new();
            escape(text, &mut found);
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn days_are_counted_as_spreadsheets_do() {
        for (day, serial) in [
            ("1899-12-31", None),
            ("1900-01-01", Some(1)),
            ("1900-02-28", Some(59)),
            ("1900-03-01", Some(61)),
            ("1970-01-01", Some(25_569)),
            ("2026-11-18", Some(46_344)),
        ] {
            assert_eq!(serial_day(day.parse().unwrap()), serial, "{day}");
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_value() {
        let mut xml = SheetXml::new(["a", "b", "c", "d", "e"].into_iter(), 1).unwrap();
        xml.take();
        let mut row = xml.begin_row();
        row.text(" =1+1");
        row.time(Timestamp::from_millis(1_763_172_000_500));
        row.empty();
        row.text("");
        row.flag(true);
        xml.end_row();
        let text = String::from_utf8(xml.take()).unwrap();
        assert_eq!(
            text,
            "<row r=\"2\"><c r=\"A2\" t=\"inlineStr\"><is><t xml:space=\"preserve\"> =1+1</t></is></c>\
             <c r=\"B2\" s=\"2\"><v>45976.08333912037</v></c><c r=\"E2\" t=\"b\"><v>1</v></c></row>"
        );
    }
}
