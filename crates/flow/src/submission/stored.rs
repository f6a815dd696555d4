//! The parts of a submission as they are stored: compact JSON, sorted keys, the same bytes for the
//! same content.
//!
//! They are written here and not by a serialiser, because this runs for every submission and nearly
//! every text needs no escape, so it is copied as a whole. Any other text uses the serialiser.

use serde::{Deserialize, Serialize};

use super::kept::each_entry;
use super::parts::{Context, EMAIL, Identity, Page, Submission, USER_ID};
use super::text_rules::first_escaped;
use crate::text_map::{TextMap, Texts};

impl Submission<'_> {
    pub fn answers_json(&self) -> String {
        text_map(&self.answers)
    }

    /// `None` if there are none.
    pub fn identities_json(&self) -> Option<String> {
        (!self.identities.is_empty()).then(|| identities_json(&self.identities))
    }

    /// `None` if there are none.
    pub fn tags_json(&self) -> Option<String> {
        tags_json(&self.tags)
    }

    /// `None` if no field of it was sent.
    pub fn context_json(&self) -> Option<String> {
        context_json(&self.context)
    }
}

pub(super) fn tags_json(tags: &TextMap<'_>) -> Option<String> {
    (!tags.is_empty()).then(|| text_map(tags))
}

pub(super) fn context_json(fields: &Context<'_>) -> Option<String> {
    (*fields != Context::default()).then(|| context(fields))
}

/// Stored answers or tags; `None` if the JSON is not an object. Values that are neither a text nor
/// a list of texts are skipped.
pub(crate) fn stored_texts(json: &str) -> Option<TextMap<'_>> {
    let mut pairs = Vec::new();
    each_entry(json, |name, texts| pairs.push((name, texts))).ok()?;
    Some(pairs.into_iter().collect())
}

fn text_map(map: &TextMap<'_>) -> String {
    let weight = |(name, texts): (&str, &Texts<'_>)| name.len() + 6 + weight_of(texts);
    let mut out = String::with_capacity(2 + map.iter().map(weight).sum::<usize>());
    out.push('{');
    for (index, (name, texts)) in map.iter().enumerate() {
        comma(&mut out, index);
        field(&mut out, name);
        match texts {
            Texts::One(text) => string(&mut out, text),
            Texts::Many(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    comma(&mut out, index);
                    string(&mut out, item);
                }
                out.push(']');
            }
        }
    }
    out.push('}');
    out
}

fn weight_of(texts: &Texts<'_>) -> usize {
    match texts {
        Texts::One(text) => text.len(),
        Texts::Many(items) => 2 + items.iter().map(|item| item.len() + 3).sum::<usize>(),
    }
}

/// Identities in stored form.
pub fn identities_json<'a>(identities: impl IntoIterator<Item = &'a Identity<'a>>) -> String {
    identities_json_without_proof(identities, |_| false)
}

/// The same, marking those that the token of a verified respondent does not prove. The mark is
/// written only if it is needed: see [`identities_with_proof`].
pub fn identities_json_without_proof<'a>(
    identities: impl IntoIterator<Item = &'a Identity<'a>>,
    is_unproven: impl Fn(&Identity<'_>) -> bool,
) -> String {
    let mut out = String::with_capacity(128);
    out.push('[');
    for (index, identity) in identities.into_iter().enumerate() {
        comma(&mut out, index);
        out.push_str("{\"type\":");
        string(&mut out, &identity.kind);
        out.push_str(",\"value\":");
        string(&mut out, &identity.value);
        out.push_str(if is_unproven(identity) { ",\"verified\":false}" } else { "}" });
    }
    out.push(']');
    out
}

/// Stored identities as JSON in which each has `verified`. If the `userId` of a response was
/// proven, so was every `userId` and `traits.email` of it, except those marked otherwise.
/// Unreadable JSON is returned unchanged.
pub fn identities_with_proof(stored: &str, is_user_id_proven: bool) -> String {
    #[derive(Serialize, Deserialize)]
    struct Stored<'a> {
        #[serde(flatten, borrow)]
        identity: Identity<'a>,
        verified: Option<bool>,
    }
    let Ok(mut identities) = serde_json::from_str::<Vec<Stored<'_>>>(stored) else {
        return stored.to_owned();
    };
    for Stored { identity, verified } in &mut identities {
        let may_be_proven = matches!(&*identity.kind, USER_ID | EMAIL);
        *verified = Some(verified.unwrap_or(is_user_id_proven && may_be_proven));
    }
    serde_json::to_string(&identities).unwrap_or_else(|_| stored.to_owned())
}

fn context(context: &Context<'_>) -> String {
    let mut out = String::with_capacity(256);
    object(&mut out, |out| {
        optional(out, "locale", context.locale.as_deref());
        if let Some(Page { path, referrer, search }) = &context.page {
            next_field(out, "page");
            object(out, |out| {
                optional(out, "path", path.as_deref());
                optional(out, "referrer", referrer.as_deref());
                optional(out, "search", search.as_deref());
            });
        }
        optional(out, "userAgent", context.user_agent.as_deref());
    });
    out
}

fn object(out: &mut String, fields: impl FnOnce(&mut String)) {
    out.push('{');
    fields(out);
    out.push('}');
}

fn optional(out: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        next_field(out, name);
        string(out, text);
    }
}

fn next_field(out: &mut String, name: &str) {
    comma(out, usize::from(!out.ends_with('{')));
    field(out, name);
}

fn field(out: &mut String, name: &str) {
    string(out, name);
    out.push(':');
}

fn comma(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

fn string(out: &mut String, text: &str) {
    if first_escaped(text.as_bytes()).is_some() {
        // A text always has a JSON form.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
        return;
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_texts_match_the_serialiser() {
        for text in [
            "",
            "plain",
            "grün 1",
            "a\"b",
            "back\\slash",
            "\n\t\u{1}\u{1f}",
            "\u{7f}\u{2028}\u{1F600}",
        ] {
            let mut out = String::new();
            string(&mut out, text);
            assert_eq!(out, serde_json::to_string(text).unwrap());
        }
    }
}
