//! Everything that can be typed: commands, flags, their environment variables, and their help.
//!
//! Without a command the server starts, so that `cargo run` alone shows something. Flags of `serve`
//! are optional here even where a default exists: only [`crate::config`] knows all four sources.

mod app;
mod client;
mod invite;
mod key;
mod moving;
mod recount;
mod respondent;
mod user;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, Parser, Subcommand};
use serde::Deserialize;

pub(crate) use app::{AppCommand, AppSetArgs, IdentityAddArgs, IdentityCommand, Setting};
pub(crate) use client::{
    CheckArgs, ExportArgs, FlowCommand, ListArgs, PublishArgs, PushArgs, ResponsesCommand,
    SERVER_DEFAULT, ServerArgs, Since, TailArgs, TailFormat, TokenArgs, TokenCommand,
};

pub(crate) use invite::{AddArgs, ImportArgs, InviteCommand, InvitedArgs};
pub(crate) use key::{KeyCommand, RotateArgs};
pub(crate) use moving::MoveArgs;
pub(crate) use recount::RecountArgs;
pub(crate) use respondent::{RespondentCommand, WhoArgs};
pub(crate) use user::{AddArgs as UserAddArgs, SetArgs as UserSetArgs, UserCommand};

use crate::config::LogFormat;

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
  sluice flow check survey.yaml             find every fault of a flow file, offline
  sluice flow push survey.yaml --publish    create it on a running server and publish it
  sluice responses tail fl_…                watch answers come in
  sluice move --from sqlite:sluice-data/sluice.db --to postgres://db.example/sluice

Commands other than serve, flow check, key and move talk to a running server: name it with --server
(SLUICE_SERVER), and give an admin token with --token (SLUICE_TOKEN).

Exit codes:
  0    done
  1    it could not be done; stderr says why and what to do
  2    the command line, the environment or the configuration file is at fault
  3    a flow, or a file of people to invite, was checked and has faults
  4    the server's store lost track of a write; start it again to recover
  130  stopped at once by a second signal"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the server (also what happens without a command)
    Serve(Box<ServeArgs>),
    /// Check, push, publish and list flows
    #[command(subcommand)]
    Flow(FlowCommand),
    /// Look at responses
    #[command(subcommand)]
    Responses(ResponsesCommand),
    /// Show, export and erase what is kept of one person
    #[command(subcommand)]
    Respondent(RespondentCommand),
    /// List, create and set up apps
    #[command(subcommand)]
    App(AppCommand),
    /// Keys that prove who answers, and what the checks of tokens came to
    #[command(subcommand)]
    Identity(IdentityCommand),
    /// Create admin tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// Add people to the console, and change what they may do
    #[command(subcommand)]
    User(UserCommand),
    /// Rotate the master key of signing secrets
    #[command(subcommand)]
    Key(KeyCommand),
    /// Invite people to a flow, each with a personal link
    #[command(subcommand)]
    Invite(InviteCommand),
    /// Move everything of one database into another
    Move(MoveArgs),
    /// Count responses anew
    Recount(RecountArgs),
}

/// The heading of what matters with `--store postgres://…` alone.
const PG: &str = "PostgreSQL";
/// The heading of what protects the server from its callers.
const LIMITS: &str = "Limits of the public API";
/// The heading of what matters for the console alone.
const SIGN_IN: &str = "Signing in to the console";

/// The flags of the server. The configuration file has the same names.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(
    long_about = "\
Start the server.

On an empty store it makes an admin token (printed once), a demo app and a published survey, and
prints three calls that are ready to paste.

Each setting comes from its flag, else from its environment variable, else from the configuration
file, else from its default. SLUICE_ADMIN_TOKEN (22 characters or more) has no flag, so that it
does not show in the list of processes; where it is set, it is valid as an admin token. Neither has
SLUICE_MASTER_KEY (32 bytes in base64), which seals signing secrets in place of the file master.key, nor
SLUICE_METRICS_TOKEN (16 characters or more), which readers of /metrics must send if it is set.",
    after_long_help = "\
Examples:
  sluice serve
  sluice serve --listen 0.0.0.0:8080 --data /var/lib/sluice --no-demo
  sluice serve --listen 127.0.0.1:0         any free port; the first line printed names it
  SLUICE_ADMIN_TOKEN=… sluice serve --log info,sluice_web=debug --log-format json

