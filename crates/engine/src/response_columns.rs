//! The columns of a table of responses, by their names in addresses and exports.
//!
//! `receivedAt`, `version` and so on are the names of an export's columns; `answer.QUESTION` and
//! `tag.NAME` are answers and tags, and `tags` is all tags together. A list of columns is separated
//! by commas; `,` and `\` within a name are escaped with `\`, because a tag may have any name.

use std::collections::HashMap;

use serde_json::Value;
use sluice_flow::id::FlowVersionId;
use sluice_flow::response_order::{AnswerOrder, SortKey};
use sluice_flow::submission::{self, Texts};
use sluice_store::ResponseRow;

use crate::question_history::QuestionHistory;

/// The prefixes of the columns of answers and tags.
const ANSWER_PREFIX: &str = "answer.";
const TAG_PREFIX: &str = "tag.";
const TAGS: &str = "tags";

/// A column of a table of responses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ResponseColumn {
    Fixed(FixedColumn),
    /// All tags together.
    Tags,
    Tag(String),
    /// The answer to the question with this id.
    Answer(String),
}

/// A column that every response has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FixedColumn {
    ReceivedAt,
    ResponseId,
    Version,
    Admission,
    RespondentId,
    UserId,
    Email,
    Locale,
    /// The sum of the scores of the answers; only of versions that have scores.
    Score,
}

impl FixedColumn {
    pub const ALL: &[Self] = &[
        Self::ReceivedAt,
        Self::ResponseId,
        Self::Version,
        Self::Admission,
        Self::RespondentId,
        Self::UserId,
        Self::Email,
        Self::Locale,
        Self::Score,
    ];

    /// Its name, which is that of the export's column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReceivedAt => "receivedAt",
            Self::ResponseId => "responseId",
            Self::Version => "version",
            Self::Admission => "respondentAnalyticsAdmission",
            Self::RespondentId => "respondentId",
            Self::UserId => "identities.userId",
            Self::Email => "identities.traits.email",
            Self::Locale => "context.locale",
            Self::Score => "score",
        }
    }

    /// Its text in a response; `None` if the response has none, or if only the flow knows it.
    pub fn text(self, row: &ResponseRow) -> Option<String> {
        match self {
            Self::ReceivedAt => Some(row.response_id.made_at().to_string()),
            Self::ResponseId => Some(row.response_id.to_string()),
            Self::Version => None,
            Self::Admission => Some(row.admission.as_str().to_owned()),
            Self::RespondentId => row.respondent_id.map(|id| id.to_string()),
            Self::UserId => identity(row, "userId"),
            Self::Email => identity(row, "traits.email"),
            Self::Locale => {
                let context: Value = serde_json::from_str(row.context.as_deref()?).ok()?;
                Some(context.get("locale")?.as_str()?.to_owned())
            }
            Self::Score => row.score.clone(),
        }
    }
}

/// The first identity of a kind.
fn identity(row: &ResponseRow, kind: &str) -> Option<String> {
    let all: Vec<Value> = serde_json::from_str(row.identities.as_deref()?).ok()?;
    let found = all.iter().find(|it| it["type"] == kind)?;
    Some(found["value"].as_str()?.to_owned())
}

impl ResponseColumn {
    pub fn named(name: &str) -> Option<Self> {
        let fixed = FixedColumn::ALL.iter().find(|it| it.as_str() == name);
        if let Some(fixed) = fixed {
            return Some(Self::Fixed(*fixed));
        }
        let rest = |prefix: &str| name.strip_prefix(prefix).filter(|rest| !rest.is_empty());
        match (name, rest(ANSWER_PREFIX), rest(TAG_PREFIX)) {
            (TAGS, ..) => Some(Self::Tags),
            (_, Some(question), _) => Some(Self::Answer(question.to_owned())),
            (_, _, Some(tag)) => Some(Self::Tag(tag.to_owned())),
            _ => None,
        }
    }

    pub fn name(&self) -> String {
        match self {
            Self::Fixed(column) => column.as_str().to_owned(),
            Self::Tags => TAGS.to_owned(),
            Self::Tag(name) => format!("{TAG_PREFIX}{name}"),
            Self::Answer(question) => format!("{ANSWER_PREFIX}{question}"),
        }
    }

