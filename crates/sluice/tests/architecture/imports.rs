//! A table of allowed dependencies between crates, checked against `cargo metadata`.
//!
//! Only normal dependencies count: a test may open a real backend even if the code may not.

use std::process::Command;

use serde_json::Value;

use super::source::root;

/// One row: a crate, the workspace crates it may import, and the external crates it must not.
type Row = (&'static str, &'static [&'static str], &'static [&'static [&'static str]]);

/// A transport imports what all transports share, but no other transport.
const TRANSPORT: &[&str] = &["sluice-flow", "sluice-engine", "sluice-http"];
const WEB: &[&str] = &[
    "sluice-engine",
    "sluice-http",
    "sluice-api",
    "sluice-admin",
    "sluice-hosted",
    "sluice-console",
    "sluice-docs",
];

const BINARY: &[&str] =
    &["sluice-flow", "sluice-store", "sluice-engine", "sluice-web", "sluice-import"];

const TABLE: [Row; 13] = [
    ("sluice-flow", &[], &[HTTP, SQL, IO]),
    ("sluice-vfs", &[], &[HTTP, SQL, IO]),
    ("sluice-import", &["sluice-flow"], &[HTTP, SQL, IO]),
    ("sluice-store", &["sluice-flow", "sluice-vfs"], &[HTTP]),
    ("sluice-engine", &["sluice-flow", "sluice-store"], &[HTTP, SQL]),
    ("sluice-http", &["sluice-flow", "sluice-engine"], &[SQL]),
    ("sluice-api", TRANSPORT, &[SQL]),
    ("sluice-admin", TRANSPORT, &[SQL]),
    ("sluice-hosted", TRANSPORT, &[SQL]),
    ("sluice-console", TRANSPORT, &[SQL]),
    ("sluice-docs", &[], &[SQL]),
    ("sluice-web", WEB, &[SQL]),
    ("sluice", BINARY, &[AXUM, SQL]),
];

const AXUM: &[&str] = &["axum", "tower-http", "utoipa-axum"];
const HTTP: &[&str] =
    &["axum", "http", "http-body", "hyper", "hyper-util", "tower-http", "reqwest"];
const SQL: &[&str] = &["rusqlite", "tokio-postgres", "deadpool"];
const IO: &[&str] = &["tokio", "async-trait", "futures-util", "getrandom", "tempfile"];

/// A crate of the workspace and its normal dependencies.
pub(crate) struct Crate {
    name: String,
    depends_on: Vec<String>,
}

impl Crate {
    pub(crate) fn new<'a>(name: &str, on: impl IntoIterator<Item = &'a str>) -> Self {
        Self { name: name.to_owned(), depends_on: on.into_iter().map(str::to_owned).collect() }
    }
}

pub(crate) fn of_workspace() -> Vec<Crate> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("cargo metadata did not start: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("cargo metadata is not JSON: {error}"));
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    assert_eq!(packages.len(), TABLE.len(), "the table must have a row for every crate");
    packages.iter().map(of_package).collect()
}

fn of_package(package: &Value) -> Crate {
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let normal = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
    let has_suite = normal.clone().any(|dependency| {
        let features = dependency["features"].as_array();
        features.is_some_and(|features| features.iter().any(|name| name == "testsuite"))
    });
    assert!(!has_suite, "{}: the conformance suite is for tests only", package["name"]);
    let names = normal.filter_map(|dependency| dependency["name"].as_str());
    Crate::new(package["name"].as_str().unwrap_or_default(), names)
}

pub(crate) fn offences(of: &Crate) -> Vec<String> {
    let Some((_, ours, never)) = TABLE.iter().find(|(name, ..)| *name == of.name) else {
        return vec![format!("{} has no row in the table", of.name)];
    };
    let forbidden = |name: &&String| {
        let is_ours = name.as_str() == "sluice" || name.starts_with("sluice-");
        (is_ours && !ours.contains(&name.as_str()))
            || never.iter().any(|group| group.contains(&name.as_str()))
    };
    let found = of.depends_on.iter().filter(forbidden);
    found.map(|name| format!("{} must not import {name}", of.name)).collect()
}
