//! The admin API over HTTP: real routes, a real engine, a real SQLite file, and a fixed clock.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod apps;
mod assets;
mod bodies;
mod closing;
mod computed;
mod crosstab;
mod design;
mod document;
mod documented_tables;
mod etags;
mod flow_keys;
mod flow_state;
mod flows;
mod funnel;
mod idempotency;
mod invitations;
mod lists;
mod page;
#[path = "../support/png.rs"]
mod png;
mod reports;
mod respondents;
mod responses;
mod routes;
mod short_paths;
mod summary;
mod support;
mod test_responses;
mod tokens;
mod trail;
#[path = "../../../engine/tests/support/use_cases.rs"]
mod use_cases;
mod users;
mod versions;
mod webhooks;
