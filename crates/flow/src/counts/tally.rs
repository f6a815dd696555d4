//! Counts of some responses: all of one version and day, or those of them with one value of a tag.
//!
//! They are signed, since what is taken away may be put in before what it was taken from.

use std::collections::BTreeMap;

use super::bytes::{Damaged, Reader, put, put_signed};
use super::contribution::Answers;

/// Keys of all questions together that are counted separately: of all responses of a version and
/// day, and of those with one value of a tag. A key and its count take a few bytes, so a part of a
/// sheet stays below 600 KB and a segment below 120 KB.
pub const KEYS_MAX: usize = 50_000;
pub const SEGMENT_KEYS_MAX: usize = 10_000;
/// What has no room is counted under this key, and once a question has it, no new key of that
/// question is counted separately. So every answer is counted in one place, and is found there when
/// it is taken away. No answer has this key of its own.
pub const OTHERS: u32 = u32::MAX - 1;

/// How many responses there are, and how often what was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub responses: i64,
    pub admitted: i64,
    /// By the place of the question in its definition.
    pub questions: BTreeMap<u16, QuestionCounts>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionCounts {
    pub answered: i64,
    /// Of numbers, in units of [`super::SUM_UNIT`].
    pub sum: i128,
    /// By what [`super::Counted`] says of the question's type.
    pub keys: BTreeMap<u32, i64>,
}

impl Counts {
    /// Puts these together.
    pub fn merge(&mut self, other: &Self) {
        self.merge_signed(other, 1, KEYS_MAX);
    }

    /// Adds the others, or takes them away where the sign is -1. There is room for `keys_max` keys.
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

    /// Drops what came to nothing.
    pub(super) fn tidy(&mut self) {
        self.questions.retain(|_, question| {
            question.keys.retain(|_, count| *count != 0);
            question.answered != 0 || question.sum != 0 || !question.keys.is_empty()
        });
    }

    /// Whether nothing is left, once it is tidy.
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
            // As the distance to the one before, which is mostly small.
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

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Damaged> {
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
