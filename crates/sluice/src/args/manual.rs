//! What a package installs beside the binary.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  sluice completions bash > /etc/bash_completion.d/sluice
  sluice completions zsh > ~/.zfunc/_sluice
  sluice completions fish > ~/.config/fish/completions/sluice.fish")]
pub(crate) struct CompletionsArgs {
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n  sluice man /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
