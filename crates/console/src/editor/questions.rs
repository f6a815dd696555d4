//! A read-only view of the questions of a definition, for visitors who may not edit and for past
//! versions.

use maud::{Markup, html};
use sluice_flow::definition::Definition;
use sluice_flow::question::{Question, QuestionType};

pub(super) fn list(definition: &Definition) -> Markup {
    html! {
        @if let Some(description) = definition.description() { p.muted { (description) } }
        ol.reading { @for question in definition.questions() { (one(definition, question)) } }
        @if definition.questions().is_empty() { p.muted { "No questions" } }
    }
}

fn one(definition: &Definition, question: &Question) -> Markup {
    html! {
        li {
            strong { (question.prompt) } " "
            span.tag { (question.question_type.label()) }
            @if question.required { " " span.tag { "Required" } }
            " " code { (question.id) }
            @if let Some(help) = &question.help { p.muted { (help) } }
            @let choices = choices(&question.question_type);
            @if !choices.is_empty() { p { (choices) } }
            @if let Some(condition) = &question.visible_if {
                p.hint { "Asked only if " (condition.in_words(definition.questions())) "." }
            }
        }
    }
}

/// The labels of the choices, in one line.
fn choices(question_type: &QuestionType) -> String {
    let fields = serde_json::to_value(question_type).unwrap_or_default();
    let labels = |name: &str| -> Option<String> {
        let labels =
            fields.get(name)?.as_array()?.iter().filter_map(|choice| choice["label"].as_str());
        Some(labels.collect::<Vec<_>>().join(" · "))
    };
    let lists = question_type.choice_fields().into_iter().filter_map(labels);
    lists.collect::<Vec<_>>().join(" — ")
}
