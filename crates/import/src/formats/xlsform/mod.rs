//! ODK XLSForm: a workbook with the sheets `survey`, `choices` and `settings`.
//!
//! Groups are sections, and their `relevant` becomes a condition of each of their questions. A
//! column of texts may have a language: `label::Deutsch (de)`.

mod languages;
mod relevance;
mod table;
mod types;

use std::collections::{BTreeSet, HashMap};

use self::languages::{same, tag_of};
use self::relevance::{Names, Relevance, relevance};
use self::table::{Row, Table};
use self::types::{Select, Type};

use crate::condition::Cond;
use crate::draft::{Choice, Draft, ITEMS_MAX, Item, Kind, Options, Scale, Section};
use crate::expression::{Expr, parse};
use crate::report::{EntryId, quoted};
use crate::text::{Piece, Style, Text, split};
use crate::xlsx;

/// Questions that a device answers.
const METADATA: &[&str] = &[
    "start",
    "end",
    "today",
    "deviceid",
    "username",
    "phonenumber",
    "email",
    "audit",
    "subscriberid",
    "simserial",
    "start-geopoint",
    "background-audio",
    "background-geopoint",
    "xml-external",
    "csv-external",
    "osm",
];
/// Why a question is left out whose condition is `false()`.
const NEVER: &str = "it is never shown";

pub(super) fn looks(bytes: &[u8]) -> bool {
    xlsx::is_workbook(bytes)
}

pub(super) fn read(bytes: &[u8]) -> Result<Draft, String> {
    let sheets = xlsx::sheets(bytes, &["survey", "choices", "settings"])?;
    let survey = sheets.get("survey").ok_or("is not an XLSForm: it has no sheet survey")?;
    let survey = Table::new(survey);
    if !survey.columns.iter().any(|column| column == "type") {
        return Err("is not an XLSForm: its sheet survey has no column type".to_owned());
    }
    let settings = sheets.get("settings").map(Table::new).unwrap_or_default();
    let settings = settings.rows.first().cloned().unwrap_or_default();
    let choices = sheets.get("choices").map(Table::new).unwrap_or_default();
    let title = settings.get("form_title").or_else(|| settings.get("form_id"));
    let language = survey.language(settings.get("default_language"));
    let mut reader = XlsFormReader {
        draft: Draft { title: Text::plain(title.unwrap_or_default()), ..Draft::default() },
        lists: HashMap::new(),
        language,
        groups: Vec::new(),
        repeats: 0,
        names: Names::new(),
    };
    for name in survey.rows.iter().filter_map(|row| row.get("name")) {
        *reader.names.entry(name.to_owned()).or_default() += 1;
    }
    reader.draft.language = reader.language.as_deref().map(tag_of);
    for row in &choices.rows {
        let list = row.get("list_name").unwrap_or_default();
        let choice = reader.choice(row);
        reader.lists.entry(list.to_owned()).or_default().push(choice);
    }
    let unread = choices.rows.iter().flat_map(|row| row.unread(&["label"]));
    for name in unread.map(|(name, _)| name).collect::<BTreeSet<_>>() {
        let element = format!("column {} of the options", quoted(name));
        reader.draft.lost("choices", element, "options of Sluice have only labels");
    }
    for row in survey.rows.iter().take(ITEMS_MAX) {
        reader.row(row);
    }
    for (name, _) in
        settings.unread(&["form_title", "form_id", "version", "default_language", "style"])
    {
        reader.draft.lost("settings", format!("setting {name}"), "Sluice has no counterpart");
    }
    Ok(reader.draft)
}

fn pieces(source: &str) -> Vec<Piece> {
    split(source, "${", "}", |inner| {
        Some(Piece::Recall { key: inner.trim().to_owned(), fallback: String::new() })
    })
}

struct Group {
    section: usize,
    condition: Option<Cond>,
    is_repeat: bool,
    is_hidden: bool,
}

struct XlsFormReader {
    draft: Draft,
    lists: HashMap<String, Vec<Choice>>,
    /// The default language, as the columns write it.
    language: Option<String>,
    groups: Vec<Group>,
    /// How many of the groups around a row repeat.
    repeats: usize,
    names: Names,
}

