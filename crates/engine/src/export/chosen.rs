//! The columns that a caller chose for an export, in their order.

use sluice_flow::definition::Fault;

use crate::admin::AdminResult;
use crate::fault::faultless;
use crate::question_history::QuestionHistory;
use crate::response_columns::ResponseColumn;

/// The most columns that may be chosen.
pub(super) const CHOSEN_MAX: usize = 1_000;

/// Columns by name, each once.
#[derive(Debug, Clone)]
pub(super) struct ChosenColumns(pub(super) Vec<ChosenColumn>);

#[derive(Debug, Clone)]
pub(super) enum ChosenColumn {
    /// A column that every export has, by its name.
    Fixed(String),
    Question(String),
    Tag(String),
    /// Every tag that is not chosen by itself.
    Tags,
}

impl ChosenColumns {
    /// Reads the names; the error lists every unknown or repeated one. `is_fixed` is whether every
    /// export has a column with this name.
    pub(super) fn read(
        names: &[String],
        asked: &QuestionHistory,
        is_fixed: impl Fn(&str) -> bool,
    ) -> AdminResult<Self> {
        let wrong = |message: String| Fault::new("/columns", message);
        if names.is_empty() || names.len() > CHOSEN_MAX {
            faultless([wrong(format!("must name 1 to {CHOSEN_MAX} columns"))])?;
        }
        let mut faults: Vec<Fault> = Vec::new();
        let mut chosen = Vec::with_capacity(names.len());
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                faults.push(wrong(format!("has {name} twice")));
            }
            let column = match is_fixed(name) {
                true => Some(ChosenColumn::Fixed(name.clone())),
                false => column(name, asked),
            };
            match column {
                Some(column) => chosen.push(column),
                None => faults.push(wrong(format!("has an unknown column: {name}"))),
            }
        }
        faultless(faults)?;
        Ok(Self(chosen))
    }

    pub(super) fn has_fixed(&self, name: &str) -> bool {
        self.0.iter().any(|it| matches!(it, ChosenColumn::Fixed(own) if own == name))
    }

    pub(super) fn has_tag(&self, name: &str) -> bool {
        self.0.iter().any(|it| matches!(it, ChosenColumn::Tag(own) if own == name))
    }

    /// The tags that are chosen by name; `None` if all tags of the flow must be known.
    pub(super) fn tags(&self) -> Option<Vec<String>> {
        if self.0.iter().any(|it| matches!(it, ChosenColumn::Tags)) {
            return None;
        }
        let mut tags: Vec<String> = self.0.iter().filter_map(tag).cloned().collect();
        tags.sort_unstable();
        Some(tags)
    }

    /// The names of all columns for tags: the given ones, and those that are chosen.
    pub(super) fn with_tags(&self, mut tags: Vec<String>) -> Vec<String> {
        tags.extend(self.0.iter().filter_map(tag).cloned());
        tags.sort_unstable();
        tags.dedup();
        tags
    }
}

fn tag(column: &ChosenColumn) -> Option<&String> {
    match column {
        ChosenColumn::Tag(name) => Some(name),
        _ => None,
    }
}

fn column(name: &str, asked: &QuestionHistory) -> Option<ChosenColumn> {
    match ResponseColumn::named(name)? {
        // Each of them has the name of a fixed column of exports.
        ResponseColumn::Fixed(_) => None,
        ResponseColumn::Tags => Some(ChosenColumn::Tags),
        ResponseColumn::Tag(name) => Some(ChosenColumn::Tag(name)),
        ResponseColumn::Answer(id) => {
            let is_asked = asked.questions.iter().any(|question| question.id == id);
            is_asked.then_some(ChosenColumn::Question(id))
        }
    }
}
