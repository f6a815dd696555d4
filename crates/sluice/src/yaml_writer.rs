//! Writes a JSON value as YAML that is easy to read and to compare line by line.
//!
//! Texts are written without quotes only if every YAML reader takes them for texts: `no`, `2026`
//! and `a: b` get quotes. Fields come in the order in which an author writes them, the others by
//! name.

use serde_json::{Map, Value};

/// The fields that come first, in this order. `questions` and what follows them are long.
const FIRST: &[&str] = &[
    "flow",
    "key",
    "id",
    "type",
    "name",
    "kind",
    "title",
    "label",
    "prompt",
    "question",
    "description",
    "help",
    "body",
    "required",
];
/// The fields that come last, in this order.
const LAST: &[&str] = &[
    "options",
    "rows",
    "columns",
    "visibleIf",
    "next",
    "questions",
    "sections",
    "ending",
    "endings",
    "translations",
];
/// Words that YAML 1.1 does not read as texts.
const RESERVED: &[&str] = &["y", "n", "yes", "no", "true", "false", "on", "off", "null"];

/// A longer name is written with a question mark: YAML limits others to 1,024 characters.
const NAME_CHARS_MAX: usize = 1_000;

/// The value as a YAML document.
pub(crate) fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => write_fields(fields, 0, &mut out),
        Value::Array(items) if !items.is_empty() => write_items(items, 0, &mut out),
        scalar => {
            // Without an indent, a line that begins with `...` or `---` would end the document.
            out.push_str(&inline(scalar, 2));
            out.push('\n');
        }
    }
    out
}

/// Each field on its own line; the first continues the line that was begun.
fn write_fields(fields: &Map<String, Value>, indent: usize, out: &mut String) {
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort_by_key(|name| (rank(name), *name));
    for (at, name) in names.into_iter().enumerate() {
        if at > 0 {
            push_indent(indent, out);
        }
        let name_text = scalar_text(name);
        if name_text.chars().count() > NAME_CHARS_MAX {
            out.push_str("? ");
            out.push_str(&name_text);
            out.push('\n');
            push_indent(indent, out);
        } else {
            out.push_str(&name_text);
        }
        out.push(':');
        write_member(&fields[name], indent, out);
    }
}

fn rank(name: &str) -> usize {
    let first = FIRST.iter().position(|it| *it == name);
    let last = || LAST.iter().position(|it| *it == name).map(|at| FIRST.len() + 1 + at);
    first.or_else(last).unwrap_or(FIRST.len())
}

/// The value of a field: nested below its name, or on its line.
fn write_member(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            push_indent(indent + 2, out);
            write_fields(fields, indent + 2, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            push_indent(indent + 2, out);
            write_items(items, indent + 2, out);
        }
        scalar => {
            out.push(' ');
            out.push_str(&inline(scalar, indent + 2));
            out.push('\n');
        }
    }
}

fn write_items(items: &[Value], indent: usize, out: &mut String) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            push_indent(indent, out);
        }
        out.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => write_fields(fields, indent + 2, out),
            Value::Array(items) if !items.is_empty() => write_items(items, indent + 2, out),
            scalar => {
                out.push_str(&inline(scalar, indent + 2));
                out.push('\n');
            }
        }
    }
}

fn push_indent(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// A scalar or an empty list or object. A text with several lines is a block below.
fn inline(value: &Value, indent: usize) -> String {
    match value {
        Value::String(text) => block(text, indent).unwrap_or_else(|| scalar_text(text)),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        other => other.to_string(),
    }
}

/// A text with several lines as a literal block, if that has the same content.
fn block(text: &str, indent: usize) -> Option<String> {
    let (lines, header) = match text.strip_suffix('\n') {
        Some(lines) => (lines, "|"),
        None => (text, "|-"),
    };
    let is_plain = |line: &str| {
        line.chars().all(is_printable) && !line.ends_with(' ') && !line.chars().all(|it| it == ' ')
            || line.is_empty()
    };
    let starts_plain = !lines.starts_with([' ', '\n']) && !lines.ends_with('\n');
    if !lines.contains('\n') || !starts_plain || !lines.split('\n').all(is_plain) {
        return None;
    }
    let mut out = header.to_owned();
    for line in lines.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            push_indent(indent, &mut out);
            out.push_str(line);
        }
    }
    Some(out)
}

