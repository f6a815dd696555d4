//! Reads the cells of a workbook (`.xlsx`) as texts.
//!
//! A workbook is a zip file of XML files. Only what a form needs is read: the names of the sheets,
//! shared texts and cells. Styles, formulas and formats of numbers are not. Everything is bounded,
//! so that a small file cannot become a large one.
//!
//! A library for spreadsheets would bring more crates than the rest of this crate needs; `flate2`
//! is part of the build anyway.

mod archive;
mod xml;

use std::collections::HashMap;

use self::archive::Archive;
use self::xml::{Event, XmlReader};

/// The most rows and columns of a sheet.
const ROWS_MAX: usize = 10_000;
const COLUMNS_MAX: usize = 200;
/// The most cells of all sheets together, with those between and before the used ones, and bytes of
/// their texts.
const CELLS_MAX: usize = 1_000_000;
const TEXT_BYTES_MAX: usize = 8 * 1024 * 1024;
const SHARED_TEXTS_MAX: usize = 1_000_000;
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

/// What the sheets of a workbook may still take.
struct Budget {
    cells: usize,
    text_bytes: usize,
}

impl Budget {
    fn spend(&mut self, cells: usize, text_bytes: usize) -> Result<(), String> {
        let cells_left = self.cells.checked_sub(cells);
        self.cells = cells_left.ok_or_else(|| format!("has more than {CELLS_MAX} cells"))?;
        let bytes_left = self.text_bytes.checked_sub(text_bytes);
        self.text_bytes = bytes_left.ok_or("has too much text")?;
        Ok(())
    }
}

/// These sheets of a workbook, by name in lower case. The first of a name counts, and no other
/// sheet is read.
pub(crate) fn sheets(bytes: &[u8], wanted: &[&str]) -> Result<HashMap<String, Sheet>, String> {
    let archive = Archive::open(bytes)?;
    let workbook = archive.read("xl/workbook.xml")?;
    let relations = archive.read("xl/_rels/workbook.xml.rels")?;
    let targets = targets(&relations)?;
    let shared = match archive.has("xl/sharedStrings.xml") {
        true => shared_texts(&archive.read("xl/sharedStrings.xml")?)?,
        false => Vec::new(),
    };
    let mut sheets = HashMap::new();
    let mut budget = Budget { cells: CELLS_MAX, text_bytes: TEXT_BYTES_MAX };
    for (name, relation) in sheet_names(&workbook)?.into_iter().take(SHEETS_MAX) {
        let name = name.trim().to_lowercase();
        if !wanted.contains(&name.as_str()) || sheets.contains_key(&name) {
            continue;
        }
        let Some(target) = targets.get(&relation) else { continue };
        let target = target.trim_start_matches('/');
        let path = match target.starts_with("xl/") {
            true => target.to_owned(),
            false => format!("xl/{target}"),
        };
        if archive.has(&path) {
            sheets.insert(name, sheet(&archive.read(&path)?, &shared, &mut budget)?);
        }
    }
    Ok(sheets)
}

fn sheet_names(workbook: &str) -> Result<Vec<(String, String)>, String> {
    let mut names = Vec::new();
    let mut reader = XmlReader::new(workbook);
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
    let mut reader = XmlReader::new(relations);
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
    let mut reader = XmlReader::new(source);
    while let Some(event) = reader.next()? {
        match event {
            Event::Start { name: "si", .. } => {
                if texts.len() >= SHARED_TEXTS_MAX {
                    return Err(format!("has more than {SHARED_TEXTS_MAX} texts"));
                }
                texts.push(String::new());
            }
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

fn sheet(source: &str, shared: &[String], budget: &mut Budget) -> Result<Sheet, String> {
    let mut sheet = Sheet::default();
    let (mut row, mut column, mut kind) = (0_usize, 0_usize, String::new());
    let (mut in_value, mut value) = (false, String::new());
    let mut reader = XmlReader::new(source);
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
                put(&mut sheet, column, cell(&kind, &value, shared), budget)?;
            }
            _ => {}
        }
    }
    Ok(sheet)
}

