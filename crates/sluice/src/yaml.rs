//! Reads YAML as the equivalent JSON value, or reports the first fault with its line, column and
//! path.
//!
//! The parser yields events, and this module builds the value. It limits nesting and the expansion
//! of aliases: a few hundred bytes of nested aliases could otherwise become gigabytes. Scalars
//! follow the core schema of YAML 1.2, so `on`, `yes` and `0123` are texts. Deliberately
//! unsupported: several documents in one file, and custom tags.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::{Map, Number, Value};

/// The deepest allowed nesting of lists and mappings.
const DEPTH_MAX: usize = 128;
/// The maximum size of all copies made by anchors and aliases: values, and bytes of text.
const COPIED_MAX: usize = 1024 * 1024;
/// The merge key, which copies the entries of another mapping.
const MERGE: &str = "<<";

/// Reads a document. The error is a sentence that ends with the position.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = YamlReader {
        parser: Parser::new_from_str(text),
        anchors: HashMap::new(),
        path: Vec::new(),
        copied: 0,
    };
    reader.document().map_err(|fault| fault.message)
}

/// A fault with its position, as a sentence.
struct YamlFault {
    message: String,
}

impl From<ScanError> for YamlFault {
    fn from(error: ScanError) -> Self {
        Self { message: format!("is not YAML: {} {}", error.info(), place(error.marker())) }
    }
}

fn place(marker: &Marker) -> String {
    format!("at line {} column {}", marker.line(), marker.col() + 1)
}

struct YamlReader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// Anchored values, by anchor number.
    anchors: HashMap<usize, Value>,
    /// Keys and positions that lead to the current value.
    path: Vec<String>,
    /// The size of the copies so far.
    copied: usize,
}

impl<'t> YamlReader<'t> {
    fn document(&mut self) -> Result<Value, YamlFault> {
        let mut document = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(document.unwrap_or(Value::Null)),
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if document.is_some() => {
                    return Err(self.fault(&span, "there must be one document only"));
                }
                Event::DocumentStart(_) => {
                    let (event, span) = self.next()?;
                    document = Some(self.value(event, &span)?);
                }
                _ => return Err(self.fault(&span, "a document must start here")),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), YamlFault> {
        let end = (Event::StreamEnd, Span::default());
        Ok(self.parser.next_event().transpose()?.unwrap_or(end))
    }

    fn fault(&self, span: &Span, what: &str) -> YamlFault {
        let path: String = self.path.iter().map(|part| format!("/{part}")).collect();
        let at = if path.is_empty() { String::new() } else { format!(" ({path})") };
        YamlFault { message: format!("{what} {}{at}", place(&span.start)) }
    }

    fn value(&mut self, event: Event<'t>, span: &Span) -> Result<Value, YamlFault> {
        let (value, anchor) = match event {
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref();
                let value = scalar(&text, style, tag).map_err(|what| self.fault(span, &what))?;
                (value, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_collection(span, tag.as_deref(), "seq")?;
                (self.sequence()?, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                self.check_collection(span, tag.as_deref(), "map")?;
                (self.mapping()?, anchor)
            }
            _ => return Err(self.fault(span, "a value is missing")),
        };
        // The parser numbers anchors from 1.
        if anchor > 0 {
            self.count_copy(size(&value), span)?;
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn check_collection(
        &self,
        span: &Span,
        tag: Option<&Tag>,
        suffix: &str,
    ) -> Result<(), YamlFault> {
        if self.path.len() >= DEPTH_MAX {
            return Err(self.fault(span, &format!("is nested deeper than {DEPTH_MAX} levels")));
        }
        match tag {
            Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == suffix) => {
                Err(self.fault(span, &unknown_tag(tag)))
            }
            _ => Ok(()),
        }
    }

    fn alias(&mut self, anchor: usize, span: &Span) -> Result<Value, YamlFault> {
        let Some(value) = self.anchors.get(&anchor) else {
            return Err(self.fault(span, "an alias must not be inside the value it refers to"));
        };
        let value = value.clone();
        self.count_copy(size(&value), span)?;
        Ok(value)
    }

    fn count_copy(&mut self, size: usize, span: &Span) -> Result<(), YamlFault> {
        self.copied = self.copied.saturating_add(size);
        if self.copied > COPIED_MAX {
            return Err(self.fault(span, "anchors and aliases expand to more than 1 MiB"));
        }
        Ok(())
    }

    fn sequence(&mut self) -> Result<Value, YamlFault> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(items.into());
            }
            self.path.push(items.len().to_string());
            items.push(self.value(event, &span)?);
            self.path.pop();
        }
    }

    fn mapping(&mut self) -> Result<Value, YamlFault> {
        let mut own = Map::new();
        let mut merged = Vec::new();
        loop {
            let (event, key_span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let key = self.value(event, &key_span)?;
            let key = to_key(key).map_err(|what| self.fault(&key_span, &what))?;
            let (event, span) = self.next()?;
            self.path.push(key.clone());
            let value = self.value(event, &span)?;
            if key == MERGE {
                merged.extend(mappings(value).map_err(|what| self.fault(&span, what))?);
            } else if own.insert(key, value).is_some() {
                return Err(self.fault(&key_span, "the same key is given twice"));
            }
            self.path.pop();
        }
        // A mapping's own entries win over merged ones; among merged ones the first wins.
        for (key, value) in merged.into_iter().flatten() {
            own.entry(key).or_insert(value);
        }
        Ok(own.into())
    }
}

