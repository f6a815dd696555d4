//! The outcome of every element of an imported file.

use serde::{Serialize, Serializer, ser::SerializeStruct};

/// One entry per element of the source, in the order of the source.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    pub entries: Vec<Entry>,
}

/// An element of the source: a question, a rule, a screen, a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is in the source: a JSON Pointer, or a sheet and a row.
    pub place: String,
    /// What it is, with its name or text in the source.
    pub element: String,
    /// The id of the question, ending or section that it became.
    pub id: Option<String>,
    /// How the result differs from the source.
    pub changes: Vec<String>,
    /// Why it was left out.
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Mapped,
    /// Mapped, with the changes listed.
    Changed,
    NotMapped,
}

/// An entry of a report that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryId(usize);

/// The most entries and changes; a file that needs more is not a definition made by people.
const ENTRIES_MAX: usize = 5_000;
const CHANGES_MAX: usize = 50;
/// The most characters of a text of the source that an entry repeats.
const SHOWN_CHARS_MAX: usize = 80;

impl Report {
    pub(crate) fn add(&mut self, place: impl Into<String>, element: impl Into<String>) -> EntryId {
        if self.entries.len() >= ENTRIES_MAX {
            let last = self.entries.len() - 1;
            self.change(EntryId(last), "further elements of this file are not listed");
            return EntryId(last);
        }
        self.entries.push(Entry {
            place: place.into(),
            element: element.into(),
            id: None,
            changes: Vec::new(),
            reason: None,
        });
        EntryId(self.entries.len() - 1)
    }

    pub(crate) fn change(&mut self, entry: EntryId, change: impl Into<String>) {
        let changes = &mut self.entries[entry.0].changes;
        let change = change.into();
        if changes.len() < CHANGES_MAX && !changes.contains(&change) {
            changes.push(change);
        }
    }

    pub(crate) fn lost(&mut self, entry: EntryId, reason: impl Into<String>) {
        let entry = &mut self.entries[entry.0];
        entry.id = None;
        entry.reason.get_or_insert(reason.into());
    }

    pub(crate) fn became(&mut self, entry: EntryId, id: &str) {
        self.entries[entry.0].id = Some(id.to_owned());
    }

    /// The number of entries with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.entries.iter().filter(|entry| entry.outcome() == outcome).count()
    }
}

impl Entry {
    pub fn outcome(&self) -> Outcome {
        match (&self.reason, self.changes.is_empty()) {
            (Some(_), _) => Outcome::NotMapped,
            (None, false) => Outcome::Changed,
            (None, true) => Outcome::Mapped,
        }
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entry = serializer.serialize_struct("Entry", 6)?;
        entry.serialize_field("place", &self.place)?;
        entry.serialize_field("element", &self.element)?;
        entry.serialize_field("outcome", &self.outcome())?;
        entry.serialize_field("id", &self.id)?;
        entry.serialize_field("changes", &self.changes)?;
        entry.serialize_field("reason", &self.reason)?;
        entry.end()
    }
}

/// A text of the source in quotes, on one line and shortened.
pub(crate) fn quoted(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN_CHARS_MAX {
        return format!("“{line}”");
    }
    let cut: String = line.chars().take(SHOWN_CHARS_MAX - 1).collect();
    format!("“{cut}…”")
}