impl XlsFormReader {
    /// The texts of a column in all languages.
    fn text(&self, row: &Row, name: &str) -> Option<Text> {
        let prefix = format!("{name}::");
        let own = self.language.as_deref();
        let mut text = Text { style: Style::Markdown, ..Text::default() };
        let default = own.and_then(|own| row.get(&format!("{prefix}{own}")));
        let default = default.or_else(|| row.get(name));
        let mut others: Vec<(&str, &str)> = Vec::new();
        for (column, cell) in &row.cells {
            if let Some(language) = column.strip_prefix(&prefix)
                && !own.is_some_and(|own| same(own, language))
            {
                others.push((language, cell));
            }
        }
        let default = default.or_else(|| others.first().map(|(_, cell)| *cell))?;
        text.words = pieces(default);
        text.translations =
            others.into_iter().map(|(language, cell)| (tag_of(language), pieces(cell))).collect();
        Some(text)
    }

    fn choice(&self, row: &Row) -> Choice {
        let name = row.get("name").unwrap_or_default();
        let label = self.text(row, "label").unwrap_or_else(|| Text::plain(name));
        Choice::new(name, label)
    }

    fn row(&mut self, row: &Row) {
        let Some(cell) = row.get("type") else { return };
        match Type::read(cell) {
            Type::Begin { is_repeat } => self.begin(row, is_repeat),
            Type::End => {
                if let Some(group) = self.groups.pop() {
                    self.repeats -= usize::from(group.is_repeat);
                }
            }
            kind => self.question(row, cell, &kind),
        }
    }

    fn begin(&mut self, row: &Row, is_repeat: bool) {
        let name = row.get("name").unwrap_or_default().to_owned();
        let title = self.text(row, "label");
        let shown = title.as_ref().map_or_else(|| name.clone(), Text::shown);
        let what = if is_repeat { "repeat" } else { "group" };
        let place = format!("survey row {}", row.number);
        let entry = self.draft.report.add(place, format!("{what} {}", quoted(&shown)));
        self.draft.mark(entry, name.clone());
        let (condition, is_hidden) = match relevance(row.get("relevant"), &self.names) {
            Relevance::Always => (None, false),
            Relevance::Never => (None, true),
            Relevance::If(condition) => (Some(condition), false),
        };
        let outer = self.groups.first().map(|group| group.section);
        let section = outer.unwrap_or_else(|| {
            self.draft.sections.push(Section { entry, key: name, title: title.clone() });
            self.draft.sections.len() - 1
        });
        if is_repeat {
            self.draft.report.lost(entry, "Sluice has no questions that repeat");
            self.repeats += 1;
        }
        if is_hidden {
            self.draft.report.lost(entry, NEVER);
        }
        self.groups.push(Group { section, condition, is_repeat, is_hidden });
        let is_left_out = is_repeat || self.groups.iter().any(|group| group.is_hidden);
        if let (Some(_), Some(title), false) = (outer, title, is_left_out) {
            self.draft.report.change(entry, "its label is a statement");
            let mut item = Item::new(entry, "", title).kind(Kind::Statement);
            item.section = Some(section);
            item.visible_if = self.conditions();
            self.draft.push(item);
        }
        let read = ["label", "relevant", "appearance"];
        self.leftover(row, entry, &read);
    }

    fn conditions(&self) -> Vec<Cond> {
        self.groups.iter().filter_map(|group| group.condition.clone()).collect()
    }

    fn leftover(&mut self, row: &Row, entry: EntryId, read: &[&str]) {
        for (name, _) in row.unread(read) {
            self.draft.report.change(entry, format!("column {} is not mapped", quoted(name)));
        }
    }

    fn question(&mut self, row: &Row, cell: &str, kind: &Type) {
        let name = row.get("name").unwrap_or_default();
        let label = self.text(row, "label");
        let shown = label.as_ref().map_or_else(|| name.to_owned(), Text::shown);
        let entry = self.draft.question(&format!("survey row {}", row.number), cell, &shown);
        let mut item = Item::new(entry, name, label.unwrap_or_else(|| Text::plain(name)));
        item.help = self.text(row, "hint");
        item.section = self.groups.first().map(|group| group.section);
        item.visible_if = self.conditions();
        let mut is_hidden = self.groups.iter().any(|group| group.is_hidden);
        match relevance(row.get("relevant"), &self.names) {
            Relevance::Always => {}
            Relevance::Never => is_hidden = true,
            Relevance::If(condition) => item.visible_if.push(condition),
        }
        match row.get("required").map(|it| it.to_lowercase()).as_deref() {
            None | Some("no" | "false" | "false()") => {}
            Some("yes" | "true" | "true()") => item.required = true,
            Some(_) => {
                self.draft.report.change(entry, "is required by a condition, which is not mapped");
            }
        }
        let result = match self.repeats {
            _ if is_hidden => Err(NEVER.to_owned()),
            0 => self.kind_of(row, kind, entry),
            _ => Err("it is part of a repeat".to_owned()),
        };
        match result {
            Ok(kind) => {
                item.kind = Some(kind);
                for name in ["constraint_message", "required_message"] {
                    let has = row.cells.keys().any(|it| it.split("::").next() == Some(name));
                    *self.draft.omitted.entry(name).or_default() += usize::from(has);
                }
                if let Some(constraint) = row.get("constraint") {
                    self.constrain(&mut item, constraint);
                }
                let read = [
                    "label",
                    "hint",
                    "relevant",
                    "required",
                    "constraint",
                    "appearance",
                    "constraint_message",
                    "required_message",
                    "parameters",
                    "choice_filter",
                ];
                self.leftover(row, entry, &read);
            }
            Err(reason) => self.draft.report.lost(entry, reason),
        }
        self.draft.push(item);
    }

