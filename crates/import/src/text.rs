//! Texts of the source: in several languages, with recalled answers.

use std::collections::BTreeMap;

use crate::marks::NextMark;

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

/// The longest mark of an answer, in bytes.
const RECALL_BYTES_MAX: usize = 1_000;

/// Splits a text at `open`…`close`. What is between becomes the piece that `recall` returns; if it
/// returns none, the text stays as it is.
pub(crate) fn split(
    text: &str,
    open: &str,
    close: &str,
    recall: impl Fn(&str) -> Option<Piece>,
) -> Vec<Piece> {
    let (mut pieces, mut words, mut start) = (Vec::new(), String::new(), 0);
    let (mut closing, mut line_end) = (NextMark::new(close), NextMark::new("\n"));
    while let Some(at) = text[start..].find(open) {
        let from = start + at + open.len();
        let end = closing.after(text, from).filter(|end| end - from <= RECALL_BYTES_MAX);
        let end = end.filter(|end| line_end.after(text, from).is_none_or(|line| line > *end));
        match end.and_then(|end| Some((recall(&text[from..end])?, end))) {
            Some((piece, end)) => {
                words.push_str(&text[start..start + at]);
                if !words.is_empty() {
                    pieces.push(Piece::Words(std::mem::take(&mut words)));
                }
                pieces.push(piece);
                start = end + close.len();
            }
            None => {
                words.push_str(&text[start..from]);
                start = from;
            }
        }
    }
    words.push_str(&text[start..]);
    if !words.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Words(words));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_on_one_line_and_each_part_of_a_text_is_searched_once() {
        let recalled = |inner: &str| {
            let key = inner.strip_prefix("k:")?.to_owned();
            Some(Piece::Recall { key, fallback: String::new() })
        };
        let shape = |text: &str| {
            let pieces = split(text, "{{", "}}", recalled).into_iter().map(|piece| match piece {
                Piece::Words(words) => words,
                Piece::Recall { key, .. } => format!("<{key}>"),
                Piece::Score => "score".to_owned(),
            });
            pieces.collect::<Vec<_>>()
        };
        assert_eq!(shape("a {{k:b}} c {{k:d}}"), ["a ", "<b>", " c ", "<d>"]);
        assert_eq!(shape("{{x}} {{k:b}}}"), ["{{x}} ", "<b>", "}"]);
        assert_eq!(shape("{{k:a\n}} {{k:b}}"), ["{{k:a\n}} ", "<b>"]);
        assert_eq!(shape("{{k:a {{k:b}}"), ["<a {{k:b>"]);
        assert_eq!(shape("}} {{k:"), ["}} {{k:"]);
        let far = format!("{{{{k:{}}}}}", "a".repeat(RECALL_BYTES_MAX));
        assert_eq!(shape(&far), [far.as_str()]);
        // Each of these would otherwise be searched to the end of the text.
        let many = "{{k:\n".repeat(400_000);
        assert_eq!(shape(&many), [many.as_str()]);
        let closed = many.clone() + "}}";
        assert_eq!(shape(&closed), [closed.as_str()]);
    }
}
