//! Counts of responses, from which a summary is computed, maintained on the write path.
//!
//! From small to large: [`CountMethod`] is how a question is counted, defined by each question
//! type; a [`Contribution`] is what one response adds (its answers as small numbers, its tags as
//! texts); a [`Delta`] is what one write adds or subtracts, as a sequence of contributions;
//! [`DailyCounts`] are one day of one version, to which deltas are added once they are
//! [`Gathered`]: the [`Counts`] of all its responses, and of those with each value of a tag.
//!
//! Everything here can be subtracted again, exactly: sums are of whole numbers, and what is counted
//! under "others" for lack of room is found there again. So there is no minimum or maximum, no list
//! of texts, and no estimate. Questions, options and cells are numbered by their index in the
//! definition, which publishing froze: counts are meaningless without it, and take few bytes.
//!
//! What a stored response adds must not change, or subtracting it would leave a remainder. If a
//! rule here does change, everything must be recounted: by a migration that empties the counts and
//! restarts the scan of all responses. A test pins the bytes.

mod bytes;
mod census;
mod contribution;
pub(crate) mod count_method;
mod daily;
mod gathered;
mod hidden;
mod number;
mod segment;
mod tags;
mod totals;

pub use bytes::Damaged;
pub use census::TagCensus;
pub use contribution::{Contribution, Delta, TAG_VALUE_BYTES_MAX, score_place};
pub use count_method::{CountMethod, month_of};
pub use daily::{DailyCounts, StoredPart};
pub use gathered::Gathered;
pub use number::{NumberBin, SUM_UNIT};
pub use segment::segment;
pub use tags::{
    TAG_NAMES_MAX, TAG_NAMES_ROOM, TAG_VALUES_MAX, TAG_VALUES_ROOM, TAGS_RECOUNT_RESPONSES_MAX,
    TagCounts,
};
pub use totals::{Counts, KEYS_MAX, OTHERS, QuestionCounts, SEGMENT_KEYS_MAX};
