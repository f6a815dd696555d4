//! The use cases of the engine, on real stores.
//!
//! All are one binary, because linking takes longer than compiling.

#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "../support/mod.rs"]
mod support;

mod admin_requests;
mod commit;
mod conditions;
mod editing;
mod erasure_load;
mod export;
mod export_since;
mod handles;
mod intake;
mod integrity;
mod invitations;
mod mail;
mod metrics;
mod model;
mod moving;
mod overload;
mod people;
mod registry;
mod reports;
mod respondents;
mod response_table;
mod sink;
mod visits;
mod webhooks;
