//! The editor page, including its form without a script: the definition as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Value, json};
use sluice_engine::rows::{FlowState, Scope};
use sluice_engine::{ClosingState, Editing, Saved};
use sluice_flow::counts::CountMethod;
use sluice_flow::definition::{Definition, Fault, check, check_new};
use sluice_flow::id::FlowId;
use sluice_flow::question::{Field, NpsGroup, QuestionType};

use super::{faults, publish, questions, schedule};
use crate::Console;
use crate::flows::may_write;
use crate::frame::{Frame, NavItem, Tab, Width};
use crate::parts::icon;
use crate::reply::{self, Kind, Reply};
use crate::request::{Form, PathParam, Query};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// The content of the form: as stored, or as sent if it could not be saved.
struct EditorContent<'s> {
    text: String,
    tag: &'s str,
    faults: &'s [Fault],
    /// The problem with what was sent.
    wrong: Option<String>,
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query,
) -> Reply {
    let editing = console.engine.flow(&visitor.actor, Scope::Read, flow).await?.editing().await?;
    let shown = EditorContent {
        text: pretty(&editing.definition),
        tag: &editing.tag,
        faults: &editing.faults,
        wrong: None,
    };
    page(&console, &visitor, &editing, &shown, Kind::Shown, query.get("done")).await
}

/// Saves the JSON of a form that was sent without a script.
pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Form(form): Form,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Write, flow).await?;
    let editing = opened.editing().await?;
    let text = form.raw("definition").replace("\r\n", "\n");
    let wrong = |why: String, tag: &str, faults: &[Fault]| (why, tag.to_owned(), faults.to_vec());
    let (why, tag, faults) = match serde_json::from_str::<Value>(&text) {
        Err(error) => wrong(format!("This is not valid JSON: {error}."), form.raw("tag"), &[]),
        Ok(definition) if !definition.is_object() => {
            wrong("The JSON must be an object in { }.".to_owned(), form.raw("tag"), &[])
        }
        Ok(definition) => {
            match opened.save_draft(&definition, form.raw("tag")).await? {
                Saved::Saved { .. } => {
                    return Ok(reply::see_other(&format!(
                        "/console/flows/{flow}/edit?done=saved#json"
                    )));
                }
                Saved::Overtaken(theirs) => wrong(
                    "Someone else saved this draft in the meantime, so your changes were not saved. Save again to replace \
                     their version, or reload the page to see it."
                        .to_owned(),
                    &theirs.tag,
                    &check_new(&definition).err().unwrap_or_default(),
                ),
            }
        }
    };
    let shown = EditorContent { text, tag: &tag, faults: &faults, wrong: Some(why) };
    page(&console, &visitor, &editing, &shown, Kind::Unfinished, None).await
}

async fn page(
    console: &Console,
    visitor: &Visitor,
    editing: &Editing,
    shown: &EditorContent<'_>,
    kind: Kind,
    done: Option<&str>,
) -> Result<Response, reply::Refused> {
    let state = &editing.state;
    let sidebar = Sidebar::app(console, visitor, state.flow.app_id).await?;
    let writes = may_write(visitor, state.flow.app_id) && state.flow.archived_at.is_none();
    let closing = sidebar.own()?.closing_of_flows(std::slice::from_ref(state)).await?;
    let closing = closing.into_iter().next().unwrap_or_default();
    let content = html! {
        @if done == Some("published") { (publish::what_next(state)) }
        @if writes {
            (editor(editing, shown, &closing, sidebar.own()?.row.grace_window_seconds))
        } @else {
            (reading(editing))
        }
    };
    let title = format!("Edit {}", state.flow.name);
    let frame = Frame::new(visitor, &sidebar, NavItem::Flow(state, Tab::Edit), &title);
    let frame = frame.done(done).width(Width::Wide);
    let frame = if writes { frame.script("editor.js") } else { frame };
    Ok(frame.page(kind, content))
}

