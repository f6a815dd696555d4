//! What one response adds to the counts, as bytes: written for every submission, so it is short and
//! needs one allocation.
//!
//! The first byte holds two flags: whether the response is admitted, and whether it is subtracted.
//! Then come the tags, each as its name and value, terminated by a zero; then the answered
//! questions, each as its index in the definition and its keys, all terminated by a zero. The score
//! is counted like the answer to a number question after all others.
//!
//! In a delta, [`SAME_HEAD`] replaces flags and tags that are those of the response before: many
//! responses of one write have the same tags.

use std::ops::Range;

use super::bytes::{ByteReader, Damaged, put, put_signed, put_text};
use super::number;
use crate::definition::Definition;
use crate::submission::{Admission, stored_texts};
use crate::text_map::TextMap;

/// Longer tag values are counted as "others".
pub const TAG_VALUE_BYTES_MAX: usize = 120;

const ADMITTED: u8 = 1;
const TAKEN_AWAY: u8 = 2;
/// In place of a head that is the same as the one before.
const SAME_HEAD: u8 = 4;
/// Enough capacity for most contributions.
const BYTES_EXPECTED: usize = 96;

/// What one response adds to the counts of its version and day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contribution {
    bytes: Vec<u8>,
    /// How many of the bytes are flags and tags.
    head: usize,
}

impl Contribution {
    /// From a submission that was judged against this definition.
    pub fn from_submission(
        definition: &Definition,
        answers: &TextMap<'_>,
        tags: &TextMap<'_>,
        admission: Admission,
    ) -> Self {
        let score = definition.score(answers).map(|score| score.to_string());
        Self::with_score(definition, answers, tags, admission, score.as_deref())
    }

    /// The same if the score is known already: the one of these answers, as it is stored.
    pub fn with_score(
        definition: &Definition,
        answers: &TextMap<'_>,
        tags: &TextMap<'_>,
        admission: Admission,
        score: Option<&str>,
    ) -> Self {
        let mut out = Vec::with_capacity(BYTES_EXPECTED);
        put_head(&mut out, tags, admission);
        let head = out.len();
        // Both are sorted by id.
        let mut questions = definition.in_order_of_ids().peekable();
        for (id, answer) in answers.iter() {
            while questions.next_if(|(_, question)| question.id.as_str() < id).is_some() {}
            let Some((place, question)) = questions.next_if(|(_, it)| it.id == id) else {
                continue;
            };
            let counted = question.question_type.count_method();
            if answer.is_absent() || !question.question_type.is_answerable() {
                continue;
            }
            put(&mut out, ((place as u64) << 1 | u64::from(counted.has_sum())) + 1);
            counted.put(answer, &mut out);
            out.push(0);
        }
        if let (Some(place), Some((key, sum))) =
            (score_place(definition), score.and_then(number::key_and_sum))
        {
            put(&mut out, (u64::from(place) << 1 | 1) + 1);
            put_signed(&mut out, sum);
            put(&mut out, u64::from(key) + 1);
            out.push(0);
        }
        out.push(0);
        Self { bytes: out, head }
    }