/// The mappings that a merge key names: one, or a list.
fn mappings(value: Value) -> Result<Vec<Map<String, Value>>, &'static str> {
    let values = match value {
        Value::Array(values) => values,
        value => vec![value],
    };
    let mappings = values.into_iter().map(|value| match value {
        Value::Object(entries) => Ok(entries),
        _ => Err("\"<<\" must name a mapping or a list of mappings"),
    });
    mappings.collect()
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + text.len(),
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(entries) => {
            1 + entries.iter().map(|(key, value)| key.len() + size(value)).sum::<usize>()
        }
    }
}

/// Keys are texts in JSON. Numbers make sense as option ids; other YAML keys do not.
fn to_key(key: Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Err(format!("a key must be a text; put quotes around \"{flag}\"")),
        Value::Null | Value::Array(_) | Value::Object(_) => Err("a key must be a text".to_owned()),
    }
}

fn unknown_tag(tag: &Tag) -> String {
    format!("the tag {}{} is not supported", tag.handle, tag.suffix)
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let is_plain = style == ScalarStyle::Plain;
    let Some(tag) = tag else {
        return if is_plain { plain(text) } else { Ok(text.into()) };
    };
    if tag.handle.is_empty() && tag.suffix == "!" || tag.handle == "!" && tag.suffix.is_empty() {
        return Ok(text.into());
    }
    if !tag.is_yaml_core_schema() {
        return Err(unknown_tag(tag));
    }
    let value = if tag.suffix == "str" { text.into() } else { plain(text)? };
    let fits = match (tag.suffix.as_str(), &value) {
        ("str", _) | ("null", Value::Null) | ("bool", Value::Bool(_)) => true,
        ("int", Value::Number(number)) => number.is_i64() || number.is_u64(),
        ("float", Value::Number(_)) => true,
        _ => false,
    };
    if fits { Ok(value) } else { Err(format!("{text:?} is not of the type !!{}", tag.suffix)) }
}

/// The value of an unquoted scalar.
fn plain(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => number(text)?.map_or_else(|| text.into(), Value::Number),
    })
}

