//! The parts of a submission, as plain data.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::text_map::TextMap;

/// The types of the two identities that link a response to a respondent.
pub const USER_ID: &str = "userId";
pub const EMAIL: &str = "traits.email";

/// A submission of the right shape; not judged yet.
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
    /// Identifies this call, so that sending it again stores nothing. Not part of the content.
    pub idempotency_key: Option<Cow<'a, str>>,
}

/// Whether the respondent agreed to be linked to the response.
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

    /// From a column that stores whether it is admitted.
    pub fn from_admitted(is_admitted: bool) -> Self {
        if is_admitted { Self::Admitted } else { Self::CollectionOnly }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|admission| admission.as_str() == name)
    }
}

/// An identity of the respondent, as sent by the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity<'a> {
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    #[serde(borrow)]
    pub value: Cow<'a, str>,
}

/// What the client reports about the page and the browser; the fields are sorted by name, as they
/// are stored.
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
