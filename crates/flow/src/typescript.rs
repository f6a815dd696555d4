//! The TypeScript type of the answers to a version, for code that answers it through the API.
//!
//! The type is exact where answers are words: options, scales, yes or no. Free text, numbers and
//! dates are `string`, because their rules are not types. A field is optional unless its question
//! must be answered whatever the other answers are.

use crate::definition::Definition;
use crate::question::choice::{Choice, OTHER_PREFIX};
use crate::question::{Input, Question, Target};

/// The most characters of a prompt in a comment.
const COMMENT_CHARS_MAX: usize = 80;

/// The flow that a module is about, if it is known to a server.
#[derive(Debug, Clone, Copy)]
pub struct PublishedFlow<'a> {
    pub id: &'a str,
    pub number: u64,
}

/// A module with the type of the answers and, for a published flow, its id with that type.
pub fn module(definition: &Definition, name: &str, flow: Option<PublishedFlow<'_>>) -> String {
    let title = comment(name);
    let (pascal, camel) = names(name);
    let mut text = match flow {
        None => format!("// Answers to \"{title}\". Written by `sluice types`.\n"),
        Some(PublishedFlow { id, number }) => format!(
            "// Answers to \"{title}\" ({id}), version {number}. Written by `sluice types`.\n\n\
             import type {{ FlowId }} from \"sluice\";\n"
        ),
    };
    text.push_str(&format!("\nexport type {pascal}Answers = {{\n"));
    for (at, question) in definition.questions().iter().enumerate() {
        let Some(answer) = answer_type(question) else { continue };
        let mark = if is_always_required(definition, at) { "" } else { "?" };
        let id = property(&question.id);
        text.push_str(&format!("  /** {} */\n", comment(&question.prompt)));
        text.push_str(&format!("  {id}{mark}: {answer};\n"));
    }
    text.push_str("};\n");
    if let Some(PublishedFlow { id, .. }) = flow {
        let line = format!("\nexport const {camel} = \"{id}\" as FlowId<{pascal}Answers>;\n");
        text.push_str(&line);
    }
    text
}

/// The type of an answer; `None` if the question takes none.
fn answer_type(question: &Question) -> Option<String> {
    Some(match question.question_type.input() {
        Input::Nothing => return None,
        Input::Line { .. }
        | Input::Paragraph { .. }
        | Input::Number { .. }
        | Input::Date { .. } => "string".to_owned(),
        Input::OneOf { options, .. } => one_of(&options.options, options.allow_other),
        Input::SomeOf { options, .. } => list(&one_of(&options.options, options.allow_other)),
        Input::Order { options, .. } => list(&one_of(options, false)),
        Input::Grid { rows, columns } => {
            list(&format!("`${{{}}}:${{{}}}`", one_of(rows, false), one_of(columns, false)))
        }
        Input::Scale { low, high, .. } => {
            union((low..=high).map(|mark| format!("\"{mark}\"")).collect())
        }
        Input::YesNo => "\"yes\" | \"no\"".to_owned(),
        Input::Tick { value } => format!("\"{value}\""),
    })
}

/// Ids are letters, digits, `_` and `-`, so they need no escapes.
fn one_of(choices: &[Choice], allow_other: bool) -> String {
    let mut words: Vec<String> = choices.iter().map(|it| format!("\"{}\"", it.id)).collect();
    if allow_other {
        words.push(format!("`{OTHER_PREFIX}${{string}}`"));
    }
    union(words)
}

fn union(words: Vec<String>) -> String {
    words.join(" | ")
}

fn list(item: &str) -> String {
    if item.contains(" | ") && !item.starts_with("`$") {
        format!("({item})[]")
    } else {
        format!("{item}[]")
    }
}

/// Whether a question must be answered whatever the other answers are: it is required, it has no
/// condition, and no jump skips it.
fn is_always_required(definition: &Definition, at: usize) -> bool {
    let question = &definition.questions()[at];
    let passes_over = |target: &Target| match target {
        Target::Question(id) => definition.position(id).is_some_and(|to| to > at),
        Target::End | Target::Ending(_) => true,
    };
    let earlier = definition.questions()[..at].iter().flat_map(|earlier| &earlier.next);
    question.required
        && question.visible_if.is_none()
        && !earlier.into_iter().any(|jump| passes_over(&jump.to))
}

/// A name for a type and one for a value: the ASCII words of a text.
fn names(text: &str) -> (String, String) {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let pascal: String = words
        .filter(|word| !word.is_empty())
        .map(|word| word[..1].to_ascii_uppercase() + &word[1..])
        .collect();
    let pascal = match pascal.bytes().next() {
        None => "Flow".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("Flow{pascal}"),
        Some(_) => pascal,
    };
    let camel = pascal[..1].to_ascii_lowercase() + &pascal[1..] + "Flow";
    (pascal, camel)
}

