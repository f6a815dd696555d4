//! The changes of one question.

use serde_json::{Map, Value};

use super::{ChangeKind, Changes};
use crate::definition::Definition;
use crate::logic::words::quoted;
use crate::question::choice::{Choice, has};
use crate::question::{Image, Label, Question};

const NEW_ID: &str = "Results count it as a new question: earlier answers keep the old ID.";
const NEW_TYPE: &str = "Answers of the new type are counted separately.";
const NEW_CHOICE_ID: &str = "Earlier answers are counted under the old ID.";
const CHOICE_GONE: &str = "Answers that chose it stay in the results; it can no longer be chosen.";
const OTHER_SCORE: &str = "Scores from before and after are not comparable.";
const OTHER_SCALE: &str = "Ratings on another scale are not comparable with earlier ones.";

/// Records every change of a question.
pub(super) fn compare(
    changes: &mut Changes,
    (before, was): (&Definition, &Question),
    (after, now): (&Definition, &Question),
) {
    let name = quoted(&now.prompt);
    if was.id != now.id {
        let text = format!("{name} has a new ID: {} instead of {}", now.id, was.id);
        changes.add_for(now, ChangeKind::Renamed, text, Some(NEW_ID));
    }
    if was.prompt != now.prompt {
        let text = format!("{} now reads {name}", quoted(&was.prompt));
        changes.add_for(now, ChangeKind::Reworded, text, None);
    }
    match (&was.help, &now.help) {
        (was, now) if was == now => {}
        (_, None) => {
            changes.add_for(now, ChangeKind::Reworded, format!("{name}: help removed"), None)
        }
        (_, Some(help)) => {
            let text = format!("{name}: help now reads {}", quoted(help));
            changes.add_for(now, ChangeKind::Reworded, text, None);
        }
    }
    if let Some(change) = image_change(was.image.as_ref(), now.image.as_ref()) {
        changes.add_for(now, ChangeKind::Reworded, format!("{name}: {change}"), None);
    }
    if was.required != now.required {
        let word = if now.required { "must now be answered" } else { "is now optional" };
        changes.add_for(now, ChangeKind::Required, format!("{name} {word}"), None);
    }
    let (old, new) = (&was.question_type, &now.question_type);
    if old.name() == new.name() {
        compare_own(changes, was, now);
    } else {
        let text = format!("{name} is now {}; it was {}", new.label(), old.label());
        changes.add_for(now, ChangeKind::Retyped, text, Some(NEW_TYPE));
    }
    compare_logic(changes, (before, was), (after, now));
    compare_jumps(changes, (before, was), (after, now));
}

/// What happened to an image, if anything.
fn image_change(was: Option<&Image>, now: Option<&Image>) -> Option<String> {
    Some(match (was, now) {
        (was, now) if was == now => return None,
        (None, Some(_)) => "new image".to_owned(),
        (_, None) => "image removed".to_owned(),
        (Some(was), Some(now)) if was.asset_id != now.asset_id => "another image".to_owned(),
        (_, Some(Image { alt: None, .. })) => "alternative text of the image removed".to_owned(),
        (_, Some(Image { alt: Some(alt), .. })) => {
            format!("alternative text of the image now reads {}", quoted(alt))
        }
    })
}

/// Compares the jumps by their texts, so that a question that only has a new id is no change.
fn compare_jumps(
    changes: &mut Changes,
    (before, was): (&Definition, &Question),
    (after, now): (&Definition, &Question),
) {
    let (old, new) = (jumps_in_words(before, was), jumps_in_words(after, now));
    if old == new {
        return;
    }
    let name = quoted(&now.prompt);
    let text = match new.as_slice() {
        [] => format!("{name} no longer jumps"),
        jumps => format!("After {name}: {}", jumps.join("; ")),
    };
    changes.add_for(now, ChangeKind::Logic, text, None);
}

fn jumps_in_words(definition: &Definition, question: &Question) -> Vec<String> {
    let jumps = question.next.iter();
    jumps.map(|jump| jump.in_words(definition.questions())).collect()
}

fn compare_logic(
    changes: &mut Changes,
    (before, was): (&Definition, &Question),
    (after, now): (&Definition, &Question),
) {
    if was.visible_if == now.visible_if {
        return;
    }
    let name = quoted(&now.prompt);
    let text = match (&was.visible_if, &now.visible_if) {
        (Some(old), Some(new)) => {
            let (old, new) = (old.in_words(before.questions()), new.in_words(after.questions()));
            // Equal texts: the condition only refers to a question that now has another id.
            if old == new {
                return;
            }
            format!("{name} is now shown if {new}; it was shown if {old}")
        }
        (None, Some(new)) => {
            format!("{name} is now shown only if {}", new.in_words(after.questions()))
        }
        _ => format!("{name} is now always shown"),
    };
    changes.add_for(now, ChangeKind::Logic, text, None);
}

