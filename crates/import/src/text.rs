//! Texts of the source: in several languages, with recalled answers.

use std::collections::BTreeMap;

/// How the source formats a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Style {
    /// Every character is meant as it is.
    #[default]
    Plain,
    /// The Markdown that Sluice has as well.
    Markdown,
    Html,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Words(String),
    /// The answer to a question, or a hidden field, by its name in the source.
    Recall {
        key: String,
        fallback: String,
    },
    Score,
}

/// A text in the default language and in others, by their tags.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    pub(crate) style: Style,
    pub(crate) words: Vec<Piece>,
    pub(crate) translations: BTreeMap<String, Vec<Piece>>,
}

impl Text {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { words: vec![Piece::Words(text.into())], ..Self::default() }
    }

    pub(crate) fn new(style: Style, words: Vec<Piece>) -> Self {
        Self { style, words, translations: BTreeMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shown().trim().is_empty()
    }

    /// The text in the default language, for messages.
    pub(crate) fn shown(&self) -> String {
        let raw: String = self.words.iter().map(shown).collect();
        match self.style {
            Style::Html => crate::markup::html_to_plain(&raw),
            Style::Plain | Style::Markdown => raw,
        }
    }

    /// Two texts as paragraphs of one, in every language that one of them has.
    pub(crate) fn joined(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let (mut this, other) = match (self.style, other.style) {
            (Style::Html, Style::Plain) => (self, other.into_html()),
            (Style::Plain, Style::Html) => (self.into_html(), other),
            _ => (self, other),
        };
        let gap = || Piece::Words("\n\n".to_owned());
        let tags: Vec<String> =
            this.translations.keys().chain(other.translations.keys()).cloned().collect();
        for tag in tags {
            let first = this.translations.get(&tag).unwrap_or(&this.words).clone();
            let second = other.translations.get(&tag).unwrap_or(&other.words).clone();
            let both = first.into_iter().chain([gap()]).chain(second).collect();
            this.translations.insert(tag, both);
        }
        this.words.push(gap());
        this.words.extend(other.words);
        this
    }

    /// The same plain text as HTML.
    fn into_html(mut self) -> Self {
        for piece in self.words.iter_mut().chain(self.translations.values_mut().flatten()) {
            if let Piece::Words(words) = piece {
                *words = words.replace('&', "&amp;").replace('<', "&lt;").replace('\n', "<br>");
            }
        }
        self.style = Style::Html;
        self
    }
}

fn shown(piece: &Piece) -> String {
    match piece {
        Piece::Words(words) => words.clone(),
        Piece::Recall { fallback, .. } if !fallback.is_empty() => fallback.clone(),
        Piece::Recall { .. } | Piece::Score => "…".to_owned(),
    }
}

/// Splits a text at `open`…`close`. What is between becomes the piece that `recall` returns; if it
/// returns none, the text stays as it is.
pub(crate) fn split(
    text: &str,
    open: &str,
    close: &str,
    recall: impl Fn(&str) -> Option<Piece>,
) -> Vec<Piece> {
    let (mut pieces, mut words, mut rest) = (Vec::new(), String::new(), text);
    while let Some(at) = rest.find(open) {
        let inner = &rest[at + open.len()..];
        let found = inner.find(close).map(|end| (&inner[..end], end));
        let piece = found.filter(|(inner, _)| !inner.contains('\n')).and_then(|(inner, end)| {
            recall(inner).map(|piece| (piece, at + open.len() + end + close.len()))
        });
        match piece {
            Some((piece, length)) => {
                words.push_str(&rest[..at]);
                if !words.is_empty() {
                    pieces.push(Piece::Words(std::mem::take(&mut words)));
                }
                pieces.push(piece);
                rest = &rest[length..];
            }
            None => {
                words.push_str(&rest[..at + open.len()]);
                rest = &rest[at + open.len()..];
            }
        }
    }
    words.push_str(rest);
    if !words.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Words(words));
    }
    pieces
}
