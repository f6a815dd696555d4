//! `sluice responses export` and `codebook`: write a file, which appears when complete.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sluice_engine::export::{ExportFormat, FORMATS, LineFormat};

use super::target;
use crate::args::{CodebookArgs, ExportArgs};
use crate::client::{CallError, Server};
use crate::failure::{Exit, Failure, Outcome};
use crate::output;
use crate::progress::Progress;

/// The reply header with the number of responses to expect.
const TOTAL: &str = "x-total-count";

/// `sluice responses export --out`.
pub(crate) async fn export(args: ExportArgs, out: &Path) -> Outcome {
    or_interrupted(run(args, out)).await
}

/// `sluice responses codebook`: writes the ids and labels of a flow to a file.
pub(crate) async fn codebook(args: CodebookArgs) -> Outcome {
    or_interrupted(save_codebook(args)).await
}

async fn or_interrupted(work: impl Future<Output = Outcome>) -> Outcome {
    tokio::select! {
        outcome = work => outcome,
        // Dropping the future removes the partial file.
        _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
    }
}

async fn save_codebook(args: CodebookArgs) -> Outcome {
    let server = Server::new(args.of.server.clone())?;
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    let path = format!("/flows/{flow}/export/codebook");
    let mut download = server.download(&path, &[]).await?;
    let mut target = Target::open(&args.out)?;
    if save(&server, &mut download, &mut target, |_| {}).await? == OutputState::Open {
        target.finish()?;
        if args.out != Path::new("-") {
            output::note(format_args!("{} written", args.out.display()));
        }
    }
    Ok(Exit::Done)
}

async fn run(args: ExportArgs, out: &Path) -> Outcome {
    let format = args.format.unwrap_or(FORMATS[0]);
    let server = Server::new(args.of.server.clone())?;
    let flow = target::flow_id(&server, &args.flow, args.of.app).await?;
    let path = format!("/flows/{flow}/export");
    let mut download = server.download(&path, &query(&args, format)).await?;
    let total = download.headers().get(TOTAL);
    let total = total.and_then(|total| total.to_str().ok()).and_then(|it| it.parse().ok());
    let mut target = Target::open(out)?;
    let mut lines = LineCounter::new(format);
    let progress = match &lines {
        Some(_) => Progress::start("exporting", 0, total),
        None => Progress::in_bytes("exporting"),
    };
    let count = |piece: &[u8]| {
        let counted = lines.as_mut().map(|lines| lines.count(piece));
        progress.advance(counted.unwrap_or(piece.len() as u64));
    };
    if save(&server, &mut download, &mut target, count).await? == OutputState::Closed {
        return Ok(Exit::Done);
    }
    drop(progress);
    target.finish()?;
    match (lines.map(|lines| lines.rows()), total) {
        (Some(rows), _) | (None, Some(rows)) => {
            output::note(format_args!("{} exported", output::counted(rows, "response")));
        }
        (None, None) => output::note(format_args!("{} written", out.display())),
    }
    Ok(Exit::Done)
}

