//! The real binary: its commands, and servers that are stopped, killed and starved.
//!
//! All are one binary, because linking takes longer than compiling.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

#[path = "../../../store/tests/support/cluster.rs"]
mod cluster;
#[path = "../../../store/tests/support/database.rs"]
mod database;
#[path = "../support/identity.rs"]
mod identity;
#[path = "../support/mod.rs"]
mod support;

mod apply;
mod automation;
mod backup;
mod canary;
mod code_map;
mod consent;
mod damage;
mod disk;
mod documents;
mod dry_run;
mod files;
mod flow;
mod flow_keys;
mod follow;
mod formats_and_fields;
mod import;
mod interrupted_restore;
mod invite;
mod key;
mod kill;
mod meanwhile;
mod moving;
#[cfg(feature = "nats")]
mod nats;
mod nodes;
#[cfg(feature = "otlp")]
mod otlp;
mod outbound;
mod recount;
mod respondent;
mod rotation;
mod settings;
mod signing;
mod start;
mod stop;
mod syncs;
mod systemd;
mod user;
