//! The changes between two definitions, described for their author.
//!
//! Shown before publishing and between the versions of a flow. Questions are matched by id; a
//! removed question and a new one with the same text and type are reported as one question with a
//! new id. Some changes break the results: answers from before and after are no longer counted
//! together, or mean something else. These state why ([`Change::breaks`]); none is forbidden
//! because of it. Types are not listed here: everything besides the texts of a question is compared
//! field by field.

mod ending;
mod order;
mod question;
mod screens;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::{Definition, RespondentAnalytics};
use crate::logic::words::quoted;
use crate::phrase::counted;
use crate::question::Question;

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    Added,
    Removed,
    Moved,
    /// The question has a new id.
    Renamed,
    Retyped,
    Reworded,
    /// An option, row or column was added, removed or changed.
    Choices,
    Required,
    Logic,
    /// Any other rule for its answers, or one of its labels.
    Rule,
    /// The title, the description, the welcome screen, a section, the language or the consent.
    Flow,
    Ending,
    Translation,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The question concerned: its new id, or its old one if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    pub kind: ChangeKind,
    pub text: String,
    /// Why results from before and after are not comparable, if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaks: Option<&'static str>,
}

/// Every change from one definition to another: of the flow, of its questions in their new order,
/// of removed questions, of the ending, and of each language.
pub fn difference(before: &Definition, after: &Definition) -> Vec<Change> {
    let mut changes = Changes(Vec::new());
    changes.of_flow(before, after);
    let pairs = paired(before, after);
    let moved = order::moved(&pairs.iter().filter_map(|(was, _)| *was).collect::<Vec<_>>());
    for (at, (was, now)) in pairs.iter().enumerate() {
        match was.map(|was| &before.questions[was]) {
            None => changes.added(now),
            Some(was) => question::compare(&mut changes, (before, was), (after, now)),
        }
        if was.is_some_and(|was| moved.contains(&was)) {
            let place = match at.checked_sub(1).map(|at| pairs[at].1) {
                Some(above) => format!("now comes after {}", quoted(&above.prompt)),
                None => "now comes first".to_owned(),
            };
            changes.add_for(
                now,
                ChangeKind::Moved,
                format!("{} {place}", quoted(&now.prompt)),
                None,
            );
        }
    }
    let kept: BTreeSet<usize> = pairs.iter().filter_map(|(was, _)| *was).collect();
    for (at, gone) in before.questions.iter().enumerate() {
        if !kept.contains(&at) {
            changes.removed(gone);
        }
    }
    changes.of_ending(before, after);
    changes.of_languages(before, after);
    changes.0
}

/// Each question of the newer definition with the index of its counterpart in the older one, if
/// any.
fn paired<'d>(before: &'d Definition, after: &'d Definition) -> Vec<(Option<usize>, &'d Question)> {
    let mut gone: Vec<usize> = (0..before.questions.len())
        .filter(|&at| after.question(&before.questions[at].id).is_none())
        .collect();
    let was = |now: &Question| {
        let same = before.questions.iter().position(|was| was.id == now.id);
        same.or_else(|| {
            let renamed = gone.iter().position(|&at| {
                let was = &before.questions[at];
                was.prompt == now.prompt && was.question_type.name() == now.question_type.name()
            })?;
            Some(gone.remove(renamed))
        })
    };
    let mut was = was;
    after.questions.iter().map(|now| (was(now), now)).collect()
}

/// The changes found so far.
struct Changes(Vec<Change>);

impl Changes {
    fn add_for(
        &mut self,
        question: &Question,
        kind: ChangeKind,
        text: String,
        breaks: Option<&'static str>,
    ) {
        self.0.push(Change { question: Some(question.id.clone()), kind, text, breaks });
    }

    fn plain(&mut self, kind: ChangeKind, text: String) {
        self.0.push(Change { question: None, kind, text, breaks: None });
    }

    fn added(&mut self, now: &Question) {
        let text = format!("New: {} ({})", quoted(&now.prompt), now.question_type.label());
        self.add_for(now, ChangeKind::Added, text, None);
    }

    fn removed(&mut self, was: &Question) {
        let text = format!("{} was removed", quoted(&was.prompt));
        let breaks = was
            .question_type
            .is_answerable()
            .then_some("Its answers stay in the results, up to the last version that asked it.");
        self.add_for(was, ChangeKind::Removed, text, breaks);
    }

    fn of_flow(&mut self, before: &Definition, after: &Definition) {
        let kind = ChangeKind::Flow;
        if before.title != after.title {
            self.plain(kind, format!("The title now reads {}", quoted(&after.title)));
        }
        self.text(kind, "description", before.description(), after.description());
        if before.default_locale != after.default_locale {
            let text = format!("The default language is now {}", after.default_locale);
            self.plain(kind, text);
        }
        if before.respondent_analytics != after.respondent_analytics {
            let text = match after.respondent_analytics {
                RespondentAnalytics::Ask => {
                    "Respondents are now asked whether their answers may be linked to them"
                }
                RespondentAnalytics::Never => {
                    "Respondents are no longer asked whether their answers may be linked to them"
                }
            };
            self.plain(kind, text.to_owned());
        }
        screens::compare(self, before, after);
        if before.auto_advance != after.auto_advance {
            let text = if after.auto_advance {
                "The page now advances automatically after a single choice"
            } else {
                "The page no longer advances automatically after a single choice"
            };
            self.plain(kind, text.to_owned());
        }
    }

    fn of_ending(&mut self, before: &Definition, after: &Definition) {
        ending::compare(self, "ending", &before.ending, &after.ending);
        ending::compare_named(self, before, after);
    }

    /// An optional text of the flow.
    fn text(&mut self, kind: ChangeKind, what: &str, was: Option<&str>, now: Option<&str>) {
        let text = match (was, now) {
            (was, now) if was == now => return,
            (_, None) => format!("The {what} was removed"),
            (None, Some(now)) => format!("New {what}: {}", quoted(now)),
            (Some(_), Some(now)) => format!("The {what} now reads {}", quoted(now)),
        };
        self.plain(kind, text);
    }

    fn of_languages(&mut self, before: &Definition, after: &Definition) {
        let kind = ChangeKind::Translation;
        for tag in before.translations.keys().filter(|tag| !after.translations.contains_key(*tag)) {
            self.plain(kind, format!("The language {tag} was removed"));
        }
        for (tag, now) in &after.translations {
            let now = texts_of(now);
            let Some(was) = before.translations.get(tag).map(texts_of) else {
                self.plain(
                    kind,
                    format!("New language {tag}: {}", counted(now.len() as u64, "text")),
                );
                continue;
            };
            let changed = now.iter().filter(|(path, text)| was.get(*path) != Some(text)).count();
            let gone = was.keys().filter(|path| !now.contains_key(*path)).count();
            if changed > 0 {
                self.plain(
                    kind,
                    format!("{tag}: {} new or changed", counted(changed as u64, "text")),
                );
            }
            if gone > 0 {
                self.plain(kind, format!("{tag}: {} removed", counted(gone as u64, "text")));
            }
        }
    }
}

/// The texts of a translation by their path.
fn texts_of(translation: &impl Serialize) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let value = serde_json::to_value(translation).unwrap_or_default();
    let mut open = vec![(String::new(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::String(text) => drop(texts.insert(path, text)),
            Value::Object(fields) => {
                open.extend(
                    fields.into_iter().map(|(name, value)| (format!("{path}/{name}"), value)),
                );
            }
            _ => {}
        }
    }
    texts
}
