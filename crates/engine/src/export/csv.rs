//! CSV by RFC 4180: UTF-8 without a byte-order mark, commas, CRLF, one header.
//!
//! A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula, and a formula can
//! send other cells to a server. So such a text is prefixed with an apostrophe; a text that begins
//! with apostrophes followed by such a character gets one more, so that the prefix can be removed
//! again. The same applies after every `;`, tab and line break, because spreadsheets in some
//! locales split cells there, quoted or not. Numbers of number questions are unchanged.
//!
//! The texts of a list are separated by `;`; within a text, `;` and `\` are escaped with `\`.

use std::borrow::Cow;
use std::fmt::Write as _;

use sluice_flow::time::Timestamp;
use sluice_store::ResponseRow;

use super::ExportFailed;
use super::columns::{Cells, Columns};
use super::flat_row::FlatRow;
use super::format::{ExportFormat, FormatWriter, LineFormat};
use super::outlet::Outlet;
use super::values_as::ValuesAs;

pub(super) static FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    extension: "csv",
    media_type: "text/csv; charset=utf-8; header=present",
    label: "CSV",
    summary: "for any program that reads text",
    values: "all values are text; a list is one cell, see [CSV](#csv)",
    rows_max: None,
    has_columns: true,
    values_as: ValuesAs::Ids,
    has_codebook: false,
    followed: None,
    count_rows: None,
    lines: Some(LineFormat { has_header: true, has_quotes: true }),
    new_writer: |columns| Ok(Box::new(Csv { columns, room: String::new() })),
};

struct Csv {
    columns: Columns,
    /// A buffer for the cell of a list.
    room: String,
}

impl FormatWriter for Csv {
    fn begin(&mut self, _: Option<u64>, out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        let mut line = CsvRow::new(out, &mut self.room);
        for column in self.columns.all() {
            line.text(&column.name);
        }
        line.end();
        Ok(())
    }

    fn add(&mut self, rows: &[ResponseRow], out: &mut Vec<u8>) -> Result<(), ExportFailed> {
        let mut flat = FlatRow::new(&self.columns.layout);
        for row in rows {
            flat.fill(row, &self.columns.layout)?;
            let mut line = CsvRow::new(out, &mut self.room);
            self.columns.write_cells(row, &flat, &mut line);
            line.end();
        }
        Ok(())
    }

    fn end(self: Box<Self>, _: &mut Outlet<'_>) -> Result<(), ExportFailed> {
        Ok(())
    }
}

pub(super) struct CsvRow<'o> {
    out: &'o mut Vec<u8>,
    room: &'o mut String,
    is_first: bool,
}

impl<'o> CsvRow<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>, room: &'o mut String) -> Self {
        Self { out, room, is_first: true }
    }

    fn next(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
    }

    pub(super) fn end(self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

impl Cells for CsvRow<'_> {
    fn empty(&mut self) {
        self.next();
    }

    fn text(&mut self, text: &str) {
        self.next();
        let meanings = meanings(text);
        let needs_quotes = meanings & NEEDS_QUOTES != 0;
        let text = &*escaped(text, meanings & MAY_BE_CUT != 0);
        if needs_quotes {
            self.out.push(b'"');
        }
        match needs_quotes && text.contains('"') {
            true => self.out.extend_from_slice(text.replace('"', "\"\"").as_bytes()),
            false => self.out.extend_from_slice(text.as_bytes()),
        }
        if needs_quotes {
            self.out.push(b'"');
        }
    }

    fn plain(&mut self, text: &str) {
        self.next();
        self.out.extend_from_slice(text.as_bytes());
    }

    fn whole(&mut self, number: u32) {
        self.next();
        self.out.extend_from_slice(number.to_string().as_bytes());
    }

    fn number(&mut self, number: &str) {
        match number.parse::<f64>() {
            Ok(_) => self.plain(number),
            Err(_) => self.text(number),
        }
    }

    fn date(&mut self, date: &str) {
        self.text(date);
    }

    fn time(&mut self, time: Timestamp) {
        self.next();
        self.room.clear();
        // Writing to a string cannot fail.
        let _infallible = write!(self.room, "{time}");
        self.out.extend_from_slice(self.room.as_bytes());
    }

    fn flag(&mut self, flag: bool) {
        self.plain(if flag { "true" } else { "false" });
    }

    fn list(&mut self, texts: &[Cow<'_, str>]) {
        let mut room = std::mem::take(self.room);
        room.clear();
        join_into(&mut room, texts);
        self.text(&room);
        *self.room = room;
    }
}

/// The texts of a list, joined.
pub(super) fn joined(texts: &[Cow<'_, str>]) -> String {
    let mut joined = String::new();
    join_into(&mut joined, texts);
    joined
}

fn join_into(room: &mut String, texts: &[Cow<'_, str>]) {
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            room.push(';');
        }
        if !text.bytes().any(|byte| matches!(byte, b';' | b'\\')) {
            room.push_str(text);
            continue;
        }
        for letter in text.chars() {
            if matches!(letter, ';' | '\\') {
                room.push('\\');
            }
            room.push(letter);
        }
    }
}

/// Characters at which a spreadsheet may split a text into cells: separators of other locales, or
/// line breaks if it reads a quote as part of the text.
const CUTS: [char; 4] = [';', '\t', '\r', '\n'];

/// What a byte in a cell may mean.
const NEEDS_QUOTES: u8 = 1;
const MAY_BE_CUT: u8 = 2;

static MEANINGS: [u8; 256] = {
    let mut meanings = [0; 256];
    meanings[b',' as usize] = NEEDS_QUOTES;
    meanings[b'"' as usize] = NEEDS_QUOTES;
    meanings[b'\r' as usize] = NEEDS_QUOTES | MAY_BE_CUT;
    meanings[b'\n' as usize] = NEEDS_QUOTES | MAY_BE_CUT;
    meanings[b'\t' as usize] = MAY_BE_CUT;
    meanings[b';' as usize] = MAY_BE_CUT;
    meanings
};

/// Of all bytes of a text.
fn meanings(text: &str) -> u8 {
    text.bytes().fold(0, |found, byte| found | MEANINGS[usize::from(byte)])
}

/// Escapes a text so that no spreadsheet runs any part of it as a formula.
pub(crate) fn without_formulas(text: &str) -> Cow<'_, str> {
    escaped(text, meanings(text) & MAY_BE_CUT != 0)
}

