//! `sluice completions` and `sluice man`: what a package installs beside the binary.

use std::fs;

use clap::Command;

use crate::args::{CompletionsArgs, ManArgs};
use crate::failure::{Exit, Failure, Outcome};
use crate::output;

/// Prints the completion script of a shell.
pub(crate) fn completions(args: &CompletionsArgs, mut command: Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "sluice", &mut script);
    let _gone = output::print(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}

/// Writes one page for the binary and one for each command into a folder.
pub(crate) fn man(args: &ManArgs, command: Command) -> Outcome {
    let folder = &args.folder;
    let cannot_write = |error: std::io::Error| {
        Failure::new(
            format!("cannot write into {}: {error}", folder.display()),
            "name a folder that you may write to",
        )
    };
    fs::create_dir_all(folder).map_err(cannot_write)?;
    clap_mangen::generate_to(command, folder).map_err(cannot_write)?;
    output::note(format_args!("pages written into {}", folder.display()));
    Ok(Exit::Done)
}
