//! The shape rules, field by field, in the order of the contract's table.
//!
//! Every rule takes its part out of the tree, reports what is wrong with it, and continues, so a
//! client gets all issues of the shape in one reply. A list or map with too many entries is
//! reported as such and not checked further, so the number of issues is bounded too.

use std::borrow::Cow;

use super::key::{self, IDEMPOTENCY_KEY_CHARS_MAX};
use super::node::{Node, Object};
use super::parts::{Admission, Submission};
use super::report::{At, Quoted, Report};
use super::text_rules::{has_no_nul, is_within, text};
use super::{context, identities, texts};
use crate::issue::{Code, Issue};
use crate::payload::Generation;
use crate::text_map::TextMap;

/// The longest `flowAssignmentId`, in characters.
pub const ASSIGNMENT_ID_CHARS_MAX: usize = 255;

/// The fields of a submission; all others are ignored.
pub(super) const FIELDS: &[&str] = &[
    "flowVersionId",
    "flowVersionPayloadGeneration",
    "respondentAnalyticsAdmission",
    "answers",
    "identities",
    "metadata",
    "context",
    ASSIGNMENT_ID,
    IDEMPOTENCY_KEY,
];

const ASSIGNMENT_ID: &str = "flowAssignmentId";
const IDEMPOTENCY_KEY: &str = "idempotencyKey";

/// Builds the submission from its fields, or adds every issue of its shape to those found before.
pub(super) fn check(
    mut fields: Object<'_>,
    mut report: Report,
) -> Result<Submission<'_>, Vec<Issue>> {
    let flow_version_id = flow_version_id(&mut fields, &mut report);
    generation(&mut fields, &mut report);
    let admission = admission(&mut fields, &mut report);
    let answers = texts::answers(fields.take("answers"), &mut report);
    let identities = identities::read(fields.take("identities"), &mut report);
    let tags = tags(&mut fields, &mut report);
    let context = context::read(fields.take("context"));
    let flow_assignment_id = flow_assignment_id(fields.take(ASSIGNMENT_ID), &mut report);
    let idempotency_key = idempotency_key(&mut fields, &mut report);

    match (flow_version_id, admission) {
        (Some(flow_version_id), Some(admission)) if report.is_empty() => Ok(Submission {
            flow_version_id,
            admission,
            answers,
            identities,
            tags,
            context,
            flow_assignment_id,
            idempotency_key,
        }),
        _ => Err(report.into_issues()),
    }
}

/// Applies the same rules to a submission built from its parts.
pub(super) fn check_parts(parts: Submission<'_>) -> Result<Submission<'_>, Vec<Issue>> {
    let mut report = Report::default();
    let submission = Submission {
        flow_version_id: parts.flow_version_id,
        admission: parts.admission,
        answers: texts::answers(parts.answers, &mut report),
        identities: identities::check(parts.identities, &mut report),
        tags: texts::tags(parts.tags, At::Whole.field("metadata"), &mut report),
        context: context::repaired(parts.context),
        flow_assignment_id: parts
            .flow_assignment_id
            .filter(|id| is_assignment_id(id, At::Whole.field(ASSIGNMENT_ID), &mut report)),
        idempotency_key: parts.idempotency_key,
    };
    if report.is_empty() { Ok(submission) } else { Err(report.into_issues()) }
}

fn flow_version_id<'a>(fields: &mut Object<'a>, report: &mut Report) -> Option<Cow<'a, str>> {
    let at = At::Whole.field("flowVersionId");
    let Some(node) = fields.take("flowVersionId") else {
        report.missing(at, "a string, the id of a published version");
        return None;
    };
    text(node, at, report)
}

/// Only checked: every version is served in every generation.
fn generation(fields: &mut Object<'_>, report: &mut Report) {
    let at = At::Whole.field("flowVersionPayloadGeneration");
    let served = || one_of(Generation::ALL.iter().map(|generation| generation.as_str()));
    match fields.take("flowVersionPayloadGeneration") {
        None => report.missing(at, &format!("the string {}", served())),
        Some(Node::Text(name)) if Generation::named(&name).is_some() => {}
        Some(Node::Text(name)) => report.add(
            Code::PayloadGenerationMismatch,
            at,
            format_args!(
                "is \"{}\"; it must be the generation in which the version was fetched, and \
                 versions are served in {}.",
                Quoted(&name),
                served()
            ),
        ),
        Some(other) => report.wrong_type(at, &other, &format!("the string {}", served())),
    }
}

fn admission(fields: &mut Object<'_>, report: &mut Report) -> Option<Admission> {
    let at = At::Whole.field("respondentAnalyticsAdmission");
    let allowed = || one_of(Admission::ALL.iter().map(|admission| admission.as_str()));
    match fields.take("respondentAnalyticsAdmission") {
        None => report.missing(at, &allowed()),
        Some(Node::Text(name)) => match Admission::named(&name) {
            Some(admission) => return Some(admission),
            None => report.add(
                Code::InvalidValue,
                at,
                format_args!("is \"{}\"; it must be {}.", Quoted(&name), allowed()),
            ),
        },
        Some(other) => report.wrong_type(at, &other, &format!("the string {}", allowed())),
    }
    None
}

fn tags<'a>(fields: &mut Object<'a>, report: &mut Report) -> TextMap<'a> {
    let at = At::Whole.field("metadata");
    match fields.take("metadata") {
        None => TextMap::default(),
        Some(Node::Object(mut metadata)) => texts::tags(metadata.take("tags"), at, report),
        Some(other) => {
            report.wrong_type(at, &other, "an object");
            TextMap::default()
        }
    }
}

fn flow_assignment_id<'a>(node: Option<Node<'a>>, report: &mut Report) -> Option<Cow<'a, str>> {
    let at = At::Whole.field(ASSIGNMENT_ID);
    match node? {
        Node::Text(id) => is_assignment_id(&id, at, report).then_some(id),
        other => {
            report.wrong_type(at, &other, "a string");
            None
        }
    }
}

fn is_assignment_id(id: &str, at: At<'_>, report: &mut Report) -> bool {
    has_no_nul(id, at, report) && is_within(id, ASSIGNMENT_ID_CHARS_MAX, at, report)
}

fn idempotency_key<'a>(fields: &mut Object<'a>, report: &mut Report) -> Option<Cow<'a, str>> {
    let at = At::Whole.field(IDEMPOTENCY_KEY);
    let key = match fields.take(IDEMPOTENCY_KEY)? {
        Node::Text(Cow::Borrowed(text)) => key::idempotency_key(text),
        Node::Text(Cow::Owned(text)) => {
            key::idempotency_key(&text).map(|key| Cow::Owned(key.into_owned()))
        }
        other => {
            report.wrong_type(at, &other, "a string");
            return None;
        }
    };
    if key.is_none() {
        let expected = "printable ASCII characters, quoted or bare.";
        let message = format_args!("must be 1 to {IDEMPOTENCY_KEY_CHARS_MAX} {expected}");
        report.add(Code::InvalidValue, at, message);
    }
    key
}

/// The choices as text: `"a" or "b"`.
fn one_of(choices: impl Iterator<Item = &'static str>) -> String {
    choices.map(|choice| format!("\"{choice}\"")).collect::<Vec<_>>().join(" or ")
}
