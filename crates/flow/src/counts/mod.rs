//! What responses add up to: the counts that a summary is made of, kept by the write path.
//!
//! In the order in which they are met: [`Counted`] is how a question is counted, and each type of
//! question says so of itself; a [`Contribution`] is what one response adds (its answers as small
//! numbers, its tags as texts); a [`Delta`] is what one write adds or takes away, contributions one
//! after another; and a [`Sheet`] is one day of one version, onto which deltas are put once they
//! are [`Gathered`]: the [`Counts`] of all its responses, and of those with each value of a tag.
//!
//! Everything here can be taken away again, exactly: sums are of whole numbers, and what is put
//! under "others" because there is too much of it is found there again. So there is no smallest or
//! largest number, no list of texts, and no estimate. Questions, options and cells are numbered by
//! their place in the definition, which a publish froze: a sheet means nothing without it, and
//! takes few bytes.
//!
//! What a stored response adds must not change, or taking it away would leave something behind.
//! Where a rule here does change, everything must be counted again: by a migration that empties the
//! counts and restarts the scan over all responses. A test holds the bytes.

mod bytes;
mod census;
mod contribution;
pub(crate) mod counted;
mod gathered;
mod hidden;
mod number;
mod segment;
mod sheet;
mod tags;
mod tally;

pub use bytes::Damaged;
pub use census::TagCensus;
pub use contribution::{Contribution, Delta, TAG_VALUE_BYTES_MAX};
pub use counted::{Counted, month_of};
pub use gathered::Gathered;
pub use number::{NumberBin, SUM_UNIT};
pub use segment::segment;
pub use sheet::{Part, Sheet};
pub use tags::{
    TAG_NAMES_MAX, TAG_NAMES_ROOM, TAG_VALUES_MAX, TAG_VALUES_ROOM, TAGS_RECOUNT_RESPONSES_MAX,
    TagTally,
};
pub use tally::{Counts, KEYS_MAX, OTHERS, QuestionCounts, SEGMENT_KEYS_MAX};