    fn kind_of(&mut self, row: &Row, kind: &Type, entry: EntryId) -> Result<Kind, String> {
        let name = match kind {
            Type::Select(select) => return self.select(row, select, entry),
            Type::Other(name) => name.as_str(),
            Type::Begin { .. } | Type::End => return Err("it is not a question".to_owned()),
        };
        let appearance = row.get("appearance").unwrap_or_default().to_lowercase();
        let looks = |name: &str| appearance.split_whitespace().any(|it| it == name);
        let whole = |max| Kind::Number { min: Some(0.0), max: Some(max), integer: true };
        Ok(match name {
            "text" if looks("multiline") => Kind::text("longText"),
            "text" if looks("url") => Kind::text("url"),
            "text" if looks("numbers") => Kind::text("phone"),
            "text" => Kind::text("shortText"),
            "phone number" => Kind::text("phone"),
            "integer" => Kind::Number { min: None, max: None, integer: true },
            "decimal" => Kind::Number { min: None, max: None, integer: false },
            "percentage" => whole(100.0),
            "number of days in last month" => whole(31.0),
            "number of days in last six months" => whole(183.0),
            "number of days in last year" => whole(365.0),
            "range" => self.range(row, entry),
            "date" => Kind::Date { min: None, max: None },
            "datetime" => {
                self.draft.report.change(entry, "takes a date without a time");
                Kind::Date { min: None, max: None }
            }
            "time" | "barcode" => {
                self.draft.report.change(entry, "is a short text");
                Kind::text("shortText")
            }
            "note" => Kind::Statement,
            "acknowledge" => Kind::Consent,
            "image" | "audio" | "video" | "file" => {
                return Err("Sluice does not accept files".to_owned());
            }
            "geopoint" | "geotrace" | "geoshape" => {
                return Err("Sluice has no question about a place".to_owned());
            }
            "calculate" => return Err("Sluice does not calculate".to_owned()),
            "hidden" => return Err("it is not shown".to_owned()),
            name if METADATA.contains(&name) => {
                return Err("it is filled in by the device".to_owned());
            }
            _ => return Err("Sluice has no such question type".to_owned()),
        })
    }

    fn select(&mut self, row: &Row, select: &Select, entry: EntryId) -> Result<Kind, String> {
        if select.kind == "external" {
            return Err("its options are in another file".to_owned());
        }
        let choices = self.lists.get(&select.list).cloned();
        let choices =
            choices.ok_or_else(|| format!("there is no list {}", quoted(&select.list)))?;
        let parameters = row.get("parameters").unwrap_or_default().to_lowercase();
        let random = parameters.replace(' ', "").contains("randomize=true");
        if row.get("choice_filter").is_some() {
            self.draft.report.change(entry, "all options are shown: choice_filter is not mapped");
        }
        let options = Options { choices, other: select.other, random };
        let appearance = row.get("appearance").unwrap_or_default().to_lowercase();
        let dropdown =
            ["minimal", "autocomplete", "search"].iter().any(|it| appearance.contains(it));
        Ok(match select.kind {
            "select_one" => Kind::Single { options, dropdown },
            "select_multiple" => Kind::Multiple { options, min: None, max: None },
            _ => Kind::Ranking(options),
        })
    }

