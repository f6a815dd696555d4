//! Placeholders in texts: `{{answer:ID|fallback}}`, `{{tag:NAME|fallback}}` and `{{score}}`.
//!
//! Any other text in double braces stays as it is, and so does a placeholder after a backslash,
//! without the backslash. A placeholder stands for text: what it becomes is never read as Markdown
//! or as another placeholder. Deliberately absent: markup. A page escapes the values like any other
//! text.

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'t> {
    Text(&'t str),
    Placeholder(Placeholder<'t>),
}

/// A placeholder, with the text to show if there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder<'t> {
    pub source: Source<'t>,
    pub fallback: &'t str,
}

/// Where the value of a placeholder comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'t> {
    /// The answer to the question with this id.
    Answer(&'t str),
    /// The tag with this name.
    Tag(&'t str),
    Score,
}

/// The parts of a text, in order.
pub fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut plain, mut at) = (0, 0);
    while let Some(found) = text[at..].find(['{', '\\']) {
        at += found;
        let rest = &text[at..];
        // As in Markdown: a brace after a backslash is plain text, unless that is escaped itself.
        if rest.starts_with("\\{{") {
            if plain < at {
                parts.push(Part::Text(&text[plain..at]));
            }
            plain = at + 1;
            at += 2;
            continue;
        }
        if rest.starts_with("\\\\") {
            at += 2;
            continue;
        }
        match placeholder(rest) {
            Some((placeholder, length)) => {
                if plain < at {
                    parts.push(Part::Text(&text[plain..at]));
                }
                parts.push(Part::Placeholder(placeholder));
                at += length;
                plain = at;
            }
            None => at += 1,
        }
    }
    if plain < text.len() {
        parts.push(Part::Text(&text[plain..]));
    }
    parts
}

/// The placeholders of a text.
pub(crate) fn placeholders(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Placeholder(placeholder) => Some(placeholder),
        Part::Text(_) => None,
    })
}

/// Whether a text has a placeholder.
pub fn is_piped(text: &str) -> bool {
    placeholders(text).next().is_some()
}

/// The placeholder at the start of a text, and its length in bytes.
pub(crate) fn placeholder(text: &str) -> Option<(Placeholder<'_>, usize)> {
    let inner = text.strip_prefix("{{")?;
    // Up to the next brace only: a text may have thousands of them, and each is checked.
    let end = inner.find(['{', '}'])?;
    let inner = inner[end..].starts_with("}}").then_some(&inner[..end])?;
    let (source, fallback) = inner.split_once('|').unwrap_or((inner, ""));
    let source = match source.trim().split_once(':') {
        Some(("answer", id)) => Source::Answer(id.trim()),
        Some(("tag", name)) => Source::Tag(name.trim()),
        None if source.trim() == "score" => Source::Score,
        _ => return None,
    };
    let length = "{{".len() + inner.len() + "}}".len();
    Some((Placeholder { source, fallback: fallback.trim() }, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::{Inline, inline};

    #[test]
    fn placeholders_are_found_and_other_braces_stay() {
        let answer =
            |id, fallback| Part::Placeholder(Placeholder { source: Source::Answer(id), fallback });
        let tag =
            |name, fallback| Part::Placeholder(Placeholder { source: Source::Tag(name), fallback });
        let score = |fallback| Part::Placeholder(Placeholder { source: Source::Score, fallback });
        for (text, expected) in [
            ("", vec![]),
            ("plain", vec![Part::Text("plain")]),
            (
                "Hello {{answer:name|there}}!",
                vec![Part::Text("Hello "), answer("name", "there"), Part::Text("!")],
            ),
            (
                "{{ answer:a }}{{ tag:my plan | free }}",
                vec![answer("a", ""), tag("my plan", "free")],
            ),
            ("{{score}} of {{ score | 0 }}", vec![score(""), Part::Text(" of "), score("0")]),
            ("{{name}} {answer:a} {{answer:a", vec![Part::Text("{{name}} {answer:a} {{answer:a")]),
            ("{{{answer:a}}}", vec![Part::Text("{"), answer("a", ""), Part::Text("}")]),
            ("{{a{{score}}", vec![Part::Text("{{a"), score("")]),
            (r"\{{score}}", vec![Part::Text("{{score}}")]),
            (r"a \{{score}} b", vec![Part::Text("a "), Part::Text("{{score}} b")]),
            (r"\{{{score}}", vec![Part::Text("{"), score("")]),
            (r"\\{{score}}", vec![Part::Text(r"\\"), score("")]),
            (r"\x {{score}}", vec![Part::Text(r"\x "), score("")]),
            (r"\", vec![Part::Text(r"\")]),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
    }
    /// Placeholders among the parts of a text with Markdown.
    fn rendered<'t>(parts: &[Inline<'t>], found: &mut Vec<Placeholder<'t>>) {
        for part in parts {
            match part {
                Inline::Text(_) => {}
                Inline::Placeholder(placeholder) => found.push(*placeholder),
                Inline::Emphasis(parts) | Inline::Strong(parts) => rendered(parts, found),
                Inline::Link { label, .. } => rendered(label, found),
            }
        }
    }

    /// What is checked on publishing is what a page shows.
    #[test]
    fn a_text_has_the_same_placeholders_with_markdown_and_without() {
        for text in [
            "Hello {{answer:name|there}}!",
            r"\{{answer:name}}",
            r"\\{{answer:name}}",
            r"\\\{{answer:name}}",
            r"\{{{answer:name}}",
            r"{\{answer:name}}",
            r"\{ {{score}}",
            r"\*{{score}}*",
            r"*{{score}} \{{answer:a}}*",
            r"[{{score}}](https://a.example) \{{tag:b}}",
            r"a\{{b}} {{tag:b|\}}",
            r"{{tag:b\}}",
        ] {
            let mut shown = Vec::new();
            rendered(&inline(text), &mut shown);
            assert_eq!(placeholders(text).collect::<Vec<_>>(), shown, "{text}");
        }
    }
}
