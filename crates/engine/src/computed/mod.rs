//! Results that stored counts cannot answer: computed from the responses, in the background.
//!
//! A [`cache::Computation`] reads the responses that pass a filter in id order, and adds each to an
//! [`aggregate::Aggregate`]: memory depends on the number of different answers, not of responses. It is cached
//! by its subject, so that the next request continues after the last response that was read.
//! Responses of the last minute may become visible out of order; they are read again each time.
//!
//! Whoever asks waits for a moment, and then gets the result with its time, or the progress. A
//! computation that nobody asks for any longer stops, and continues when somebody asks again. A
//! removal of responses discards what was computed before it: removals are found in the audit log,
//! which all processes share, so no request is answered from content that was removed earlier.

pub(crate) mod aggregate;
pub(crate) mod ask;
pub(crate) mod cache;
mod removals;
mod run;
