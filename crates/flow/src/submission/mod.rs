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
mod limits;
mod report;
mod rules;
mod stored;
mod superjson;
mod surrogates;
mod text_map;
mod texts;
mod tree;
mod withheld;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::issue::{Code, Issue};

pub use identities::IDENTITIES_MAX;
pub(crate) use identities::{EMAIL, USER_ID};
pub use kept::each_entry;
pub use limits::LIMITS;
pub use rules::{IDEMPOTENCY_KEY_CHARS_MAX, is_idempotency_key};
pub(crate) use stored::stored_texts;
pub use stored::{identities_json, identities_json_without_proof, identities_with_proof};
pub use text_map::{TextMap, Texts};
pub use texts::TAGS_MAX;
pub use withheld::{Unlinked, without_respondent};

/// The largest body of a submission or a batch unless an operator sets another limit, in bytes.
pub const BODY_BYTES_DEFAULT: usize = 1024 * 1024;

/// A submission of the right shape; nothing is judged yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission<'a> {
    pub flow_version_id: Cow<'a, str>,
    pub admission: Admission,
    pub answers: TextMap<'a>,
    /// Without exact repeats, in the order sent.
    pub identities: Vec<Identity<'a>>,
    pub tags: TextMap<'a>,
    pub context: Context<'a>,
    pub flow_assignment_id: Option<Cow<'a, str>>,
    /// Names this call, so that sending it again stores nothing. Not part of the content.
    pub idempotency_key: Option<Cow<'a, str>>,
}

impl Submission<'_> {
    /// Applies the shape rules to a submission that was built from its parts and not parsed: every
    /// issue, or the same submission with its context repaired.
    pub fn checked(self) -> Result<Self, Vec<Issue>> {
        rules::check_parts(self)
    }
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub value: Cow<'a, str>,
}

/// What the client says of the page and the browser; the fields stand in the order of their names,
/// as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Context<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub locale: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub page: Option<Page<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<Cow<'a, str>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<'a> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub path: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub referrer: Option<Cow<'a, str>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
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

/// Reads one submission, plain or in a superjson envelope. A leading byte-order mark is allowed.
pub fn parse(input: &[u8]) -> Result<Submission<'_>, Unfit> {
    let tree::Input { mut submission, meta } =
        tree::read(input, rules::FIELDS).map_err(Unfit::Malformed)?;
    let mut report = report::Report::default();
    if let Some(meta) = &meta {
        superjson::apply(meta, &mut submission, &mut report);
    }
    match submission {
        tree::Node::Object(fields) => rules::check(fields, report).map_err(Unfit::Refused),
        tree::Node::Null if meta.is_some() => Err(Unfit::Refused(vec![absent()])),
        other => {
            let message = format!("A submission must be a JSON object; this is {}.", other.kind());
            Err(Unfit::Refused(vec![Issue::new(Code::InvalidType, Vec::new(), message)]))
        }
    }
}

/// Whether an input is a superjson envelope: an object with the key `json`, perhaps `meta`, and no
/// other. A plain input is recognised by its first key, without reading the rest.
pub fn is_superjson(input: &[u8]) -> bool {
    tree::may_be_envelope(input) && tree::read(input, &[]).is_ok_and(|input| input.meta.is_some())
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
