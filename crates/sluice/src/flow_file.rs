//! Reads a flow file: JSON or YAML, by its extension or else by its first character.
//!
//! YAML is read into the same values as JSON. If YAML interprets a value differently (`label: 2024`
//! is a number, `label: on` differs between YAML versions), the author's intent is not guessed: the
//! fault stays, and its message suggests quotes.
//!
//! A file is a definition. What belongs to the flow rather than to its versions, such as its key,
//! is under `flow`.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use sluice_flow::definition::{self, Definition, Fault};
use sluice_flow::flow_settings::FlowSettings;
use sluice_flow::submission::BODY_BYTES_DEFAULT;

use crate::yaml;

/// A parsed file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FlowFile {
    pub(crate) definition: Value,
    /// What is under `flow`.
    settings: Option<Value>,
    is_yaml: bool,
}

/// Why a file could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The file cannot be opened or read.
    Missing(String),
    /// The content is neither JSON nor YAML.
    Syntax(String),
}

/// The field with the settings of the flow.
const SETTINGS: &str = "flow";
/// Larger than any flow that passes the check.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Reads a file, or stdin if the path is `-`.
pub(crate) fn read(path: &Path) -> Result<FlowFile, Unreadable> {
    let missing = |error: std::io::Error| Unreadable::Missing(error.to_string());
    let source: Box<dyn std::io::Read> = if path == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path).map_err(missing)?)
    };
    let mut bytes = Vec::new();
    source.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(missing)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let limit = FILE_BYTES_MAX / (1024 * 1024);
        return Err(Unreadable::Missing(format!("is larger than {limit} MiB")));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| Unreadable::Syntax("must be text in UTF-8".to_owned()))?;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    parse(&text, ending)
}

pub(crate) fn parse(text: &str, ending: &str) -> Result<FlowFile, Unreadable> {
    let text = text.trim_start_matches('\u{feff}');
    let is_yaml = match ending.to_ascii_lowercase().as_str() {
        "json" => false,
        "yaml" | "yml" => true,
        _ => !text.trim_start().starts_with('{'),
    };
    let read = if is_yaml { yaml::parse(text) } else { parse_json(text) };
    let split = |mut definition: Value| {
        let settings = definition.as_object_mut().and_then(|fields| fields.remove(SETTINGS));
        FlowFile { definition, settings, is_yaml }
    };
    read.map(split).map_err(Unreadable::Syntax)
}

impl FlowFile {
    /// Every fault, in the words of the rules, with a hint if YAML is the cause.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let checked = definition::check_new(&self.definition);
        let of_settings = self.settings(checked.as_ref().ok()).err().unwrap_or_default();
        let mut faults = self.explained(checked.err().unwrap_or_default());
        faults.extend(of_settings);
        faults
    }

    /// The settings under `flow`, or their faults. Quotas must fit the definition.
    pub(crate) fn settings(
        &self,
        definition: Option<&Definition>,
    ) -> Result<FlowSettings, Vec<Fault>> {
        match &self.settings {
            None => Ok(FlowSettings::default()),
            Some(value) => FlowSettings::read(value, &format!("/{SETTINGS}"), definition),
        }
    }

    pub(crate) fn has_settings(&self) -> bool {
        self.settings.is_some()
    }

    /// Warnings for the author, on a server with the default limits; none while the flow has
    /// faults.
    pub(crate) fn warnings(&self) -> Vec<Fault> {
        let definition = definition::check(&self.definition);
        definition.map(|it| definition::warnings(&it, BODY_BYTES_DEFAULT)).unwrap_or_default()
    }

    /// Adds the same hint to faults that the server reported.
    pub(crate) fn explained(&self, faults: Vec<Fault>) -> Vec<Fault> {
        faults.into_iter().map(|fault| self.explain(fault)).collect()
    }

    fn explain(&self, fault: Fault) -> Fault {
        let hint = self.definition.pointer(&fault.pointer).and_then(|value| {
            let (kind, quoted) = match value {
                Value::Number(number) => ("a number", number.to_string()),
                Value::Bool(flag) => ("true or false", flag.to_string()),
                _ => return None,
            };
            let fixes = self.is_yaml && self.passes_with_text(&fault.pointer, &quoted);
            fixes.then(|| {
                format!(" (YAML reads this as {kind}; in quotes, \"{quoted}\", it is a text)")
            })
        });
        Fault { message: format!("{}{}", fault.message, hint.unwrap_or_default()), ..fault }
    }

    /// Whether a text at this pointer would remove the fault.
    fn passes_with_text(&self, pointer: &str, text: &str) -> bool {
        let mut repaired = self.definition.clone();
        if let Some(value) = repaired.pointer_mut(pointer) {
            *value = Value::String(text.to_owned());
        }
        let faults = definition::check_new(&repaired).err().unwrap_or_default();
        !faults.iter().any(|fault| fault.pointer == pointer)
    }
}

