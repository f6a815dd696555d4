//! Results that stored counts cannot answer: computed from the responses, in the background.
//!
//! A [`cache::Computation`] is one pass over the responses that pass a filter: it adds each to an
//! [`aggregate::Aggregate`], whose size depends on the number of different answers, not of
//! responses; of an order of responses it keeps a fixed number. The result says when the pass
//! began, and is kept for [`cache::RESULT_SECONDS_MAX`] after the pass ended; the next request
//! after that starts a new pass. So a removed response is gone from all results a minute after its
//! removal plus the time of one pass, at the latest.
//!
//! A request waits for a moment, and then gets the result or the progress. A computation without
//! requests stops.

pub(crate) mod aggregate;
pub(crate) mod ask;
pub(crate) mod cache;
mod run;
