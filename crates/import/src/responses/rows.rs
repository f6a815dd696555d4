//! The rows of a file: cells by the names of their columns.
//!
//! CSV has a header. A line of JSON Lines is an object; `answers`, `tags` and `context` in it are
//! separate columns, named as in our exports: `answer.nps`, `tag.plan`, `context.locale`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use serde_json::{Map, Value, json};

use crate::fields::scalar;

/// The longest line of JSON Lines, and the most columns.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;
const COLUMNS_MAX: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Csv,
    Jsonl,
}

/// A cell, and whether it is from a file of texts, where lists are separated by `;`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub value: Value,
    pub is_csv: bool,
}

impl Cell {
    /// JSON, also JSON in a text.
    pub(super) fn parsed(&self) -> Value {
        match &self.value {
            Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
            value => value.clone(),
        }
    }

    /// The properties of an object in a cell.
    pub(super) fn object(&self) -> Map<String, Value> {
        match self.parsed() {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }
}

/// A row of the file: its number, counted from 1 without the header, and its cells that are not
/// empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub number: u64,
    pub cells: BTreeMap<String, Cell>,
    /// What distinguishes the row from all others of its flow, if its source gives it no id. The
    /// plan makes it of the content.
    pub key: Option<String>,
    /// Whether an earlier import refused the row, and its key is of the content that it had then.
    pub is_fixed: bool,
}

impl Row {
    /// The row as JSON, to be written to a file, fixed there and imported again.
    pub fn to_refused_json(&self, reasons: &[String]) -> Value {
        let values = self.cells.iter().map(|(name, cell)| (name.clone(), cell.value.clone()));
        let values = Value::Object(values.collect());
        let mut line = json!({"row": self.number, "reasons": reasons, "values": values});
        if self.cells.values().any(|cell| cell.is_csv) {
            line["csv"] = json!(true);
        }
        if let Some(key) = &self.key {
            line["key"] = json!(key);
        }
        line
    }
}

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    pub number: u64,
    pub reason: String,
}

impl RowError {
    /// As [`Row::to_refused_json`]; it cannot be fixed there.
    pub fn to_refused_json(&self) -> Value {
        json!({"row": self.number, "reasons": [self.reason], "values": null})
    }
}

/// Reads a file row by row.
#[derive(Debug)]
pub struct Rows<R: Read> {
    source: Source<R>,
    number: u64,
}

#[derive(Debug)]
enum Source<R: Read> {
    Csv { reader: csv::Reader<R>, names: Vec<String> },
    Jsonl(BufReader<R>),
    Ended,
}

impl<R: Read> Rows<R> {
    /// Starts to read. The error is about the whole file.
    pub fn new(kind: FileKind, reader: R, delimiter: u8) -> Result<Self, String> {
        let source = match kind {
            FileKind::Jsonl => Source::Jsonl(BufReader::new(reader)),
            FileKind::Csv => {
                let mut reader = csv::ReaderBuilder::new()
                    .flexible(true)
                    .delimiter(delimiter)
                    .from_reader(reader);
                let header =
                    reader.headers().map_err(|error| format!("cannot be read: {error}"))?;
                let trimmed = |name: &str| name.trim_start_matches('\u{feff}').trim().to_owned();
                let names: Vec<String> = header.iter().map(trimmed).collect();
                if names.iter().all(String::is_empty) {
                    return Err("has no header with the names of the columns".to_owned());
                }
                if names.len() > COLUMNS_MAX {
                    return Err(format!("has more than {COLUMNS_MAX} columns"));
                }
                let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
                if let Some((_, name)) = twice.filter(|(_, name)| !name.is_empty()) {
                    return Err(format!("has two columns named {name:?}: rename one"));
                }
                Source::Csv { reader, names }
            }
        };
        Ok(Self { source, number: 0 })
    }

    /// The names of the columns in the header; none for JSON Lines.
    pub fn names(&self) -> &[String] {
        match &self.source {
            Source::Csv { names, .. } => names,
            Source::Jsonl(_) | Source::Ended => &[],
        }
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = Result<Row, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.number + 1;
        let read = match &mut self.source {
            Source::Ended => return None,
            Source::Csv { reader, names } => next_record(reader, names),
            Source::Jsonl(reader) => next_line(reader),
        };
        self.number = number;
        match read {
            Ok(Some((cells, key))) => {
                let is_fixed = key.is_some();
                Some(Ok(Row { number, cells, key, is_fixed }))
            }
            Ok(None) => None,
            Err(Unreadable { reason, ends }) => {
                if ends {
                    self.source = Source::Ended;
                }
                Some(Err(RowError { number, reason }))
            }
        }
    }
}

struct Unreadable {
    reason: String,
    /// Whether nothing can be read after it.
    ends: bool,
}

type Cells = BTreeMap<String, Cell>;
/// The cells of a row, and the key that an earlier import made of it.
type CellsAndKey = (Cells, Option<String>);

