//! Bytes into a submission, or every issue of its shape.
//!
//! Shape is what can be said without knowing the version: types, limits, formats. The input is read
//! in one pass into a [`tree`] that borrows from it, then [`rules`] walk the tree and either build
//! the submission out of its parts or report everything that is wrong at once. A text is copied only
//! where an escape forces it, because this runs for every submission.
//!
//! Deliberately absent: whether the version exists or accepts, and whether an answer fits its
//! question. Those are judged later, against the version.

mod context;
pub(crate) mod identities;
mod kept;
mod report;
mod rules;
mod stored;
mod text_map;
mod texts;
mod tree;
mod withheld;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::issue::{Code, Issue};
use crate::payload::Generation;

pub use identities::IDENTITIES_MAX;
pub(crate) use identities::{EMAIL, USER_ID};
pub use kept::each_entry;
pub use stored::identities_json;
pub(crate) use stored::stored_texts;
pub use text_map::{TextMap, Texts};
pub use texts::TAGS_MAX;
pub use withheld::without_respondent;

/// A submission of the right shape; nothing is judged yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission<'a> {
    pub flow_version_id: Cow<'a, str>,
    pub generation: Generation,
    pub admission: Admission,
    pub answers: TextMap<'a>,
    /// Without exact repeats, in the order sent.
    pub identities: Vec<Identity<'a>>,
    pub tags: TextMap<'a>,
    pub context: Context<'a>,
    pub flow_assignment_id: Option<Cow<'a, str>>,
}

/// What the respondent decided about being known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    CollectionOnly,
    Admitted,
}

impl Admission {
    pub const ALL: &[Self] = &[Self::CollectionOnly, Self::Admitted];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::CollectionOnly => "collection_only",
            Self::Admitted => "admitted",
        }
    }

    /// As a column that says whether it is admitted tells it.
    pub fn of_admitted(is_admitted: bool) -> Self {
        if is_admitted { Self::Admitted } else { Self::CollectionOnly }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|admission| admission.as_str() == name)
    }
}

/// One thing that the client knows the respondent by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity<'a> {
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
    pub value: Cow<'a, str>,
}

/// What the client says of the page and the browser; the fields stand in the order of their names,
/// as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<Page<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<Cow<'a, str>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Page<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrer: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Cow<'a, str>>,
}

/// Why bytes are not a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// Not JSON, not UTF-8, or nested too deep: a transport error, with its reason.
    Malformed(String),
    /// JSON, but not of the shape: a refusal.
    Refused(Vec<Issue>),
}

/// Reads one submission. A leading byte-order mark is allowed.
pub fn parse(input: &[u8]) -> Result<Submission<'_>, Unfit> {
    match tree::read(input, rules::FIELDS).map_err(Unfit::Malformed)? {
        tree::Node::Object(fields) => rules::check(fields).map_err(Unfit::Refused),
        other => {
            let message = format!("A submission must be a JSON object; this is {}.", other.kind());
            Err(Unfit::Refused(vec![Issue::new(Code::InvalidType, Vec::new(), message)]))
        }
    }
}

/// What a call without any input is refused with.
pub fn absent() -> Issue {
    Issue::new(
        Code::InvalidType,
        Vec::new(),
        "A submission must be a JSON object with flowVersionId, flowVersionPayloadGeneration and \
         respondentAnalyticsAdmission; nothing was sent.",
    )
}
