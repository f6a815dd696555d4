//! The admin API over HTTP: the real routes, the real engine, a real SQLite file, a clock that
//! stands.
#![expect(clippy::unwrap_used, reason = "in a test, what is not there is a failed test")]

mod apps;
mod bodies;
mod document;
mod flows;
mod invitations;
mod lists;
mod page;
mod respondents;
mod responses;
mod routes;
mod summary;
mod support;
mod tokens;
mod trail;
#[path = "../../../engine/tests/support/use_cases.rs"]
mod use_cases;
mod users;
mod versions;
