//! The folder of a followed export: files by day, and the position up to which they are complete.
//!
//! JSON Lines are appended to one file for each day; the position has its length, and a longer file
//! is cut. Parquet files cannot be appended to: each batch is one file below the folder of its day,
//! named by where it starts, so that a repeated batch replaces the file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sluice_engine::export::{ExportFormat, FORMATS, Followed};
use sluice_flow::time::{Day, Timestamp};

use crate::args::ExportArgs;
use crate::failure::Failure;

const POSITION: &str = "position.json";
const LOCK: &str = ".lock";
/// A batch that is not complete.
const PART: &str = ".part";

/// The format of a followed export: one that can be continued in further files.
pub(super) fn format(args: &ExportArgs) -> Result<&'static ExportFormat, Failure> {
    let default = || FORMATS.iter().copied().find(|it| it.followed == Some(Followed::Lines));
    let chosen = args.format.or_else(default).filter(|format| format.followed.is_some());
    chosen.ok_or_else(|| {
        let can: Vec<_> = FORMATS.iter().filter(|it| it.followed.is_some()).collect();
        let labels: Vec<&str> = can.iter().map(|format| format.label).collect();
        let flags: Vec<String> = can.iter().map(|it| format!("--format {}", it.name)).collect();
        Failure::usage(
            format!("--follow writes {}", labels.join(" or ")),
            format!("choose {}", flags.join(" or ")),
        )
    })
}

/// What the folder contains, and up to which time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Position {
    flow_id: String,
    format: String,
    /// The filters and columns that were asked for.
    query: Vec<(String, String)>,
    /// Everything before this instant is in the folder.
    pub(super) after: Option<Timestamp>,
    /// The day of the last file of lines, and its length.
    day: Option<Day>,
    bytes: u64,
}

#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    position: Position,
    format: &'static ExportFormat,
    /// Held as long as the command runs.
    _lock: File,
}

/// Responses that are being saved.
#[derive(Debug)]
pub(super) struct Batch {
    part: PathBuf,
    file: File,
    day: Day,
    after: Timestamp,
}

