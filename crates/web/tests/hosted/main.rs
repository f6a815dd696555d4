//! The hosted pages over HTTP, as a browser uses them, with and without scripts. One file per
//! subject.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod support;

mod below_path;
mod branding;
mod browser;
mod consent;
mod endings;
mod form;
mod frame;
mod identity;
mod images;
mod links;
mod once;
mod parameters;
#[path = "../support/png.rs"]
mod png;
mod shield;
mod states;
mod test_mode;
#[path = "../../../engine/tests/support/use_cases.rs"]
mod use_cases;
mod versions;
mod visits;
