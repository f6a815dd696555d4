//! The changes of the welcome screen and of the sections.

use super::{ChangeKind, Changes};
use crate::definition::{Definition, Section, Welcome};
use crate::logic::words::quoted;

const KIND: ChangeKind = ChangeKind::Flow;

pub(super) fn compare(changes: &mut Changes, before: &Definition, after: &Definition) {
    match (before.welcome(), after.welcome()) {
        (None, None) => {}
        (Some(_), None) => changes.plain(KIND, "The welcome screen was removed".to_owned()),
        (None, Some(_)) => changes.plain(KIND, "New welcome screen".to_owned()),
        (Some(was), Some(now)) => compare_welcome(changes, was, now),
    }
    for now in after.sections() {
        match before.sections().iter().find(|was| was.id == now.id) {
            None => changes.plain(KIND, format!("New section: {}", members(after, now))),
            Some(was) => compare_section(changes, (before, was), (after, now)),
        }
    }
    let is_kept = |was: &&Section| after.sections().iter().any(|now| now.id == was.id);
    for gone in before.sections().iter().filter(|was| !is_kept(was)) {
        let text =
            format!("The section {} was removed; its questions are asked one by one", name(gone));
        changes.plain(KIND, text);
    }
}

fn compare_welcome(changes: &mut Changes, was: &Welcome, now: &Welcome) {
    for (what, was, now) in [
        ("welcome title", &was.title, &now.title),
        ("welcome text", &was.body, &now.body),
        ("welcome button", &was.button_text, &now.button_text),
    ] {
        changes.text(KIND, what, was.as_deref(), now.as_deref());
    }
}

fn compare_section(
    changes: &mut Changes,
    (before, was): (&Definition, &Section),
    (after, now): (&Definition, &Section),
) {
    let what = format!("title of the section {}", now.id);
    changes.text(KIND, &what, was.title.as_deref(), now.title.as_deref());
    let (old, new) = (members(before, was), members(after, now));
    if was.questions != now.questions && old != new {
        changes.plain(KIND, format!("The section {} now has {new}", name(now)));
    }
}

fn name(section: &Section) -> String {
    section.title.as_deref().map_or_else(|| section.id.clone(), quoted)
}

/// The questions of a section, by their texts.
fn members(definition: &Definition, section: &Section) -> String {
    let prompt = |id: &String| definition.question(id).map(|question| quoted(&question.prompt));
    section.questions.iter().filter_map(prompt).collect::<Vec<_>>().join(", ")
}