fn property(id: &str) -> String {
    if id.contains('-') { format!("\"{id}\"") } else { id.to_owned() }
}

/// The beginning of a text on one line, safe in a comment.
fn comment(text: &str) -> String {
    let visible = |letter: &char| letter.is_whitespace() || !letter.is_control();
    // Before the end of a comment is broken up: what is removed must not make another one.
    let text: String = text.chars().filter(visible).collect();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("*/", "* /");
    let shown: String = line.chars().take(COMMENT_CHARS_MAX).collect();
    if shown.len() < line.len() { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::definition::check;
    use crate::question::QuestionType;

    #[test]
    fn a_module_has_the_exact_type_of_the_answers() {
        let options = json!([{"id": "api", "label": "A"}, {"id": "web-ui", "label": "W"}]);
        let definition = check(&json!({"title": "T", "questions": [
            {"id": "nps", "type": "nps", "prompt": "How likely?", "required": true},
            {"id": "why", "type": "longText", "prompt": "Why\nnot */ this?"},
            {"id": "read", "type": "statement", "prompt": "Read"},
            {"id": "use-it", "type": "multipleChoice", "prompt": "?", "options": options, "allowOther": true,
             "required": true, "next": [{"when": {"question": "nps", "lessThan": 3}, "to": "stars"}]},
            {"id": "rank", "type": "ranking", "prompt": "?", "options": options, "required": true},
            {"id": "stars", "type": "rating", "prompt": "?", "max": 3, "required": true},
            {"id": "grid", "type": "matrix", "prompt": "?", "rows": options, "columns": options},
            {"id": "yes", "type": "yesNo", "prompt": "?", "visibleIf": {"question": "stars", "equals": 1}, "required": true},
            {"id": "terms", "type": "consent", "prompt": "?", "required": true},
        ]}))
        .unwrap();
        let flow = PublishedFlow { id: "fl_1", number: 2 };
        let expected = r#"// Answers to "Product feedback 2" (fl_1), version 2. Written by `sluice types`.

import type { FlowId } from "sluice";

export type ProductFeedback2Answers = {
  /** How likely? */
  nps: "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "10";
  /** Why not * / this? */
  why?: string;
  /** ? */
  "use-it": ("api" | "web-ui" | `other:${string}`)[];
  /** ? */
  rank?: ("api" | "web-ui")[];
  /** ? */
  stars: "1" | "2" | "3";
  /** ? */
  grid?: `${"api" | "web-ui"}:${"api" | "web-ui"}`[];
  /** ? */
  yes?: "yes" | "no";
  /** ? */
  terms: "accepted";
};

export const productFeedback2Flow = "fl_1" as FlowId<ProductFeedback2Answers>;
"#;
        assert_eq!(module(&definition, "Product feedback 2", Some(flow)), expected);
        let without = module(&definition, "Product feedback 2", None);
        assert!(!without.contains("FlowId") && without.contains("terms: \"accepted\";"));
    }

    #[test]
    fn a_comment_is_not_ended_by_its_text() {
        for text in ["a */ b", "a *\u{1}/ b", "a *\u{7f}\u{85}/ b", "a *\u{1}\u{2}/ b"] {
            let shown = comment(text);
            assert!(
                !shown.contains("*/") && !shown.contains(char::is_control),
                "{text:?}: {shown}"
            );
        }
        assert_eq!(comment("one\n\ttwo"), "one two");
        assert_eq!(comment(&"x".repeat(1_000)).chars().last(), Some('…'));
    }

    #[test]
    fn a_name_is_an_identifier_whatever_the_flow_is_called() {
        for (text, pascal, camel) in [
            ("Lunch", "Lunch", "lunchFlow"),
            ("how was it?", "HowWasIt", "howWasItFlow"),
            ("2026 survey", "Flow2026Survey", "flow2026SurveyFlow"),
            ("日本", "Flow", "flowFlow"),
        ] {
            assert_eq!(names(text), (pascal.to_owned(), camel.to_owned()), "{text}");
        }
    }

    #[test]
    fn every_type_that_takes_an_answer_has_a_type() {
        for name in QuestionType::NAMES {
            let question_type = QuestionType::blank(name).unwrap();
            let question = Question {
                id: "q".into(),
                prompt: "?".into(),
                help: None,
                image: None,
                required: false,
                visible_if: None,
                next: Vec::new(),
                question_type,
            };
            let is_answerable = question.question_type.is_answerable();
            assert_eq!(answer_type(&question).is_some(), is_answerable, "{name}");
        }
    }
}
