//! The binary: command line, configuration, and the wiring of a server.
//!
//! Reading order: [`args`] defines the command line; [`config`] turns flags, environment and file
//! into settings; [`backend`] is the only module that names a storage backend; [`serve`] starts the
//! server; [`command`] holds the other commands, most of which call a running server through
//! [`client`]. No flow rules are in here.

mod args;
mod backend;
mod banner;
mod certificate;
mod client;
mod command;
mod config;
mod demo;
mod failure;
mod flow_file;
#[cfg(test)]
#[path = "../../../fuzz/targets/mod.rs"]
mod fuzz_targets;
mod listeners;
mod logging;
mod mail;
mod master_key;
#[cfg(feature = "mcp")]
mod mcp;
mod nats;
mod new_file;
mod number_setting;
#[cfg(unix)]
mod open_files;
mod otlp;
mod outgoing_spans;
mod output;
mod profile;
mod progress;
mod reload;
mod serve;
mod sign_in;
mod signals;
mod systemd;
mod tuning;
mod web_addresses;
mod yaml;
mod yaml_writer;

use std::process::ExitCode;
use std::time::Duration;

use args::Command;
use failure::Outcome;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long a blocked thread may keep a finished process alive.
const LEFTOVERS_MAX: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let command = args::parse();
    let exit = run(command).unwrap_or_else(|failure| {
        output::print_failure(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}

fn run(command: Command) -> Outcome {
    // Commands that need no runtime run without one.
    let command = match command {
        Command::Flow(args::FlowCommand::Check(check)) => return command::check::run(&check),
        command => command,
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(workers()).enable_all().build();
    let runtime = runtime.map_err(|error| {
        failure::Failure::new(
            format!("cannot start worker threads: {error}"),
            "raise the limit of processes or memory for this user",
        )
    })?;
    let outcome = runtime.block_on(dispatch(command));
    runtime.shutdown_timeout(LEFTOVERS_MAX);
    outcome
}

/// One worker per core except one, which is left to the writer thread or the database server that
/// everything else waits for. `TOKIO_WORKER_THREADS` overrides it.
fn workers() -> usize {
    let configured =
        std::env::var("TOKIO_WORKER_THREADS").ok().and_then(|configured| configured.parse().ok());
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    configured.unwrap_or_else(|| cores() - 1).max(1)
}

async fn dispatch(command: Command) -> Outcome {
    match command {
        Command::Serve(serve) => serve::run(*serve).await,
        Command::Flow(flow) => command::flow::run(flow).await,
        Command::Types(types) => command::types::run(types).await,
        Command::Responses(args::ResponsesCommand::Tail(tail)) => {
            command::responses::tail(tail).await
        }
        Command::Responses(args::ResponsesCommand::Export(export)) => {
            match (export.follow.clone(), export.out.clone()) {
                (Some(folder), _) => command::follow::run(&export, &folder).await,
                (None, out) => command::export::export(*export, &out.unwrap_or_default()).await,
            }
        }
        Command::Responses(args::ResponsesCommand::Codebook(codebook)) => {
            command::export::codebook(codebook).await
        }
        Command::Import(mut import) => match import.responses.take() {
            Some(args::ImportCommand::Responses(responses)) => {
                command::import_responses::run(responses).await
            }
            None => command::import::run(*import).await,
        },
        Command::Respondent(respondent) => command::respondent::run(respondent).await,
        Command::App(app) => command::app::run(app).await,
        Command::Identity(identity) => command::identity::run(identity).await,
        Command::Token(token) => command::token::run(token).await,
        Command::User(user) => command::user::run(user).await,
        Command::Key(args::KeyCommand::Create(args)) => command::api_key::create(args).await,
        Command::Key(args::KeyCommand::List(args)) => command::api_key::list(args).await,
        Command::Key(args::KeyCommand::Revoke(args)) => command::api_key::revoke(args).await,
        Command::Key(args::KeyCommand::Rotate(rotate)) => command::key::rotate(rotate).await,
        Command::Mcp(mcp) => command::mcp::run(mcp).await,
        Command::Mail(args::MailCommand::Test(test)) => command::mail::test(test).await,
        Command::Outbound(args::OutboundCommand::Status(args)) => {
            command::outbound::status(args).await
        }
        Command::Outbound(args::OutboundCommand::Resume(args)) => {
            command::outbound::resume(args).await
        }
        Command::Invite(invite) => command::invite::run(invite).await,
        Command::Move(moving) => command::moving::run(&moving).await,
        Command::Recount(recount) => command::recount::run(recount).await,
        Command::Backup(backup) => command::backup::run(backup).await,
        Command::Restore(restore) => command::restore::run(restore).await,
        Command::Verify(verify) => command::verify::run(verify).await,
        Command::Completions(it) => command::manual::completions(&it, args::definition()),
        Command::Man(it) => command::manual::man(&it, args::definition()),
    }
}
