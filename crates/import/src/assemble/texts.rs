//! Writes texts with their translations, and recalled answers as placeholders.

use std::collections::HashMap;

use serde_json::{Map, Value};
use sluice_flow::definition::limits::TRANSLATIONS_MAX;
use sluice_flow::locale;

use super::Placed;
use crate::draft::{Item, Kind};
use crate::markup::{escaped, hide_placeholders, html_to_markdown, html_to_plain};
use crate::report::{EntryId, Report, quoted};
use crate::text::{Piece, Style, Text};

/// What a text belongs to, and what it may contain.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextContext {
    /// The element that it belongs to.
    pub(super) entry: EntryId,
    /// It may recall the answers to the items before this index.
    pub(super) before: usize,
    /// Whether Sluice formats it; labels are not.
    pub(super) formatted: bool,
}

#[derive(Debug)]
pub(super) struct Texts<'d> {
    items: &'d [Item],
    placed: &'d [Option<Placed>],
    positions: &'d HashMap<&'d str, usize>,
    hidden: &'d [String],
    language: String,
    /// By language tag.
    pub(super) translations: Map<String, Value>,
}

/// The longest fallback and name of a tag in a placeholder.
const FALLBACK_CHARS_MAX: usize = 200;
const TAG_CHARS_MAX: usize = 64;
/// Around the number of a placeholder while its text is converted. Texts have no such characters.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

impl<'d> Texts<'d> {
    pub(super) fn new(
        items: &'d [Item],
        placed: &'d [Option<Placed>],
        positions: &'d HashMap<&'d str, usize>,
        hidden: &'d [String],
        language: String,
    ) -> Self {
        Self { items, placed, positions, hidden, language, translations: Map::new() }
    }

    /// The text in the default language; its translations are kept under `path`. None if it is
    /// empty.
    pub(super) fn write(
        &mut self,
        report: &mut Report,
        context: TextContext,
        path: &[&str],
        text: &Text,
        chars_max: usize,
    ) -> Option<String> {
        let own = self.rendered(report, context, text.style, &text.words, chars_max)?;
        for (tag, pieces) in &text.translations {
            let Some(tag) = locale::repaired(tag) else {
                report.change(context.entry, format!("{} is no language tag", quoted(tag)));
                continue;
            };
            if tag == self.language {
                continue;
            }
            let is_new = !self.translations.contains_key(&tag);
            if is_new && self.translations.len() >= TRANSLATIONS_MAX {
                let change = format!("a flow has at most {TRANSLATIONS_MAX} translations");
                report.change(context.entry, change);
                continue;
            }
            if let Some(text) = self.rendered(report, context, text.style, pieces, chars_max) {
                put(&mut self.translations, &tag, path, text);
            }
        }
        Some(own)
    }

    fn rendered(
        &self,
        report: &mut Report,
        context: TextContext,
        style: Style,
        pieces: &[Piece],
        chars_max: usize,
    ) -> Option<String> {
        let (mut raw, mut recalled) = (String::new(), Vec::new());
        for piece in pieces {
            match piece {
                Piece::Words(words) => raw.push_str(&without_controls(words)),
                piece => {
                    raw.push_str(&format!("{OPEN}{}{CLOSE}", recalled.len()));
                    recalled.push(self.placeholder(report, context, piece));
                }
            }
        }
        let converted = match (style, context.formatted) {
            (Style::Plain, true) => escaped(&raw),
            (Style::Html, true) => html_to_markdown(&raw),
            (Style::Html, false) => hide_placeholders(&html_to_plain(&raw)),
            (Style::Plain, false) | (Style::Markdown, _) => hide_placeholders(&raw),
        };
        let mut text = String::new();
        for part in converted.split(OPEN) {
            match part.split_once(CLOSE) {
                Some((number, rest)) => {
                    let piece = number.parse::<usize>().ok().and_then(|at| recalled.get(at));
                    text.push_str(piece.map(String::as_str).unwrap_or_default());
                    text.push_str(rest);
                }
                None => text.push_str(part),
            }
        }
        let text = text.trim();
        if text.chars().count() > chars_max {
            report.change(context.entry, format!("a text is cut to {chars_max} characters"));
            let cut: String = text.chars().take(chars_max - 1).collect();
            return Some(format!("{}…", cut.trim_end()));
        }
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn placeholder(&self, report: &mut Report, context: TextContext, piece: &Piece) -> String {
        let (key, fallback) = match piece {
            Piece::Words(words) => return words.clone(),
            Piece::Score if self.is_scored(context.before) => return "{{score}}".to_owned(),
            Piece::Score => ("score", String::new()),
            Piece::Recall { key, fallback } => (key.as_str(), plain(fallback)),
        };
        let with = |source: String| match fallback.as_str() {
            "" => format!("{{{{{source}}}}}"),
            fallback => format!("{{{{{source}|{fallback}}}}}"),
        };
        match self.recalled(key, context.before) {
            Ok(source) => with(source),
            Err(reason) => {
                let change = format!("recalls {}, which is replaced: {reason}", quoted(key));
                report.change(context.entry, change);
                let shown = if fallback.is_empty() { "…".to_owned() } else { fallback };
                if context.formatted { escaped(&shown) } else { shown }
            }
        }
    }

    fn recalled(&self, key: &str, before: usize) -> Result<String, &'static str> {
        if let Some(&at) = self.positions.get(key) {
            let placed = self.placed[at].as_ref().ok_or("the question is not mapped")?;
            if matches!(self.items[at].kind, Some(Kind::Statement)) {
                return Err("the question has no answer");
            }
            return match at < before {
                true => Ok(format!("answer:{}", placed.id)),
                false => Err("the question comes later"),
            };
        }
        let is_tag = key.chars().count() <= TAG_CHARS_MAX && !key.contains(['{', '}', '|']);
        match self.hidden.iter().any(|it| it == key) {
            true if is_tag => Ok(format!("tag:{key}")),
            _ => Err("there is no such question"),
        }
    }

    fn is_scored(&self, before: usize) -> bool {
        let before = self.items.iter().zip(self.placed).take(before);
        let mut kinds =
            before.filter(|(_, it)| it.is_some()).filter_map(|(it, _)| it.kind.as_ref());
        kinds.any(|kind| match kind {
            Kind::Single { options, .. } | Kind::Multiple { options, .. } => {
                options.choices.iter().any(|choice| choice.score.is_some())
            }
            _ => false,
        })
    }
}

/// A fallback without what would end its placeholder.
fn plain(text: &str) -> String {
    let text = without_controls(text).replace(['{', '}', '|', '\n'], " ");
    text.trim().chars().take(FALLBACK_CHARS_MAX).collect()
}

fn without_controls(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Puts a text at a path of a language.
fn put(translations: &mut Map<String, Value>, tag: &str, path: &[&str], text: String) {
    let mut at = translations.entry(tag).or_insert_with(|| Value::Object(Map::new()));
    for name in path {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Some(map) = at.as_object_mut() else { return };
        at = map.entry(*name).or_insert(Value::Null);
    }
    *at = Value::String(text);
}
