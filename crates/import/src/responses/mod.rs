//! Rows of CSV and JSON Lines files as submissions to a flow.
//!
//! Reading order: `rows` reads a file; `columns` decides what each column is: an answer, a tag, the
//! time; `values` turns a cell into an answer; here a row becomes a submission. The server judges
//! it by its rules, like any other.
//!
//! A response is stored with the time at which it is imported, because the order of responses is
//! that of their writes, and readers of the log of events rely on it. The original time is the tag
//! [`TIME_TAG`].

mod columns;
mod rows;
mod values;

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use sluice_flow::definition::Definition;
use sluice_flow::time::Timestamp;

pub use self::columns::{Column, Mapping};
use self::columns::{Columns, Target};
use self::rows::text_of;
pub use self::rows::{Cell, FileKind, Row, RowError, Rows};

/// The tag with the time at which the response was originally submitted.
pub const TIME_TAG: &str = "import.submittedAt";
/// The tag with the id that the response had in its source.
pub const ID_TAG: &str = "import.id";
/// The tag with the id of the invitation that the response was for.
pub const ASSIGNMENT_TAG: &str = "import.flowAssignmentId";
/// What ids of invitations start with.
const INVITATION: &str = "fa_";

/// How the rows of a file become submissions to a version.
#[derive(Debug)]
pub struct Plan<'d> {
    definition: &'d Definition,
    flow: String,
    version: String,
    /// Whether every row has consent, also without a column for it.
    admitted: bool,
    mapping: Mapping,
    columns: Columns,
    /// How often a row was the same as one before it, by its digest.
    seen: HashMap<[u8; 16], u32>,
}

/// The flow that is imported into.
#[derive(Debug, Clone, Copy)]
pub struct ImportTarget<'d> {
    pub definition: &'d Definition,
    pub flow_id: &'d str,
    pub flow_version_id: &'d str,
}

impl<'d> Plan<'d> {
    /// Determines what the columns of a file become.
    pub fn new(goal: ImportTarget<'d>, names: &[String], mapping: Mapping, admitted: bool) -> Self {
        Self {
            definition: goal.definition,
            flow: goal.flow_id.to_owned(),
            version: goal.flow_version_id.to_owned(),
            admitted,
            columns: Columns::new(goal.definition, names, &mapping),
            mapping,
            seen: HashMap::new(),
        }
    }

    /// What each column becomes, in the order of the file.
    pub fn columns(&self) -> &[Column] {
        self.columns.all()
    }

    /// The submission of a row, or every reason why it cannot be one. Call it for each row of a
    /// file in order: equal rows get different keys. It sets the key of the row.
    pub fn submission(&mut self, row: &mut Row, generation: &str) -> Result<Value, Vec<String>> {
        let key = self.key(row);
        let mut parts = Parts::default();
        for (name, cell) in &row.cells {
            if let Some(target) = self.columns.target(name).cloned() {
                self.put(&mut parts, &target, name, cell);
            }
        }
        if !parts.reasons.is_empty() {
            return Err(parts.reasons);
        }
        let admission = match parts.admission.as_deref() {
            Some(admission) => admission,
            None if self.admitted => "admitted",
            None => "collection_only",
        };
        let mut submission = json!({
            "flowVersionId": self.version,
            "flowVersionPayloadGeneration": generation,
            "respondentAnalyticsAdmission": admission,
            "answers": parts.answers,
            "identities": parts.identities,
            "metadata": {"tags": parts.tags},
            "context": parts.context,
            "idempotencyKey": key,
        });
        if let Some(id) = parts.assignment {
            submission["flowAssignmentId"] = json!(id);
        }
        Ok(submission)
    }

