//! One day of one version: the counts of all its responses, and of the responses with each tag
//! value that is counted separately.
//!
//! It is stored in parts, one for all responses and one for each such value (a segment), so that a
//! reader loads only what it needs. The part for all responses lists which values are counted
//! separately.

use std::collections::BTreeMap;

use super::bytes::{ByteReader, Damaged};
use super::gathered::Gathered;
use super::segment::segment;
use super::tags::{TagCounts, Tags};
use super::totals::{Counts, KEYS_MAX, SEGMENT_KEYS_MAX};

/// The first byte of every part: its format.
const FORM: u8 = 1;

/// The counts of one version and day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DailyCounts {
    all: Counts,
    tags: Tags,
    segments: BTreeMap<Vec<u8>, Segment>,
    /// Segments that are no longer counted separately, and must be deleted from storage.
    gone: Vec<Vec<u8>>,
    kept: Kept,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Segment {
    counts: Counts,
    /// Whether it must be stored again.
    touched: bool,
}

/// Which segments are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Kept {
    #[default]
    All,
    None,
    One(Vec<u8>),
    /// Of every value of this tag.
    OfTag(String),
}

/// A part to be stored: the most used counts as fields, and everything as bytes. Without bytes,
/// nothing is left of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPart {
    pub segment: Vec<u8>,
    pub responses: i64,
    pub admitted: i64,
    pub body: Option<Vec<u8>>,
}

impl DailyCounts {
    /// Empty counts for reading: all responses and, if given, one segment.
    pub fn to_read(segment: Option<Vec<u8>>) -> Self {
        let kept = segment.map_or(Kept::None, Kept::One);
        Self { kept, ..Self::default() }
    }

    /// Empty counts for reading: all responses, and the segments of one tag.
    pub fn to_read_tag(name: impl Into<String>) -> Self {
        Self { kept: Kept::OfTag(name.into()), ..Self::default() }
    }

    /// Empty counts with these tags.
    pub(super) fn from_tags(tags: Tags) -> Self {
        Self { tags, ..Self::default() }
    }

    /// Whether the day should be recounted from its responses: some of its tags are hidden, and its
    /// responses have doubled since then, so other tags may now be the most frequent.
    pub fn is_due_for_recount(&self) -> bool {
        self.tags.is_due(self.all.responses)
    }

    /// Loads a stored part. Load every part that a delta needs before adding the delta.
    pub fn load(&mut self, segment: &[u8], body: &[u8]) -> Result<(), Damaged> {
        let mut reader = ByteReader(body);
        if reader.byte()? != FORM {
            return Err(Damaged("of an unknown form"));
        }
        let counts = Counts::read(&mut reader)?;
        if segment.is_empty() {
            self.all = counts;
            self.tags = Tags::read(&mut reader)?;
        } else {
            self.segments.insert(segment.to_vec(), Segment { counts, touched: false });
        }
        match reader.is_at_end() {
            true => Ok(()),
            false => Err(Damaged("longer than it should be")),
        }
    }

    /// Adds a grouped [`super::Delta`] to the counts.
    pub fn put(&mut self, gathered: &Gathered<'_>) {
        for (head, sums) in gathered.in_order() {
            self.all.merge_signed(sums, head.sign, KEYS_MAX);
            for &(name, value) in &head.tags {
                let is_separate = self.tags.put(name, value, head.sign * sums.responses);
                let Some(value) = value.filter(|_| is_separate) else { continue };
                let segment = segment(name, value);
                let kept = match &self.kept {
                    Kept::All => true,
                    Kept::None => false,
                    Kept::One(one) => *one == segment,
                    Kept::OfTag(tag) => tag == name,
                };
                if kept {
                    let segment = self.segments.entry(segment).or_default();
                    segment.counts.merge_signed(sums, head.sign, SEGMENT_KEYS_MAX);
                    segment.touched = true;
                }
            }
        }
        for segment in self.tags.make_room() {
            self.segments.remove(&segment);
            // Only stored counts have parts to delete.
            if matches!(self.kept, Kept::All) {
                self.gone.push(segment);
            }
        }
    }

    /// How many numbers and texts it keeps.
    pub fn entries(&self) -> usize {
        let counts = self.segments.values().map(|it| &it.counts).chain([&self.all]);
        let answers = counts
            .map(|counts| 1 + counts.questions.values().map(|it| 1 + it.keys.len()).sum::<usize>());
        let tags = self.tags.names.values().map(|it| 1 + it.values.len());
        answers.sum::<usize>() + tags.sum::<usize>()
    }

    /// The counts of all responses.
    pub fn all(&self) -> &Counts {
        &self.all
    }

    /// The counts of the responses of one segment, if it is counted separately.
    pub fn of_segment(&self, segment: &[u8]) -> Option<&Counts> {
        self.segments.get(segment).map(|segment| &segment.counts)
    }

    /// The tags by name.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &TagCounts)> {
        self.tags.names.iter().map(|(name, tag)| (name.as_str(), tag))
    }

    /// Whether there may be responses with this tag value that are not counted separately, and so
    /// are not in its segment.
    pub fn may_hide(&self, name: &str, value: &str) -> bool {
        match self.tags.names.get(name) {
            Some(tag) => !tag.values.contains_key(value) && tag.others.unwrap_or(0) > 0,
            None => self.tags.is_full,
        }
    }

    /// Drops counts that reached zero, including the texts of tags that no response has any more.
    pub fn tidy(&mut self) {
        self.all.tidy();
        self.tags.tidy();
        for segment in self.segments.values_mut() {
            segment.counts.tidy();
        }
    }

    /// Whether nothing is left, after [`Self::tidy`].
    pub fn is_zero(&self) -> bool {
        self.all.is_zero() && self.tags.is_zero()
    }

    /// The parts that must be stored again. Empty ones are deleted, together with the texts of
    /// their tags.
    pub fn into_parts(mut self) -> Vec<StoredPart> {
        self.tidy();
        let mut parts = Vec::with_capacity(1 + self.segments.len());
        let body = (!self.is_zero()).then(|| {
            let mut body = body_of(&self.all);
            self.tags.write(self.all.responses, &mut body);
            body
        });
        parts.push(part(Vec::new(), &self.all, body));
        let nothing = Counts::default();
        parts.extend(self.gone.into_iter().map(|segment| part(segment, &nothing, None)));
        for (segment, Segment { counts, touched }) in self.segments {
            if !touched {
                continue;
            }
            let body = (!counts.is_zero()).then(|| body_of(&counts));
            parts.push(part(segment, &counts, body));
        }
        parts
    }
}

fn body_of(counts: &Counts) -> Vec<u8> {
    let mut body = vec![FORM];
    counts.write(&mut body);
    body
}

fn part(segment: Vec<u8>, counts: &Counts, body: Option<Vec<u8>>) -> StoredPart {
    StoredPart { segment, responses: counts.responses, admitted: counts.admitted, body }
}
