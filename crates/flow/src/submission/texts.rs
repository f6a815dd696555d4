//! The two flat maps of texts: answers by question id, tags by name.
//!
//! Each entry gives at most one issue for its key and one for its value, so that a long key is not
//! repeated many times in the reply. The rules are the same whether a value was parsed from JSON or
//! built from texts.

use std::borrow::Cow;

use super::node::{ITEMS_KEPT_MAX, Node};
use super::report::{At, Report};
use super::text_rules::{has_no_nul, is_within};
use crate::definition::limits::ANSWER_CHARS_MAX;
use crate::issue::Code;
use crate::text_map::{TextMap, Texts};

pub const ANSWERS_MAX: usize = 300;
pub(super) const ANSWER_ITEMS_MAX: usize = 1000;
/// How many tags a submission may have.
pub const TAGS_MAX: usize = 50;
pub(crate) const TAG_NAME_CHARS_MAX: usize = 64;
pub(crate) const TAG_VALUE_CHARS_MAX: usize = 500;
pub(crate) const TAG_ITEMS_MAX: usize = 50;

const _: () = assert!(ANSWER_ITEMS_MAX < ITEMS_KEPT_MAX && TAG_ITEMS_MAX < ITEMS_KEPT_MAX);

const TEXTS: &str = "a string or an array of strings";

/// A value that should be a text or a list of texts.
pub(super) trait SentValue<'a> {
    /// The texts; otherwise reports the first problem with them, using `nested` for a list in a
    /// list.
    fn texts(
        self,
        items_max: usize,
        nested: Code,
        at: At<'_>,
        report: &mut Report,
    ) -> Option<Texts<'a>>;
}

/// A map with entries to check.
pub(super) trait SentMap<'a> {
    type Value: SentValue<'a>;

    /// The entries sorted by name, without duplicates; empty if this is not a map.
    fn entries(self, at: At<'_>, report: &mut Report) -> Vec<(Cow<'a, str>, Self::Value)>;
}

pub(super) fn answers<'a>(sent: impl SentMap<'a>, report: &mut Report) -> TextMap<'a> {
    let at = At::Whole.field("answers");
    let entries = few_enough(sent, ANSWERS_MAX, at, report);
    let mut answers = Vec::with_capacity(entries.len());
    for (id, value) in entries {
        let at = at.field(&id);
        let stored = has_no_nul(&id, at, report);
        let answer = value
            .texts(ANSWER_ITEMS_MAX, Code::InvalidType, at, report)
            .filter(|answer| answer_is_within(answer, at, report));
        if let (true, Some(answer)) = (stored, answer) {
            answers.push((id, answer));
        }
    }
    TextMap::from_sorted(answers)
}

/// Whether an answer is short enough, all items of a list together.
fn answer_is_within(answer: &Texts<'_>, at: At<'_>, report: &mut Report) -> bool {
    let texts = || answer.as_slice().iter();
    let chars_max = ANSWER_CHARS_MAX as usize;
    // Counting characters is only needed if there are more bytes than that.
    if texts().map(|text| text.len()).sum::<usize>() <= chars_max {
        return true;
    }
    let chars: usize = texts().map(|text| text.chars().count()).sum();
    if chars > chars_max {
        let what = format_args!("has {chars} characters; at most {chars_max} are allowed.");
        report.add(Code::TooLong, at, what);
    }
    chars <= chars_max
}

pub(super) fn tags<'a>(
    sent: impl SentMap<'a>,
    metadata: At<'_>,
    report: &mut Report,
) -> TextMap<'a> {
    let at = metadata.field("tags");
    let entries = few_enough(sent, TAGS_MAX, at, report);
    let mut tags = Vec::with_capacity(entries.len());
    for (name, value) in entries {
        let at = at.field(&name);
        let named = tag_is_named(&name, at, report);
        let value = value
            .texts(TAG_ITEMS_MAX, Code::NestedTag, at, report)
            .filter(|value| tag_is_within(value, at, report));
        if let (true, Some(value)) = (named, value) {
            tags.push((name, value));
        }
    }
    TextMap::from_sorted(tags)
}