/// A text on one line, in quotes if it needs them.
fn scalar_text(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() && is_printable(c) || " -_.,?!'()/".contains(c);
    let is_safe = text.starts_with(char::is_alphabetic)
        && text.chars().all(is_plain)
        && !text.ends_with(' ')
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str());
    if is_safe {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if is_printable(c) => quoted.push(c),
            c if (c as u32) <= 0xFFFF => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether YAML allows the character outside escapes, and no reader takes it for a line break.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::yaml;

    #[track_caller]
    fn check(value: &Value) -> String {
        let written = to_yaml(value);
        assert_eq!(yaml::parse(&written).as_ref(), Ok(value), "{written}");
        written
    }

    #[test]
    fn a_flow_is_written_as_an_author_would() {
        let flow = json!({
            "questions": [
                {"prompt": "How was it?", "id": "taste", "type": "rating", "max": 5, "visibleIf": {"question": "a", "equals": "yes"}},
                {"id": "plan", "type": "singleChoice", "prompt": "Plan: which?", "options": [{"id": "a", "label": "A"}]},
            ],
            "title": "Lunch", "respondentAnalytics": "never",
            "description": "Two lines\n\nof *text*",
            "flow": {"key": "lunch", "labels": ["food", "Q4"], "quotas": []},
        });
        let expected = "\
flow:
  key: lunch
  labels:
    - food
    - Q4
  quotas: []
title: Lunch
description: |-
  Two lines

  of *text*
respondentAnalytics: never
questions:
  - id: taste
    type: rating
    prompt: How was it?
    max: 5
    visibleIf:
      question: a
      equals: \"yes\"
  - id: plan
    type: singleChoice
    prompt: \"Plan: which?\"
    options:
      - id: a
        label: A
";
        assert_eq!(check(&flow), expected);
    }

    /// Texts that some reader would not take for texts, separated by `¦`.
    const ODD: &str = "¦ ¦a ¦ a¦no¦NO¦y¦True¦null¦~¦2026¦1.5¦0x1F¦1e3¦.inf¦2026-11-15¦a: b¦a #b¦#a¦- a¦\
        ? a¦*a¦&a¦!a¦%a¦@a¦`a¦{a¦[a¦'a¦\"a¦a\"b¦a\\b¦a\tb¦a\r\nb¦a\nb¦a\nb\n¦a\nb\n\n¦\na\nb¦ a\nb¦a\n b¦\
        a\n  \nb¦a \nb¦a\n\nb¦grün¦日本¦😀 ok¦\u{85}¦\u{2028}x¦\u{feff}a¦\u{7f}¦\u{1}¦a,b¦a]b¦it's¦<<¦=¦\
        ---¦...¦a:¦\u{202e}x¦x\n---\ny¦line\n# not a comment\nend¦\u{fffe}¦e\u{301}\nb";

    #[test]
    fn every_text_reads_back_as_it_was() {
        for text in ODD.split('¦').chain(["... a\nb", "--- a\nb", "a\n...\nb"]) {
            check(&json!(text));
            check(&json!({"text": text}));
            check(&json!([text, [text], {"a": text}]));
            // As a key, `<<` merges.
            if text != "<<" {
                check(&json!({text: 1}));
            }
        }
    }

    #[test]
    fn every_value_reads_back_as_it_was() {
        for value in [
            json!({}),
            json!([]),
            json!(null),
            json!(true),
            json!(-1.5),
            json!(u64::MAX),
            json!("a\nb"),
            json!([[], {}, [[1], {"a": {}}], {"b": [1, [2, {"c": null}]]}]),
        ] {
            check(&value);
        }
    }
}
