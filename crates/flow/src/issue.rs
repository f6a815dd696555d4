//! The table of all reasons to refuse a submission.
//!
//! Codes are names and are never reused for another meaning. A message states what is wrong and
//! what is allowed; the three messages about the version are fixed by the contract.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::id::FlowVersionId;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// The machine-readable kind of an issue.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

codes! {
    // Shape: checks that do not need the version.
    /// A required field is absent.
    FieldRequired = "field_required";
    /// A field holds a value of the wrong JSON type.
    InvalidType = "invalid_type";
    /// A field's value has the right type but is not allowed.
    InvalidValue = "invalid_value";
    /// A text or a list is longer, or an object larger, than allowed.
    TooLong = "too_long";
    /// A text contains a NUL character.
    NulCharacter = "nul_character";
    /// A tag contains a nested object or list.
    NestedTag = "nested_tag";
    /// More than one `userId`.
    DuplicateUserId = "duplicate_user_id";
    /// The version is not served in this payload generation.
    PayloadGenerationMismatch = "payload_generation_mismatch";
    // The version.
    FlowVersionNotFound = "flow_version_not_found";
    NotOpenYet = "not_open_yet";
    NoLongerAccepting = "no_longer_accepting";
    /// A quota for responses with these answers is full.
    QuotaFull = "quota_full";
    // Identity and idempotency.
    IdentityMismatch = "identity_mismatch";
    IdempotencyKeyReused = "idempotency_key_reused";
    /// The invitation already has its response.
    InvitationUsed = "invitation_used";
    InvitationExpired = "invitation_expired";
    InvitationRevoked = "invitation_revoked";
    // The answers.
    /// The version has no question with this id.
    UnknownQuestion = "unknown_question";
    /// A list if a single text is expected, or several texts if one is expected.
    WrongAnswerKind = "wrong_answer_kind";
    /// An option, row or column that the question does not have.
    UnknownOption = "unknown_option";
    /// An option, row or rank given twice, or a ranking that leaves one out.
    InvalidSelection = "invalid_selection";
    /// Not in the format of the question's type (e-mail, number, date, …).
    InvalidFormat = "invalid_format";
    /// A number, date, length or count outside the question's bounds.
    OutOfRange = "out_of_range";
    /// The question is required and visible, but has no answer.
    AnswerRequired = "answer_required";
    /// The question takes no answer.
    NotAnswerable = "not_answerable";
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One step of the path to the field that an issue is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Step {
    Key(Cow<'static, str>),
    Index(usize),
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Self {
        Self::Key(Cow::Borrowed(key))
    }
}

impl From<String> for Step {
    fn from(key: String) -> Self {
        Self::Key(Cow::Owned(key))
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// One reason why a submission is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    pub code: Code,
    pub path: Vec<Step>,
    pub message: Cow<'static, str>,
    /// With `no_longer_accepting`: the version that accepts responses now, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest_flow_version_id: Option<FlowVersionId>,
}

impl Issue {
    pub fn new(code: Code, path: Vec<Step>, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, path, message: message.into(), latest_flow_version_id: None }
    }

    pub fn flow_version_not_found() -> Self {
        Self::for_version(Code::FlowVersionNotFound, "Flow version not found")
    }

    pub fn not_open_yet() -> Self {
        Self::for_version(Code::NotOpenYet, "This survey is not open yet.")
    }

    /// `latest` is the version that accepts responses now, if any. Without one, a client that
    /// fetched and retried would be refused again, so the message does not suggest it.
    pub fn no_longer_accepting(latest: Option<FlowVersionId>) -> Self {
        let message = match latest {
            Some(_) => {
                "This survey version is no longer accepting responses. \
                 Fetch the latest published version and try again."
            }
            None => {
                "This survey version is no longer accepting responses. \
                 The survey is closed."
            }
        };
        let issue = Self::for_version(Code::NoLongerAccepting, message);
        Self { latest_flow_version_id: latest, ..issue }
    }

    /// The flow has all the responses that it accepts, of any kind or with these answers.
    pub fn full(full: Full) -> Self {
        match full {
            Full::Flow => Self::no_longer_accepting(None),
            Full::Quota => Self::for_version(
                Code::QuotaFull,
                "This survey version is no longer accepting responses. \
                 It has enough responses with these answers.",
            ),
        }
    }

    fn for_version(code: Code, message: &'static str) -> Self {
        Self::new(code, vec!["flowVersionId".into()], message)
    }

    /// An issue with the answer to one question.
    pub fn for_answer(code: Code, question: &str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code, vec!["answers".into(), question.to_owned().into()], message)
    }

    /// The invitation of the submission does not accept a response, or no longer does.
    pub fn for_invitation(code: Code) -> Self {
        let message = match code {
            Code::InvitationUsed => "This invitation was used: a response to it is stored already.",
            Code::InvitationRevoked => "This invitation was revoked. Ask for a new one.",
            _ => "This invitation has expired. Ask for a new one.",
        };
        Self::new(code, vec!["flowAssignmentId".into()], message)
    }

    /// The same idempotency key was used earlier with another submission. A header has no path
    /// within the submission.
    pub fn key_reused(source: KeySource) -> Self {
        let (path, message) = match source {
            KeySource::Field => (
                vec!["idempotencyKey".into()],
                "This idempotencyKey was used before with another submission. \
                 Use a new key for a new submission.",
            ),
            KeySource::Header => (
                Vec::new(),
                "This Idempotency-Key was used before with another submission. \
                 Use a new key for a new submission.",
            ),
        };
        Self::new(Code::IdempotencyKeyReused, path, message)
    }
}

/// Which limit of a flow has no room for a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The flow has all its responses: it is closed.
    Flow,
    /// A quota is full; responses with other answers may be accepted.
    Quota,
}

