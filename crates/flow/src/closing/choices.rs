//! The conditions that authors choose from: one for each answer that a question offers, and any
//! condition in words.

use serde_json::{Value, json};

use super::condition;
use crate::definition::Definition;
use crate::question::Question;
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
    let choices = definition
        .questions()
        .iter()
        .map(|question| AnswerChoices { prompt: &question.prompt, answers: answers_of(question) });
    choices.filter(|it| !it.answers.is_empty()).collect()
}

fn answers_of(question: &Question) -> Vec<(Value, &str)> {
    let of = |test: &str, value: &str| json!({"question": question.id, test: value});
    match question.question_type.comparable() {
        Comparable::OneOf { options, other } => listed(options, other, |id| of("equals", id)),
        Comparable::SomeOf { options, other } => listed(options, other, |id| of("includes", id)),
        Comparable::Words(words) => words.iter().map(|it| (of("equals", it), *it)).collect(),
        Comparable::Never
        | Comparable::Presence
        | Comparable::Text
        | Comparable::Number
        | Comparable::Date
        | Comparable::Cells { .. } => Vec::new(),
    }
}

fn listed(
    options: &[Choice],
    other: bool,
    condition: impl Fn(&str) -> Value,
) -> Vec<(Value, &str)> {
    let each = options.iter().map(|it| (condition(&it.id), it.label.as_str()));
    each.chain(other.then(|| (condition(OTHER), "Other"))).collect()
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
