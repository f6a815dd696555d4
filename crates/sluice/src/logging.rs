//! Log lines: to stderr, so that stdout keeps the banner and results.

use std::io::{self, IsTerminal as _};

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// The filter of the running process, which can be replaced.
pub(crate) struct LogFilter(Box<dyn Fn(Targets) -> Result<(), reload::Error> + Send + Sync>);

impl LogFilter {
    pub(crate) fn replace(&self, filter: &str) -> Result<(), Failure> {
        let replaced = (self.0)(parse(filter)?);
        replaced.map_err(|error| Failure::new(format!("cannot change the log filter: {error}"), ""))
    }
}

/// Starts logging for the whole process.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<LogFilter, Failure> {
    let (filter, handle) = reload::Layer::new(parse(filter)?);
    let coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(coloured);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let started = tracing_subscriber::registry().with(lines).with(filter).try_init();
    started.map_err(|error| Failure::new(format!("cannot start logging: {error}"), ""))?;
    Ok(LogFilter(Box::new(move |filter| handle.reload(filter))))
}

fn parse(filter: &str) -> Result<Targets, Failure> {
    filter.parse().map_err(|error| {
        Failure::usage(
            format!("the log filter {filter:?} cannot be read: {error}"),
            "write a level (error, warn, info, debug, trace), or pairs such as info,sluice_api=debug",
        )
    })
}
