//! `sluice responses export --follow`: a folder with the responses of a flow, by day, that grows.
//!
//! Each round asks for what is new since the position in `position.json`, within one UTC day, and
//! saves it ([`folder`]). The position is written after the responses, so a round that was
//! interrupted is repeated, and what it has left behind is removed first: nothing is lost or
//! duplicated.

mod folder;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sluice_flow::time::Timestamp;

use self::folder::{Batch, Folder, Position};
use super::export::query;
use super::target;
use crate::args::ExportArgs;
use crate::client::{CallError, Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{self, counted};
use crate::progress::Progress;

/// Between two attempts to reach a server that was reached before.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// The reply header with the next cursor.
const NEXT: &str = "x-next-cursor";
/// The reply header that is 0 if nothing is new.
const TOTAL: &str = "x-total-count";

pub(crate) async fn run(args: &ExportArgs, into: &Path) -> Outcome {
    tokio::select! {
        outcome = follow(args, into) => outcome,
        // What is half written is removed by the next run.
        _ = tokio::signal::ctrl_c() => Ok(Exit::Done),
    }
}

async fn follow(args: &ExportArgs, into: &Path) -> Outcome {
    let format = folder::format(args)?;
    let server = Server::new(args.of.server.clone())?;
    let asked = query(args, format);
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    let source = Source { server, flow, from: args.from };
    let mut folder = Folder::open(into, &source.flow, format, &asked)?;
    let (mut away, mut waits, mut reached, mut total) = (false, false, false, Some(0));
    loop {
        let round = round(&source, &asked, &mut folder).await;
        let saved = match round {
            Ok(saved) => saved,
            Err(RoundError::Local(failure)) => return Err(failure),
            // The server was never reached: report that instead of waiting for a restart.
            Err(RoundError::Call(CallError::Away(failure))) if !reached => return Err(failure),
            Err(RoundError::Call(CallError::Away(failure) | CallError::Later(failure))) => {
                if !std::mem::replace(&mut away, true) {
                    output::note(format_args!("{failure}\ntrying again …"));
                }
                tokio::time::sleep(RECONNECT_PAUSE).await;
                continue;
            }
            Err(RoundError::Call(error)) => return Err(error.into()),
        };
        reached = true;
        if std::mem::take(&mut away) {
            output::note("connected again");
        }
        total = total.zip(saved.responses).map(|(sum, more)| sum + more);
        if !saved.is_up_to_date {
            continue;
        }
        if args.once {
            match total {
                Some(total) => {
                    output::note(format_args!("{} exported", counted(total, "response")))
                }
                None => output::note("up to date"),
            }
            return Ok(Exit::Done);
        }
        if !std::mem::replace(&mut waits, true) {
            output::note("up to date; waiting for responses; Ctrl-C ends this");
        }
        tokio::time::sleep(args.interval).await;
    }
}

/// Where responses come from.
struct Source {
    server: Server,
    flow: String,
    /// Only those received at this time or later.
    from: Option<Timestamp>,
}

enum RoundError {
    Local(Failure),
    Call(CallError),
}

impl From<Failure> for RoundError {
    fn from(failure: Failure) -> Self {
        Self::Local(failure)
    }
}

impl From<CallError> for RoundError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// What a round has saved.
struct Saved {
    /// How many, if that is known.
    responses: Option<u64>,
    /// Whether the server had nothing more at that moment.
    is_up_to_date: bool,
}

/// Asks for what is new within the day of the position, and saves it.
async fn round(
    source: &Source,
    asked: &[(String, String)],
    folder: &mut Folder,
) -> Result<Saved, RoundError> {
    let Some(after) = start(source, folder).await? else {
        return Ok(Saved { responses: Some(0), is_up_to_date: true });
    };
    let day = after.day();
    let day_ends = day.plus(1).starts_at();
    let mut query = asked.to_vec();
    query.push(("after".to_owned(), after.to_string()));
    query.push(("to".to_owned(), day_ends.to_string()));
    let path = format!("/flows/{}/export", source.flow);
    let mut download = source.server.download(&path, &query).await?;
    let header = |name: &str| download.headers().get(name).and_then(|it| it.to_str().ok());
    let next: Option<Timestamp> = header(NEXT).and_then(|next| next.parse().ok());
    let next = next.ok_or_else(|| {
        Failure::new("the server does not know cursors", "use the release of this program")
    })?;
    let is_empty = header(TOTAL) == Some("0");
    // The server's clock was set back: what comes now is announced once it has caught up.
    if next < after {
        return Ok(Saved { responses: Some(0), is_up_to_date: true });
    }
    let is_up_to_date = next < day_ends;
    if is_empty {
        folder.advance(day, next)?;
        return Ok(Saved { responses: Some(0), is_up_to_date });
    }
    let mut batch = folder.batch(day, after)?;
    save(&source.server, &mut download, &mut batch).await?;
    let responses = folder.keep(batch, next)?;
    match responses {
        Some(responses) => {
            output::note(format_args!("{} up to {next}", counted(responses, "response")));
        }
        None => output::note(format_args!("responses up to {next}")),
    }
    Ok(Saved { responses, is_up_to_date })
}

async fn save(
    server: &Server,
    download: &mut reqwest::Response,
    batch: &mut Batch,
) -> Result<(), RoundError> {
    let progress = Progress::in_bytes("exporting");
    while let Some(piece) = server.piece(download).await? {
        let piece = piece.as_ref();
        batch.write(piece)?;
        progress.advance(piece.len() as u64);
    }
    Ok(())
}

/// The position, or at first the start of the day of the first response; `None` if there is none
/// yet.
async fn start(source: &Source, folder: &Folder) -> Result<Option<Timestamp>, RoundError> {
    if let Position { after: Some(after), .. } = folder.position() {
        return Ok(Some(*after));
    }
    let path = format!("/flows/{}/responses", source.flow);
    let page = source.server.get(&path, &[("limit", "1".to_owned())]).await?;
    let first = page["items"].as_array().and_then(|items| items.first());
    let received = first.map(|first: &Value| field(first, "receivedAt").parse::<Timestamp>());
    // Days before the requested ones have no responses.
    let received =
        received.and_then(Result::ok).map(|at| source.from.map_or(at, |from| at.max(from)));
    Ok(received.map(|at| at.day().starts_at()))
}
