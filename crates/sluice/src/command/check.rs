//! `sluice flow check`: every fault of every file, offline.

use std::fmt::Display;
use std::path::Path;

use sluice_flow::definition::Fault;

use crate::args::CheckArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::flow_file::{self, Unreadable};
use crate::output::{self, counted};

pub(crate) fn run(args: &CheckArgs) -> Outcome {
    let (mut faults, mut faulty_files, mut missing) = (0, 0, None);
    for path in &args.files {
        let found = match flow_file::read(path) {
            Ok(file) => {
                print_warnings(path.display(), &file.warnings());
                file.faults()
            }
            Err(Unreadable::Syntax(message)) => vec![Fault::new("", message)],
            Err(Unreadable::Missing(reason)) => {
                let failure = unreadable(path, &reason);
                output::print_failure(&failure);
                missing = Some(failure);
                continue;
            }
        };
        print(path.display(), &found);
        faults += found.len() as u64;
        faulty_files += u64::from(!found.is_empty());
    }
    let checked = counted(args.files.len() as u64, "file");
    if faults > 0 {
        let (faults, files) = (counted(faults, "fault"), counted(faulty_files, "file"));
        output::line(format_args!("{checked} checked: {faults} in {files}"));
        return Ok(Exit::Faults);
    }
    if missing.is_some() {
        return Ok(Exit::Failed);
    }
    output::line(format_args!("{checked} checked, no faults"));
    Ok(Exit::Done)
}

/// One line per fault: file, pointer, remedy.
pub(crate) fn print(file: impl Display, faults: &[Fault]) {
    for Fault { pointer, message } in faults {
        let place = if pointer.is_empty() { String::new() } else { format!(" {pointer}:") };
        output::line(format_args!("{file}:{place} {message}"));
    }
}

/// One line per warning, on stderr: a warning is not a fault.
pub(crate) fn print_warnings(file: impl Display, warnings: &[Fault]) {
    for Fault { pointer, message } in warnings {
        output::note(format_args!("{file}: warning: {pointer}: {message}"));
    }
}

pub(crate) fn unreadable(path: &Path, reason: &str) -> Failure {
    Failure::new(
        format!("cannot read {}: {reason}", path.display()),
        "name an existing JSON or YAML file, or - for stdin",
    )
}