impl Folder {
    /// Opens the folder for this command alone, and removes what an interrupted round has left.
    pub(super) fn open(
        path: &Path,
        flow: &str,
        format: &'static ExportFormat,
        query: &[(String, String)],
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| cannot_write(path, &error);
        fs::create_dir_all(path).map_err(failed)?;
        let lock =
            OpenOptions::new().create(true).append(true).open(path.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(
                    format!("another command exports into {}", path.display()),
                    "choose another folder, or end that command",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let new = Position {
            flow_id: flow.to_owned(),
            format: format.name.to_owned(),
            query: query.to_vec(),
            after: None,
            day: None,
            bytes: 0,
        };
        let found = read_position(path)?;
        if found.is_none() && has_files(path).map_err(failed)? {
            return Err(Failure::usage(
                format!("{} has files, but not the position of an export", path.display()),
                "choose a new folder",
            ));
        }
        let is_new = found.is_none();
        let position = found.unwrap_or_else(|| new.clone());
        let wanted = (&new.flow_id, &new.format, &new.query);
        if (&position.flow_id, &position.format, &position.query) != wanted {
            return Err(Failure::usage(
                format!(
                    "{} has the responses of {} as {}, exported with other options",
                    path.display(),
                    position.flow_id,
                    position.format
                ),
                "give the same flow and options, or choose another folder",
            ));
        }
        let folder = Self { path: path.to_owned(), position, format, _lock: lock };
        if is_new {
            folder.write_position(&new).map_err(failed)?;
        }
        folder.remove_leftovers().map_err(failed)?;
        Ok(folder)
    }

    pub(super) fn position(&self) -> &Position {
        &self.position
    }

    /// Begins to save what is new after an instant.
    pub(super) fn batch(&self, day: Day, after: Timestamp) -> Result<Batch, Failure> {
        let part = self.path.join(PART);
        let file = File::create(&part).map_err(|error| cannot_write(&part, &error))?;
        Ok(Batch { part, file, day, after })
    }

    /// Makes a complete batch part of the folder; returns how many responses it has, if that can be
    /// read from it.
    pub(super) fn keep(&mut self, batch: Batch, next: Timestamp) -> Result<Option<u64>, Failure> {
        let part = batch.part.clone();
        let kept = if self.appends() { self.append(batch, next) } else { self.add(batch, next) };
        let kept = kept.map_err(|error| cannot_write(&self.path, &error));
        let _gone = fs::remove_file(part);
        kept
    }

    /// Records that there is nothing new before this instant.
    pub(super) fn advance(&mut self, day: Day, next: Timestamp) -> Result<(), Failure> {
        let (of, bytes) = (self.position.day, self.position.bytes);
        let (of, bytes) = if of == Some(day) { (of, bytes) } else { (Some(day), 0) };
        self.save_position(next, of, bytes).map_err(|error| cannot_write(&self.path, &error))
    }

    fn append(&mut self, batch: Batch, next: Timestamp) -> io::Result<Option<u64>> {
        let path = self.lines_of(batch.day);
        let before = if self.position.day == Some(batch.day) { self.position.bytes } else { 0 };
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        let (mut bytes, mut rows, mut is_complete) = (before, 0, false);
        for line in BufReader::new(File::open(&batch.part)?).split(b'\n') {
            let line = line?;
            // The last line has the cursor; without it the file was cut off.
            if line.starts_with(b"{\"next\":") {
                is_complete = true;
                break;
            }
            file.write_all(&line)?;
            file.write_all(b"\n")?;
            bytes += line.len() as u64 + 1;
            rows += 1;
        }
        if !is_complete {
            file.set_len(before)?;
            return Err(io::Error::other("the server sent an incomplete file"));
        }
        file.sync_all()?;
        sync_folder(&self.path)?;
        self.save_position(next, Some(batch.day), bytes)?;
        Ok(Some(rows))
    }

    fn add(&mut self, batch: Batch, next: Timestamp) -> io::Result<Option<u64>> {
        let folder = self.path.join(batch.day.to_string());
        fs::create_dir_all(&folder)?;
        batch.file.sync_all()?;
        let rows = self.format.rows_in(&File::open(&batch.part)?);
        fs::rename(&batch.part, folder.join(self.part_name(batch.after)))?;
        sync_folder(&folder)?;
        sync_folder(&self.path)?;
        self.save_position(next, Some(batch.day), 0)?;
        Ok(rows)
    }

    /// `101500123` and the ending for a batch that starts at 10:15:00.123.
    fn part_name(&self, after: Timestamp) -> String {
        let time: String = after.to_string().chars().skip_while(|it| *it != 'T').collect();
        let digits: String = time.chars().filter(char::is_ascii_digit).collect();
        format!("{digits}.{}", self.format.extension)
    }

    fn appends(&self) -> bool {
        self.format.followed == Some(Followed::Lines)
    }

    fn lines_of(&self, day: Day) -> PathBuf {
        self.path.join(format!("{day}.{}", self.format.extension))
    }

    /// Removes what was written after the position.
    fn remove_leftovers(&self) -> io::Result<()> {
        remove_if_there(&self.path.join(PART))?;
        remove_if_there(&self.path.join(format!("{POSITION}{PART}")))?;
        let Position { after, day, bytes, .. } = &self.position;
        let Some(after) = after else { return self.remove_all() };
        if !self.appends() {
            let folder = self.path.join(after.day().to_string());
            return remove_if_there(&folder.join(self.part_name(*after)));
        }
        let path = self.lines_of(after.day());
        if *day == Some(after.day()) {
            match OpenOptions::new().write(true).open(&path) {
                // Whatever shortened it, zeros must not take its place.
                Ok(file) if file.metadata()?.len() < *bytes => {
                    let what = format!("{} is shorter than it was", path.display());
                    Err(io::Error::other(format!("{what}; follow into another folder")))
                }
                Ok(file) => file.set_len(*bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound && *bytes == 0 => Ok(()),
                Err(error) => Err(error),
            }
        } else {
            remove_if_there(&path)
        }
    }

    /// Before the first position, only an interrupted first batch can be here.
    fn remove_all(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            let ending = format!(".{}", self.format.extension);
            let day = name.strip_suffix(&ending).unwrap_or(name).parse::<Day>();
            if day.is_err() {
                continue;
            }
            if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
        }
        Ok(())
    }

    /// Replaces the position file, durably.
    fn save_position(&mut self, after: Timestamp, day: Option<Day>, bytes: u64) -> io::Result<()> {
        let position = Position { after: Some(after), day, bytes, ..self.position.clone() };
        self.write_position(&position)?;
        self.position = position;
        Ok(())
    }

    fn write_position(&self, position: &Position) -> io::Result<()> {
        let (path, part) = (self.path.join(POSITION), self.path.join(format!("{POSITION}{PART}")));
        let mut file = File::create(&part)?;
        file.write_all(serde_json::to_string_pretty(position)?.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&part, &path)?;
        sync_folder(&self.path)
    }
}

impl Batch {
    pub(super) fn write(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.file.write_all(piece).map_err(|error| cannot_write(&self.part, &error))
    }
}

fn read_position(folder: &Path) -> Result<Option<Position>, Failure> {
    let path = folder.join(POSITION);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot_write(&path, &error)),
    };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        Failure::new(
            format!("{} cannot be read: {error}", path.display()),
            "choose a new folder to export everything again",
        )
    })
}

