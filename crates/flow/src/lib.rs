//! What a flow is, and which submissions it accepts.
//!
//! Everything here is pure: the same arguments give the same result, on any machine, at any time.
//! Bytes and instants are arguments; this crate deliberately has no clock, no randomness, no
//! environment, no file, no HTTP and no SQL (its `clippy.toml` bans them).
//!
//! Reading order, which is also the order in which a submission is processed:
//! 1. [`definition`]: an author's draft, checked into a [`definition::Definition`] or its faults;
//! 2. [`snapshot`]: a definition frozen by publishing; [`payload`] renders it for the wire;
//! 3. [`submission`]: bytes into a [`submission::Submission`], or every issue of its shape;
//! 4. [`lifecycle`]: the state of a version at an instant;
//! 5. [`judge`]: the answers against the version's questions;
//! 6. [`respondent`]: the profile that an admitted response is linked to;
//! 7. [`counts`]: what a response adds to the counts of its version and day.
//!
//! Separate from these: [`invitation`] is the assignment of a flow to a person and its state at an
//! instant, [`closing`] limits how many responses a flow accepts, [`answer_filter`] selects
//! responses by an answer, [`response_order`] sorts them by one, [`crosstab`] counts the answers to
//! two questions together, [`visit`] counts the steps on the way to a response, [`words`] finds
//! words that occur in many answers, [`submission_schema`] is what a client can check before it
//! submits, [`event`] is what webhooks report, [`design`] is how hosted pages look, [`folding`]
//! ignores case, [`typescript`] writes the type of answers, and [`origin`] parses the origins that
//! an app allows.
//!
//! A refusal is a value ([`issue::Issue`], the sender's fault); this crate has no error types.

pub mod answer_filter;
pub mod closing;
pub mod counts;
pub mod crosstab;
pub(crate) mod date;
pub mod definition;
pub mod design;
pub mod email;
pub mod event;
pub mod example;
pub mod flow_key;
pub mod flow_settings;
pub mod folding;
pub mod id;
pub mod identity;
pub mod invitation;
pub mod invitation_email;
pub mod issue;
pub mod judge;
pub mod labels;
pub mod lifecycle;
pub mod locale;
pub mod logic;
pub mod markdown;
pub mod origin;
pub mod page_language;
pub mod payload;
pub mod phrase;
pub mod piping;
pub mod pointer;
pub mod question;
pub mod respondent;
pub mod response_order;
pub mod route;
pub mod score;
pub mod short_path;
pub mod snapshot;
pub mod submission;
pub mod submission_schema;
pub(crate) mod text_map;
pub mod time;
pub mod typescript;
pub mod visit;
pub mod words;
