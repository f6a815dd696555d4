//! Example answers of a submission, for documentation with real calls.
//!
//! Every proposed answer is judged like any other, and dropped if it does not pass. So an example
//! is valid for every definition, or leaves out an answer.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::definition::Definition;
use crate::judge::judge_question;
use crate::question::{Format, Input, Length, Question, QuestionType};
use crate::text_map::{TextMap, Texts};

/// One valid answer to each question that takes one.
pub fn answers(definition: &Definition) -> Map<String, Value> {
    let answerable = definition.questions().iter().filter(|it| it.question_type.is_answerable());
    let example = |question: &Question| {
        let answer =
            proposals(&question.question_type).into_iter().find(|it| is_right(question, it))?;
        Some((question.id.clone(), to_json(&answer)))
    };
    answerable.filter_map(example).collect()
}

/// Possible answers, the likeliest first.
fn proposals(question_type: &QuestionType) -> Vec<Texts<'static>> {
    let one = |texts: &[&str]| {
        texts.iter().map(|text| Texts::One(Cow::Owned((*text).to_owned()))).collect()
    };
    let given = |text: String| Texts::One(Cow::Owned(text));
    match question_type.input() {
        Input::Nothing => Vec::new(),
        Input::Line { format: Format::Text, length } => texts("Ada Lovelace", length),
        Input::Line { format: Format::Email, .. } => one(&["ada@example.com"]),
        Input::Line { format: Format::Url, .. } => one(&["https://example.com"]),
        Input::Line { format: Format::Phone, .. } => one(&["+49 30 1234567"]),
        Input::Paragraph { length } => texts("It does what I need, quickly.", length),
        Input::Number { min, max, .. } => {
            let ends = [min, max].into_iter().flatten().map(|end| given(end.to_string()));
            one(&["42", "1", "0"]).into_iter().chain(ends).collect()
        }
        Input::Date { min, max } => {
            let ends = [min, max].into_iter().flatten().map(|end| given(end.to_owned()));
            one(&["2026-11-15"]).into_iter().chain(ends).collect()
        }
        Input::OneOf { options, .. } => {
            options.options.iter().take(1).map(|option| given(option.id.clone())).collect()
        }
        Input::SomeOf { options, min, .. } => {
            let least = min.unwrap_or(1).max(1) as usize;
            vec![many(options.options.iter().take(least).map(|option| option.id.clone()))]
        }
        Input::Order { options, .. } => vec![many(options.iter().map(|option| option.id.clone()))],
        Input::Grid { rows, columns } => {
            let column = columns.last().map(|column| column.id.as_str()).unwrap_or_default();
            vec![many(rows.iter().map(|row| format!("{}:{column}", row.id)))]
        }
        // One below the best mark of a long scale, as most people answer.
        Input::Scale { low: 0, high, .. } => vec![given((high - 1).to_string())],
        Input::Scale { high, .. } => vec![given(high.to_string())],
        Input::YesNo => one(&["yes"]),
        Input::Tick { value } => one(&[value]),
    }
}

/// The text, cut or repeated to the wanted length.
fn texts(text: &str, wanted: Length) -> Vec<Texts<'static>> {
    let least = wanted.min_length.unwrap_or(0) as usize;
    let most = wanted.max_length.map_or(usize::MAX, |max| max as usize);
    let length = text.chars().count().max(least).min(most);
    let text: String = text.chars().cycle().take(length).collect();
    // An answer of only white space would count as absent.
    vec![Texts::One(Cow::Owned(text))]
}

fn many(texts: impl Iterator<Item = String>) -> Texts<'static> {
    Texts::Many(texts.map(Cow::Owned).collect())
}

fn is_right(question: &Question, answer: &Texts<'static>) -> bool {
    let answers: TextMap<'_> =
        [(Cow::Borrowed(question.id.as_str()), answer.clone())].into_iter().collect();
    judge_question(question, &answers).is_empty()
}

fn to_json(answer: &Texts<'_>) -> Value {
    match answer {
        Texts::One(text) => Value::from(text.as_ref()),
        Texts::Many(texts) => texts.iter().map(|text| Value::from(text.as_ref())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::definition;

    #[track_caller]
    fn check(questions: Value, expected: Value) {
        let draft = json!({"title": "T", "questions": questions});
        let definition = definition::check(&draft).unwrap();
        assert_eq!(Value::Object(answers(&definition)), expected);
    }

    #[test]
    fn every_type_that_takes_an_answer_has_one() {
        let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
        let expected = json!({
            "shortText": "Ada Lovelace", "longText": "It does what I need, quickly.", "email": "ada@example.com",
            "url": "https://example.com", "phone": "+49 30 1234567", "number": "42", "date": "2026-11-15",
            "singleChoice": "a", "dropdown": "a", "multipleChoice": ["a"], "ranking": ["a", "b"],
            "matrix": ["a:b", "b:b"], "rating": "5", "nps": "9", "yesNo": "yes", "consent": "accepted",
        });
        let questions: Vec<Value> = QuestionType::NAMES
            .iter()
            .map(|name| {
                let mut question = json!({"id": name, "type": name, "prompt": "?"});
                for field in QuestionType::blank(name).unwrap().choice_fields() {
                    question[field] = options.clone();
                }
                question
            })
            .collect();
        let draft = json!({"title": "T", "questions": questions});
        let definition = definition::check(&draft).unwrap();
        let examples = answers(&definition);
        for question in definition.questions() {
            let (kind, answer) = (&question.question_type, examples.get(&question.id));
            assert_eq!(answer.is_some(), kind.is_answerable(), "{}", kind.name());
            // A type that is not in the list above has an example too.
            if let Some(expected) = expected.get(kind.name()) {
                assert_eq!(answer, Some(expected));
            }
        }
        assert_eq!(
            expected.as_object().unwrap().keys().filter(|it| !examples.contains_key(*it)).count(),
            0
        );
    }

    #[test]
    fn examples_stay_within_limits() {
        let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}]);
        check(
            json!([
                {"id": "s", "type": "shortText", "prompt": "?", "maxLength": 3},
                {"id": "l", "type": "shortText", "prompt": "?", "minLength": 15},
                {"id": "n", "type": "number", "prompt": "?", "min": 100, "max": 200},
                {"id": "d", "type": "date", "prompt": "?", "min": "2030-01-01"},
                {"id": "m", "type": "multipleChoice", "prompt": "?", "options": options, "minSelected": 2},
                {"id": "r", "type": "rating", "prompt": "?", "max": 3},
            ]),
            json!({"s": "Ada", "l": "Ada LovelaceAda", "n": "100", "d": "2030-01-01", "m": ["a", "b"], "r": "3"}),
        );
    }
}