fn editor(
    editing: &Editing,
    shown: &EditorContent<'_>,
    closing: &ClosingState,
    app_grace: Option<u32>,
) -> Markup {
    let base = format!("/console/flows/{}", editing.state.flow.flow_id);
    let definition = serde_json::from_str(&shown.text).unwrap_or_default();
    let notes = faults::notes(shown.faults, &definition);
    // Nothing is wrong with a flow that was just created.
    let is_quiet =
        shown.faults.is_empty() || (faults::is_blank(&definition) && shown.wrong.is_none());
    let faults = serde_json::to_string(&notes).unwrap_or_default();
    html! {
        div.editor id="editor" data-save={ (base) "/draft" } data-images={ (base) "/images" } data-tag=(shown.tag) data-faults=(faults)
            data-published=[published_json(&editing.state)]
            data-about=(script_context(editing.published.as_deref())) data-pane="write" {
            div.note.bad id="bar" role="status" hidden {}
            @if let Some(wrong) = &shown.wrong { div.errors role="alert" tabindex="-1" { p { (wrong) } } }
            section.errors.faults id="faults" aria-label="Needs fixing" hidden[is_quiet] {
                details open {
                    summary { (faults::heading(shown.faults)) }
                    ul { @for note in &notes { li { (note.place) ": " (note.problem) } } }
                }
            }
            (switches())
            div.panes {
                section.write aria-label="Draft" {
                    @for name in ["questions", "texts", "languages"] { div id={ "section-" (name) } {} }
                    div id="section-schedule" { (schedule::form(&editing.state, closing, app_grace)) }
                    div id="section-json" { (json_form(&base, shown)) }
                }
                (preview_pane(&base, true))
            }
        }
    }
}

/// The published definition, which the script goes back to when changes are discarded.
fn published_json(state: &FlowState) -> Option<&str> {
    state.current.as_ref().map(|current| current.definition.as_str())
}

/// The sections of the editor; only useful with a script.
fn switches() -> Markup {
    const PARTS: [(&str, &str); 5] = [
        ("questions", "Questions"),
        ("texts", "Title and ending"),
        ("languages", "Languages"),
        ("schedule", "Settings"),
        ("json", "JSON"),
    ];
    html! {
        div.switches {
            div.chips role="group" aria-label="Sections" {
                @for (name, word) in PARTS {
                    button.chip type="button" data-shows-section=(name) aria-pressed="false" { (word) }
                }
            }
            div.chips role="group" aria-label="History" {
                button.button.small.quiet type="button" data-undo aria-keyshortcuts="Control+Z Meta+Z" disabled { (icon::undo()) span.unseen { "Undo last change" } }
                button.button.small.quiet type="button" data-redo aria-keyshortcuts="Control+Shift+Z Meta+Shift+Z" disabled { (icon::redo()) span.unseen { "Redo" } }
            }
            div.chips.narrowly role="group" aria-label="View" {
                button.chip type="button" data-shows-pane="write" aria-pressed="true" { "Edit" }
                button.chip type="button" data-shows-pane="preview" aria-pressed="false" { "Preview" }
            }
        }
    }
}

fn json_form(base: &str, shown: &EditorContent<'_>) -> Markup {
    html! {
        form.form method="post" action={ (base) "/edit" } {
            input type="hidden" name="tag" value=(shown.tag);
            div.field {
                label for="definition" { "Definition as JSON" }
                p.hint id="definition-hint" { "The whole draft. The guide “Writing a flow” describes all fields." }
                textarea.input.mono id="definition" name="definition" rows="24" spellcheck="false" autocomplete="off"
                    aria-describedby="definition-hint json-wrong" { "\n" (shown.text) }
                p.error id="json-wrong" role="status" hidden {}
            }
            noscript { button.button.primary type="submit" { "Save draft" } }
        }
    }
}

