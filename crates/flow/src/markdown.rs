//! The subset of Markdown in authors' texts: links, emphasis and lists.
//!
//! A text becomes blocks of inline parts; a page renders them to the few elements that they stand
//! for, and escapes every text. Everything else, HTML above all, is plain text. A link leads to an
//! http, https or mailto address. A placeholder ([`crate::piping`]) is one part: its value is never
//! read as Markdown.

use std::cell::Cell;

use crate::piping::{Placeholder, placeholder};

/// How deep emphasis and links may nest.
const DEPTH_MAX: usize = 4;
/// The most bytes that searches for closing marks read, for each byte of a text; what is left is
/// plain text. Only a text made for it needs so many, as no search that failed is repeated.
const STEPS_PER_BYTE: usize = 16;
/// Emphasis has one or two of two marks.
const KINDS: usize = 4;
/// What a link may start with.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block<'t> {
    Paragraph(Vec<Inline<'t>>),
    List { is_ordered: bool, items: Vec<Vec<Inline<'t>>> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inline<'t> {
    Text(&'t str),
    Placeholder(Placeholder<'t>),
    Emphasis(Vec<Inline<'t>>),
    Strong(Vec<Inline<'t>>),
    Link { address: &'t str, label: Vec<Inline<'t>> },
}

/// The blocks of a text. An empty line ends a paragraph; lines that start with `- `, `* ` or a
/// number and a point are the items of a list.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let (mut paragraph, mut at) = (None::<(usize, usize)>, 0);
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.trim_end().len());
        at += line.len();
        let item = list_item(line.trim_end());
        if (item.is_some() || line.trim().is_empty())
            && let Some((from, to)) = paragraph.take()
        {
            blocks.push((from, to, None));
        }
        match item {
            Some((is_ordered, offset)) => blocks.push((start + offset, end, Some(is_ordered))),
            None if line.trim().is_empty() => blocks.push((end, end, None)),
            None => paragraph = Some((paragraph.map_or(start, |(from, _)| from), end)),
        }
    }
    if let Some((from, to)) = paragraph {
        blocks.push((from, to, None));
    }
    joined(text, &blocks)
}

/// Joins the items of a list that follow one another.
fn joined<'t>(text: &'t str, spans: &[(usize, usize, Option<bool>)]) -> Vec<Block<'t>> {
    let mut blocks: Vec<Block<'t>> = Vec::new();
    let mut is_open = false;
    for &(from, to, list) in spans {
        let part = &text[from..to];
        match (list, blocks.last_mut()) {
            (Some(ordered), Some(Block::List { is_ordered, items }))
                if is_open && ordered == *is_ordered =>
            {
                items.push(inline(part));
            }
            (Some(is_ordered), _) => {
                blocks.push(Block::List { is_ordered, items: vec![inline(part)] });
            }
            (None, _) if part.is_empty() => {}
            (None, _) => blocks.push(Block::Paragraph(inline(part))),
        }
        is_open = list.is_some();
    }
    blocks
}

/// Whether a line is an item of a list: whether the list is ordered, and where its text begins.
fn list_item(line: &str) -> Option<(bool, usize)> {
    let indent = line.len() - line.trim_start().len();
    let rest = &line[indent..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (is_ordered, mark) = match digits {
        0 if rest.starts_with("- ") || rest.starts_with("* ") => (false, 2),
        1..=3 if rest[digits..].starts_with(". ") => (true, digits + 2),
        _ => return None,
    };
    (rest.len() > mark).then_some((is_ordered, indent + mark))
}

/// The inline parts of a text; for places that have no blocks, such as a heading.
pub fn inline(text: &str) -> Vec<Inline<'_>> {
    Scanner::new(text).parts(0, text.len(), 0)
}

struct Scanner<'t> {
    text: &'t str,
    steps_left: Cell<usize>,
    /// For each depth and kind of emphasis: the end of the part in which none closes any more.
    unclosed: [[Cell<Option<usize>>; KINDS]; DEPTH_MAX],
    #[cfg(test)]
    is_forgetful: bool,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            steps_left: Cell::new(text.len().saturating_mul(STEPS_PER_BYTE)),
            unclosed: Default::default(),
            #[cfg(test)]
            is_forgetful: false,
        }
    }

    /// Whether steps are left after these.
    fn spend(&self, steps: usize) -> bool {
        self.steps_left.set(self.steps_left.get().saturating_sub(steps));
        self.steps_left.get() > 0
    }

    fn parts(&self, from: usize, to: usize, depth: usize) -> Vec<Inline<'t>> {
        let mut parts = Vec::new();
        let (mut plain, mut at) = (from, from);
        while at < to {
            let Some((part, end)) = self.special(at, to, depth) else {
                at += self.text[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            };
            if plain < at {
                parts.push(Inline::Text(&self.text[plain..at]));
            }
            parts.push(part);
            (plain, at) = (end, end);
        }
        if plain < to {
            parts.push(Inline::Text(&self.text[plain..to]));
        }
        parts
    }

    /// The part that starts here, if it is not plain text, and where it ends.
    fn special(&self, at: usize, to: usize, depth: usize) -> Option<(Inline<'t>, usize)> {
        let rest = &self.text[at..to];
        match rest.as_bytes().first()? {
            b'{' => {
                let (placeholder, length) = placeholder(rest)?;
                Some((Inline::Placeholder(placeholder), at + length))
            }
            // A mark after a backslash is plain text.
            b'\\' => {
                let escaped = rest[1..].chars().next().filter(|it| "*_[]()\\{".contains(*it))?;
                let end = at + 1 + escaped.len_utf8();
                Some((Inline::Text(&self.text[at + 1..end]), end))
            }
            _ if depth >= DEPTH_MAX => None,
            b'[' => self.link(at, to, depth),
            mark @ (b'*' | b'_') => {
                let marks = if rest.as_bytes().get(1) == Some(mark) { 2 } else { 1 };
                let end = self.closing(at, to, depth, *mark, marks)?;
                let parts = self.parts(at + marks, end, depth + 1);
                let part = if marks == 2 { Inline::Strong(parts) } else { Inline::Emphasis(parts) };
                Some((part, end + marks))
            }
            _ => None,
        }
    }

    /// Where the marks that close an emphasis are. They touch its text, and an underscore only
    /// counts between words, as in `snake_case` it does not. Whether marks close does not depend on
    /// what they close, so after a search that failed the rest of the part has none.
    fn closing(&self, at: usize, to: usize, depth: usize, mark: u8, marks: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let from = at + marks;
        let follows_word = at > 0 && is_word(bytes[at - 1]);
        if from >= to || bytes[from].is_ascii_whitespace() || (mark == b'_' && follows_word) {
            return None;
        }
        let unclosed = &self.unclosed[depth][usize::from(mark == b'_') * 2 + marks - 1];
        if unclosed.get() == Some(to) {
            return None;
        }
        let found = self.search(from, to, mark, marks);
        if found.is_none() && self.remembers() {
            unclosed.set(Some(to));
        }
        found
    }

    fn remembers(&self) -> bool {
        #[cfg(test)]
        return !self.is_forgetful;
        #[cfg(not(test))]
        true
    }

    fn search(&self, from: usize, to: usize, mark: u8, marks: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut end = from;
        while end + marks <= to && self.spend(1) {
            if bytes[end] == b'\\' {
                end += 2;
                continue;
            }
            if bytes[end] == b'{'
                && let Some((_, length)) = placeholder(&self.text[end..to])
            {
                end += length;
                continue;
            }
            let run = bytes[end..to].iter().take_while(|byte| **byte == mark).count();
            let is_inside = mark == b'_' && end + run < to && is_word(bytes[end + run]);
            if run == marks && end > from && !bytes[end - 1].is_ascii_whitespace() && !is_inside {
                return Some(end);
            }
            end += run.max(1);
        }
        None
    }

    fn link(&self, at: usize, to: usize, depth: usize) -> Option<(Inline<'t>, usize)> {
        let rest = &self.text[at..to];
        // A label has no bracket, so that each search ends where the next one begins.
        let label_end = rest[1..].find('[').map_or(rest.len(), |next| next + 1);
        let middle = rest[..label_end].find("](")?;
        let label = &rest[1..middle];
        let address = rest[middle + 2..].split_once(')').map(|(address, _)| address);
        if !self.spend(address.map_or(rest.len(), str::len)) {
            return None;
        }
        let address = address?;
        let is_scheme = |it: &&str| {
            let start = address.get(..it.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(it)) && address.len() > it.len()
        };
        let is_safe = SCHEMES.iter().any(is_scheme)
            && !address
                .chars()
                .any(|it| it.is_whitespace() || it.is_control() || "{}<>\"".contains(it));
        if !is_safe || label.trim().is_empty() {
            return None;
        }
        let label = self.parts(at + 1, at + middle, depth.max(DEPTH_MAX - 1));
        Some((Inline::Link { address, label }, at + middle + 2 + address.len() + 1))
    }
}

