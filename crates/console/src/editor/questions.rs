//! A read-only view of the questions of a definition, for visitors who may not edit and for past
//! versions.

use maud::{Markup, html};
use serde_json::Value;
use sluice_flow::definition::{Definition, NamedEnding, Section};
use sluice_flow::question::{Question, QuestionType};

use crate::parts::counted;

pub(super) fn list(definition: &Definition) -> Markup {
    html! {
        @if let Some(description) = definition.description() { p.muted { (description) } }
        @if let Some(welcome) = definition.welcome() {
            @let texts = [&welcome.title, &welcome.body, &welcome.button_text];
            p.muted { "Welcome screen: " (texts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" · ")) }
        }
        ol.reading { @for question in definition.questions() { (one(definition, question)) } }
        @if definition.questions().is_empty() { p.muted { "No questions" } }
        @if !definition.endings().is_empty() {
            h3 { "Endings" }
            ul.reading { @for ending in definition.endings() { (one_ending(definition, ending)) } }
        }
    }
}

fn one_ending(definition: &Definition, ending: &NamedEnding) -> Markup {
    html! {
        li {
            strong { (ending.ending.title.as_deref().unwrap_or("Default title")) } " "
            code { (ending.id) }
            @if let Some(body) = &ending.ending.body { p.muted { (body) } }
            @match &ending.when {
                Some(when) => p.hint { "Shown if " (when.in_words(definition.questions())) "." },
                None => p.hint { "Shown only after a jump to it." },
            }
        }
    }
}

fn one(definition: &Definition, question: &Question) -> Markup {
    let starts = |section: &&Section| section.questions.first() == Some(&question.id);
    html! {
        li {
            @if let Some(section) = definition.sections().iter().find(starts) {
                p.hint {
                    "Section"
                    @if let Some(title) = &section.title { " “" (title) "”" }
                    ": " (counted(section.questions.len() as u64, "question")) " on one page"
                }
            }
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
            @if !question.next.is_empty() { p.hint { "Then " (jumps(definition, question)) "." } }
        }
    }
}

fn jumps(definition: &Definition, question: &Question) -> String {
    let jumps = question.next.iter().map(|jump| jump.in_words(definition.questions()));
    jumps.collect::<Vec<_>>().join("; otherwise ")
}

/// The labels of the choices with their scores, in one line.
fn choices(question_type: &QuestionType) -> String {
    let fields = serde_json::to_value(question_type).unwrap_or_default();
    let labelled = |choice: &Value| -> Option<String> {
        let label = choice["label"].as_str()?;
        let score = choice.get("score").map(|score| format!(" ({score})"));
        Some(format!("{label}{}", score.unwrap_or_default()))
    };
    let labels = |name: &str| -> Option<String> {
        let labels = fields.get(name)?.as_array()?.iter().filter_map(labelled);
        Some(labels.collect::<Vec<_>>().join(" · "))
    };
    let lists = question_type.choice_fields().into_iter().filter_map(labels);
    lists.collect::<Vec<_>>().join(" — ")
}
