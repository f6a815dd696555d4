//! Reads the usual form of a submission into a tree, in one pass over its bytes.
//!
//! A general parser asks at every value what it is and what to do with it, and that takes more time
//! than the reading. Here everything unusual (an envelope, numbers, escaped keys, deep nesting, any
//! error) is left to the general parser: `None` means no more than that. What is read here is the
//! same tree.

use std::borrow::Cow;

use super::node::{DEPTH_MAX, ITEMS_KEPT_MAX, JSON, META, Node, Object, PAIRS_EXPECTED};
use super::text_rules::first_escaped;

/// The submission in `text`, with only the fields that have these names.
pub(super) fn read<'a>(text: &'a str, fields: &[&str]) -> Option<Node<'a>> {
    let mut reader = Reader { text, at: 0 };
    let mut pairs = Vec::with_capacity(PAIRS_EXPECTED);
    reader.object(|reader, key| {
        if pairs.is_empty() && [JSON, META].contains(&key) {
            return None;
        }
        let is_kept = fields.contains(&key);
        let node = reader.value(1, is_kept)?;
        if is_kept {
            pairs.push((Cow::Borrowed(key), node));
        }
        Some(())
    })?;
    reader.skip_space();
    (reader.at == text.len()).then_some(Node::Object(Object(pairs)))
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// A value inside `depth` arrays and objects. If it is not kept, lists and objects are returned
    /// without their content.
    fn value(&mut self, depth: usize, is_kept: bool) -> Option<Node<'a>> {
        match self.next()? {
            b'"' => self.string(is_kept),
            b'[' if depth < DEPTH_MAX => self.list(depth, is_kept),
            b'{' if depth < DEPTH_MAX => {
                let mut pairs = Vec::with_capacity(if is_kept { PAIRS_EXPECTED } else { 0 });
                self.at -= 1;
                self.object(|reader, key| {
                    let node = reader.value(depth + 1, is_kept)?;
                    if is_kept {
                        pairs.push((Cow::Borrowed(key), node));
                    }
                    Some(())
                })?;
                Some(Node::Object(Object(pairs)))
            }
            b'n' => self.word("ull", Node::Null),
            b't' => self.word("rue", Node::Bool),
            b'f' => self.word("alse", Node::Bool),
            _ => None,
        }
    }

    fn list(&mut self, depth: usize, is_kept: bool) -> Option<Node<'a>> {
        let mut items = Vec::new();
        if self.next()? == b']' {
            return Some(Node::List(items));
        }
        self.at -= 1;
        loop {
            let item = self.value(depth + 1, is_kept)?;
            if is_kept {
                if items.len() == ITEMS_KEPT_MAX {
                    return None;
                }
                items.push(item);
            }
            match self.next()? {
                b',' => {}
                b']' => return Some(Node::List(items)),
                _ => return None,
            }
        }
    }

    /// Reads an object; `pair` reads the value after each key.
    fn object(&mut self, mut pair: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        if self.next()? != b'{' {
            return None;
        }
        if self.next()? == b'}' {
            return Some(());
        }
        self.at -= 1;
        loop {
            if self.next()? != b'"' {
                return None;
            }
            let end = self.end_of_plain()?;
            if self.text.as_bytes()[end] != b'"' {
                return None;
            }
            let key = &self.text[self.at..end];
            self.at = end + 1;
            if self.next()? != b':' {
                return None;
            }
            pair(self, key)?;
            match self.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// The rest of a string after its opening quote.
    fn string(&mut self, is_kept: bool) -> Option<Node<'a>> {
        let start = self.at;
        let mut end = self.end_of_plain()?;
        let mut has_escape = false;
        while self.text.as_bytes()[end] == b'\\' {
            has_escape = true;
            // The character after the backslash is part of the escape, even if it is a quote.
            self.at = end + 2;
            end = self.end_of_plain()?;
        }
        if self.text.as_bytes()[end] != b'"' {
            return None;
        }
        self.at = end + 1;
        let text = match has_escape {
            false => Cow::Borrowed(&self.text[start..end]),
            true => Cow::Owned(serde_json::from_str(&self.text[start - 1..=end]).ok()?),
        };
        Some(if is_kept { Node::Text(text) } else { Node::Null })
    }

    /// The position of the next quote, backslash or control character.
    fn end_of_plain(&self) -> Option<usize> {
        let rest = self.text.as_bytes().get(self.at..)?;
        Some(self.at + first_escaped(rest)?)
    }

    fn word(&mut self, rest: &str, node: Node<'a>) -> Option<Node<'a>> {
        let is_word = self.text.as_bytes().get(self.at..)?.starts_with(rest.as_bytes());
        self.at += rest.len();
        is_word.then_some(node)
    }

    /// The next byte that is not space.
    fn next(&mut self) -> Option<u8> {
        self.skip_space();
        let byte = self.text.as_bytes().get(self.at).copied();
        self.at += 1;
        byte
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.as_bytes().get(self.at) {
            self.at += 1;
        }
    }
}