/// The preview; `writes` if the visitor may also try the flow.
fn preview_pane(base: &str, writes: bool) -> Markup {
    html! {
        section.preview-pane id="preview-pane" aria-label="Preview" {
            div.toolbar {
                h2 { "Preview" }
                div.field.short hidden { label.unseen for="preview-language" { "Language" } select.input id="preview-language" {} }
                div.chips role="group" aria-label="Width" {
                    button.chip type="button" data-width="desktop" aria-pressed="false" { "Desktop" }
                    button.chip type="button" data-width="phone" aria-pressed="true" { "Phone" }
                }
                a.button.small.quiet href={ (base) "/preview" } target="_blank" rel="noopener" { "Open in new tab" }
                @if writes { a.button.small href={ (base) "/try" } target="_blank" rel="noopener" title="Answer it for real: the answers are stored as a test and never counted" { "Try it" } }
            }
            div.stage data-width="phone" { iframe title="Preview of the flow" src={ (base) "/preview" } {} }
            p.hint { "Preview: answers are not saved. Questions with problems are hidden." }
        }
    }
}

/// The definition, for visitors who may not edit.
fn reading(editing: &Editing) -> Markup {
    let is_archived = editing.state.flow.archived_at.is_some();
    let base = format!("/console/flows/{}", editing.state.flow.flow_id);
    html! {
        p.note {
            @if is_archived { "This flow is archived. Restore it to edit it." }
            @else { "You can view this flow, but not edit it." }
        }
        div.editor data-pane="both" {
            div.panes {
                section.write aria-label="Questions" {
                    @match check(&editing.definition) {
                        Ok(definition) => (questions::list(&definition)),
                        Err(_) => pre.mono { (pretty(&editing.definition)) },
                    }
                }
                (preview_pane(&base, false))
            }
        }
    }
}

/// What the script needs to know about question types and the published version.
fn script_context(published: Option<&Definition>) -> String {
    #[derive(Serialize)]
    struct PublishedQuestion<'d> {
        r#type: &'static str,
        prompt: &'d str,
        choices: Vec<String>,
    }
    let questions: BTreeMap<&str, PublishedQuestion<'_>> = published
        .into_iter()
        .flat_map(Definition::questions)
        .map(|question| {
            let published_question = PublishedQuestion {
                r#type: question.question_type.name(),
                prompt: &question.prompt,
                choices: choices_of(&question.question_type),
            };
            (question.id.as_str(), published_question)
        })
        .collect();
    json!({"types": types(), "published": questions}).to_string()
}

/// One question type, as the script reads it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QuestionTypeInfo {
    name: &'static str,
    label: &'static str,
    purpose: &'static str,
    /// The path of its icon.
    icon: &'static str,
    is_answerable: bool,
    fields: Vec<Field>,
    /// Which comparisons conditions can use on an answer.
    comparison: &'static str,
    /// All possible answers, if the type has a fixed set.
    words: &'static [&'static str],
    /// The default value of a new condition on a number.
    threshold: u32,
}

/// The table of question types, from which the script takes everything about them.
fn types() -> Vec<QuestionTypeInfo> {
    const MIDDLE: u32 = 3;
    let offered = QuestionType::OFFERED.iter();
    let one = |(name, label, purpose): &(&'static str, &'static str, &'static str)| {
        let blank = QuestionType::blank(name)?;
        let threshold = match blank.count_method() {
            // Scores below this are detractors.
            CountMethod::Nps => *NpsGroup::Passives.points().start(),
            _ => MIDDLE,
        };
        Some(QuestionTypeInfo {
            name,
            label,
            purpose,
            icon: blank.icon(),
            is_answerable: blank.is_answerable(),
            fields: blank.fields(),
            comparison: blank.comparison(),
            words: blank.fixed_answers(),
            threshold,
        })
    };
    offered.filter_map(one).collect()
}

fn choices_of(question_type: &QuestionType) -> Vec<String> {
    let fields = serde_json::to_value(question_type).unwrap_or_default();
    let lists = question_type.choice_fields();
    let lists = lists.into_iter().filter_map(|name| fields.get(name)?.as_array());
    let ids = lists.flatten().filter_map(|choice| choice["id"].as_str());
    ids.map(str::to_owned).collect()
}

fn pretty(definition: &Value) -> String {
    serde_json::to_string_pretty(definition).unwrap_or_default()
}