A configuration file (sluice.toml):
  listen = \"0.0.0.0:8080\"
  data = \"/var/lib/sluice\"
  no-demo = true

SIGTERM or Ctrl-C: accept nothing new, answer what is under way, store it, exit 0."
)]
pub(crate) struct ServeArgs {
    /// Address and port to listen on [default: 127.0.0.1:8080]
    #[arg(long, env = "SLUICE_LISTEN", value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,

    /// Folder for everything that is stored; made if missing [default: ./sluice-data]
    #[arg(long, env = "SLUICE_DATA", value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,

    /// Where to store: sqlite:PATH or postgres://… [default: sqlite:<data>/sluice.db]
    #[arg(long, env = "SLUICE_STORE", value_name = "STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,

    /// Where browsers reach this server, for personal links and the console [default: the address listened on]
    #[arg(long, env = "SLUICE_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<String>,

    /// Connections to the database, at most; one more listens [default: 16]
    #[arg(long, env = "SLUICE_PG_CONNECTIONS", value_name = "COUNT", help_heading = PG)]
    pub(crate) pg_connections: Option<u64>,

    /// Writes of responses under way at once, on as many of the connections [default: 4]
    #[arg(long, env = "SLUICE_PG_WRITE_LANES", value_name = "COUNT", help_heading = PG)]
    pub(crate) pg_write_lanes: Option<u64>,

    /// How long a host may take to let us in [default: 5]
    #[arg(long, env = "SLUICE_PG_CONNECT_TIMEOUT", value_name = "SECONDS", help_heading = PG)]
    pub(crate) pg_connect_timeout: Option<u64>,

    /// How long one statement may take [default: 10]
    #[arg(long, env = "SLUICE_PG_STATEMENT_TIMEOUT", value_name = "SECONDS", help_heading = PG)]
    pub(crate) pg_statement_timeout: Option<u64>,

    /// How long a COMMIT may take, its standby included; beyond it, it is in doubt [default: 10]
    #[arg(long, env = "SLUICE_PG_COMMIT_TIMEOUT", value_name = "SECONDS", help_heading = PG)]
    pub(crate) pg_commit_timeout: Option<u64>,

