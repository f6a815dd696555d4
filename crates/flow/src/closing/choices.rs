//! The conditions that authors choose from: one for each answer that a question offers, and any
//! condition in words.

use serde_json::{Value, json};

use super::condition;
use crate::definition::Definition;
use crate::question::choice::{Choice, OTHER};
use crate::question::rules::Comparable;

/// The answers to one question, each with its condition as JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerChoices<'d> {
    pub prompt: &'d str,
    pub answers: Vec<(Value, &'d str)>,
}

/// The questions with a fixed list of answers.
pub fn answer_choices(definition: &Definition) -> Vec<AnswerChoices<'_>> {
    let of_question = |question| {
        let crate::question::Question { id, prompt, question_type, .. } = question;
        let of = |test: &str, value: &str| json!({"question": id, test: value});
        let listed = |test: &str, options: &'_ [Choice], other: bool| {
            let other = other.then(|| (of(test, OTHER), "Other"));
            let each = options.iter().map(|it| (of(test, &it.id), it.label.as_str()));
            each.chain(other).collect()
        };
        let answers: Vec<(Value, &str)> = match question_type.comparable() {
            Comparable::OneOf { options, other } => listed("equals", options, other),
            Comparable::SomeOf { options, other } => listed("includes", options, other),
            Comparable::Words(words) => words.iter().map(|it| (of("equals", it), *it)).collect(),
            Comparable::Never
            | Comparable::Presence
            | Comparable::Text
            | Comparable::Number
            | Comparable::Date
            | Comparable::Cells { .. } => Vec::new(),
        };
        (!answers.is_empty()).then_some(AnswerChoices { prompt, answers })
    };
    definition.questions().iter().filter_map(of_question).collect()
}

/// A condition in English; its JSON if it does not fit the questions.
pub fn in_words(when: &Value, definition: Option<&Definition>) -> String {
    let words = definition.and_then(|definition| {
        let condition = condition(when, "", definition).ok()?;
        Some(condition.in_words(definition.questions()))
    });
    words.unwrap_or_else(|| when.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::check;

    #[test]
    fn every_offered_answer_is_a_condition_of_its_question() {
        let options = json!([{"id": "f", "label": "Female"}]);
        let survey = check(&json!({"title": "T", "questions": [
            {"id": "sex", "type": "singleChoice", "prompt": "Sex?", "options": options, "allowOther": true},
            {"id": "use", "type": "multipleChoice", "prompt": "Uses?", "options": options},
            {"id": "ok", "type": "yesNo", "prompt": "Ok?"},
            {"id": "why", "type": "longText", "prompt": "Why?"}
        ]}))
        .unwrap();
        let choices = answer_choices(&survey);
        let prompts: Vec<_> = choices.iter().map(|it| it.prompt).collect();
        assert_eq!(prompts, ["Sex?", "Uses?", "Ok?"]);
        let labels: Vec<_> = choices[0].answers.iter().map(|(_, label)| *label).collect();
        assert_eq!(labels, ["Female", "Other"]);
        for (when, _) in choices.iter().flat_map(|it| &it.answers) {
            assert!(condition(when, "", &survey).is_ok(), "{when}");
        }
        let words = in_words(&choices[0].answers[0].0, Some(&survey));
        assert_eq!(words, "“Sex?” is “Female”");
        assert_eq!(in_words(&json!({"question": "x"}), Some(&survey)), r#"{"question":"x"}"#);
    }
}
