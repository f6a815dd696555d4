//! Log lines: to stderr, so that stdout keeps the banner and results.

use std::io::{self, IsTerminal as _};

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Starts logging for the whole process.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<(), Failure> {
    let filter: Targets = filter.parse().map_err(|error| {
        Failure::usage(
            format!("the log filter {filter:?} cannot be read: {error}"),
            "write a level (error, warn, info, debug, trace), or pairs such as info,sluice_api=debug",
        )
    })?;
    let coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(coloured);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let started = tracing_subscriber::registry().with(lines).with(filter).try_init();
    started.map_err(|error| Failure::new(format!("cannot start logging: {error}"), ""))
}