fn parse_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, ending: &str, expected: Result<Value, &str>) {
        match (parse(text, ending), expected) {
            (Ok(file), Ok(value)) => assert_eq!(file.definition, value, "{text}"),
            (Err(Unreadable::Syntax(said)), Err(part)) => {
                assert!(said.contains(part), "{text}: {said}");
            }
            (read, _) => panic!("{text}: {read:?}"),
        }
    }

    #[test]
    fn the_format_follows_from_the_extension_then_the_first_character() {
        check("{\"a\": 1}", "json", Ok(json!({"a": 1})));
        check("a: 1", "yaml", Ok(json!({"a": 1})));
        check("a: 1", "", Ok(json!({"a": 1})));
        check(" {\"a\": 1}", "", Ok(json!({"a": 1})));
        check("{a: 1}", "YML", Ok(json!({"a": 1})));
        check("\u{feff}{\"a\": 1}", "json", Ok(json!({"a": 1})));
        check("{a: 1}", "json", Err("is not JSON: key must be a string at line 1"));
        check("a: [1", "yaml", Err("is not YAML: "));
    }

    #[test]
    fn yaml_becomes_json_or_a_fault() {
        check("a: {1: x, true: y}", "yaml", Err("put quotes around \"true\""));
        check("a: {1: x}", "yaml", Ok(json!({"a": {"1": "x"}})));
        check("a: .nan", "yaml", Err("finite"));
        check("a: !size 3", "yaml", Err("the tag !size"));
        check(
            "x: &x {p: 1}\na: {<<: *x, q: 2}",
            "yaml",
            Ok(json!({"x": {"p": 1}, "a": {"p": 1, "q": 2}})),
        );
        check("a: 2026-11-15", "yaml", Ok(json!({"a": "2026-11-15"})));
    }

    #[test]
    fn a_number_or_flag_instead_of_a_text_suggests_quotes() {
        let hints = |text: &str, ending: &str| -> Vec<String> {
            let faults = parse(text, ending).unwrap().faults();
            faults
                .into_iter()
                .map(|fault| format!("{}: {}", fault.pointer, fault.message))
                .collect()
        };
        let yaml = hints("title: 2026\nquestions:\n- {id: a, type: yesNo, prompt: true}", "yaml");
        assert_eq!(yaml.len(), 2, "{yaml:?}");
        assert!(yaml[0].starts_with("/title: ") && yaml[0].contains("\"2026\""), "{yaml:?}");
        assert!(yaml[1].starts_with("/questions/0/prompt: ") && yaml[1].contains("\"true\""));
        let json = hints("{\"title\": 2026, \"description\": \"d\", \"questions\": []}", "json");
        assert!(json.len() == 1 && !json[0].contains("YAML"), "{json:?}");
        let other =
            hints("title: t\nquestions:\n- {id: a, type: rating, prompt: p, max: 99}", "yaml");
        assert!(other.len() == 1 && !other[0].contains("YAML"), "{other:?}");
    }
}