    /// Whether its values can be sorted; the others have no order, or that of the responses.
    pub fn is_sortable(&self) -> bool {
        !matches!(self, Self::Tags | Self::Fixed(FixedColumn::ResponseId | FixedColumn::ReceivedAt))
    }
}

/// The names of a list of columns.
pub fn split(list: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let mut letters = list.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ',' => names.push(std::mem::take(&mut name)),
            '\\' => name.extend(letters.next()),
            letter => name.push(letter),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

/// The reverse of [`split`].
pub fn joined<'c>(columns: impl IntoIterator<Item = &'c ResponseColumn>) -> String {
    let escaped = |column: &ResponseColumn| column.name().replace('\\', "\\\\").replace(',', "\\,");
    columns.into_iter().map(escaped).collect::<Vec<_>>().join(",")
}

/// The values of a column, for sorting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SortValues {
    /// The numbers of the versions.
    Version(HashMap<FlowVersionId, u32>),
    Text(FixedColumn),
    Score,
    Tag(String),
    Answer {
        question: String,
        order: AnswerOrder,
    },
}

impl SortValues {
    /// `None` if the column cannot be sorted, or if no version asks the question.
    pub(crate) fn new(column: &ResponseColumn, asked: &QuestionHistory) -> Option<Self> {
        Some(match column {
            _ if !column.is_sortable() => return None,
            ResponseColumn::Fixed(FixedColumn::Version) => {
                Self::Version(asked.numbers().into_iter().collect())
            }
            ResponseColumn::Fixed(FixedColumn::Score) => Self::Score,
            ResponseColumn::Fixed(fixed) => Self::Text(*fixed),
            ResponseColumn::Tags => return None,
            ResponseColumn::Tag(name) => Self::Tag(name.clone()),
            ResponseColumn::Answer(question) => {
                let types: Vec<_> = asked.types_of(question).collect();
                if types.is_empty() {
                    return None;
                }
                Self::Answer { question: question.clone(), order: AnswerOrder::new(&types) }
            }
        })
    }

    pub(crate) fn key(&self, row: &ResponseRow) -> SortKey {
        match self {
            Self::Version(numbers) => numbers
                .get(&row.flow_version_id)
                .map_or(SortKey::Nothing, |it| SortKey::number(*it)),
            Self::Text(column) => SortKey::text(&column.text(row).unwrap_or_default()),
            Self::Score => row.score.as_deref().map_or(SortKey::Nothing, SortKey::decimal),
            Self::Tag(name) => {
                SortKey::tag(entry(row.tags.as_deref().unwrap_or("{}"), name).as_ref())
            }
            Self::Answer { question, order } => order.key(entry(&row.answers, question).as_ref()),
        }
    }
}

/// An entry of a stored map of texts; `None` if it is absent or unreadable.
fn entry<'j>(json: &'j str, name: &str) -> Option<Texts<'j>> {
    submission::entry(json, name).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_its_name() {
        for name in
            ["receivedAt", "version", "tags", "tag.plan", "tag.a,b\\c", "answer.nps", "tag.tags"]
        {
            assert_eq!(ResponseColumn::named(name).unwrap().name(), name);
        }
        for name in ["", "nps", "answer.", "tag.", "Version", "answers"] {
            assert_eq!(ResponseColumn::named(name), None, "{name}");
        }
        for fixed in FixedColumn::ALL {
            let found = ResponseColumn::named(fixed.as_str());
            assert_eq!(found, Some(ResponseColumn::Fixed(*fixed)));
        }
    }

    #[test]
    fn a_list_of_columns_survives_any_name_of_a_tag() {
        for names in [&["version"][..], &["tag.a,b", "tag.c\\", "answer.nps"], &["tag.\\,", "tags"]]
        {
            let columns: Vec<_> = names.iter().filter_map(|it| ResponseColumn::named(it)).collect();
            assert_eq!(split(&joined(&columns)), names);
        }
        assert_eq!(split(""), [""; 0]);
        assert_eq!(split("version,,tag.x,"), ["version", "tag.x"]);
    }
}
