//! Parses bytes into a submission, or every issue of its shape.
//!
//! Shape is everything that can be checked without the version: types, limits, formats. The input
//! is read in one pass into a tree of [`node`]s that borrows from it, then [`rules`] traverse it
//! and either build the submission or report everything that is wrong at once. A text is copied
//! only if an escape forces it, because this runs for every submission.
//!
//! Deliberately absent: whether the version exists or accepts responses, and whether an answer fits
//! its question. Those are judged later, against the version.

mod context;
pub(crate) mod identities;
mod kept;
mod key;
mod limits;
mod node;
pub(crate) mod parts;
mod quick;
mod report;
mod rules;
mod stored;
mod superjson;
mod surrogates;
mod text_rules;
mod texts;
mod tree;
mod withheld;

use crate::issue::{Code, Issue};

pub(crate) use identities::IDENTITIES_SENT_MAX;
pub use identities::{
    IDENTITIES_MAX, OTHER_VALUE_CHARS_MAX as IDENTITY_VALUE_CHARS_MAX,
    TYPE_CHARS_MAX as IDENTITY_TYPE_CHARS_MAX, USER_ID_CHARS_MAX,
};
pub use kept::{each_entry, entry};
pub use key::{IDEMPOTENCY_KEY_CHARS_MAX, idempotency_key};
pub use limits::LIMITS;
pub use parts::{Admission, Context, Identity, Page, Submission};
pub use rules::ASSIGNMENT_ID_CHARS_MAX;
pub(crate) use stored::stored_texts;
pub use stored::{identities_json, identities_json_without_proof, identities_with_proof};
pub use texts::{ANSWERS_MAX, TAGS_MAX};
pub(crate) use texts::{TAG_ITEMS_MAX, TAG_NAME_CHARS_MAX, TAG_VALUE_CHARS_MAX};
pub use withheld::{Unlinked, without_respondent};

pub use crate::text_map::{TextMap, Texts};

/// The default maximum size of a submission or a batch, in bytes; operators can change it.
pub const BODY_BYTES_DEFAULT: usize = 1024 * 1024;

impl Submission<'_> {
    /// Applies the shape rules to a submission that was built from parts and not parsed: every
    /// issue, or the same submission with its context repaired.
    pub fn checked(self) -> Result<Self, Vec<Issue>> {
        rules::check_parts(self)
    }
}

/// Why bytes are not a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    /// Not JSON, not UTF-8, or nested too deep: a transport error, with its reason.
    Malformed(String),
    /// JSON, but of the wrong shape: a refusal.
    Refused(Vec<Issue>),
}

/// Parses one submission, plain or in a superjson envelope. A leading byte-order mark is allowed.
pub fn parse(input: &[u8]) -> Result<Submission<'_>, ParseError> {
    let tree::ParsedInput { mut submission, meta } =
        tree::read(input, rules::FIELDS).map_err(ParseError::Malformed)?;
    let mut report = report::Report::default();
    if let Some(meta) = &meta {
        superjson::apply(meta, &mut submission, &mut report);
    }
    match submission {
        node::Node::Object(fields) => rules::check(fields, report).map_err(ParseError::Refused),
        node::Node::Null if meta.is_some() => Err(ParseError::Refused(vec![absent()])),
        other => {
            let message = format!("A submission must be a JSON object; this is {}.", other.kind());
            Err(ParseError::Refused(vec![Issue::new(Code::InvalidType, Vec::new(), message)]))
        }
    }
}

/// Whether an input is a superjson envelope: an object with the key `json`, optionally `meta`, and
/// no other. A plain input is recognised by its first key, without reading the rest.
pub fn is_superjson(input: &[u8]) -> bool {
    tree::may_be_envelope(input) && tree::read(input, &[]).is_ok_and(|input| input.meta.is_some())
}

/// The issue for a call without any input.
pub fn absent() -> Issue {
    Issue::new(
        Code::InvalidType,
        Vec::new(),
        "A submission must be a JSON object with flowVersionId, flowVersionPayloadGeneration and \
         respondentAnalyticsAdmission; nothing was sent.",
    )
}
