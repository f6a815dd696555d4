//! The public API over HTTP, from the request's bytes to the row on disk. One file a subject.

#[path = "../support/mod.rs"]
mod support;

mod public;
mod source;
