//! A sheet with the names of its columns, whichever of their names an author chose.

use std::collections::BTreeMap;

use super::languages::same;
use crate::xlsx::Sheet;

/// Columns without a meaning for a respondent.
const TECHNICAL: &[&str] = &["type", "name", "list_name", "note", "comments", "notes"];
/// Other names of columns.
const ALIASES: &[(&str, &str)] = &[
    ("caption", "label"),
    ("command", "type"),
    ("tag", "name"),
    ("value", "name"),
    ("relevance", "relevant"),
    ("readonly", "read_only"),
    ("calculate", "calculation"),
    ("constraining_message", "constraint_message"),
    ("requiredmsg", "required_message"),
    ("set_form_title", "form_title"),
    ("title", "form_title"),
    ("set_form_id", "form_id"),
    ("id_string", "form_id"),
    ("bind::type", "bind_type"),
    ("bind::relevant", "relevant"),
    ("bind::required", "required"),
    ("bind::readonly", "read_only"),
    ("bind::constraint", "constraint"),
    ("bind::calculate", "calculation"),
    ("bind::jr:constraintmsg", "constraint_message"),
    ("bind::jr:requiredmsg", "required_message"),
    ("control::appearance", "appearance"),
    ("body::appearance", "appearance"),
];
/// Columns that may have a language after a single colon, as old forms write it.
const SPLIT_AT_COLON: &[&str] = &[
    "label",
    "caption",
    "hint",
    "guidance_hint",
    "constraint_message",
    "constraining_message",
    "required_message",
    "requiredmsg",
    "image",
    "big-image",
    "audio",
    "video",
    "media",
    "bind",
    "control",
    "body",
];

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// The cells of a row that are not empty, by column.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) number: usize,
    pub(super) cells: BTreeMap<String, String>,
}

impl Table {
    pub(super) fn new(sheet: &Sheet) -> Self {
        let mut rows =
            sheet.rows.iter().filter(|(_, cells)| cells.iter().any(|it| !it.trim().is_empty()));
        let Some((_, columns)) = rows.next() else { return Self::default() };
        let columns = names(columns);
        let row = |(number, cells): &(usize, Vec<String>)| {
            let pairs = columns
                .iter()
                .zip(cells)
                .filter(|(name, it)| !name.is_empty() && !it.trim().is_empty());
            let cells = pairs.map(|(name, cell)| (name.clone(), cell.trim().to_owned())).collect();
            Row { number: *number, cells }
        };
        let rows = rows.map(row).collect();
        Self { columns, rows }
    }

    /// The language of the texts as the columns write it: the wanted one, or else that of the first
    /// column of labels. None if that column has none.
    pub(super) fn language(&self, wanted: Option<&str>) -> Option<String> {
        let labels = || self.columns.iter().filter_map(|column| column.strip_prefix("label"));
        let mut languages = labels().filter_map(|rest| rest.strip_prefix("::"));
        if let Some(wanted) = wanted {
            if let Some(found) = languages.find(|it| same(it, wanted)) {
                return Some(found.to_owned());
            }
            if labels().any(str::is_empty) || labels().next().is_none() {
                return Some(wanted.to_owned());
            }
        }
        labels().map(|rest| rest.strip_prefix("::").map(str::to_owned)).next().flatten()
    }
}

impl Row {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.cells.get(name).map(String::as_str)
    }

    /// The cells of columns that were not read; a column with a language counts as its name.
    pub(super) fn unread<'r>(
        &'r self,
        read: &'r [&str],
    ) -> impl Iterator<Item = (&'r str, &'r str)> {
        let cells = self.cells.iter().map(|(name, cell)| (name.as_str(), cell.as_str()));
        cells.filter(move |(name, _)| {
            let base = name.split("::").next().unwrap_or(name);
            !read.contains(&base) && !TECHNICAL.contains(&base)
        })
    }
}

