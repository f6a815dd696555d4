//! The shape rules, field by field, in the order of the contract's table.
//!
//! Every rule takes its part out of the tree, reports what is wrong with it, and goes on: a client
//! learns all faults of the shape from one reply. A list or map that has too many entries is reported
//! as such and not looked into, so the number of issues is bounded too.

use std::borrow::Cow;

use super::report::{At, Part, Report};
use super::tree::{Node, Object};
use super::{Admission, Submission, TextMap, context, identities, texts};
use crate::issue::{Code, Issue};
use crate::payload::Generation;

/// The longest `flowAssignmentId`, in characters.
pub(super) const ASSIGNMENT_ID_CHARS_MAX: usize = 255;

/// The fields of a submission; all others are ignored.
pub(super) const FIELDS: &[&str] = &[
    "flowVersionId",
    "flowVersionPayloadGeneration",
    "respondentAnalyticsAdmission",
    "answers",
    "identities",
    "metadata",
    "context",
    "flowAssignmentId",
];

/// Builds the submission out of its fields, or gives every issue of its shape.
pub(super) fn check(mut fields: Object<'_>) -> Result<Submission<'_>, Vec<Issue>> {
    let mut report = Report::default();
    let flow_version_id = flow_version_id(&mut fields, &mut report);
    let generation = generation(&mut fields, &mut report);
    let admission = admission(&mut fields, &mut report);
    let answers = texts::answers(fields.take("answers"), &mut report);
    let identities = identities::check(fields.take("identities"), &mut report);
    let tags = tags(&mut fields, &mut report);
    let context = context::check(fields.take("context"), &mut report);
    let flow_assignment_id = flow_assignment_id(&mut fields, &mut report);

    match (flow_version_id, generation, admission) {
        (Some(flow_version_id), Some(generation), Some(admission)) if report.is_empty() => {
            Ok(Submission {
                flow_version_id,
                generation,
                admission,
                answers,
                identities,
                tags,
                context,
                flow_assignment_id,
            })
        }
        _ => Err(report.into_issues()),
    }
}

fn flow_version_id<'a>(fields: &mut Object<'a>, report: &mut Report) -> Option<Cow<'a, str>> {
    let at = At::Whole.field("flowVersionId");
    let Some(node) = fields.take("flowVersionId") else {
        report.missing(at, "a string, the id of a published version");
        return None;
    };
    text(node, at, report)
}

fn generation(fields: &mut Object<'_>, report: &mut Report) -> Option<Generation> {
    let at = At::Whole.field("flowVersionPayloadGeneration");
    let served = || one_of(Generation::ALL.iter().map(|generation| generation.as_str()));
    match fields.take("flowVersionPayloadGeneration") {
        None => report.missing(at, &format!("the string {}", served())),
        Some(Node::Text(name)) => match Generation::named(&name) {
            Some(generation) => return Some(generation),
            None => report.add(
                Code::PayloadGenerationMismatch,
                at,
                format_args!(
                    "is \"{}\"; it must be the generation in which the version was fetched, and \
                     versions are served in {}.",
                    Part(&name),
                    served()
                ),
            ),
        },
        Some(other) => report.wrong_type(at, &other, &format!("the string {}", served())),
    }
    None
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
                format_args!("is \"{}\"; it must be {}.", Part(&name), allowed()),
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

fn flow_assignment_id<'a>(fields: &mut Object<'a>, report: &mut Report) -> Option<Cow<'a, str>> {
    let at = At::Whole.field("flowAssignmentId");
    let id = text(fields.take("flowAssignmentId")?, at, report)?;
    is_within(&id, ASSIGNMENT_ID_CHARS_MAX, at, report).then_some(id)
}

/// The choices in words: `"a" or "b"`.
fn one_of(choices: impl Iterator<Item = &'static str>) -> String {
    choices.map(|choice| format!("\"{choice}\"")).collect::<Vec<_>>().join(" or ")
}

/// A string that may be stored; otherwise the issue is reported.
pub(super) fn text<'a>(node: Node<'a>, at: At<'_>, report: &mut Report) -> Option<Cow<'a, str>> {
    match node {
        Node::Text(text) => has_no_nul(&text, at, report).then_some(text),
        other => {
            report.wrong_type(at, &other, "a string");
            None
        }
    }
}

pub(super) fn has_no_nul(text: &str, at: At<'_>, report: &mut Report) -> bool {
    let clean = !text.contains('\0');
    if !clean {
        report.add(Code::NulCharacter, at, "has a NUL character (\\u0000); leave it out.");
    }
    clean
}

pub(super) fn is_within(text: &str, chars_max: usize, at: At<'_>, report: &mut Report) -> bool {
    // Counting is spared for a text that could not be too long in any script.
    let length = if text.len() <= chars_max { text.len() } else { text.chars().count() };
    if length > chars_max {
        let what = format_args!("has {length} characters; at most {chars_max} are allowed.");
        report.add(Code::TooLong, at, what);
    }
    length <= chars_max
}
