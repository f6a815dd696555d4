//! The schema of an answer, by the control of its question.
//!
//! A client may send a text as a list of one and a list of one as a text, and an empty text or list
//! for no answer. A new type that uses an existing control needs nothing here.

use serde_json::{Map, Value, json};

use super::{decimals, patterns};
use crate::definition::limits::{ANSWER_CHARS_MAX, OTHER_CHARS_MAX, URL_CHARS_MAX};
use crate::question::choice::{Choice, OTHER_PREFIX, Options};
use crate::question::{Format, Input, Length, Question};

/// What counts as no answer.
pub(super) fn absent() -> Value {
    json!({"enum": [null, "", [], [""]]})
}

/// What counts as an answer, valid or not.
pub(super) fn answered() -> Value {
    json!({"anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "minItems": 1, "not": {"const": [""]}},
    ]})
}

/// The texts that a question takes.
enum Takes {
    Nothing,
    /// One text.
    One(Value),
    /// A list of texts with these further rules; a single text if `or_text`.
    List {
        item: Value,
        rules: Value,
        or_text: bool,
    },
}

/// The answer to this question, or none. The schema of its texts goes to `defs`.
pub(super) fn property(question: &Question, defs: &mut Map<String, Value>) -> Value {
    let name = format!("text.{}", question.id);
    let text = json!({"$ref": format!("#/$defs/{name}")});
    let mut forms = vec![json!({"$ref": "#/$defs/absent"})];
    match takes(&question.question_type.input()) {
        Takes::Nothing => {}
        Takes::One(schema) => {
            defs.insert(name, schema);
            let list = json!({"type": "array", "items": text, "minItems": 1, "maxItems": 1});
            forms.extend([text, list]);
        }
        Takes::List { item, mut rules, or_text } => {
            defs.insert(name, item);
            rules["type"] = "array".into();
            rules["items"] = text.clone();
            forms.extend(or_text.then_some(text));
            forms.push(rules);
        }
    }
    json!({"title": question.prompt, "anyOf": forms})
}

/// An answer that satisfies `required`.
pub(super) fn required(question: &Question) -> Value {
    let whole = match question.question_type.input() {
        // A required grid needs all its rows.
        Input::Grid { rows, .. } => {
            let rows_in = rows.iter().map(|row| json!({"contains": in_row(row)}));
            let all = json!({"type": "array", "allOf": rows_in.collect::<Vec<_>>()});
            let text = (rows.len() == 1).then(|| json!({"type": "string", "minLength": 1}));
            json!({"anyOf": text.into_iter().chain([all]).collect::<Vec<_>>()})
        }
        _ => json!({"$ref": "#/$defs/answered"}),
    };
    let id = &question.id;
    json!({"required": [id], "properties": {id: whole}})
}

fn takes(input: &Input<'_>) -> Takes {
    match *input {
        Input::Nothing => Takes::Nothing,
        Input::Line { format, length } => Takes::One(line(format, length)),
        Input::Paragraph { length } => Takes::One(length_of(length)),
        Input::Number { min, max, integer } => Takes::One(decimals::number(min, max, integer)),
        Input::Date { min, max } => {
            let mut all = vec![patterns::date()];
            all.extend(min.map(|min| json!({"not": patterns::before(min)})));
            all.extend(max.map(|max| json!({"not": patterns::after(max)})));
            Takes::One(json!({"allOf": all}))
        }
        Input::OneOf { options, .. } => Takes::One(option(options)),
        Input::SomeOf { options, min, max } => some_of(options, min, max),
        Input::Order { options, .. } => Takes::List {
            item: json!({"enum": ids(options)}),
            rules: json!({
                "minItems": options.len(), "maxItems": options.len(), "uniqueItems": true,
            }),
            or_text: options.len() == 1,
        },
        Input::Grid { rows, columns } => grid(rows, columns),
        Input::Scale { low, high, .. } => {
            let marks: Vec<String> = (low..=high).map(|mark| mark.to_string()).collect();
            Takes::One(json!({"enum": marks}))
        }
        Input::YesNo => Takes::One(json!({"enum": ["yes", "no"]})),
        Input::Tick { value } => Takes::One(json!({"const": value})),
    }
}

fn line(format: Format, length: Length) -> Value {
    let form = match format {
        Format::Text => return length_of(length),
        Format::Email => patterns::email(),
        Format::Url => patterns::url(URL_CHARS_MAX),
        Format::Phone => patterns::phone(),
    };
    json!({"allOf": [form, length_of(length)]})
}

fn length_of(length: Length) -> Value {
    patterns::text(length.min_length.unwrap_or(0), length.max_length.unwrap_or(ANSWER_CHARS_MAX))
}

fn ids(choices: &[Choice]) -> Vec<&str> {
    choices.iter().map(|choice| choice.id.as_str()).collect()
}

/// An option, or `other:` and a text that is not empty.
fn option(options: &Options) -> Value {
    let listed = json!({"enum": ids(&options.options)});
    if !options.allow_other {
        return listed;
    }
    let chars_max = OTHER_PREFIX.len() + OTHER_CHARS_MAX;
    let other = json!({
        "type": "string",
        "pattern": format!("^{OTHER_PREFIX}[\\s\\S]*[^{}]", patterns::SPACE),
        "maxLength": chars_max,
        "not": {"pattern": "\u{0}"},
    });
    json!({"anyOf": [listed, other]})
}

fn some_of(options: &Options, min: Option<u32>, max: Option<u32>) -> Takes {
    let min = min.unwrap_or(1).max(1);
    let mut rules = json!({"minItems": min, "uniqueItems": true});
    if let Some(max) = max {
        rules["maxItems"] = max.into();
    }
    if options.allow_other {
        rules["contains"] = json!({"type": "string", "pattern": format!("^{OTHER_PREFIX}")});
        rules["minContains"] = 0.into();
        rules["maxContains"] = 1.into();
    }
    Takes::List { item: option(options), rules, or_text: min == 1 }
}

/// One column for each row, at most.
fn grid(rows: &[Choice], columns: &[Choice]) -> Takes {
    let cell = format!("(?:{}):(?:{})", ids(rows).join("|"), ids(columns).join("|"));
    let once = |row: &Choice| json!({"contains": in_row(row), "minContains": 0, "maxContains": 1});
    let rules = json!({
        "minItems": 1, "maxItems": rows.len(),
        "allOf": rows.iter().map(once).collect::<Vec<_>>(),
    });
    Takes::List { item: patterns::whole(&cell), rules, or_text: true }
}

fn in_row(row: &Choice) -> Value {
    json!({"type": "string", "pattern": format!("^{}:", row.id)})
}