/// Where a submission has its idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySource {
    /// In its field `idempotencyKey`.
    Field,
    /// In the request's header `Idempotency-Key`.
    Header,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_a_unique_snake_case_name() {
        let mut seen = BTreeSet::new();
        for code in Code::ALL {
            let word = code.as_str();
            assert!(seen.insert(word), "{word} is used twice");
            let parts: Vec<_> = word.split('_').collect();
            let is_part = |part: &&str| {
                !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase())
            };
            assert!(parts.iter().all(is_part), "{word}");
        }
    }

    #[test]
    fn an_issue_is_written_as_code_path_and_message() {
        let mut issue = Issue::for_answer(Code::AnswerRequired, "nps", "is required");
        issue.path.push(Step::from(2));
        let written = serde_json::json!({
            "code": "answer_required", "path": ["answers", "nps", 2], "message": "is required"
        });
        assert_eq!(serde_json::to_value(&issue).unwrap(), written);
    }

    #[test]
    fn an_accepting_version_is_named_only_if_there_is_one() {
        let latest = FlowVersionId::from_uuid(uuid::Uuid::from_u128(7));
        let closed = Issue::no_longer_accepting(None);
        assert!(serde_json::to_value(&closed).unwrap().get("latestFlowVersionId").is_none());
        let written = serde_json::to_value(Issue::no_longer_accepting(Some(latest))).unwrap();
        assert_eq!(written["latestFlowVersionId"], latest.to_string());
    }

    #[test]
    fn a_reused_key_is_named_where_it_was_sent() {
        for (source, path, name) in [
            (KeySource::Field, vec![Step::from("idempotencyKey")], "This idempotencyKey "),
            (KeySource::Header, Vec::new(), "This Idempotency-Key "),
        ] {
            let issue = Issue::key_reused(source);
            assert_eq!(issue.code.as_str(), "idempotency_key_reused");
            assert_eq!(issue.path, path);
            assert!(issue.message.starts_with(name), "{}", issue.message);
        }
    }
}