    /// From the JSON of a stored response. Without a readable definition, its answers are not
    /// counted.
    pub fn from_stored(
        definition: Option<&Definition>,
        answers: &str,
        tags: Option<&str>,
        admission: Admission,
    ) -> Self {
        let tags = tags.and_then(stored_texts).unwrap_or_default();
        let answers = stored_texts(answers).unwrap_or_default();
        match definition {
            Some(definition) => Self::from_submission(definition, &answers, &tags, admission),
            None => {
                let mut out = Vec::new();
                put_head(&mut out, &tags, admission);
                let head = out.len();
                out.push(0);
                Self { bytes: out, head }
            }
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The index that the score is counted under: after all questions. Absent without scores.
pub fn score_place(definition: &Definition) -> Option<u16> {
    definition.is_scored().then(|| u16::try_from(definition.questions().len()).ok()).flatten()
}

fn put_head(out: &mut Vec<u8>, tags: &TextMap<'_>, admission: Admission) {
    out.push(match admission {
        Admission::Admitted => ADMITTED,
        Admission::CollectionOnly => 0,
    });
    for (name, values) in tags.iter() {
        let values = values.as_slice();
        for (at, value) in values.iter().enumerate() {
            if values[..at].contains(value) {
                continue;
            }
            put(out, name.len() as u64 + 1);
            out.extend_from_slice(name.as_bytes());
            match value.len() <= TAG_VALUE_BYTES_MAX {
                true => put_text(out, value),
                // An impossible length marks a value that is counted as "others".
                false => put(out, TAG_VALUE_BYTES_MAX as u64 + 1),
            }
        }
    }
    out.push(0);
}

/// What one write adds to, or subtracts from, the counts of one version and day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delta {
    bytes: Vec<u8>,
    /// Where the head of the last contribution is.
    head: Range<usize>,
}

impl Delta {
    pub fn add(&mut self, Contribution { bytes, head }: &Contribution) {
        let (head, answers) = bytes.split_at(*head);
        if self.bytes.get(self.head.clone()) == Some(head) {
            self.bytes.push(SAME_HEAD);
        } else {
            let at = self.bytes.len();
            self.bytes.extend_from_slice(head);
            self.head = at..self.bytes.len();
        }
        self.bytes.extend_from_slice(answers);
    }

    pub fn take_away(&mut self, Contribution { bytes, head }: &Contribution) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.bytes[at] |= TAKEN_AWAY;
        self.head = at..at + head;
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl AsRef<[u8]> for Delta {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The part of a contribution before its answers.
#[derive(Debug)]
pub(super) struct Head<'b> {
    /// 1, or -1 if it is subtracted.
    pub(super) sign: i64,
    pub(super) admitted: bool,
    /// The value is `None` if it was too long.
    pub(super) tags: Vec<(&'b str, Option<&'b str>)>,
}

impl<'b> Head<'b> {
    pub(super) fn read(bytes: &'b [u8]) -> Result<Self, Damaged> {
        let mut reader = ByteReader(bytes);
        let head = reader.byte()?;
        if head & !(ADMITTED | TAKEN_AWAY) != 0 {
            return Err(Damaged("of an unknown form"));
        }
        let mut tags = Vec::new();
        while let Some(length) = reader.small::<usize>()?.checked_sub(1) {
            let name = reader.text_of(length)?;
            let length: usize = reader.small()?;
            let value = match length > TAG_VALUE_BYTES_MAX {
                true => None,
                false => Some(reader.text_of(length)?),
            };
            tags.push((name, value));
        }
        let sign = if head & TAKEN_AWAY == 0 { 1 } else { -1 };
        Ok(Self { sign, admitted: head & ADMITTED != 0, tags })
    }
}

/// The contributions in the bytes of a delta: for each, read its head and then all its answers.
pub(super) struct ContributionReader<'b> {
    rest: ByteReader<'b>,
    last_head: Option<&'b [u8]>,
}

pub(super) fn contributions(bytes: &[u8]) -> ContributionReader<'_> {
    ContributionReader { rest: ByteReader(bytes), last_head: None }
}

impl<'b> ContributionReader<'b> {
    /// The bytes of the next head; `None` at the end.
    pub(super) fn next_head(&mut self) -> Result<Option<&'b [u8]>, Damaged> {
        if self.rest.is_at_end() {
            return Ok(None);
        }
        let all = self.rest.0;
        if self.rest.byte()? == SAME_HEAD {
            let same = self.last_head.ok_or(Damaged("a head is missing"))?;
            return Ok(Some(same));
        }
        while let Some(length) = self.rest.small::<usize>()?.checked_sub(1) {
            self.rest.skip(length)?;
            let length: usize = self.rest.small()?;
            if length <= TAG_VALUE_BYTES_MAX {
                self.rest.skip(length)?;
            }
        }
        self.last_head = Some(&all[..all.len() - self.rest.0.len()]);
        Ok(self.last_head)
    }

    /// The answers after the head.
    pub(super) fn answers(&mut self) -> Answers<'_, 'b> {
        Answers(&mut self.rest)
    }
}

/// The answers of one contribution, to be read once.
pub(super) struct Answers<'r, 'b>(&'r mut ByteReader<'b>);

impl Answers<'_, '_> {
    /// The next answered question: its index in the definition, and its sum. Read all its keys
    /// before the next question.
    pub(super) fn question(&mut self) -> Result<Option<(u16, i128)>, Damaged> {
        let Some(head) = self.0.number()?.checked_sub(1) else { return Ok(None) };
        let place = u16::try_from(head >> 1).map_err(|_| Damaged("no such question"))?;
        let sum = if head & 1 == 0 { 0 } else { self.0.signed()? };
        Ok(Some((place, sum)))
    }

    /// Reads and discards all of them.
    pub(super) fn skip(mut self) -> Result<(), Damaged> {
        while self.question()?.is_some() {
            while self.key()?.is_some() {}
        }
        Ok(())
    }

    /// The next key of the current question.
    pub(super) fn key(&mut self) -> Result<Option<u32>, Damaged> {
        Ok(self.0.small::<u32>()?.checked_sub(1))
    }
}
