//! The console over HTTP: what its pages say, what its forms do, and who may do it.
//!
//! A page is read as text; how it looks and works in a browser is tested in `tests/browser`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod desk;
mod flows;
mod preview;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod support;
