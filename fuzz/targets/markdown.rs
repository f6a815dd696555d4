//! Any text as an author's Markdown.
//!
//! Each part of the result is a part of the text, in its order and at most once, so no text is
//! invented or doubled; a link leads to a web or e-mail address without characters that could leave
//! an attribute; nesting is bounded.

use sluice_flow::markdown::{Block, Inline, blocks, inline};

const DEPTH_MAX: usize = 6;

pub(super) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut reader = Reader { text, at: 0 };
    for block in blocks(text) {
        match block {
            Block::Paragraph(parts) => reader.check(&parts, 0),
            Block::List { items, .. } => {
                assert!(!items.is_empty(), "a list without items");
                items.iter().for_each(|item| reader.check(item, 0));
            }
        }
    }
    Reader { text, at: 0 }.check(&inline(text), 0);
}

struct Reader<'t> {
    text: &'t str,
    /// The end of the last part.
    at: usize,
}

impl Reader<'_> {
    fn check(&mut self, parts: &[Inline<'_>], depth: usize) {
        assert!(depth <= DEPTH_MAX, "nested too deep: {}", self.text);
        for part in parts {
            match part {
                Inline::Text(text) => {
                    assert!(!text.is_empty(), "an empty part of {:?}", self.text);
                    self.take(text);
                }
                Inline::Placeholder(placeholder) => self.take(placeholder.fallback),
                Inline::Emphasis(parts) | Inline::Strong(parts) => self.check(parts, depth + 1),
                Inline::Link { address, label } => {
                    self.check(label, depth + 1);
                    self.take(address);
                    let lower = address.to_ascii_lowercase();
                    let is_web = ["http://", "https://", "mailto:"];
                    assert!(is_web.iter().any(|it| lower.starts_with(it)), "{address}");
                    assert!(!address.contains(['"', '<', '>', ' ', '\n']), "{address}");
                }
            }
        }
    }

    /// The part comes after all parts before it.
    fn take(&mut self, part: &str) {
        if part.is_empty() {
            return;
        }
        let start = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        let start = start.expect("a part of the text");
        assert!(start >= self.at && start + part.len() <= self.text.len(), "{:?}", self.text);
        self.at = start + part.len();
    }
}
