//! What a flow is, and which submissions it admits.
//!
//! Everything here is pure: the same arguments give the same answer, on any machine, at any time.
//! Bytes and instants come in as arguments; there is deliberately no clock, no randomness, no
//! environment, no file, no HTTP and no SQL in this crate (its `clippy.toml` bans them).
//!
//! Reading order, which is also the order in which a submission meets the rules:
//! 1. [`definition`]: an author's draft, checked into a [`definition::Definition`] or every fault;
//! 2. [`snapshot`]: a definition frozen by a publish; [`payload`] renders it for the wire;
//! 3. [`submission`]: bytes into a [`submission::Submission`], or every issue of its shape;
//! 4. [`lifecycle`]: what a version is at an instant;
//! 5. [`judge`]: the answers against the version's own questions;
//! 6. [`respondent`]: the profile that an admitted response is linked to;
//! 7. [`counts`]: what a response adds to the counts of its version and day.
//!
//! Beside it stands [`invitation`]: for whom a flow was assigned, and what such an assignment is at
//! an instant. [`words`] finds words that many answers have. [`origin`] parses the origins that an
//! app allows.
//!
//! A refusal is a value ([`issue::Issue`], theirs); this crate has no error types.

pub mod counts;
pub(crate) mod date;
pub mod definition;
pub mod email;
pub mod example;
pub mod id;
pub mod identity;
pub mod invitation;
pub mod issue;
pub mod judge;
pub mod lifecycle;
pub mod locale;
pub mod logic;
pub mod origin;
pub mod payload;
pub mod question;
pub mod respondent;
pub mod snapshot;
pub mod submission;
pub(crate) mod text_map;
pub mod time;
pub mod words;