    /// Listen for changes of other nodes; else they are only looked for [default: true]
    #[arg(
        long,
        env = "SLUICE_PG_LISTEN",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
        help_heading = PG,
    )]
    pub(crate) pg_listen: Option<bool>,

    /// Make no demo app and survey on an empty store
    #[arg(
        long,
        env = "SLUICE_NO_DEMO",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
    )]
    pub(crate) no_demo: Option<bool>,

    /// Networks that key sets may be fetched from besides public addresses [default: none]
    #[arg(long, env = "SLUICE_JWKS_ALLOW", value_name = "CIDR,…")]
    pub(crate) jwks_allow: Option<String>,

    /// Let key sets be fetched over plain http, too
    #[arg(
        long,
        env = "SLUICE_JWKS_ALLOW_HTTP",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
    )]
    pub(crate) jwks_allow_http: Option<bool>,

    /// Forms that one address may send a minute on hosted pages; 0 is without limit [default: 60]
    #[arg(long, env = "SLUICE_HOSTED_SENDS_PER_MINUTE", value_name = "COUNT")]
    pub(crate) hosted_sends_per_minute: Option<u64>,

    /// Networks of proxies whose X-Forwarded-For counts [default: none]
    #[arg(long, env = "SLUICE_TRUSTED_PROXIES", value_name = "CIDR,…")]
    pub(crate) trusted_proxies: Option<String>,

    /// Attempts to sign in to the console from one address a minute; 0 is without limit [default: 30]
    #[arg(long, env = "SLUICE_SIGN_INS_PER_MINUTE", value_name = "COUNT", help_heading = SIGN_IN)]
    pub(crate) sign_ins_per_minute: Option<u64>,

    /// OpenID provider by which users sign in to the console, as it writes itself [default: none]
    #[arg(long, env = "SLUICE_OIDC_ISSUER", value_name = "URL", help_heading = SIGN_IN)]
    pub(crate) oidc_issuer: Option<String>,

    /// This service's name at the provider; its secret is SLUICE_OIDC_CLIENT_SECRET
    #[arg(long, env = "SLUICE_OIDC_CLIENT_ID", value_name = "ID", help_heading = SIGN_IN)]
    pub(crate) oidc_client_id: Option<String>,

    /// What the button on the sign-in page says [default: Sign in with your organisation]
    #[arg(long, env = "SLUICE_OIDC_BUTTON", value_name = "TEXT", help_heading = SIGN_IN)]
    pub(crate) oidc_button: Option<String>,

    /// Largest request body, in bytes [default: 1048576]
    #[arg(long, env = "SLUICE_BODY_LIMIT", value_name = "BYTES")]
    pub(crate) body_limit: Option<u64>,

    /// Connections open at once; further ones wait [default: 20000]
    #[arg(long, env = "SLUICE_MAX_CONNECTIONS", value_name = "COUNT")]
    pub(crate) max_connections: Option<u64>,

    /// Calls of the public API that one app may make a second; 0 is without limit [default: 20000]
    #[arg(long, env = "SLUICE_RATE_PER_APP", value_name = "COUNT", help_heading = LIMITS)]
    pub(crate) rate_per_app: Option<u64>,

    /// Calls of the public API from one address a second; 0 is without limit [default: 500]
    #[arg(long, env = "SLUICE_RATE_PER_ADDRESS", value_name = "COUNT", help_heading = LIMITS)]
    pub(crate) rate_per_address: Option<u64>,

    /// Bytes of request bodies from one address a second; 0 is without limit [default: 262144]
    #[arg(long, env = "SLUICE_BYTES_PER_ADDRESS", value_name = "BYTES", help_heading = LIMITS)]
    pub(crate) bytes_per_address: Option<u64>,

    /// Bytes of responses stored for one app in a UTC day; 0 is without limit [default: 21474836480]
    #[arg(long, env = "SLUICE_DAILY_BYTES_PER_APP", value_name = "BYTES", help_heading = LIMITS)]
    pub(crate) daily_bytes_per_app: Option<u64>,

    /// Free disk space below which submissions are refused; 0 is none [default: 256 MiB, at most 5 % of the disk]
    #[arg(long, env = "SLUICE_DISK_RESERVE", value_name = "BYTES", help_heading = LIMITS)]
    pub(crate) disk_reserve: Option<u64>,

    /// Connections open at once from one address; further ones are closed, 0 is without limit [default: 1000]
    #[arg(long, env = "SLUICE_MAX_CONNECTIONS_PER_ADDRESS", value_name = "COUNT")]
    pub(crate) max_connections_per_address: Option<u64>,

    /// Address and port for /metrics alone; without it they are on the main one
    #[arg(long, env = "SLUICE_METRICS_LISTEN", value_name = "ADDRESS:PORT")]
    pub(crate) metrics_listen: Option<String>,

    /// How long requests under way may take to finish when the server stops [default: 30]
    #[arg(long, env = "SLUICE_DRAIN_TIMEOUT", value_name = "SECONDS")]
    pub(crate) drain_timeout: Option<u64>,

    /// What to log: a level, or pairs such as warn,sluice=debug [default: warn,sluice=info]
    #[arg(long, env = "SLUICE_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,

    /// How log lines look [default: text]
    #[arg(long, env = "SLUICE_LOG_FORMAT", value_name = "FORMAT", value_enum)]
    pub(crate) log_format: Option<LogFormat>,

    /// Configuration file (TOML) [default: ./sluice.toml if it exists]
    #[arg(long, env = "SLUICE_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
}

/// Reads the command line. Help, version and mistakes end the process here.
pub(crate) fn parse() -> Command {
    Cli::parse_from(with_command(std::env::args_os().collect())).command
}

/// Puts in `serve` where no command was given.
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
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn serve_is_what_no_command_means() {
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
    fn both_helps_say_what_no_command_means() {
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
