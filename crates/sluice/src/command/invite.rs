//! `sluice invite`: invites people one by one or from a file, lists invitations, and revokes
//! them.
//!
//! A file is sent in parts, twice: first as a dry run, so that nobody is invited while any line is
//! invalid, then for real. Parts allow progress to be shown and files of any length.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use sluice_engine::{NewInvitation, invitation_files};
use sluice_flow::definition::Fault;

use super::target;
use crate::args::{InviteAddArgs, InviteCommand, InviteImportArgs, InviteListArgs};
use crate::client::{CallError, Server, field};
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{self, counted, quoted};
use crate::progress::Progress;

/// People in one call.
const PART_LINES: usize = 2_000;
/// Invitations in one page of a list.
const PAGE_ITEMS: usize = 500;

pub(crate) async fn run(command: InviteCommand) -> Outcome {
    match command {
        InviteCommand::Add(args) => add(args).await,
        InviteCommand::Import(args) => import(args).await,
        InviteCommand::List(args) => list(args).await,
        InviteCommand::Revoke { invitation, server } => {
            let server = Server::new(server)?;
            server.delete(&format!("/invitations/{invitation}"), &[]).await?;
            output::note(format_args!("{invitation} is revoked"));
            Ok(Exit::Done)
        }
    }
}

async fn add(args: InviteAddArgs) -> Outcome {
    let server = Server::new(args.of.server)?;
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    let mut identities = Vec::new();
    identities.extend(args.user_id.map(|value| json!({"type": "userId", "value": value})));
    identities.extend(args.email.map(|value| json!({"type": "traits.email", "value": value})));
    let mut body = json!({"identities": identities});
    if let Some(expires) = args.expires {
        body["expiresAt"] = json!(expires);
    }
    let mode = if args.again { "allow" } else { "refuse" };
    let send = args.send_email;
    let path = format!("/flows/{flow}/invitations?duplicates={mode}&sendEmail={send}");
    let made = server.post(&path, Some(&body)).await?;
    output::line(format_args!("{}  {}", field(&made, "flowAssignmentId"), field(&made, "link")));
    Ok(Exit::Done)
}

async fn import(args: InviteImportArgs) -> Outcome {
    let server = Server::new(args.of.server)?;
    let file = std::fs::read(&args.file).map_err(|error| file_error("read", &args.file, &error))?;
    let people = match invitation_files::read_all(&file) {
        Ok(people) => people,
        Err(faults) => return Ok(print_faults(&args.file, &faults)),
    };
    let twice = invitation_files::twice(&people);
    if !twice.is_empty() && !args.skip_invited {
        return Ok(print_faults(&args.file, &twice));
    }
    let mode = if args.skip_invited { "skip" } else { "refuse" };
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    let send = args.send_email;
    let call = |check: bool| {
        format!("/flows/{flow}/invitations?duplicates={mode}&checkOnly={check}&sendEmail={send}")
    };
    let total = Some(people.len() as u64);
    let progress = Progress::start("checking", 0, total);
    let mut faults = Vec::new();
    for part in people.chunks(PART_LINES) {
        match server.post_csv(&call(true), invitation_files::write_people(part)).await {
            Ok(_) => {}
            Err(CallError::Faults(found)) => {
                faults.extend(found.iter().map(|it| in_file(it, part)))
            }
            Err(error) => return Err(error.into()),
        }
        progress.advance(part.len() as u64);
    }
    drop(progress);
    if !faults.is_empty() {
        return Ok(print_faults(&args.file, &faults));
    }
    let options = File::options().write(true).create_new(true).open(&args.out);
    let mut out = options.map_err(|error| file_error("make", &args.out, &error))?;
    let progress = Progress::start("inviting", 0, total);
    let mut made = 0;
    for part in people.chunks(PART_LINES) {
        let links = server
            .post_csv(&call(false), invitation_files::write_people(part))
            .await
            .map_err(|error| {
                let reason = Failure::from(error).to_string().replace('\n', " ");
                Failure::new(
                    format!("{made} were invited, then the import was interrupted: {reason}"),
                    format!(
                        "their links are in {}; continue with --skip-invited and another --out",
                        args.out.display()
                    ),
                )
            })?;
        // The output has the header line once.
        let rows = if made == 0 { &links[..] } else { after_first_line(&links) };
        let kept = out.write_all(rows).and_then(|()| out.sync_data());
        kept.map_err(|error| file_error("write", &args.out, &error))?;
        made += links.iter().filter(|byte| **byte == b'\n').count().saturating_sub(1);
        progress.advance(part.len() as u64);
    }
    drop(progress);
    let skipped = people.len() - made;
    output::line(format_args!(
        "{made} invited, {skipped} skipped; the links are in {}",
        args.out.display()
    ));
    Ok(Exit::Done)
}

/// The same fault with the line number of the whole file; the first line of a part is the header.
fn in_file(fault: &Fault, part: &[NewInvitation]) -> Fault {
    let mut steps = fault.pointer.splitn(3, '/').skip(1);
    let line = steps.next().and_then(|line| line.parse::<usize>().ok());
    let person = line.and_then(|line| part.get(line.checked_sub(2)?));
    let Some(line) = person.and_then(|person| person.line) else { return fault.clone() };
    let rest = steps.next().map(|rest| format!("/{rest}")).unwrap_or_default();
    Fault::new(format!("/{line}{rest}"), fault.message.clone())
}

/// Prints faults as `FILE:LINE: what`.
fn print_faults(file: &Path, faults: &[Fault]) -> Exit {
    for fault in faults {
        let mut steps = fault.pointer.splitn(3, '/').skip(1);
        let line = steps.next().map(|line| format!(":{line}")).unwrap_or_default();
        let column = steps.next().map(|column| format!("{column} ")).unwrap_or_default();
        output::line(format_args!("{}{line}: {column}{}", file.display(), fault.message));
    }
    let count = counted(faults.len() as u64, "fault");
    output::note(format_args!("{count}; nobody was invited"));
    Exit::Faults
}

fn after_first_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
    &text[end..]
}

fn file_error(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("cannot {verb} {}: {error}", path.display()),
        "name a file that can be used; --out must not exist yet",
    )
}

async fn list(args: InviteListArgs) -> Outcome {
    let server = Server::new(args.of.server)?;
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    let path = format!("/flows/{flow}/invitations");
    let mut after: Option<String> = None;
    let mut counts = Value::Null;
    loop {
        let mut query = vec![("limit", PAGE_ITEMS.to_string())];
        query.extend(args.state.map(|state| ("state", state.as_str().to_owned())));
        query.extend(after.map(|after| ("after", after)));
        let mut page = server.get(&path, &query).await?;
        for item in page["items"].as_array().into_iter().flatten() {
            if output::print(&format!("{}\n", args.json.shown(item, invitation_line))).is_err() {
                return Ok(Exit::Done);
            }
        }
        if page["counts"].is_object() {
            counts = page["counts"].take();
        }
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    let of = |state: &str| format!("{} {state}", counts[state]);
    let all = ["sent", "opened", "completed", "expired", "revoked"].map(of);
    output::note(all.join(", "));
    Ok(Exit::Done)
}

/// The id, the state, the invited person, and the link.
fn invitation_line(item: &Value) -> String {
    let mut line = format!("{}  {:<9}", field(item, "flowAssignmentId"), field(item, "state"));
    for identity in item["identities"].as_array().into_iter().flatten() {
        line.push_str(&format!("  {}", quoted(field(identity, "value"))));
    }
    line.push_str(&format!("  {}", field(item, "link")));
    line
}