fn put(sheet: &mut Sheet, column: usize, text: &str, budget: &mut Budget) -> Result<(), String> {
    let Some((_, cells)) = sheet.rows.last_mut() else { return Ok(()) };
    if text.is_empty() || !(1..=COLUMNS_MAX).contains(&column) {
        return Ok(());
    }
    budget.spend(column.saturating_sub(cells.len()), text.len())?;
    if cells.len() < column {
        cells.resize(column, String::new());
    }
    text.clone_into(&mut cells[column - 1]);
    Ok(())
}

fn cell<'t>(kind: &str, value: &'t str, shared: &'t [String]) -> &'t str {
    match kind {
        "s" => {
            let number = value.trim().parse::<usize>().ok();
            number.and_then(|number| shared.get(number)).map_or("", String::as_str)
        }
        "b" => {
            if value.trim() == "1" {
                "TRUE"
            } else {
                "FALSE"
            }
        }
        "e" => "",
        _ => value,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive of files that are not compressed.
    fn archive(files: &[(&str, String)]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        let number = |value: usize| u32::try_from(value).unwrap().to_le_bytes();
        for (name, content) in files {
            let start = number(bytes.len());
            let lengths = [number(content.len()), number(content.len())].concat();
            let name_length = [u8::try_from(name.len()).unwrap(), 0];
            let (zeros, name) = ([0; 12], name.as_bytes());
            bytes.extend(
                [b"PK\x03\x04", &[0; 14][..], &lengths, &name_length, &[0; 2], name].concat(),
            );
            bytes.extend(content.as_bytes());
            directory.extend([b"PK\x01\x02", &[0; 16][..], &lengths, &name_length].concat());
            directory.extend([&zeros[..], &start, name].concat());
        }
        let count = [u8::try_from(files.len()).unwrap(), 0];
        let place = [number(directory.len()), number(bytes.len())].concat();
        let end = [b"PK\x05\x06", &[0; 4][..], &count, &count, &place, &[0; 2]].concat();
        [bytes, directory, end].concat()
    }

    /// A workbook whose sheets, with these names, are one file with this many rows.
    fn workbook(names: &[&str], rows: usize) -> Vec<u8> {
        let row = r#"<row><c r="GR1" t="str"><v>1</v></c></row>"#.repeat(rows);
        let sheet = |name: &&str| format!(r#"<sheet name="{name}" r:id="r1"/>"#);
        let sheets: String = names.iter().map(sheet).collect();
        let relation = r#"<Relationship Id="r1" Target="worksheets/sheet1.xml"/>"#;
        archive(&[
            ("xl/workbook.xml", format!("<workbook><sheets>{sheets}</sheets></workbook>")),
            ("xl/_rels/workbook.xml.rels", format!("<Relationships>{relation}</Relationships>")),
            ("xl/worksheets/sheet1.xml", format!("<worksheet>{row}</worksheet>")),
        ])
    }

    #[test]
    fn only_the_wanted_sheets_are_read_and_they_share_one_limit_of_cells() {
        let names = ["a", "Survey ", "b", "survey", "choices"];
        let found = sheets(&workbook(&names, 100), &["survey", "choices"]).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found["survey"].rows[99].1[199], "1");
        // One row takes 200 cells, although it has one text.
        let most = CELLS_MAX / COLUMNS_MAX;
        let wanted: &[&str] = &["survey", "choices"];
        assert!(sheets(&workbook(&["survey"], most), wanted).is_ok());
        assert!(sheets(&workbook(&["survey", "other"], most), wanted).is_ok());
        let refused = sheets(&workbook(&["survey", "choices"], most / 2 + 1), wanted);
        assert_eq!(refused.unwrap_err(), "has more than 1000000 cells");
    }
}
