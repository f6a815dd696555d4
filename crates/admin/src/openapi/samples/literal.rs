//! JSON values as literals of a language, on one line if they fit.

use serde_json::Value;

const LINE_CHARS_MAX: usize = 80;

/// How a language writes values.
pub(super) struct Syntax {
    pub(super) null: &'static str,
    pub(super) yes: &'static str,
    pub(super) no: &'static str,
    /// Names that are identifiers need no quotes, and braces have spaces inside.
    pub(super) is_script: bool,
    pub(super) indent: usize,
}

/// A value that starts at this column, on a line that is indented this many times.
pub(super) fn literal(value: &Value, syntax: &Syntax, column: usize, depth: usize) -> String {
    let line = on_one_line(value, syntax);
    if column + line.chars().count() <= LINE_CHARS_MAX {
        return line;
    }
    let (inner, outer) =
        (" ".repeat(syntax.indent * (depth + 1)), " ".repeat(syntax.indent * depth));
    let each: Vec<String> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| {
                let name = format!("{inner}{}: ", key(name, syntax));
                let member = literal(member, syntax, name.chars().count() + 1, depth + 1);
                format!("{name}{member},\n")
            })
            .collect(),
        Value::Array(elements) => elements
            .iter()
            .map(|it| format!("{inner}{},\n", literal(it, syntax, inner.len() + 1, depth + 1)))
            .collect(),
        _ => return line,
    };
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    format!("{open}\n{}{outer}{close}", each.concat())
}

fn on_one_line(value: &Value, syntax: &Syntax) -> String {
    match value {
        Value::Null => syntax.null.to_owned(),
        Value::Bool(true) => syntax.yes.to_owned(),
        Value::Bool(false) => syntax.no.to_owned(),
        Value::Array(elements) => {
            let each: Vec<String> = elements.iter().map(|it| on_one_line(it, syntax)).collect();
            format!("[{}]", each.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let space = if syntax.is_script { " " } else { "" };
            let each: Vec<String> = members
                .iter()
                .map(|(name, it)| format!("{}: {}", key(name, syntax), on_one_line(it, syntax)))
                .collect();
            format!("{{{space}{}{space}}}", each.join(", "))
        }
        // The texts and numbers of JSON are those of both languages.
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn key(name: &str, syntax: &Syntax) -> String {
    let is_identifier = name.starts_with(|it: char| it.is_ascii_alphabetic())
        && name.chars().all(|it| it.is_ascii_alphanumeric());
    if syntax.is_script && is_identifier { name.to_owned() } else { text(name) }
}

/// A text in double quotes.
pub(super) fn text(text: &str) -> String {
    Value::from(text).to_string()
}
