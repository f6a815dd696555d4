//! Turns a cell into an answer: labels into ids, words into `yes` and `no`, lists into lists.
//!
//! What is not recognised stays as it is, so that the server's message quotes it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_flow::question::choice::Choice;
use sluice_flow::question::{Input, Question};

use super::rows::{Cell, text_of};
use crate::fields::scalar;

const OTHER: &str = "other:";
const OTHER_LABEL: &str = "Other: ";
const TRUE: [&str; 6] = ["true", "yes", "1", "on", "accepted", "x"];
const FALSE: [&str; 6] = ["false", "no", "0", "off", "declined", "none"];

/// The answer in a cell; none if there is no answer.
pub(super) fn answer(
    question: &Question,
    cell: &Cell,
    names: Option<&BTreeMap<String, String>>,
) -> Option<Value> {
    let renamed = |text: String| names.and_then(|names| names.get(&text)).cloned().unwrap_or(text);
    let one = || {
        let list = cell.value.as_array().and_then(|list| list.first()).and_then(scalar);
        list.or_else(|| text_of(cell)).map(renamed)
    };
    let all = || -> Vec<String> { list(cell).into_iter().map(renamed).collect() };
    match question.question_type.input() {
        Input::Nothing => None,
        Input::Line { .. } | Input::Paragraph { .. } => {
            // Spaces around a free text are part of it.
            scalar(&cell.value)
                .filter(|text| !text.trim().is_empty())
                .map(|text| json!(renamed(text)))
        }
        Input::Number { .. } => one().map(|text| json!(text)),
        Input::Date { .. } => one().map(|text| json!(date(&text))),
        Input::Scale { .. } => one().map(|text| json!(text.strip_suffix(".0").unwrap_or(&text))),
        Input::YesNo => one().map(|text| match truth(&text) {
            Some(true) => json!("yes"),
            Some(false) => json!("no"),
            None => json!(text),
        }),
        Input::Tick { value } => one().and_then(|text| match truth(&text) {
            Some(true) => Some(json!(value)),
            Some(false) => None,
            None => Some(json!(text)),
        }),
        Input::OneOf { options, .. } => {
            one().map(|text| json!(option(&options.options, options.allow_other, &text)))
        }
        Input::SomeOf { options, .. } => {
            chosen(&options.options, options.allow_other, all(), cell.value.is_array())
        }
        Input::Order { options, .. } => chosen(options, false, all(), cell.value.is_array()),
        Input::Grid { rows, columns } => {
            let cells: Vec<String> =
                all().iter().map(|text| grid_cell(rows, columns, text)).collect();
            (!cells.is_empty()).then(|| json!(cells))
        }
    }
}

/// The texts of a cell: a list, or in CSV texts that are separated by `;`.
pub(super) fn list(cell: &Cell) -> Vec<String> {
    if let Value::Array(items) = &cell.value {
        return items.iter().filter_map(scalar).collect();
    }
    let Some(text) = scalar(&cell.value) else { return Vec::new() };
    if !cell.is_csv {
        return vec![text];
    }
    let (mut texts, mut current) = (Vec::new(), String::new());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => current.extend(characters.next()),
            ';' => texts.push(std::mem::take(&mut current)),
            character => current.push(character),
        }
    }
    texts.push(current);
    texts.into_iter().map(|text| text.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

fn truth(text: &str) -> Option<bool> {
    let text = text.to_lowercase();
    let is = |words: &[&str]| words.contains(&text.as_str());
    if is(&TRUE) { Some(true) } else { is(&FALSE).then_some(false) }
}

/// The date of a date with a time.
fn date(text: &str) -> &str {
    match text.get(10..11) {
        Some("T" | " ") => &text[..10],
        _ => text,
    }
}

/// An option by its id, its label, or its label with its id as our exports write it.
fn find<'c>(options: &'c [Choice], text: &str) -> Option<&'c str> {
    let by_id = options.iter().find(|option| option.id == text);
    let by_label = || {
        let same = |option: &&Choice| option.label.trim().to_lowercase() == text.to_lowercase();
        options.iter().find(same)
    };
    let with_id = || {
        let id = text.strip_suffix(']')?.rsplit_once(" [")?.1;
        options.iter().find(|option| option.id == id)
    };
    by_id.or_else(by_label).or_else(with_id).map(|option| option.id.as_str())
}

/// The options that texts name. Commas separate them, but not in a list of JSON and not in the
/// respondent's own text.
fn chosen(
    options: &[Choice],
    allow_other: bool,
    texts: Vec<String>,
    is_json: bool,
) -> Option<Value> {
    let is_option = |text: &str| find(options, text).is_some();
    let is_own = |text: &str| allow_other && own_text(options, text).is_some();
    let split = |text: String| match is_json || is_own(&text) {
        true => vec![text],
        false => by_commas(&text, &is_option),
    };
    let texts = texts.into_iter().flat_map(split);
    let ids: Vec<String> = texts.map(|text| option(options, allow_other, &text)).collect();
    (!ids.is_empty()).then(|| json!(ids))
}

fn option(options: &[Choice], allow_other: bool, text: &str) -> String {
    // First, because a free text may end like an option in our exports: `other:see [api]`.
    if let Some(own) = own_text(options, text).filter(|_| allow_other) {
        return format!("{OTHER}{own}");
    }
    if let Some(id) = find(options, text) {
        return id.to_owned();
    }
    if !allow_other {
        return text.to_owned();
    }
    let own = text.strip_prefix("Other:").map_or(text, str::trim_start);
    format!("{OTHER}{own}")
}

/// The respondent's own text, as our exports write it by id or by label. A label of an option may
/// start like that.
fn own_text<'t>(options: &[Choice], text: &'t str) -> Option<&'t str> {
    let is_label = || options.iter().any(|option| option.label.trim() == text);
    let labelled = || text.strip_prefix(OTHER_LABEL).filter(|_| !is_label());
    text.strip_prefix(OTHER).or_else(labelled)
}

/// Several options in one text, separated by commas. A label may contain commas itself.
fn by_commas(text: &str, is_option: &impl Fn(&str) -> bool) -> Vec<String> {
    if is_option(text) || !text.contains(", ") {
        return vec![text.to_owned()];
    }
    let parts: Vec<&str> = text.split(", ").collect();
    let (mut found, mut rest, mut at) = (Vec::new(), Vec::new(), 0);
    while at < parts.len() {
        let longest =
            (at + 1..=parts.len()).rev().find(|end| is_option(&parts[at..*end].join(", ")));
        match longest {
            Some(end) => {
                found.push(parts[at..end].join(", "));
                at = end;
            }
            None => {
                rest.push(parts[at]);
                at += 1;
            }
        }
    }
    if found.is_empty() {
        return vec![text.to_owned()];
    }
    if !rest.is_empty() {
        found.push(rest.join(", "));
    }
    found
}

/// `row:column` by their ids or labels.
fn grid_cell(rows: &[Choice], columns: &[Choice], text: &str) -> String {
    for (at, _) in text.match_indices(':') {
        let (row, column) = (text[..at].trim(), text[at + 1..].trim());
        if let (Some(row), Some(column)) = (find(rows, row), find(columns, column)) {
            return format!("{row}:{column}");
        }
    }
    text.to_owned()
}
