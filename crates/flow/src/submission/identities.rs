//! The identities that a client may send for a respondent.
//!
//! Messages never repeat a value, which may be an e-mail address.

use std::borrow::Cow;

use super::node::{ITEMS_KEPT_MAX, Node};
use super::parts::{EMAIL, Identity, USER_ID};
use super::report::{At, Quoted, Report};
use super::text_rules::{has_no_nul, is_within, text};
use crate::email::is_email;
use crate::issue::Code;

/// The most identities of a submission after exact repeats are merged.
pub const IDENTITIES_MAX: usize = 10;
/// The most that may be sent, including repeats.
pub(crate) const IDENTITIES_SENT_MAX: usize = 100;
pub const USER_ID_CHARS_MAX: usize = 255;
pub(crate) const EMAIL_CHARS_MAX: usize = 254;
/// The longest type of an identity, in characters.
pub const TYPE_CHARS_MAX: usize = 64;
/// The longest value of an identity that is not used for linking, in characters.
pub const OTHER_VALUE_CHARS_MAX: usize = 500;

const _: () = assert!(IDENTITIES_SENT_MAX < ITEMS_KEPT_MAX);

/// An input that should be an identity.
pub(super) trait Sent<'a> {
    /// Its type and its value; each is `None` if an issue was reported for it.
    fn texts(self, at: At<'_>, report: &mut Report)
    -> (Option<Cow<'a, str>>, Option<Cow<'a, str>>);
}

/// Reads the identities from JSON.
pub(super) fn read<'a>(node: Option<Node<'a>>, report: &mut Report) -> Vec<Identity<'a>> {
    match node {
        None => Vec::new(),
        Some(Node::List(nodes)) => check(nodes, report),
        Some(other) => {
            let at = At::Whole.field("identities");
            report.wrong_type(at, &other, "an array of objects with type and value");
            Vec::new()
        }
    }
}

/// Checks the identities, and merges exact repeats.
pub(super) fn check<'a>(sent: Vec<impl Sent<'a>>, report: &mut Report) -> Vec<Identity<'a>> {
    let at = At::Whole.field("identities");
    if sent.len() > IDENTITIES_SENT_MAX {
        let what = format_args!("has too many items; at most {IDENTITIES_SENT_MAX} may be sent.");
        report.add(Code::TooLong, at, what);
        return Vec::new();
    }
    let mut identities: Vec<Identity<'a>> = Vec::with_capacity(sent.len().min(IDENTITIES_MAX));
    for (index, sent) in sent.into_iter().enumerate() {
        let at = at.item(index);
        let Some(identity) = identity(sent, at, report) else { continue };
        if identities.contains(&identity) {
            continue;
        }
        let is_user = identity.kind == USER_ID;
        if is_user && identities.iter().any(|known| known.kind == USER_ID) {
            let what = "is a second userId; at most one is allowed.";
            report.add(Code::DuplicateUserId, at, what);
        }
        identities.push(identity);
    }
    if identities.len() > IDENTITIES_MAX {
        let count = identities.len();
        let what =
            format_args!("has {count} different items; at most {IDENTITIES_MAX} are allowed.");
        report.add(Code::TooLong, at, what);
    }
    identities
}

fn identity<'a>(sent: impl Sent<'a>, at: At<'_>, report: &mut Report) -> Option<Identity<'a>> {
    let (kind, value) = sent.texts(at, report);
    let kind = kind.filter(|kind| kind_is_allowed(kind, at.field("type"), report))?;
    let value = value.filter(|value| value_is_allowed(&kind, value, at.field("value"), report))?;
    Some(Identity { kind, value })
}

impl<'a> Sent<'a> for Identity<'a> {
    fn texts(
        self,
        at: At<'_>,
        report: &mut Report,
    ) -> (Option<Cow<'a, str>>, Option<Cow<'a, str>>) {
        let kind = has_no_nul(&self.kind, at.field("type"), report).then_some(self.kind);
        let value = has_no_nul(&self.value, at.field("value"), report).then_some(self.value);
        (kind, value)
    }
}

impl<'a> Sent<'a> for Node<'a> {
    fn texts(
        self,
        at: At<'_>,
        report: &mut Report,
    ) -> (Option<Cow<'a, str>>, Option<Cow<'a, str>>) {
        let Node::Object(mut fields) = self else {
            report.wrong_type(at, &self, "an object with type and value");
            return (None, None);
        };
        let mut required = |name| match fields.take(name) {
            Some(node) => text(node, at.field(name), report),
            None => {
                report.missing(at.field(name), "a string");
                None
            }
        };
        (required("type"), required("value"))
    }
}

fn kind_is_allowed(kind: &str, at: At<'_>, report: &mut Report) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let allowed = (1..=TYPE_CHARS_MAX).contains(&kind.len()) && kind.bytes().all(plain);
    if !allowed {
        let what = format_args!(
            "is \"{}\"; it must have 1 to {TYPE_CHARS_MAX} letters (a-z, A-Z), digits, \"_\", \".\" \
             and \"-\", such as \"{USER_ID}\" or \"{EMAIL}\".",
            Quoted(kind)
        );
        report.add(Code::InvalidValue, at, what);
    }
    allowed
}

fn value_is_allowed(kind: &str, value: &str, at: At<'_>, report: &mut Report) -> bool {
    let fault = match kind {
        USER_ID if value.is_empty() => {
            format!("is empty; a userId must have 1 to {USER_ID_CHARS_MAX} characters.")
        }
        USER_ID => return is_within(value, USER_ID_CHARS_MAX, at, report),
        EMAIL if !is_within(value, EMAIL_CHARS_MAX, at, report) => return false,
        EMAIL if is_email(value) => return true,
        EMAIL => "is not an e-mail address; it must look like name@example.com.".to_owned(),
        _ => return is_within(value, OTHER_VALUE_CHARS_MAX, at, report),
    };
    report.add(Code::InvalidValue, at, fault);
    false
}
