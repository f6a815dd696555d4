//! The public API over HTTP, from the bytes of the request to the row on disk. One file per
//! subject.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "../support/mod.rs"]
mod support;

mod browsers;
mod closing;
mod document;
mod forgery;
mod hostile;
mod idempotency;
mod identity;
mod operators;
mod public;
mod rate;
mod schema;
mod server;
mod shape;
mod source;
mod stalled;
mod streams;
mod superjson;
mod trpc;
#[path = "../../../engine/tests/support/use_cases.rs"]
mod use_cases;
mod validate;
mod visits;
mod windows;
mod withheld;
