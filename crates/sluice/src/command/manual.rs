//! `sluice completions` and `sluice man`: what a package installs beside the binary.

use std::fs;
use std::io;
use std::path::Path;

use clap::{Arg, Command};
use clap_mangen::Man;

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
    let cannot_write = |error: io::Error| {
        Failure::new(
            format!("cannot write into {}: {error}", folder.display()),
            "name a folder that you may write to",
        )
    };
    fs::create_dir_all(folder).map_err(cannot_write)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_pages(&command, folder).map_err(cannot_write)?;
    output::note(format_args!("pages written into {}", folder.display()));
    Ok(Exit::Done)
}

fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        write_pages(inner, folder)?;
    }
    let page = Man::new(command.clone());
    let mut content = Vec::new();
    page.render(&mut content)?;
    let content = with_dots(command, &String::from_utf8_lossy(&content));
    fs::write(folder.join(page.get_filename()), content)
}

/// Marks values that may be given several times, as the help does: `<FILE>...`. The renderer leaves
/// the dots out.
fn with_dots(command: &Command, page: &str) -> String {
    let is_repeated = |arg: &&Arg| arg.get_num_args().is_some_and(|number| number.max_values() > 1);
    let mut page = page.to_owned();
    for arg in command.get_positionals().filter(is_repeated) {
        let names = arg.get_value_names().unwrap_or_default();
        for name in names {
            let (open, close) = if arg.is_required_set() { ("<", ">") } else { ("[", "]") };
            let value = format!("{open}\\fI{name}\\fR{close}");
            page = page.replace(&value, &format!("{value}..."));
        }
    }
    page
}