    /// The key that makes a row safe to import again: of the id that it has in its source, or else
    /// of its content.
    fn key(&mut self, row: &mut Row) -> String {
        let of_id = row.cells.iter().find_map(|(name, cell)| {
            let is_id = matches!(self.columns.target(name), Some(Target::Id));
            is_id.then(|| text_of(cell)).flatten()
        });
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.flow.as_bytes());
        match of_id {
            Some(id) => {
                row.key = None;
                hasher.update(b"\0id\0");
                hasher.update(id.as_bytes());
            }
            None => {
                hasher.update(b"\0row\0");
                hasher.update(row.key.insert(self.content_key(row)).as_bytes());
            }
        }
        format!("import:{}", hasher.finalize().to_hex())
    }

    /// Made of the cells and of how many equal rows were before. A row that was fixed keeps the key
    /// of what was refused: that of its present content may be the key of a stored row.
    fn content_key(&mut self, row: &Row) -> String {
        let mut hasher = blake3::Hasher::new();
        match &row.key {
            Some(key) => drop(hasher.update(key.as_bytes())),
            None => {
                for (name, cell) in &row.cells {
                    hasher.update(name.as_bytes());
                    hasher.update(b"\0");
                    hasher.update(cell.value.to_string().as_bytes());
                    hasher.update(b"\0");
                }
            }
        }
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        let times = self.seen.entry(digest).or_default();
        *times += 1;
        match &row.key {
            Some(key) if *times == 1 => key.clone(),
            _ => hasher.update(&times.to_le_bytes()).finalize().to_hex().to_string(),
        }
    }

    fn put(&self, parts: &mut Parts, target: &Target, name: &str, cell: &Cell) {
        let text = text_of(cell);
        match target {
            Target::Answer(id) => {
                let Some(question) = self.definition.question(id) else { return };
                let answer = values::answer(question, cell, self.mapping.values(id, name));
                parts.answers.extend(answer.map(|answer| (id.clone(), answer)));
            }
            Target::Answers => parts.answers.extend(cell.object()),
            Target::Tag(tag) => {
                let texts = values::list(cell);
                match texts.as_slice() {
                    [] => {}
                    [one] => drop(parts.tags.insert(tag.clone(), json!(one))),
                    all => drop(parts.tags.insert(tag.clone(), json!(all))),
                }
            }
            Target::Tags => parts.tags.extend(cell.object()),
            Target::Time => {
                let Some(text) = text else { return };
                match time(&text) {
                    Some(time) => parts.tag(TIME_TAG, json!(time.to_string())),
                    None => parts.reasons.push(format!(
                        "{name}: {text:?} is not a time such as 2026-11-15T02:00:00Z"
                    )),
                }
            }
            Target::Id => {
                if let Some(id) = text {
                    parts.tag(ID_TAG, json!(id));
                }
            }
            Target::Admission => parts.admission = text,
            Target::Identity(kind) => {
                parts.identities.extend(text.map(|value| json!({"type": kind, "value": value})));
            }
            Target::Identities => {
                let list = cell.parsed();
                let own = |it: &Value| json!({"type": it["type"], "value": it["value"]});
                parts.identities.extend(list.as_array().into_iter().flatten().map(own));
            }
            Target::Context(path) => {
                let Some(text) = text else { return };
                let mut at = &mut parts.context;
                for name in path.split('.') {
                    at = &mut at[name];
                }
                *at = json!(text);
            }
            Target::Assignment => match text {
                Some(id) if id.starts_with(INVITATION) => parts.tag(ASSIGNMENT_TAG, json!(id)),
                id => parts.assignment = id,
            },
            Target::Ignored => {}
        }
    }
}

/// The parts of a submission, as the columns fill them in.
#[derive(Default)]
struct Parts {
    answers: Map<String, Value>,
    tags: Map<String, Value>,
    identities: Vec<Value>,
    context: Value,
    admission: Option<String>,
    assignment: Option<String>,
    reasons: Vec<String>,
}

impl Parts {
    /// Sets a tag of this import. One of an earlier import, which is a column, says more.
    fn tag(&mut self, name: &str, value: Value) {
        self.tags.entry(name).or_insert(value);
    }
}

/// A time with its zone, or a date and a time in UTC.
fn time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let utc = text.trim_end_matches(" UTC").replacen(' ', "T", 1);
    let utc = if utc.contains('T') { utc } else { format!("{utc}T00:00:00") };
    let with_seconds = if utc.matches(':').count() == 1 { format!("{utc}:00") } else { utc };
    format!("{with_seconds}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_zone_or_is_in_utc() {
        for (text, expected) in [
            ("2026-11-15T02:00:00.000Z", Some("2026-11-15T02:00:00.000Z")),
            ("2026-11-15T02:00:00+02:00", Some("2026-11-15T00:00:00.000Z")),
            ("2026-11-15 02:00:00", Some("2026-11-15T02:00:00.000Z")),
            ("2026-11-15 02:00", Some("2026-11-15T02:00:00.000Z")),
            ("2026-11-15", Some("2026-11-15T00:00:00.000Z")),
            ("2026-11-15 02:00:00 UTC", Some("2026-11-15T02:00:00.000Z")),
            ("11/15/2026 02:00", None),
            ("yesterday", None),
        ] {
            assert_eq!(time(text).map(|it| it.to_string()).as_deref(), expected, "{text}");
        }
    }
}