/// The usual names of columns, as `name` or `name::language`. A sheet that has a column under its
/// usual name keeps other columns under theirs.
fn names(written: &[String]) -> Vec<String> {
    let split: Vec<(String, String)> = written.iter().map(|name| split(name)).collect();
    let usual = |(base, rest): &(String, String)| {
        let whole = if rest.is_empty() { base.clone() } else { format!("{base}::{rest}") };
        let taken = |name: &str, rest: &str| split.iter().any(|it| it.0 == name && it.1 == rest);
        let lower = whole.to_lowercase();
        let alias = |name: &str| ALIASES.iter().find(|(it, _)| *it == name).map(|(_, it)| *it);
        if let Some(name) = alias(&lower) {
            return if taken(name, "") { whole } else { name.to_owned() };
        }
        let binds = ["bind::jr:constraintmsg::", "bind::jr:requiredmsg::"];
        if let Some(bind) = binds.iter().find(|bind| lower.starts_with(**bind))
            && let Some(name) = alias(bind.trim_end_matches(':'))
        {
            return format!("{name}::{}", &rest[bind.len() - "bind::".len()..]);
        }
        match alias(base) {
            Some(name) if !rest.is_empty() && !taken(name, rest) => format!("{name}::{rest}"),
            _ => whole,
        }
    };
    split.iter().map(usual).collect()
}

/// The name of a column in lower case with `_` for spaces, and its language or what else follows.
fn split(written: &str) -> (String, String) {
    let base =
        |name: &str| name.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join("_");
    if let Some((name, rest)) = written.split_once("::") {
        return (base(name), rest.trim().to_owned());
    }
    if let Some((name, rest)) = written.split_once(':')
        && SPLIT_AT_COLON.contains(&base(name).as_str())
    {
        return (base(name), rest.trim().to_owned());
    }
    (base(written), String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_in_the_default_language_or_in_the_first_that_there_is() {
        let both = ["label::Arabic (ar)", "label::English (en)"].as_slice();
        for (columns, wanted, expected) in [
            (both, Some("en"), Some("English (en)")),
            (both, Some("English"), Some("English (en)")),
            (both, Some("French"), Some("Arabic (ar)")),
            (both, None, Some("Arabic (ar)")),
            (["label", "label::fr"].as_slice(), Some("English"), Some("English")),
            (["label", "label::fr"].as_slice(), None, None),
            ([].as_slice(), Some("de"), Some("de")),
        ] {
            let columns: Vec<String> = columns.iter().map(|&it| it.to_owned()).collect();
            let table = Table { columns: columns.clone(), rows: Vec::new() };
            assert_eq!(table.language(wanted).as_deref(), expected, "{columns:?}, {wanted:?}");
        }
    }

    #[test]
    fn columns_have_one_name_however_they_are_written() {
        for (written, expected) in [
            ("Label::English (en)", "label::English (en)"),
            ("label:english", "label::english"),
            ("hint: French", "hint::French"),
            ("Caption", "label"),
            ("caption:fr", "label::fr"),
            ("list name", "list_name"),
            ("Constraint Message", "constraint_message"),
            ("constraint_message::fr", "constraint_message::fr"),
            ("relevance", "relevant"),
            ("bind::relevant", "relevant"),
            ("bind:required", "required"),
            ("bind::jr:constraintMsg", "constraint_message"),
            ("bind::jr:constraintMsg::fr", "constraint_message::fr"),
            ("bind::odk:length", "bind::odk:length"),
            ("body::appearance", "appearance"),
            ("media::image::fr", "media::image::fr"),
            ("jr:count", "jr:count"),
            ("value", "name"),
            ("set form title", "form_title"),
        ] {
            assert_eq!(names(&[written.to_owned()]), [expected], "{written}");
        }
        let both = ["name", "value", "label::fr", "caption::fr"].map(str::to_owned);
        assert_eq!(names(&both), both, "a usual name is not taken twice");
    }
}