fn escaped(text: &str, may_be_cut: bool) -> Cow<'_, str> {
    if !may_be_cut {
        return match looks_like_a_formula(text) {
            true => Cow::Owned(format!("'{text}")),
            false => Cow::Borrowed(text),
        };
    }
    let mut safe = String::with_capacity(text.len() + 1);
    for part in text.split_inclusive(CUTS) {
        if looks_like_a_formula(part) {
            safe.push('\'');
        }
        safe.push_str(part);
    }
    Cow::Owned(safe)
}

/// What a formula may start with. Spreadsheets in East Asian languages read the full-width forms as
/// the others.
const FORMULA_STARTS: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// Whether a spreadsheet would run the cell as a formula; an apostrophe then precedes it.
fn looks_like_a_formula(text: &str) -> bool {
    // Nearly all texts.
    if text.bytes().next().is_none_or(|first| first.is_ascii_alphanumeric()) {
        return false;
    }
    text.trim_start_matches('\'').starts_with(FORMULA_STARTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut CsvRow<'_>)) -> String {
        let (mut out, mut room) = (Vec::new(), String::new());
        write(&mut CsvRow::new(&mut out, &mut room));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn formula_escapes_can_be_removed() {
        let undone = |cell: &str| {
            let (mut text, mut before) = (String::new(), ';');
            for (at, letter) in cell.char_indices() {
                let ours =
                    letter == '\'' && CUTS.contains(&before) && looks_like_a_formula(&cell[at..]);
                if !ours {
                    text.push(letter);
                }
                before = letter;
            }
            text
        };
        for text in ["'", "=", "'=;''-'", "\t\t=", "\r\n=;=", ";;'", "a;'b;'+", "\t'\t'@"] {
            let cell = written(|line| line.text(text));
            let cell = cell.trim_matches('"');
            assert_eq!(undone(cell), text, "{cell:?}");
        }
    }

    #[test]
    fn texts_are_quoted_when_necessary_and_never_formulas() {
        for (text, cell) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("a\nb", "\"a\nb\""),
            ("=1+1", "'=1+1"),
            ("+49 30", "'+49 30"),
            ("-", "'-"),
            ("@cmd", "'@cmd"),
            ("\tx", "'\tx"),
            ("＝1+1", "'＝1+1"),
            ("＋1", "'＋1"),
            ("－1;＠x", "'－1;'＠x"),
            ("全角＝", "全角＝"),
            ("\r=x", "\"'\r'=x\""),
            ("hi;=1+1", "hi;'=1+1"),
            ("hi;'=1", "hi;''=1"),
            ("a\n@b\t-c", "\"a\n'@b\t'-c\""),
            ("a;b; -c", "a;b; -c"),
            ("\";=\"", "\"\"\";'=\"\"\""),
            ("'=1", "''=1"),
            ("''@", "'''@"),
            ("'tis", "'tis"),
            ("a=b", "a=b"),
            ("=A1,\"x\"", "\"'=A1,\"\"x\"\"\""),
        ] {
            assert_eq!(written(|line| line.text(text)), cell, "{text:?}");
        }
    }

    #[test]
    fn a_number_stays_a_number() {
        for (number, cell) in [("-5", "-5"), ("+1.5", "+1.5"), ("12", "12"), ("-x", "'-x")] {
            assert_eq!(written(|line| line.number(number)), cell);
        }
    }

    #[test]
    fn a_list_can_be_split_into_its_texts() {
        for (texts, cell) in [
            (&["api", "form"][..], "api;form"),
            (&["a;b", "c\\d"], "a\\;b;c\\\\d"),
            (&["one"], "one"),
            (&[], ""),
            (&["other:=1", "b"], "other:=1;b"),
            (&["-1", "2"], "'-1;2"),
            (&["x", "=cmd"], "x;'=cmd"),
            (&["a;=b"], "a\\;'=b"),
        ] {
            let texts: Vec<Cow<'_, str>> = texts.iter().map(|text| Cow::Borrowed(*text)).collect();
            assert_eq!(written(|line| line.list(&texts)), cell, "{texts:?}");
        }
    }
}
