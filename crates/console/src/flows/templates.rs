//! The templates: first an empty flow, then each template as a card with a thumbnail, its purpose,
//! its questions, and a button that creates a flow from it.

use maud::{Markup, html};
use sluice_engine::templates::{Template, templates};
use sluice_flow::id::AppId;
use sluice_flow::question::QuestionType;

use super::thumbnail::thumbnail;
use crate::parts::counted;

/// An empty flow first, then all templates.
pub(super) fn cards(app: AppId) -> Markup {
    let (empty, others): (Vec<_>, Vec<_>) = templates().iter().partition(|it| is_empty(it));
    html! {
        ul.cards.templates {
            @for template in empty { (scratch(app, template)) }
            @for template in others { (card(app, template)) }
        }
    }
}

fn is_empty(template: &Template) -> bool {
    template.definition["questions"].as_array().is_some_and(Vec::is_empty)
}

fn scratch(app: AppId, template: &Template) -> Markup {
    html! {
        li.card.scratch {
            (thumbnail(&template.definition))
            div {
                h2 { "Start from scratch" }
                p.muted { "An empty flow. Add your own questions." }
            }
            div.buttons {
                form method="post" action={ "/console/apps/" (app) "/new" } {
                    input type="hidden" name="template" value=(template.id);
                    button.button.primary type="submit" { "Start from scratch" }
                }
            }
        }
    }
}

fn card(app: AppId, template: &Template) -> Markup {
    let questions =
        template.definition["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let id = template.id;
    html! {
        li.card {
            (thumbnail(&template.definition))
            div {
                h2 { (template.name) }
                p.muted { (template.purpose) }
            }
            details.more {
                summary { (counted(questions.len() as u64, "question")) }
                ol { @for question in questions {
                    li { (question["prompt"].as_str().unwrap_or_default()) " " span.tag { (type_label(question["type"].as_str())) } }
                } }
            }
            div.buttons {
                form method="post" action={ "/console/apps/" (app) "/new" } {
                    input type="hidden" name="template" value=(id);
                    button.button.primary type="submit" aria-label={ "Use template: " (template.name) } { "Use template" }
                }
                a.button.quiet href={ "/console/apps/" (app) "/templates/" (id) } target="_blank" rel="noopener"
                    data-shows={ "Preview: " (template.name) } aria-label={ "Preview " (template.name) } { "Preview" }
            }
        }
    }
}

fn type_label(name: Option<&str>) -> &'static str {
    name.and_then(QuestionType::label_of).unwrap_or_default()
}