/// Writes everything that arrives, and counts each piece after it was written.
async fn save(
    server: &Server,
    download: &mut reqwest::Response,
    target: &mut Target,
    mut count: impl FnMut(&[u8]),
) -> Result<OutputState, Failure> {
    loop {
        match server.piece(download).await {
            Ok(Some(piece)) => {
                let piece = piece.as_ref();
                if target.write(piece)? == OutputState::Closed {
                    return Ok(OutputState::Closed);
                }
                count(piece);
            }
            Ok(None) => return Ok(OutputState::Open),
            Err(CallError::Away(_) | CallError::Later(_)) => {
                return Err(Failure::new(
                    "the export was interrupted, and its partial file was removed",
                    "run it again; the server's log reports why",
                ));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The format, the columns and the filters as the server takes them.
pub(crate) fn query(args: &ExportArgs, format: &ExportFormat) -> Vec<(String, String)> {
    let mut query = vec![("format".to_owned(), format.name.to_owned())];
    let mut add = |name: &str, value: Option<String>| {
        query.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("values", args.values.map(|values| values.as_str().to_owned()));
    add("columns", args.columns.clone());
    add("version", args.version.map(|id| id.to_string()));
    add("from", args.from.map(|time| time.to_string()));
    add("to", args.to.map(|time| time.to_string()));
    add("admission", args.admission.clone());
    add("search", args.search.clone());
    let named = |kind: &'static str, pairs: &[(String, String)]| {
        let pairs = pairs.to_vec();
        pairs.into_iter().map(move |(name, value)| (format!("{kind}.{name}"), value))
    };
    query.extend(named("tag", &args.tags));
    query.extend(named("answer", &args.answers));
    query
}

#[derive(Debug, PartialEq, Eq)]
enum OutputState {
    Open,
    Closed,
}

/// Where the export goes: stdout, or a file that gets its final name when it is complete.
enum Target {
    Stdout,
    File { part: PathBuf, path: PathBuf, file: Option<File> },
}

impl Target {
    fn open(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stdout);
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|error| cannot_write(&part, &error))?;
        Ok(Self::File { part, path: path.to_owned(), file: Some(file) })
    }

    fn write(&mut self, piece: &[u8]) -> Result<OutputState, Failure> {
        match self {
            Self::Stdout => match io::stdout().lock().write_all(piece) {
                Ok(()) => Ok(OutputState::Open),
                // The reader closed the pipe, as `head` does.
                Err(_) => Ok(OutputState::Closed),
            },
            Self::File { part, file, .. } => {
                if let Some(file) = file {
                    file.write_all(piece).map_err(|error| cannot_write(part, &error))?;
                }
                Ok(OutputState::Open)
            }
        }
    }

    /// Renames the file to its final name.
    fn finish(mut self) -> Result<(), Failure> {
        let Self::File { part, path, file } = &mut self else { return Ok(()) };
        if let Some(open) = file {
            open.sync_all().map_err(|error| cannot_write(part, &error))?;
        }
        std::fs::rename(&*part, &*path).map_err(|error| cannot_write(path, &error))?;
        *file = None;
        Ok(())
    }
}

impl Drop for Target {
    /// Removes an incomplete file.
    fn drop(&mut self) {
        if let Self::File { part, file: Some(_), .. } = self {
            let _gone = std::fs::remove_file(part);
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()), "check --out")
}

/// Counts the responses in a file as it arrives, if the format has one per line.
struct LineCounter {
    lines: LineFormat,
    ends: u64,
    in_quotes: bool,
}

impl LineCounter {
    fn new(format: &ExportFormat) -> Option<Self> {
        format.lines.map(|lines| Self { lines, ends: 0, in_quotes: false })
    }

    /// Counts the responses that end in this chunk.
    fn count(&mut self, piece: &[u8]) -> u64 {
        let before = self.rows();
        for byte in piece {
            match byte {
                b'"' if self.lines.has_quotes => self.in_quotes = !self.in_quotes,
                b'\n' if !self.in_quotes => self.ends += 1,
                _ => {}
            }
        }
        self.rows() - before
    }

    fn rows(&self) -> u64 {
        self.ends.saturating_sub(u64::from(self.lines.has_header))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(format: &str) -> Option<LineCounter> {
        LineCounter::new(ExportFormat::named(format)?)
    }

    #[test]
    fn responses_are_counted_whatever_their_texts_contain() {
        let csv = b"id,why\r\n1,\"a\r\nb\"\r\n2,\"say \"\"hi\"\"\n\"\r\n";
        for cut in 0..csv.len() {
            let mut lines = counter("csv").unwrap();
            let (one, other) = csv.split_at(cut);
            assert_eq!(lines.count(one) + lines.count(other), 2, "cut at {cut}");
        }
        let mut lines = counter("jsonl").unwrap();
        assert_eq!(lines.count(b"{\"a\":\"x\\\"\"}\n{}\n"), 2);
        for format in FORMATS {
            assert_eq!(LineCounter::new(format).is_some(), format.lines.is_some());
        }
    }
}