fn next_record<R: Read>(
    reader: &mut csv::Reader<R>,
    names: &[String],
) -> Result<Option<CellsAndKey>, Unreadable> {
    let mut record = csv::StringRecord::new();
    match reader.read_record(&mut record) {
        Ok(false) => return Ok(None),
        Ok(true) => {}
        Err(error) => {
            return Err(Unreadable { reason: error.to_string(), ends: error.is_io_error() });
        }
    }
    if record.len() > names.len() {
        let reason = format!("has {} cells for {} columns", record.len(), names.len());
        return Err(Unreadable { reason, ends: false });
    }
    let cells =
        names.iter().zip(&record).filter(|(name, text)| !name.is_empty() && !text.is_empty());
    let cell = |text: &str| Cell { value: Value::String(unguarded(text)), is_csv: true };
    Ok(Some((cells.map(|(name, text)| (name.clone(), cell(text))).collect(), None)))
}

fn next_line<R: Read>(reader: &mut BufReader<R>) -> Result<Option<CellsAndKey>, Unreadable> {
    let stop = |reason: String| Unreadable { reason, ends: true };
    loop {
        let mut line = Vec::new();
        let read = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let read = read.map_err(|error| stop(error.to_string()))?;
        if read as u64 == LINE_BYTES_MAX {
            return Err(stop("the line is too long".to_owned()));
        }
        if read == 0 {
            return Ok(None);
        }
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| Unreadable { reason: format!("is not JSON: {error}"), ends: false })?;
        let Value::Object(map) = value else {
            return Err(Unreadable { reason: "is not a JSON object".to_owned(), ends: false });
        };
        // A row that an earlier import could not read has no cells.
        if map.contains_key("reasons") && map.get("values").is_some_and(Value::is_null) {
            let reason = "could not be read: fix it in the file that it comes from".to_owned();
            return Err(Unreadable { reason, ends: false });
        }
        return Ok(Some(columns_of(map)));
    }
}

/// The columns of an object. A row that was refused by an earlier import has its cells in `values`,
/// and its key beside them, where no column is.
fn columns_of(mut map: Map<String, Value>) -> CellsAndKey {
    if map.contains_key("reasons")
        && let Some(Value::Object(values)) = map.remove("values")
    {
        // Lists in a row of CSV are separated by `;`, as they were.
        let is_csv = map.get("csv") == Some(&Value::Bool(true));
        let key = map.get("key").and_then(Value::as_str).map(str::to_owned);
        let cells = values.into_iter().map(|(name, value)| (name, Cell { value, is_csv }));
        return (cells.filter(|(_, cell)| !is_empty(&cell.value)).collect(), key);
    }
    // A question may have the id `flowId` or `identities`; its answer is in `answers` then.
    let has_answers = map.get("answers").is_some_and(Value::is_object);
    let mut cells = Cells::new();
    for (name, value) in map {
        match (name.as_str(), value) {
            ("answers", Value::Object(answers)) => spread(&mut cells, "answer", answers),
            ("metadata", Value::Object(mut metadata)) => {
                if let Some(Value::Object(tags)) = metadata.remove("tags") {
                    spread(&mut cells, "tag", tags);
                }
                spread(&mut cells, "metadata", metadata);
            }
            ("context", Value::Object(mut context)) => {
                if let Some(Value::Object(page)) = context.remove("page") {
                    spread(&mut cells, "context.page", page);
                }
                spread(&mut cells, "context", context);
            }
            ("flowId", _) if has_answers => {}
            ("identities", value) if has_answers => {
                put(&mut cells, "identities.other".to_owned(), value);
            }
            (_, value) => put(&mut cells, name, value),
        }
    }
    (cells, None)
}

fn spread(cells: &mut Cells, prefix: &str, values: Map<String, Value>) {
    for (name, value) in values {
        put(cells, format!("{prefix}.{name}"), value);
    }
}

fn put(cells: &mut Cells, name: String, value: Value) {
    if !is_empty(&value) && cells.len() < COLUMNS_MAX {
        cells.insert(name, Cell { value, is_csv: false });
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// The text of a cell that is one; without spaces around it.
pub(super) fn text_of(cell: &Cell) -> Option<String> {
    scalar(&cell.value).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Removes the apostrophes that our CSV puts before what a spreadsheet would run as a formula.
fn unguarded(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut at_start = true;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let is_guard = at_start && character == '\'' && {
            let after = rest.as_str().trim_start_matches('\'');
            after.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'])
        };
        if !is_guard {
            result.push(character);
        }
        at_start = matches!(character, ';' | '\t' | '\r' | '\n');
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_lose_their_guard_and_nothing_else() {
        for (cell, text) in [
            ("'=1+1", "=1+1"),
            ("''=1", "'=1"),
            ("a;'-b", "a;-b"),
            ("'＝1;'＠a", "＝1;＠a"),
            ("'quoted'", "'quoted'"),
            ("it's", "it's"),
            ("-5", "-5"),
        ] {
            assert_eq!(unguarded(cell), text, "{cell}");
        }
    }
}
