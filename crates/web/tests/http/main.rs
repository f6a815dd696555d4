//! The public API over HTTP, from the request's bytes to the row on disk. One file a subject.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

#[path = "../support/mod.rs"]
mod support;

mod public;
mod source;
