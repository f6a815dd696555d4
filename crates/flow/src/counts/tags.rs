//! Which tag values are counted separately, and how often each occurs.
//!
//! A version and day has room for a limited number of names and values. When that is used up, the
//! most frequent are kept: other values are added to the "others" of their name, other names are no
//! longer counted, and both are recorded as hidden. They stay hidden until the day is recounted
//! from its responses. So all responses with the same value are counted in the same place at any
//! time, and are found there when they are subtracted: all counts are exact.
//!
//! The most frequent so far need not be the most frequent later. So once the responses have
//! doubled, the day is due for a recount, and a [`super::TagCensus`] of all its responses chooses
//! what is counted separately.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::bytes::{ByteReader, Damaged, put, put_signed, put_text};
use super::hidden::Hidden;
use super::segment::segment;

/// Tag names that are kept if there are more than [`TAG_NAMES_ROOM`], for a version and day.
pub const TAG_NAMES_MAX: usize = 16;
/// Values of each tag that are kept if all tags have more than [`TAG_VALUES_ROOM`], for a version
/// and day.
pub const TAG_VALUES_MAX: usize = 32;
/// Tag names for a version and day.
pub const TAG_NAMES_ROOM: usize = 64;
/// Values of all tags together for a version and day. A real value that occurs at least once among
/// this many is not lost.
pub const TAG_VALUES_ROOM: usize = 1_024;
/// A day with more responses is not recounted for its tags: all of them are read in one
/// transaction, which must stay short.
pub const TAGS_RECOUNT_RESPONSES_MAX: i64 = 20_000;

/// The values of one tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagCounts {
    pub values: BTreeMap<String, i64>,
    /// Responses with values that are not counted separately; absent if all values are.
    pub others: Option<i64>,
}

impl TagCounts {
    /// How often the tag occurs, with any value.
    pub fn all(&self) -> i64 {
        self.values.values().sum::<i64>() + self.others.unwrap_or(0)
    }
}

/// The tags of a version and day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tags {
    pub(super) names: BTreeMap<String, TagCounts>,
    /// There were names without room. They are not counted at all.
    pub(super) is_full: bool,
    /// Names, and values of names, that are not counted separately.
    hidden: Hidden,
    /// The number of responses when the first of them were hidden; absent until this is stored.
    hidden_at: Option<i64>,
}

impl Tags {
    /// Counts these names and values separately, and hides all others.
    pub(super) fn only(names: BTreeMap<String, TagCounts>) -> Self {
        Self { names, hidden: Hidden::closed(), ..Self::default() }
    }

    /// Whether the most frequent values must be determined again, given this number of responses.
    pub(super) fn is_due(&self, responses: i64) -> bool {
        self.hidden_at.is_some_and(|at| {
            responses >= at.max(1).saturating_mul(2) && responses <= TAGS_RECOUNT_RESPONSES_MAX
        })
    }

    /// Adds `times` to the count of a value; returns whether it is counted separately.
    pub(super) fn put(&mut self, name: &str, value: Option<&str>, times: i64) -> bool {
        if !self.names.contains_key(name) {
            if self.hidden.hides(name.as_bytes()) {
                self.is_full = true;
                return false;
            }
            self.names.insert(name.to_owned(), TagCounts::default());
        }
        let Some(tag) = self.names.get_mut(name) else { return false };
        if let Some(value) = value {
            if let Some(count) = tag.values.get_mut(value) {
                *count += times;
                return true;
            }
            if self.hidden.is_nothing() || !self.hidden.hides(&segment(name, value)) {
                tag.values.insert(value.to_owned(), times);
                return true;
            }
        }
        *tag.others.get_or_insert(0) += times;
        false
    }

    /// Hides all but the most frequent tags if there are too many; returns the removed segments.
    pub(super) fn make_room(&mut self) -> Vec<Vec<u8>> {
        let values: usize = self.names.values().map(|tag| tag.values.len()).sum();
        if self.names.len() <= TAG_NAMES_ROOM && values <= TAG_VALUES_ROOM {
            return Vec::new();
        }
        let mut gone = Vec::new();
        let names = self.names.iter().map(|(name, tag)| (name, tag.all()));
        for name in rare(names, TAG_NAMES_MAX) {
            let Some(tag) = self.names.remove(&name) else { continue };
            gone.extend(tag.values.keys().map(|value| segment(&name, value)));
            self.hidden.add(name.as_bytes());
            self.is_full = true;
        }
        for (name, tag) in &mut self.names {
            let values = tag.values.iter().map(|(value, count)| (value, *count));
            for value in rare(values, TAG_VALUES_MAX) {
                let count = tag.values.remove(&value).unwrap_or(0);
                *tag.others.get_or_insert(0) += count;
                let segment = segment(name, &value);
                self.hidden.add(&segment);
                gone.push(segment);
            }
        }
        gone
    }

    /// Drops values that no response has any more: they may be personal data.
    pub(super) fn tidy(&mut self) {
        for tag in self.names.values_mut() {
            tag.values.retain(|_, count| *count != 0);
        }
        self.names.retain(|_, tag| !tag.values.is_empty() || tag.others.unwrap_or(0) != 0);
    }

    pub(super) fn is_zero(&self) -> bool {
        self.names
            .values()
            .all(|tag| tag.others.unwrap_or(0) == 0 && tag.values.values().all(|count| *count == 0))
    }

    /// Writes the tags of daily counts with this number of responses.
    pub(super) fn write(&self, responses: i64, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_full));
        put(out, self.names.len() as u64);
        for (name, tag) in &self.names {
            put_text(out, name);
            put(out, tag.values.len() as u64);
            for (value, count) in &tag.values {
                put_text(out, value);
                put_signed(out, i128::from(*count));
            }
            out.push(u8::from(tag.others.is_some()));
            put_signed(out, i128::from(tag.others.unwrap_or(0)));
        }
        self.hidden.write(out);
        if !self.hidden.is_nothing() {
            put_signed(out, i128::from(self.hidden_at.unwrap_or(responses)));
        }
    }

    pub(super) fn read(reader: &mut ByteReader<'_>) -> Result<Self, Damaged> {
        let is_full = reader.byte()? != 0;
        let mut names = BTreeMap::new();
        for _ in 0..reader.number()? {
            let name = reader.text()?.to_owned();
            let mut tag = TagCounts::default();
            for _ in 0..reader.number()? {
                let value = reader.text()?.to_owned();
                tag.values.insert(value, reader.count()?);
            }
            let has_others = reader.byte()? != 0;
            let others = reader.count()?;
            tag.others = has_others.then_some(others);
            names.insert(name, tag);
        }
        let hidden = Hidden::read(reader)?;
        let hidden_at = if hidden.is_nothing() { None } else { Some(reader.count()?) };
        Ok(Self { names, is_full, hidden, hidden_at })
    }
}

/// All but the `stay` with the highest counts; ties keep the first in order.
fn rare<'k>(counts: impl Iterator<Item = (&'k String, i64)>, stay: usize) -> Vec<String> {
    let mut counts: Vec<_> = counts.collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts.into_iter().skip(stay).map(|(key, _)| key.clone()).collect()
}
