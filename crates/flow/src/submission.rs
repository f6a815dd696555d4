//! Bytes into a submission, or every issue of its shape. (stub)
use std::borrow::Cow;
use std::collections::BTreeMap;
use serde::{Deserialize, Serialize};
use crate::issue::Issue;
use crate::payload::Generation;
/// What the respondent decided about being known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission { CollectionOnly, Admitted }
/// A text or a list of texts: an answer, or a tag's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Texts<'a> { One(Cow<'a, str>), Many(Vec<Cow<'a, str>>) }
pub type TextMap<'a> = BTreeMap<Cow<'a, str>, Texts<'a>>;
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity<'a> { #[serde(rename = "type")] pub kind: Cow<'a, str>, pub value: Cow<'a, str> }
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context<'a> { #[serde(skip_serializing_if = "Option::is_none")] pub page: Option<Page<'a>>, #[serde(skip_serializing_if = "Option::is_none")] pub locale: Option<Cow<'a, str>>, #[serde(skip_serializing_if = "Option::is_none")] pub user_agent: Option<Cow<'a, str>> }
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Page<'a> { #[serde(skip_serializing_if = "Option::is_none")] pub path: Option<Cow<'a, str>>, #[serde(skip_serializing_if = "Option::is_none")] pub referrer: Option<Cow<'a, str>>, #[serde(skip_serializing_if = "Option::is_none")] pub search: Option<Cow<'a, str>> }
/// A submission of the right shape; nothing is judged yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission<'a> {
    pub flow_version_id: Cow<'a, str>,
    pub generation: Generation,
    pub admission: Admission,
    pub answers: TextMap<'a>,
    pub identities: Vec<Identity<'a>>,
    pub tags: TextMap<'a>,
    pub context: Context<'a>,
    pub flow_assignment_id: Option<Cow<'a, str>>,
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
pub fn parse(_input: &[u8]) -> Result<Submission<'_>, Unfit> { todo!() }
/// What a call without any input is refused with.
pub fn absent() -> Issue { todo!() }