/// Whether the folder has anything besides the lock and an unfinished position.
fn has_files(folder: &Path) -> io::Result<bool> {
    let own = [LOCK.to_owned(), format!("{POSITION}{PART}")];
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !own.iter().any(|it| name == it.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        format!("cannot write {}: {error}", path.display()),
        "check the folder and its disk",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn open(path: &Path, followed: Followed) -> Result<Folder, Failure> {
        let format = FORMATS.iter().find(|it| it.followed == Some(followed)).unwrap();
        Folder::open(path, "fl_1", format, &[])
    }

    /// The path of a file, with the ending of its format.
    fn file(folder: &Path, name: &str, followed: Followed) -> PathBuf {
        let format = FORMATS.iter().find(|it| it.followed == Some(followed)).unwrap();
        folder.join(format!("{name}.{}", format.extension))
    }

    fn saved(
        folder: &mut Folder,
        after: &str,
        content: &str,
        next: &str,
    ) -> Result<Option<u64>, Failure> {
        let mut batch = folder.batch(at(after).day(), at(after)).unwrap();
        batch.write(content.as_bytes()).unwrap();
        folder.keep(batch, at(next))
    }

    const ONE: &str = "2026-11-17T10:00:00.000Z";
    const TWO: &str = "2026-11-17T11:00:00.000Z";
    const MIDNIGHT: &str = "2026-11-18T00:00:00.000Z";
    const NEXT: &str = "{\"next\":\"x\"}\n";

    #[test]
    fn lines_are_appended_and_what_was_written_after_the_position_is_cut() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("out");
        let read = |day: &str| fs::read_to_string(file(&path, day, Followed::Lines)).unwrap();
        // The first position was interrupted, then the first batch.
        fs::create_dir(&path).unwrap();
        fs::write(path.join("position.json.part"), "{").unwrap();
        drop(open(&path, Followed::Lines).unwrap());
        fs::write(file(&path, "2026-11-17", Followed::Lines), "half").unwrap();
        let mut folder = open(&path, Followed::Lines).unwrap();
        assert!(!file(&path, "2026-11-17", Followed::Lines).exists());
        assert_eq!(
            saved(&mut folder, ONE, &format!("{{\"a\":1}}\n{{\"a\":2}}\n{NEXT}"), TWO).unwrap(),
            Some(2)
        );
        assert_eq!(read("2026-11-17"), "{\"a\":1}\n{\"a\":2}\n");
        // A file that was cut off on its way is not kept.
        assert!(saved(&mut folder, TWO, "{\"a\":3}\n", MIDNIGHT).is_err());
        assert_eq!(read("2026-11-17"), "{\"a\":1}\n{\"a\":2}\n");
        drop(folder);
        // Killed between the lines and the position.
        fs::write(
            file(&path, "2026-11-17", Followed::Lines),
            "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a",
        )
        .unwrap();
        fs::write(path.join(PART), "half").unwrap();
        let mut folder = open(&path, Followed::Lines).unwrap();
        assert_eq!(read("2026-11-17"), "{\"a\":1}\n{\"a\":2}\n");
        assert_eq!(folder.position().after, Some(at(TWO)));
        assert!(!path.join(PART).exists());
        saved(&mut folder, TWO, &format!("{{\"a\":3}}\n{NEXT}"), MIDNIGHT).unwrap();
        drop(folder);
        // The same with the first lines of another day.
        fs::write(file(&path, "2026-11-18", Followed::Lines), "{\"a\":4}\n").unwrap();
        let mut folder = open(&path, Followed::Lines).unwrap();
        assert!(!file(&path, "2026-11-18", Followed::Lines).exists());
        folder.advance(at(MIDNIGHT).day(), at("2026-11-18T01:00:00.000Z")).unwrap();
        drop(folder);
        open(&path, Followed::Lines).unwrap();
        assert_eq!(read("2026-11-17"), "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    }

    #[test]
    fn a_repeated_batch_replaces_its_parquet_file() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = open(home.path(), Followed::Files).unwrap();
        saved(&mut folder, ONE, "first", TWO).unwrap();
        drop(folder);
        let (first, second) = (
            file(home.path(), "2026-11-17/100000000", Followed::Files),
            file(home.path(), "2026-11-17/110000000", Followed::Files),
        );
        fs::write(&second, "from a round without its position").unwrap();
        let mut folder = open(home.path(), Followed::Files).unwrap();
        assert!(first.exists() && !second.exists());
        saved(&mut folder, TWO, "second", MIDNIGHT).unwrap();
        assert_eq!(fs::read_to_string(&second).unwrap(), "second");
    }

    #[test]
    fn a_folder_belongs_to_one_command_and_one_flow() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = open(home.path(), Followed::Lines).unwrap();
        assert!(
            open(home.path(), Followed::Lines).unwrap_err().to_string().contains("another command")
        );
        saved(&mut folder, ONE, NEXT, TWO).unwrap();
        drop(folder);
        let other = open(home.path(), Followed::Files).unwrap_err().to_string();
        assert!(other.contains("has the responses of fl_1 as "), "{other}");
        let foreign = tempfile::tempdir().unwrap();
        fs::write(file(foreign.path(), "2026-11-17", Followed::Lines), "mine").unwrap();
        assert!(
            open(foreign.path(), Followed::Lines).unwrap_err().to_string().contains("new folder")
        );
        assert!(file(foreign.path(), "2026-11-17", Followed::Lines).exists());
        fs::write(home.path().join(POSITION), "{").unwrap();
        assert!(
            open(home.path(), Followed::Lines).unwrap_err().to_string().contains("cannot be read")
        );
    }
}