fn number(text: &str) -> Result<Option<Number>, String> {
    let (is_negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err("a number must be finite".to_owned());
    }
    // A number begins with a digit, or with a dot and a digit; `1.` and `1e5` are numbers, `0123`
    // is a text.
    let is_numeric =
        digits.trim_start_matches('.').starts_with(|first: char| first.is_ascii_digit());
    let is_padded =
        digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|it| it.is_ascii_digit());
    if !is_numeric || is_padded {
        return Ok(None);
    }
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)];
    let radix =
        radix.iter().find_map(|(prefix, radix)| Some((digits.strip_prefix(prefix)?, *radix)));
    let (whole, radix) = radix.unwrap_or((digits, 10));
    let magnitude =
        if whole.starts_with('+') { None } else { u64::from_str_radix(whole, radix).ok() };
    let whole = match magnitude {
        Some(magnitude) if is_negative => 0_i64.checked_sub_unsigned(magnitude).map(Number::from),
        magnitude => magnitude.map(Number::from),
    };
    if whole.is_some() {
        return Ok(whole);
    }
    let sign = if is_negative { -1.0 } else { 1.0 };
    let float = digits.parse::<f64>().ok();
    Ok(float.and_then(|float| Number::from_f64(sign * float)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<Value, &str>) {
        assert_eq!(parse(text), expected.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("TRUE", json!(true)),
            ("on", json!("on")),
            ("12", json!(12)),
            ("+12", json!(12)),
            ("-12", json!(-12)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("18446744073709551615", json!(u64::MAX)),
            ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("0b101", json!(5)),
            ("0123", json!("0123")),
            ("0", json!(0)),
            ("1.5", json!(1.5)),
            ("-.5", json!(-0.5)),
            ("1e3", json!(1000.0)),
            ("1_000", json!("1_000")),
            ("--1", json!("--1")),
            ("1.2.3", json!("1.2.3")),
            ("infinity", json!("infinity")),
            ("2026-11-15", json!("2026-11-15")),
            ("'12'", json!("12")),
            ("\"true\"", json!("true")),
            ("!!str 12", json!("12")),
            ("!!int 12", json!(12)),
            ("! 12", json!("12")),
            ("|\n  a\n  b\n", json!("a\nb\n")),
        ] {
            check(text, Ok(value));
        }
    }

    #[test]
    fn a_fault_has_its_line_column_and_path() {
        for (text, fault) in [
            ("a:\n  - !size 3", "the tag !size is not supported at line 2 column 5 (/a/0)"),
            ("a: {b: .nan}", "a number must be finite at line 1 column 8 (/a/b)"),
            ("a: 1\nb: 2\na: 3", "the same key is given twice at line 3 column 1 (/a)"),
            (
                "a:\n  true: x",
                "a key must be a text; put quotes around \"true\" at line 2 column 3 (/a)",
            ),
            ("a:\n  [x]: y", "a key must be a text at line 2 column 3 (/a)"),
            (
                "a: &x [*x]",
                "an alias must not be inside the value it refers to at line 1 column 8 (/a/0)",
            ),
            (
                "a: {<<: 3}",
                "\"<<\" must name a mapping or a list of mappings at line 1 column 9 (/a/<<)",
            ),
            ("a: 1\n---\nb: 2", "there must be one document only at line 2 column 1"),
            ("a: !!int x", "\"x\" is not of the type !!int at line 1 column 4 (/a)"),
        ] {
            check(text, Err(fault));
        }
        for (text, place) in [
            ("a: [1", "at line 2 column 1"),
            ("a: 1\n b: 2", "at line 2 column 3"),
            ("a: *x", "at line 1 column 4"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.contains(place), "{text}: {fault}");
        }
    }

    #[test]
    fn merged_entries_come_after_own_ones() {
        check(
            "x: &x {p: 1, q: 1}\ny: &y {q: 2, r: 2}\na: {<<: [*x, *y], p: 0}",
            Ok(json!({
                "x": {"p": 1, "q": 1}, "y": {"q": 2, "r": 2}, "a": {"p": 0, "q": 1, "r": 2}
            })),
        );
    }

    #[test]
    fn alias_expansion_is_limited() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}", level - 1);
            text += &format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(", "));
        }
        let fault = parse(&text).unwrap_err();
        assert!(
            fault.starts_with("anchors and aliases expand to more than 1 MiB at line 6"),
            "{fault}"
        );
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(DEPTH_MAX)).is_ok());
        assert!(parse(&nested(DEPTH_MAX + 1)).unwrap_err().contains("128 levels"));
        assert!(parse(&nested(100_000)).is_err());
        let indented: String =
            (0..1000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert!(parse(&indented).unwrap_err().contains("128 levels"));
    }
}
