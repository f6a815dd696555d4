//! The console, from its routes to the store: what a browser sends and gets.
//!
//! Pages are checked as text; `tests/browser` tests how they look and work in a browser.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::duplicate_mod, reason = "two test services open their stores in the same way")]

mod accounts;
mod comparison;
mod design;
mod desk;
mod editor;
mod editor_faults;
#[path = "../../../engine/tests/support/faulty.rs"]
#[allow(dead_code, unreachable_pub, reason = "only its counters are used here")]
mod faulty;
mod flows;
mod frame;
mod funnel;
mod hooks;
mod images;
mod limits;
mod listeners;
mod lost_updates;
mod mail;
mod many_apps;
mod oidc;
mod permissions;
#[path = "../support/png.rs"]
mod png;
mod preview;
mod reads;
mod reports;
mod response_table;
mod responses;
mod results;
mod scores;
mod settings;
mod share;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod shop;
mod sign_in;
mod support;
mod test_mode;
#[path = "../../../engine/tests/support/use_cases.rs"]
mod use_cases;
mod webhooks;
mod welcome;
