//! The command line: commands, flags, their environment variables, and their help.
//!
//! Without a command the server starts, so that `cargo run` alone shows something. The flags of
//! `serve` are optional here even if they have a default: only [`crate::config`] knows all four
//! sources.

mod app;
mod backup;
mod client;
mod flow_files;
mod import;
mod invite;
mod key;
mod mail;
mod manual;
mod mcp;
mod moving;
mod outbound;
mod recount;
mod respondent;
mod serve;
mod server;
mod types;
mod user;
mod verify;

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::Exit;

pub(crate) use app::{AppCommand, AppSetArgs, IdentityAddArgs, IdentityCommand, NumberOrDefault};
pub(crate) use backup::{BackupArgs, RestoreArgs};
pub(crate) use client::{
    CheckArgs, CodebookArgs, ExportArgs, FlowCommand, ListArgs, PublishArgs, PushArgs,
    ResponsesCommand, Since, TailArgs, TailFormat, TokenArgs, TokenCommand,
};
pub(crate) use flow_files::{
    ApplyArgs, ArchiveArgs, DiffArgs, FileFormat, FlowOf, FlowRef, PullArgs, RetireArgs,
    VersionsArgs, WindowArgs, WindowEnd,
};
pub(crate) use import::{ImportArgs, ImportCommand, ImportResponsesArgs, RowFormat};
pub(crate) use invite::{InviteAddArgs, InviteCommand, InviteImportArgs, InviteListArgs};
pub(crate) use key::{KeyCommand, KeyCreateArgs, KeyListArgs, KeyRevokeArgs, RotateArgs};
pub(crate) use mail::{MailCommand, MailTestArgs};
pub(crate) use manual::{CompletionsArgs, ManArgs};
pub(crate) use mcp::McpArgs;
pub(crate) use moving::MoveArgs;
pub(crate) use outbound::{OutboundCommand, OutboundResumeArgs, OutboundStatusArgs};
pub(crate) use recount::RecountArgs;
pub(crate) use respondent::{RespondentArgs, RespondentCommand};
pub(crate) use serve::ServeArgs;
pub(crate) use server::{JsonArg, SERVER_DEFAULT, ServerArgs};
pub(crate) use types::TypesArgs;
pub(crate) use user::{UserAddArgs, UserCommand, UserSetArgs};
pub(crate) use verify::VerifyArgs;

#[derive(Debug, Parser)]
#[command(
    name = "sluice",
    version,
    about = "Self-hosted feedback collection: publish flows, collect answers, lose none.",
    override_usage = "sluice [COMMAND]",
    after_help = "\
Without a command `sluice` starts the server, as `sluice serve` does.
Run `sluice help COMMAND` for examples of each command.",
    after_long_help = "\
Without a command `sluice` starts the server, as `sluice serve` does.