/// Whether a byte belongs to a word.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts, and how many bytes were searched.
    fn searched(text: &str) -> (Vec<Inline<'_>>, usize) {
        let scanner = Scanner::new(text);
        let before = scanner.steps_left.get();
        let parts = scanner.parts(0, text.len(), 0);
        (parts, before - scanner.steps_left.get())
    }

    #[test]
    fn a_text_full_of_marks_is_searched_a_few_times_and_stays_text() {
        for mark in ["*a ", "**a ", "_a ", "__a ", "*a **a _a __a ", "[", "[a", "[a](", "{", "{{"] {
            let text = mark.repeat(60_000 / mark.len());
            let (parts, steps) = searched(&text);
            assert_eq!(parts, [Inline::Text(&text)], "{mark}");
            let most = if mark == "[a](" { STEPS_PER_BYTE } else { 2 * KINDS };
            assert!(steps <= most * text.len(), "{mark}: {steps}");
        }
        // A mark that closes is still found after thousands that do not.
        let many = "*a ".repeat(20_000) + "**b**";
        assert_eq!(searched(&many).0[1], Inline::Strong(vec![Inline::Text("b")]));
    }

    #[test]
    fn a_search_that_is_not_repeated_finds_the_same() {
        let pieces = ["*", "_", "a", " ", "\\", "[a](http://b)", "{{score}}"];
        let mut texts = vec![String::new()];
        for length in 1..=6 {
            let longer = |text: &String| pieces.map(|piece| format!("{text}{piece}"));
            texts = texts.iter().flat_map(longer).collect();
            for text in &texts {
                let found = |is_forgetful| {
                    let steps_left = Cell::new(usize::MAX);
                    let scanner = Scanner { steps_left, is_forgetful, ..Scanner::new(text) };
                    scanner.parts(0, text.len(), 0)
                };
                assert_eq!(found(false), found(true), "{length}: {text}");
            }
        }
    }
}
