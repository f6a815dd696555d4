//! Counts of some responses: all of one version and day, or those with one tag value.
//!
//! They are signed, since a subtraction may be applied before the addition it belongs to.

use std::collections::BTreeMap;

use super::bytes::{ByteReader, Damaged, put, put_signed};
use super::contribution::Answers;

/// The most keys of all questions together that are counted separately: for all responses of a
/// version and day, and for those with one tag value. A key and its count take a few bytes, so a
/// part of daily counts stays below 600 KB and a segment below 120 KB.
pub const KEYS_MAX: usize = 50_000;
pub const SEGMENT_KEYS_MAX: usize = 10_000;
/// Keys without room are counted under this key; once a question has it, no new key of that
/// question is counted separately. So every answer is counted in one place, and is found there when
/// it is subtracted. No answer has this key itself.
pub const OTHERS: u32 = u32::MAX - 1;

/// The number of responses, and how often each answer was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub responses: i64,
    pub admitted: i64,
    /// By the index of the question in its definition.
    pub questions: BTreeMap<u16, QuestionCounts>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionCounts {
    pub answered: i64,
    /// Of numeric answers, in units of [`super::SUM_UNIT`].
    pub sum: i128,
    /// By the keys of [`super::CountMethod`] for the question's type.
    pub keys: BTreeMap<u32, i64>,
}

impl Counts {
    /// Adds the other counts.
    pub fn merge(&mut self, other: &Self) {
        self.merge_signed(other, 1, KEYS_MAX);
    }

    /// Adds the other counts, or subtracts them if the sign is -1. There is room for `keys_max`
    /// keys.
    pub(super) fn merge_signed(&mut self, other: &Self, sign: i64, keys_max: usize) {
        self.responses += sign * other.responses;
        self.admitted += sign * other.admitted;
        let mut keys: usize = self.questions.values().map(|it| it.keys.len()).sum();
        for (place, theirs) in &other.questions {
            let ours = self.questions.entry(*place).or_default();
            ours.answered += sign * theirs.answered;
            ours.sum = ours.sum.wrapping_add(theirs.sum.wrapping_mul(i128::from(sign)));
            for (key, count) in &theirs.keys {
                if let Some(known) = ours.keys.get_mut(key) {
                    *known += sign * count;
                    continue;
                }
                let has_room = keys < keys_max && !ours.keys.contains_key(&OTHERS);
                let key = if has_room { *key } else { OTHERS };
                keys += usize::from(has_room);
                *ours.keys.entry(key).or_default() += sign * count;
            }
        }
    }

    /// Drops counts that reached zero.
    pub(super) fn tidy(&mut self) {
        self.questions.retain(|_, question| {
            question.keys.retain(|_, count| *count != 0);
            question.answered != 0 || question.sum != 0 || !question.keys.is_empty()
        });
    }

    /// Whether nothing is left, once zero counts are dropped.
    pub fn is_zero(&self) -> bool {
        self.responses == 0 && self.admitted == 0 && self.questions.is_empty()
    }

    /// Adds one response.
    pub(super) fn put(
        &mut self,
        admitted: bool,
        mut answers: Answers<'_, '_>,
    ) -> Result<(), Damaged> {
        self.responses += 1;
        self.admitted += i64::from(admitted);
        while let Some((place, sum)) = answers.question()? {
            let question = self.questions.entry(place).or_default();
            question.answered += 1;
            question.sum = question.sum.wrapping_add(sum);
            while let Some(key) = answers.key()? {
                *question.keys.entry(key).or_default() += 1;
            }
        }
        Ok(())
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_signed(out, i128::from(self.responses));
        put_signed(out, i128::from(self.admitted));
        for (place, question) in &self.questions {
            put(out, u64::from(*place) + 1);
            put_signed(out, i128::from(question.answered));
            put_signed(out, question.sum);
            // Stored as the distance to the previous key, which is usually small.
            let mut before = 0;
            for (key, count) in &question.keys {
                put(out, u64::from(*key - before) + 1);
                put_signed(out, i128::from(*count));
                before = *key;
            }
            out.push(0);
        }
        out.push(0);
    }

    pub(super) fn read(reader: &mut ByteReader<'_>) -> Result<Self, Damaged> {
        let (responses, admitted) = (reader.count()?, reader.count()?);
        let mut questions = BTreeMap::new();
        while let Some(place) = reader.small::<u32>()?.checked_sub(1) {
            let place = u16::try_from(place).map_err(|_| Damaged("no such question"))?;
            let (answered, sum) = (reader.count()?, reader.signed()?);
            let (mut keys, mut before) = (BTreeMap::new(), 0_u32);
            while let Some(distance) = reader.small::<u32>()?.checked_sub(1) {
                before = before.checked_add(distance).ok_or(Damaged("no such key"))?;
                keys.insert(before, reader.count()?);
            }
            questions.insert(place, QuestionCounts { answered, sum, keys });
        }
        Ok(Self { responses, admitted, questions })
    }
}
