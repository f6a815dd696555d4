//! The console, from its routes to the store: what a browser sends, and what it is shown.
//!
//! A page is read as text; how it looks and works in a browser is tested in `tests/browser`.

#![expect(clippy::unwrap_used, reason = "tests say what fails by failing")]
#![allow(
    clippy::duplicate_mod,
    reason = "two services, for two kinds of tests, open their stores alike"
)]

mod accounts;
mod desk;
mod editor;
#[path = "../../../engine/tests/support/faulty.rs"]
#[allow(dead_code, unreachable_pub, reason = "only its counts are used here")]
mod faulty;
mod flows;
mod frame;
mod many_apps;
mod oidc;
mod preview;
mod reads;
mod responses;
mod results;
mod settings;
mod share;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod shop;
mod sign_in;
mod support;
#[path = "../../../engine/tests/support/use_cases.rs"]
mod use_cases;
mod walls;
mod welcome;