    fn range(&mut self, row: &Row, entry: EntryId) -> Kind {
        let parameters = row.get("parameters").unwrap_or_default();
        let parameters = parameters.replace([',', ';'], " ");
        let number = |name: &str, default: f64| {
            let mut pairs = parameters.split_whitespace().filter_map(|pair| pair.split_once('='));
            let found = pairs.find(|(key, _)| *key == name).and_then(|(_, it)| it.parse().ok());
            found.unwrap_or(default)
        };
        let (start, end, step) = (number("start", 1.0), number("end", 10.0), number("step", 1.0));
        let steps = (end - start) / step + 1.0;
        let whole = step == 1.0 && start.fract() == 0.0 && end.fract() == 0.0;
        if whole && start == 0.0 && end == 10.0 {
            return Kind::Nps(Scale::default());
        }
        if whole && (3.0..=10.0).contains(&steps) {
            let shift = 1.0 - start;
            if shift != 0.0 {
                self.draft.report.change(entry, format!("runs from 1 to {steps}"));
            }
            return Kind::Rating(Scale {
                max: steps as u32,
                shape: "number",
                shift,
                ..Scale::default()
            });
        }
        self.draft.report.change(entry, "is a number without steps");
        Kind::Number { min: Some(start), max: Some(end), integer: whole }
    }

    /// Limits in a constraint: comparisons of the answer that are joined by `and`.
    fn constrain(&mut self, item: &mut Item, constraint: &str) {
        let Some(kind) = &mut item.kind else { return };
        let parsed = parse(constraint);
        let parts = match &parsed {
            Ok(Expr::And(all)) => all.as_slice(),
            Ok(one) => std::slice::from_ref(one),
            Err(_) => &[],
        };
        let mut changed = kind.clone();
        let all = !parts.is_empty() && parts.iter().all(|part| limit(&mut changed, part));
        if all {
            *kind = changed;
        } else {
            let change = format!("the constraint {} is not mapped", quoted(constraint));
            self.draft.report.change(item.entry, change);
        }
    }
}

/// Applies one comparison; whether the type has such a limit.
fn limit(kind: &mut Kind, part: &Expr) -> bool {
    let Expr::Compare(operator, left, right) = part else { return false };
    let Expr::Text(bound) = right.as_ref() else { return date_limit(kind, operator, left, right) };
    let Ok(bound) = bound.parse::<f64>() else { return false };
    let is_answer = |expr: &Expr| matches!(expr, Expr::Name(name) if name == ".");
    let of_answer = |name: &str| match left.as_ref() {
        Expr::Call(it, arguments) => it == name && arguments.iter().all(is_answer),
        _ => false,
    };
    let count = || (bound >= 0.0 && bound.fract() == 0.0 && bound < 1e9).then_some(bound as u32);
    match (kind, *operator) {
        (Kind::Number { min, .. }, ">=") if is_answer(left) => *min = Some(bound),
        (Kind::Number { max, .. }, "<=") if is_answer(left) => *max = Some(bound),
        (Kind::Number { min, integer: true, .. }, ">") if is_answer(left) => {
            *min = Some(bound + 1.0)
        }
        (Kind::Number { max, integer: true, .. }, "<") if is_answer(left) => {
            *max = Some(bound - 1.0)
        }
        (Kind::Text { min, .. }, ">=") if of_answer("string-length") => *min = count(),
        (Kind::Text { max, .. }, "<=") if of_answer("string-length") => *max = count(),
        (Kind::Text { max, .. }, "<") if of_answer("string-length") => {
            *max = count().and_then(|it| it.checked_sub(1));
        }
        (Kind::Text { min, .. }, ">") if of_answer("string-length") => {
            *min = count().map(|it| it.saturating_add(1));
        }
        (Kind::Multiple { min, .. }, ">=") if of_answer("count-selected") => *min = count(),
        (Kind::Multiple { max, .. }, "<=") if of_answer("count-selected") => *max = count(),
        (Kind::Multiple { max, .. }, "<") if of_answer("count-selected") => {
            *max = count().and_then(|it| it.checked_sub(1));
        }
        _ => return false,
    }
    true
}

/// `. >= date('2026-01-01')`.
fn date_limit(kind: &mut Kind, operator: &str, left: &Expr, right: &Expr) -> bool {
    let (Expr::Name(name), Expr::Call(function, arguments)) = (left, right) else { return false };
    let [Expr::Text(day)] = arguments.as_slice() else { return false };
    if name != "." || function != "date" {
        return false;
    }
    match (kind, operator) {
        (Kind::Date { min, .. }, ">=") => *min = Some(day.clone()),
        (Kind::Date { max, .. }, "<=") => *max = Some(day.clone()),
        _ => return false,
    }
    true
}
