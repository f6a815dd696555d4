//! Texts by name: answers by question id, or tags.
//!
//! A sorted list, because such a map is small, is built once per submission and then only read: it
//! needs one allocation, while a tree needs several.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

/// A text or a list of texts: an answer, or a tag's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Texts<'a> {
    One(Cow<'a, str>),
    Many(Vec<Cow<'a, str>>),
}

impl<'a> Texts<'a> {
    /// Its texts; a single text is a list of one.
    pub fn as_slice(&self) -> &[Cow<'a, str>] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }

    /// Whether this counts as no answer.
    pub(crate) fn is_absent(&self) -> bool {
        match self.as_slice() {
            [] => true,
            [text] => text.is_empty(),
            _ => false,
        }
    }

    /// Converts a text to a list of one, or a list of one to a text. An empty text becomes an empty
    /// list.
    pub(crate) fn canonicalise(&mut self, takes_several: bool) {
        match self {
            Self::One(text) if takes_several => {
                let text = std::mem::take(text);
                *self = Self::Many(if text.is_empty() { Vec::new() } else { vec![text] });
            }
            Self::Many(items) if takes_several && *items == [""] => items.clear(),
            Self::Many(items) if !takes_several && items.len() <= 1 => {
                *self = Self::One(items.pop().unwrap_or_default());
            }
            _ => {}
        }
    }
}

/// Answers by question id, or tags by name: unique names, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextMap<'a>(Vec<(Cow<'a, str>, Texts<'a>)>);

impl<'a> TextMap<'a> {
    /// From pairs sorted by name, without duplicates.
    pub(crate) fn from_sorted(pairs: Vec<(Cow<'a, str>, Texts<'a>)>) -> Self {
        debug_assert!(pairs.is_sorted_by(|(a, _), (b, _)| a < b), "not sorted");
        Self(pairs)
    }

    /// The pairs, sorted by name.
    pub(crate) fn into_pairs(self) -> Vec<(Cow<'a, str>, Texts<'a>)> {
        self.0
    }

    pub fn get(&self, name: &str) -> Option<&Texts<'a>> {
        let index = self.0.binary_search_by(|(key, _)| key.as_ref().cmp(name)).ok()?;
        Some(&self.0[index].1)
    }

    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Texts<'a>)> {
        self.0.iter().map(|(name, texts)| (name.as_ref(), texts))
    }

    pub(crate) fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _)| keeps(name));
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Texts<'a>)> {
        self.0.iter_mut().map(|(name, texts)| (&**name, texts))
    }

    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for TextMap<'a> {
    type Item = (Cow<'a, str>, Texts<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// If a name is repeated, the last pair wins.
impl<'a> FromIterator<(Cow<'a, str>, Texts<'a>)> for TextMap<'a> {
    fn from_iter<I: IntoIterator<Item = (Cow<'a, str>, Texts<'a>)>>(pairs: I) -> Self {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        last_of_each(&mut pairs);
        Self(pairs)
    }
}

impl Serialize for TextMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Sorts pairs by name, and keeps the last of each name.
pub(crate) fn last_of_each<T>(pairs: &mut Vec<(Cow<'_, str>, T)>) {
    if !pairs.is_sorted_by(|(a, _), (b, _)| a < b) {
        pairs.reverse();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        pairs.dedup_by(|(a, _), (b, _)| a == b);
    }
}
