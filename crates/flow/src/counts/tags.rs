//! Which values of which tags are told apart, and how often each came.
//!
//! A version and day has room for so many names, and a name for so many values; whatever comes after is counted as
//! "others". Once there are others, no new value gets a count of its own any more. So every response with one
//! value is counted in one place, wherever that is, and is found there when it is taken away.

use std::collections::BTreeMap;

use super::bytes::{Damaged, Reader, put, put_signed, put_text};

/// Names of tags that are told apart, for a version and day.
pub const TAG_NAMES_MAX: usize = 16;
/// Values of a tag that are told apart, for a version and day.
pub const TAG_VALUES_MAX: usize = 32;
/// A longer value is counted with the others.
pub const TAG_VALUE_BYTES_MAX: usize = 120;

/// The values of one tag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagTally {
    pub values: BTreeMap<String, i64>,
    /// What is not told apart; absent as long as everything is.
    pub others: Option<i64>,
}

/// The tags of a version and day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tags {
    pub(super) names: BTreeMap<String, TagTally>,
    /// There were names without room. They are not counted at all.
    pub(super) is_full: bool,
}

impl Tags {
    /// Counts a value so many times; says whether it is told apart.
    pub(super) fn put(&mut self, name: &str, value: Option<&str>, times: i64) -> bool {
        if !self.names.contains_key(name) {
            if self.is_full || self.names.len() >= TAG_NAMES_MAX {
                self.is_full = true;
                return false;
            }
            self.names.insert(name.to_owned(), TagTally::default());
        }
        let Some(tally) = self.names.get_mut(name) else { return false };
        if let Some(value) = value {
            if let Some(count) = tally.values.get_mut(value) {
                *count += times;
                return true;
            }
            if tally.others.is_none() && tally.values.len() < TAG_VALUES_MAX {
                tally.values.insert(value.to_owned(), times);
                return true;
            }
        }
        *tally.others.get_or_insert(0) += times;
        false
    }

    /// Forgets the values that nobody has any more: they may have been somebody's.
    pub(super) fn tidy(&mut self) {
        for tally in self.names.values_mut() {
            tally.values.retain(|_, count| *count != 0);
        }
        self.names.retain(|_, tally| !tally.values.is_empty() || tally.others.unwrap_or(0) != 0);
    }

    pub(super) fn is_zero(&self) -> bool {
        self.names.values().all(|tally| {
            tally.others.unwrap_or(0) == 0 && tally.values.values().all(|count| *count == 0)
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_full));
        put(out, self.names.len() as u64);
        for (name, tally) in &self.names {
            put_text(out, name);
            put(out, tally.values.len() as u64);
            for (value, count) in &tally.values {
                put_text(out, value);
                put_signed(out, i128::from(*count));
            }
            out.push(u8::from(tally.others.is_some()));
            put_signed(out, i128::from(tally.others.unwrap_or(0)));
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Damaged> {
        let is_full = reader.byte()? != 0;
        let mut names = BTreeMap::new();
        for _ in 0..reader.number()? {
            let name = reader.text()?.to_owned();
            let mut tally = TagTally::default();
            for _ in 0..reader.number()? {
                let value = reader.text()?.to_owned();
                tally.values.insert(value, reader.count()?);
            }
            let has_others = reader.byte()? != 0;
            let others = reader.count()?;
            tally.others = has_others.then_some(others);
            names.insert(name, tally);
        }
        Ok(Self { names, is_full })
    }
}
