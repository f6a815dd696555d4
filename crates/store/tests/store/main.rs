//! Each backend by itself. What both must do is in the conformance suite.
//!
//! All are one binary, because linking takes longer than compiling.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

#[path = "../support/mod.rs"]
mod support;

mod citus;
mod count_speed;
mod damaged_counts;
mod damaged_links;
mod erasure;
mod postgres;
mod postgres_damage;
mod postgres_expiry;
mod postgres_export;
mod postgres_feed;
mod postgres_layout;
mod postgres_log;
mod postgres_partitions;
mod postgres_plans;
mod postgres_probe;
mod postgres_promises;
mod postgres_refused;
mod postgres_skip_index;
mod postgres_start;
mod sqlite;
mod sqlite_damage;
mod sqlite_files;
mod sqlite_order;
mod sqlite_space;