fn tag_is_named(name: &str, at: At<'_>, report: &mut Report) -> bool {
    if name.is_empty() {
        let what = format_args!(
            "is a tag without a name; a name must have 1 to {TAG_NAME_CHARS_MAX} characters."
        );
        report.add(Code::InvalidValue, at, what);
        return false;
    }
    let length = name.chars().count();
    if length > TAG_NAME_CHARS_MAX {
        let what = format_args!(
            "is a tag whose name has {length} characters; at most {TAG_NAME_CHARS_MAX} are allowed."
        );
        report.add(Code::TooLong, at, what);
        return false;
    }
    has_no_nul(name, at, report)
}

fn tag_is_within(value: &Texts<'_>, at: At<'_>, report: &mut Report) -> bool {
    match value {
        Texts::One(text) => is_within(text, TAG_VALUE_CHARS_MAX, at, report),
        Texts::Many(items) => items
            .iter()
            .enumerate()
            .all(|(index, text)| is_within(text, TAG_VALUE_CHARS_MAX, at.item(index), report)),
    }
}

/// The entries of a map, if there are not too many; otherwise empty.
fn few_enough<'a, E: SentMap<'a>>(
    sent: E,
    entries_max: usize,
    at: At<'_>,
    report: &mut Report,
) -> Vec<(Cow<'a, str>, E::Value)> {
    let entries = sent.entries(at, report);
    if entries.len() <= entries_max {
        return entries;
    }
    let count = entries.len();
    let what = format_args!("has {count} entries; at most {entries_max} are allowed.");
    report.add(Code::TooLong, at, what);
    Vec::new()
}

impl<'a> SentMap<'a> for TextMap<'a> {
    type Value = Texts<'a>;

    fn entries(self, _at: At<'_>, _report: &mut Report) -> Vec<(Cow<'a, str>, Texts<'a>)> {
        self.into_pairs()
    }
}

impl<'a> SentMap<'a> for Option<Node<'a>> {
    type Value = Node<'a>;

    fn entries(self, at: At<'_>, report: &mut Report) -> Vec<(Cow<'a, str>, Node<'a>)> {
        match self {
            None => Vec::new(),
            Some(Node::Object(object)) => object.into_pairs(),
            Some(other) => {
                let example = r#"{"name": "value"}"#;
                let allowed = format!("an object whose values are each {TEXTS}, such as {example}");
                report.wrong_type(at, &other, &allowed);
                Vec::new()
            }
        }
    }
}

fn has_few_items(count: usize, items_max: usize, at: At<'_>, report: &mut Report) -> bool {
    if count > items_max {
        let what = format_args!("has too many items; at most {items_max} are allowed.");
        report.add(Code::TooLong, at, what);
    }
    count <= items_max
}

impl<'a> SentValue<'a> for Texts<'a> {
    fn texts(
        self,
        items_max: usize,
        _nested: Code,
        at: At<'_>,
        report: &mut Report,
    ) -> Option<Texts<'a>> {
        let is_right = match &self {
            Texts::One(text) => has_no_nul(text, at, report),
            Texts::Many(items) => {
                has_few_items(items.len(), items_max, at, report)
                    && (items.iter().enumerate())
                        .all(|(index, text)| has_no_nul(text, at.item(index), report))
            }
        };
        is_right.then_some(self)
    }
}

impl<'a> SentValue<'a> for Node<'a> {
    fn texts(
        self,
        items_max: usize,
        nested: Code,
        at: At<'_>,
        report: &mut Report,
    ) -> Option<Texts<'a>> {
        match self {
            Node::Text(text) => has_no_nul(&text, at, report).then_some(Texts::One(text)),
            Node::List(nodes) => {
                if !has_few_items(nodes.len(), items_max, at, report) {
                    return None;
                }
                let mut items = Vec::with_capacity(nodes.len());
                for (index, node) in nodes.into_iter().enumerate() {
                    let at = at.item(index);
                    match node {
                        Node::Text(text) if has_no_nul(&text, at, report) => items.push(text),
                        Node::Text(_) => return None,
                        other => {
                            wrong_text(&other, "a string", nested, at, report);
                            return None;
                        }
                    }
                }
                Some(Texts::Many(items))
            }
            other => {
                wrong_text(&other, TEXTS, nested, at, report);
                None
            }
        }
    }
}

fn wrong_text(found: &Node<'_>, allowed: &str, nested: Code, at: At<'_>, report: &mut Report) {
    match found {
        Node::List(_) | Node::Object(_) if nested == Code::NestedTag => {
            let kind = found.kind();
            let what = format_args!("is {kind}; tags are flat, so it must be {allowed}.");
            report.add(nested, at, what);
        }
        _ => report.wrong_type(at, found, allowed),
    }
}
