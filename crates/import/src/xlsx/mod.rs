//! Reads the cells of a workbook (`.xlsx`) as texts.
//!
//! A workbook is a zip file of XML files. Only what a form needs is read: the names of the sheets,
//! shared texts and cells. Styles, formulas and formats of numbers are not. Everything is bounded, so
//! that a small file cannot become a large one.
//!
//! A library for spreadsheets would bring more crates than the rest of this crate needs; `flate2` is
//! part of the build anyway.

mod archive;
mod xml;

use std::collections::HashMap;

use self::archive::Archive;
use self::xml::{Event, Reader};

/// The most rows and columns of a sheet, and characters of all its cells together.
const ROWS_MAX: usize = 10_000;
const COLUMNS_MAX: usize = 200;
const CHARS_MAX: usize = 8 * 1024 * 1024;
const SHEETS_MAX: usize = 50;

/// A sheet: its rows, each with its number in the sheet; texts by column.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) rows: Vec<(usize, Vec<String>)>,
}

/// Whether a file is a workbook, also one of the old format, which is refused.
pub(crate) fn is_workbook(bytes: &[u8]) -> bool {
    archive::is_old(bytes) || Archive::open(bytes).is_ok_and(|it| it.has("xl/workbook.xml"))
}

/// The sheets of a workbook, by name in lower case.
pub(crate) fn sheets(bytes: &[u8]) -> Result<HashMap<String, Sheet>, String> {
    let archive = Archive::open(bytes)?;
    let workbook = archive.read("xl/workbook.xml")?;
    let relations = archive.read("xl/_rels/workbook.xml.rels")?;
    let targets = targets(&relations)?;
    let shared = match archive.has("xl/sharedStrings.xml") {
        true => shared_texts(&archive.read("xl/sharedStrings.xml")?)?,
        false => Vec::new(),
    };
    let mut sheets = HashMap::new();
    for (name, relation) in sheet_names(&workbook)?.into_iter().take(SHEETS_MAX) {
        let Some(target) = targets.get(&relation) else { continue };
        let target = target.trim_start_matches('/');
        let path = match target.starts_with("xl/") {
            true => target.to_owned(),
            false => format!("xl/{target}"),
        };
        if archive.has(&path) {
            let sheet = sheet(&archive.read(&path)?, &shared)?;
            sheets.insert(name.trim().to_lowercase(), sheet);
        }
    }
    Ok(sheets)
}

fn sheet_names(workbook: &str) -> Result<Vec<(String, String)>, String> {
    let mut names = Vec::new();
    let mut reader = Reader::new(workbook);
    while let Some(event) = reader.next()? {
        if let Event::Start { name: "sheet", attributes, .. } = event {
            let own = xml::attribute(attributes, "name").unwrap_or_default();
            names.push((own, xml::attribute(attributes, "id").unwrap_or_default()));
        }
    }
    Ok(names)
}

/// Files by the ids of relations.
fn targets(relations: &str) -> Result<HashMap<String, String>, String> {
    let mut targets = HashMap::new();
    let mut reader = Reader::new(relations);
    while let Some(event) = reader.next()? {
        if let Event::Start { name: "Relationship", attributes, .. } = event {
            let id = xml::attribute(attributes, "Id").unwrap_or_default();
            targets.insert(id, xml::attribute(attributes, "Target").unwrap_or_default());
        }
    }
    Ok(targets)
}

/// The shared texts; formatted runs are joined, and readings of Japanese characters left out.
fn shared_texts(source: &str) -> Result<Vec<String>, String> {
    let mut texts = Vec::new();
    let (mut in_text, mut reading) = (false, 0);
    let mut reader = Reader::new(source);
    while let Some(event) = reader.next()? {
        match event {
            Event::Start { name: "si", .. } => texts.push(String::new()),
            Event::Start { name: "rPh", is_empty: false, .. } => reading += 1,
            Event::End { name: "rPh" } => reading -= 1,
            Event::Start { name: "t", is_empty: false, .. } => in_text = reading == 0,
            Event::End { name: "t" } => in_text = false,
            Event::Text(text) if in_text => {
                if let Some(last) = texts.last_mut() {
                    last.push_str(&text);
                }
            }
            _ => {}
        }
    }
    Ok(texts)
}

fn sheet(source: &str, shared: &[String]) -> Result<Sheet, String> {
    let mut sheet = Sheet::default();
    let (mut row, mut column, mut kind) = (0_usize, 0_usize, String::new());
    let (mut in_value, mut value, mut chars) = (false, String::new(), 0);
    let mut reader = Reader::new(source);
    while let Some(event) = reader.next()? {
        match event {
            Event::Start { name: "row", attributes, .. } => {
                let number = xml::attribute(attributes, "r").and_then(|it| it.parse().ok());
                row = number.unwrap_or(row.saturating_add(1));
                column = 0;
                if sheet.rows.len() >= ROWS_MAX {
                    return Err(format!("has a sheet with more than {ROWS_MAX} rows"));
                }
                sheet.rows.push((row, Vec::new()));
            }
            Event::Start { name: "c", attributes, .. } => {
                let place = xml::attribute(attributes, "r");
                column = place.and_then(|place| column_of(&place)).unwrap_or(column + 1);
                kind = xml::attribute(attributes, "t").unwrap_or_default();
                value.clear();
            }
            Event::Start { name: "v" | "t", is_empty: false, .. } => in_value = true,
            Event::End { name: "v" | "t" } => in_value = false,
            Event::Text(text) if in_value => value.push_str(&text),
            Event::End { name: "c" } => {
                let text = cell(&kind, &value, shared);
                chars += text.len();
                if chars > CHARS_MAX {
                    return Err("has a sheet with too much text".to_owned());
                }
                put(&mut sheet, column, text);
            }
            _ => {}
        }
    }
    Ok(sheet)
}

fn put(sheet: &mut Sheet, column: usize, text: String) {
    let Some((_, cells)) = sheet.rows.last_mut() else { return };
    if text.is_empty() || !(1..=COLUMNS_MAX).contains(&column) {
        return;
    }
    if cells.len() < column {
        cells.resize(column, String::new());
    }
    cells[column - 1] = text;
}

fn cell(kind: &str, value: &str, shared: &[String]) -> String {
    match kind {
        "s" => {
            let number = value.trim().parse::<usize>().ok();
            number.and_then(|number| shared.get(number)).cloned().unwrap_or_default()
        }
        "b" => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
        "e" => String::new(),
        _ => value.to_owned(),
    }
}

/// The number of a column from the name of a cell: `AB12` is in column 28.
fn column_of(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters
        .take(4)
        .fold(0, |sum, letter| sum * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    (number > 0).then_some(number)
}
