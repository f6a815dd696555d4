//! Log lines: to stderr, so that stdout keeps the banner and results.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;
use crate::failure::Failure;

/// Starts logging for the whole process.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::usage(
            format!("the log filter {filter:?} cannot be read: {error}"),
            "write a level (error, warn, info, debug, trace), or pairs such as info,sluice_web=debug",
        )
    })?;
    let coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(coloured);
    let started = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| Failure::new(format!("cannot start logging: {error}"), ""))
}
