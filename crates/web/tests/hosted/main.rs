//! The hosted pages over HTTP, as a browser meets them: with and without a script. One file a
//! subject.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "each test program uses its own part")]
mod support;

mod browser;
mod consent;
mod form;
mod frame;
mod identity;
mod look;
mod once;
mod parameters;
mod shield;
mod states;
#[path = "../../../engine/tests/support/use_cases.rs"]
mod use_cases;
mod versions;