/// The fields of the type itself: lists of choices item by item, and any other field as a whole.
fn compare_own(changes: &mut Changes, was: &Question, now: &Question) {
    let lists = |question: &'_ Question| -> Vec<(&'static str, Vec<Choice>)> {
        let labels = question.labels().into_iter();
        labels
            .filter_map(|(field, label)| match label {
                Label::Each(choices) => Some((field, choices.to_vec())),
                Label::One | Label::Alts(_) => None,
            })
            .collect()
    };
    let (old, new) = (lists(was), lists(now));
    for ((field, old), (_, new)) in old.iter().zip(&new) {
        compare_choices(changes, now, field, old, new);
    }
    let is_list = |field: &str| new.iter().any(|(name, _)| *name == field);
    let (old, new) = (fields_of(was), fields_of(now));
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for field in names.into_iter().filter(|field| !is_list(field)) {
        let (was, is) = (old.get(field), new.get(field));
        if was != is {
            let text = format!("{}: {} {}", quoted(&now.prompt), in_words(field), said(is));
            let is_scale = now.question_type.input().is_scale(field);
            let breaks = match field.as_str() {
                "score" => Some(OTHER_SCORE),
                _ => is_scale.then_some(OTHER_SCALE),
            };
            changes.add_for(now, ChangeKind::Rule, text, breaks);
        }
    }
}

fn fields_of(question: &Question) -> Map<String, Value> {
    match serde_json::to_value(&question.question_type) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn compare_choices(
    changes: &mut Changes,
    now: &Question,
    field: &str,
    old: &[Choice],
    new: &[Choice],
) {
    let name = quoted(&now.prompt);
    let what = field.trim_end_matches('s');
    let scale = now.question_type.input().is_scale(field).then_some(OTHER_SCALE);
    let kind = ChangeKind::Choices;
    let come: Vec<&Choice> = new.iter().filter(|choice| !has(old, &choice.id)).collect();
    let gone: Vec<&Choice> = old.iter().filter(|choice| !has(new, &choice.id)).collect();
    let renamed = |choice: &Choice, among: &[&Choice]| {
        among.iter().find(|other| other.label == choice.label).map(|other| other.id.clone())
    };
    for choice in &come {
        let label = quoted(&choice.label);
        match renamed(choice, &gone) {
            Some(id) => {
                let text =
                    format!("{name}: {what} {label} has a new ID: {} instead of {id}", choice.id);
                changes.add_for(now, kind, text, Some(NEW_CHOICE_ID));
            }
            None => changes.add_for(now, kind, format!("{name}: new {what} {label}"), scale),
        }
    }
    for choice in gone.iter().filter(|choice| renamed(choice, &come).is_none()) {
        let text = format!("{name}: {what} {} was removed", quoted(&choice.label));
        changes.add_for(now, kind, text, scale.or(Some(CHOICE_GONE)));
    }
    for choice in new {
        let was = old.iter().find(|was| was.id == choice.id && was.label != choice.label);
        if let Some(was) = was {
            let (was, is) = (quoted(&was.label), quoted(&choice.label));
            changes.add_for(now, kind, format!("{name}: {what} {was} now reads {is}"), None);
        }
    }
    for choice in new {
        let Some(was) = old.iter().find(|was| was.id == choice.id) else { continue };
        let label = quoted(&choice.label);
        if was.score != choice.score {
            let score = choice
                .score
                .map_or("no longer scored".to_owned(), |score| format!("now scored {score}"));
            let text = format!("{name}: {what} {label} is {score}");
            changes.add_for(now, kind, text, Some(OTHER_SCORE));
        }
        if was.fixed != choice.fixed {
            let place = if choice.fixed { "now keeps" } else { "no longer keeps" };
            changes.add_for(now, kind, format!("{name}: {what} {label} {place} its place"), None);
        }
        if let Some(change) = image_change(was.image.as_ref(), choice.image.as_ref()) {
            changes.add_for(now, kind, format!("{name}: {what} {label}: {change}"), None);
        }
    }
    let common = |one: &[Choice], other: &[Choice]| -> Vec<String> {
        let both = one.iter().filter(|choice| has(other, &choice.id));
        both.map(|choice| choice.id.clone()).collect()
    };
    if common(old, new) != common(new, old) {
        changes.add_for(now, kind, format!("{name}: {field} reordered"), None);
    }
}

/// The author-facing name of a field.
fn in_words(field: &str) -> &str {
    match field {
        "minLength" => "minimum length",
        "maxLength" => "maximum length",
        "min" => "minimum",
        "max" => "maximum",
        "integer" => "whole numbers only",
        "minSelected" => "minimum choices",
        "maxSelected" => "maximum choices",
        "allowOther" => "“Other” with free text",
        "shape" => "style",
        "lowLabel" => "label of the low end",
        "highLabel" => "label of the high end",
        "optionOrder" => "order of options",
        other => other,
    }
}

fn said(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => "no longer set".to_owned(),
        Some(Value::Bool(true)) => "now on".to_owned(),
        Some(Value::String(text)) => format!("now {}", quoted(text)),
        Some(other) => format!("now {other}"),
    }
}
