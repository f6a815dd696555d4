//! The public API over HTTP, from the request's bytes to the row on disk. One file a subject.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

#[path = "../support/mod.rs"]
mod support;

mod browsers;
mod document;
mod forgery;
mod hostile;
mod idempotency;
mod identity;
mod operators;
mod public;
mod rate;
mod server;
mod shape;
mod source;
mod stalled;
mod streams;
mod superjson;
mod trpc;
#[path = "../../../engine/tests/support/use_cases.rs"]
mod use_cases;
mod windows;
