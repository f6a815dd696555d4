//! How the server uses PostgreSQL: number of connections, time limits, and LISTEN.
//!
//! These settings have no effect on SQLite, so they are refused with it: an operator who sets one
//! expects it to do something.

use std::time::Duration;

use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::number_setting::NumberSetting;

/// At least one connection for commits of responses and one for reads.
const CONNECTIONS: NumberSetting =
    NumberSetting { flag: "pg-connections", unit: "connections", default: 16, allowed: 2..=1000 };
const WRITE_LANES: NumberSetting =
    NumberSetting { flag: "pg-write-lanes", unit: "lanes", default: 4, allowed: 1..=64 };
const CONNECT_TIMEOUT: NumberSetting =
    NumberSetting { flag: "pg-connect-timeout", unit: "seconds", default: 5, allowed: 1..=20 };
/// Below the server's time limit of 30 s for a request.
const STATEMENT_TIMEOUT: NumberSetting =
    NumberSetting { flag: "pg-statement-timeout", unit: "seconds", default: 10, allowed: 1..=20 };
/// `responses tail` rereads the last ten seconds, and relies on no commit taking longer.
const COMMIT_TIMEOUT: NumberSetting =
    NumberSetting { flag: "pg-commit-timeout", unit: "seconds", default: 10, allowed: 1..=10 };

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// Without the one that listens for changes.
    pub(crate) connections: usize,
    /// Concurrent commits of responses; each uses one of the connections.
    pub(crate) write_lanes: usize,
    pub(crate) connect_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) commit_timeout: Duration,
    pub(crate) listen: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        let seconds = |setting: &NumberSetting| Duration::from_secs(setting.default);
        let count = |setting: &NumberSetting| usize::try_from(setting.default).unwrap_or(1);
        Self {
            connections: count(&CONNECTIONS),
            write_lanes: count(&WRITE_LANES),
            connect_timeout: seconds(&CONNECT_TIMEOUT),
            statement_timeout: seconds(&STATEMENT_TIMEOUT),
            commit_timeout: seconds(&COMMIT_TIMEOUT),
            listen: true,
        }
    }
}

impl Tuning {
    /// From the flags and environment, else from the file.
    pub(crate) fn resolve(given: &ServeArgs, file: &ServeArgs) -> Result<Self, Failure> {
        let seconds = |setting: &NumberSetting, given: Option<u64>| {
            setting.resolve(given).map(|seconds| Duration::from_secs(seconds as u64))
        };
        let connections = CONNECTIONS.resolve(given.pg_connections.or(file.pg_connections))?;
        let write_lanes = match given.pg_write_lanes.or(file.pg_write_lanes) {
            None => WRITE_LANES.resolve(None)?.min(connections - 1),
            lanes => WRITE_LANES.resolve(lanes)?,
        };
        if write_lanes >= connections {
            return Err(Failure::usage(
                format!("{write_lanes} write lanes leave no connection of {connections} for reads"),
                "choose a --pg-write-lanes below --pg-connections",
            ));
        }
        let connect = given.pg_connect_timeout.or(file.pg_connect_timeout);
        let statement = given.pg_statement_timeout.or(file.pg_statement_timeout);
        let commit = given.pg_commit_timeout.or(file.pg_commit_timeout);
        Ok(Self {
            connections,
            write_lanes,
            connect_timeout: seconds(&CONNECT_TIMEOUT, connect)?,
            statement_timeout: seconds(&STATEMENT_TIMEOUT, statement)?,
            commit_timeout: seconds(&COMMIT_TIMEOUT, commit)?,
            listen: given.pg_listen.or(file.pg_listen).unwrap_or(true),
        })
    }

    /// Refuses settings that would have no effect on SQLite.
    pub(crate) fn must_be_absent(given: &ServeArgs, file: &ServeArgs) -> Result<(), Failure> {
        let any = |args: &ServeArgs| {
            let numbers = [
                ("pg-connections", args.pg_connections),
                ("pg-write-lanes", args.pg_write_lanes),
                ("pg-connect-timeout", args.pg_connect_timeout),
                ("pg-statement-timeout", args.pg_statement_timeout),
                ("pg-commit-timeout", args.pg_commit_timeout),
                ("pg-listen", args.pg_listen.map(u64::from)),
            ];
            numbers.into_iter().find_map(|(name, value)| value.map(|_| name))
        };
        match any(given).or_else(|| any(file)) {
            None => Ok(()),
            Some(name) => Err(Failure::usage(
                format!("{name} has no effect: this server stores in SQLite"),
                "leave it out, or name a PostgreSQL database with --store postgres://user@host/database",
            )),
        }
    }
}