Examples:
  sluice                                    start a server in ./sluice-data, with a demo survey
  sluice serve --listen 0.0.0.0:8080        the same, reachable from other machines
  sluice flow check survey.yaml             list every fault of a flow file, offline
  sluice flow push survey.yaml --publish    create it on a running server and publish it
  sluice flow apply flows/*.yaml            make flows match their files
  sluice types fl_… > feedback.ts           the TypeScript type of its answers
  sluice responses tail fl_…                print responses as they arrive
  sluice import typeform form.json          create a flow from a definition of another tool
  sluice move --from sqlite:sluice-data/sluice.db --to postgres://db.example/sluice
  sluice backup /backup/sluice.gz           back up everything while the server runs

Commands other than serve, flow check, key rotate, move, recount, backup, restore, verify, completions
and man call a running server: name it with --server (SLUICE_SERVER), and give an admin token with
--token (SLUICE_TOKEN); or choose both with --profile (SLUICE_PROFILE).

Exit codes:
  0    done
  1    failed, or damage was found; stderr reports why and what to do
  2    invalid command line, environment or configuration file; of flow diff and apply: changes
  3    the flow, or the file of people or of responses, has faults
  4    a write failed or the database was taken away; check the disk and the database first
  130  interrupted, or stopped at once by a second signal"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server (also what happens without a command)
    Serve(Box<ServeArgs>),
    /// Check, apply, publish and list flows
    #[command(subcommand)]
    Flow(FlowCommand),
    /// Write the TypeScript type of the answers to a flow
    Types(TypesArgs),
    /// Follow and export responses
    #[command(subcommand)]
    Responses(ResponsesCommand),
    /// Create a flow from a definition of another tool, or import responses
    Import(Box<ImportArgs>),
    /// List, show, export and erase respondents
    #[command(subcommand)]
    Respondent(RespondentCommand),
    /// List, create and configure apps
    #[command(subcommand)]
    App(AppCommand),
    /// Manage the keys of identity tokens, and show how token checks ended
    #[command(subcommand)]
    Identity(IdentityCommand),
    /// Create, list and revoke admin tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Manage the users of the console
    #[command(subcommand)]
    User(UserCommand),
    /// Create, list and revoke publishable keys; rotate the master key
    #[command(subcommand)]
    Key(KeyCommand),
    /// Invite people to a flow, each with a personal link
    #[command(subcommand)]
    Invite(InviteCommand),
    /// Serve tools for an assistant (Model Context Protocol)
    Mcp(McpArgs),
    /// Test the mail server
    #[command(subcommand)]
    Mail(MailCommand),
    /// Send e-mails and webhooks again, after a restore or a move
    #[command(subcommand)]
    Outbound(OutboundCommand),
    /// Copy everything from one database into another
    Move(MoveArgs),
    /// Rebuild the counts of responses
    Recount(RecountArgs),
    /// Write everything into one file, also while servers run
    Backup(BackupArgs),
    /// Restore a backup into a new folder or an empty database
    Restore(RestoreArgs),
    /// Check that everything stored is sound
    Verify(VerifyArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write manual pages, one for each command
    Man(ManArgs),
}

/// Parses the command line. Help, version and invalid arguments end the process here.
pub(crate) fn parse() -> Command {
    let arguments = with_command(std::env::args_os().collect());
    let compares = is_comparison(&arguments);
    match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.command,
        Err(fault) if fault.use_stderr() && compares => {
            let _gone = fault.print();
            std::process::exit(i32::from(Exit::Failed.code()));
        }
        Err(shown) => shown.exit(),
    }
}

/// Whether exit code 2 means that something would change, and nothing else.
fn is_comparison(arguments: &[OsString]) -> bool {
    let named = |at: usize, name: &str| arguments.get(at).is_some_and(|it| it == name);
    named(1, "flow") && (named(2, "diff") || named(2, "apply"))
}

/// The definition of the command line.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

/// Inserts `serve` if no command was given.
fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let first = arguments.get(1).and_then(|first| first.to_str());
    let about_the_binary = matches!(first, Some("-h" | "--help" | "-V" | "--version"));
    let is_flag = first.is_some_and(|first| first.starts_with('-'));
    if arguments.is_empty() {
        arguments.push("sluice".into());
    }
    if arguments.len() == 1 || (is_flag && !about_the_binary) {
        arguments.insert(1, "serve".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_command_means_serve() {
        for (given, meant) in [
            ("sluice", "sluice serve"),
            ("sluice --no-demo", "sluice serve --no-demo"),
            ("sluice serve", "sluice serve"),
            ("sluice --help", "sluice --help"),
            ("sluice -V", "sluice -V"),
            ("sluice flow list", "sluice flow list"),
        ] {
            let arguments = given.split(' ').map(OsString::from).collect();
            let expected: Vec<OsString> = meant.split(' ').map(OsString::from).collect();
            assert_eq!(with_command(arguments), expected, "{given}");
        }
    }

    #[test]
    fn both_helps_explain_what_happens_without_a_command() {
        for help in [Cli::command().render_help(), Cli::command().render_long_help()] {
            let help = help.to_string();
            assert!(help.contains("Without a command `sluice` starts the server"), "{help}");
            assert!(help.contains("Usage: sluice [COMMAND]"), "{help}");
        }
    }

    #[test]
    fn every_flag_of_serve_has_a_variable_of_the_same_name() {
        let command = Cli::command();
        let serve = command.find_subcommand("serve").unwrap();
        for argument in serve.get_arguments().filter(|it| it.get_id() != "help") {
            let flag = argument.get_long().unwrap();
            let variable = argument.get_env().unwrap().to_str().unwrap();
            assert_eq!(variable, format!("SLUICE_{}", flag.to_uppercase().replace('-', "_")));
        }
    }
}
