//! Progress of a long command, on stderr: a bar on a terminal, otherwise a line every few seconds.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::output::{self, counted};

/// Time between two lines if stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Time between two redraws of the bar.
const PICTURE_EVERY: Duration = Duration::from_millis(100);
const BAR_CHARS: usize = 30;
/// Moves to the start of the line and clears it.
const WIPE: &str = "\r\u{1b}[K";

/// One phase of the work.
pub(crate) struct Progress {
    what: &'static str,
    /// What was done before this phase began.
    done_before: u64,
    total: Option<u64>,
    unit: Unit,
    begun: Instant,
    on_terminal: bool,
    state: Mutex<State>,
}

/// The unit of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Records,
    Bytes,
}

struct State {
    done: u64,
    shown_at: Instant,
}

impl Progress {
    /// Starts a phase with `done` units already done; its total may be unknown.
    pub(crate) fn start(what: &'static str, done: u64, total: Option<u64>) -> Self {
        let begun = Instant::now();
        let state = Mutex::new(State { done, shown_at: begun });
        let on_terminal = io::stderr().is_terminal();
        Self { what, done_before: done, total, unit: Unit::Records, begun, on_terminal, state }
    }

    /// Starts a phase that is counted in bytes.
    pub(crate) fn in_bytes(what: &'static str) -> Self {
        let mut progress = Self::start(what, 0, None);
        progress.unit = Unit::Bytes;
        progress
    }

    pub(crate) fn advance(&self, by: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done += by;
        let every = if self.on_terminal { PICTURE_EVERY } else { LINE_EVERY };
        if state.shown_at.elapsed() < every {
            return;
        }
        state.shown_at = Instant::now();
        let line = self.line(state.done, self.begun.elapsed());
        if self.on_terminal {
            let mut stderr = io::stderr().lock();
            let _gone = write!(stderr, "{WIPE}{line}").and_then(|()| stderr.flush());
        } else {
            output::note(line);
        }
    }

    fn line(&self, done: u64, elapsed: Duration) -> String {
        let speed = (done - self.done_before) as f64 / elapsed.as_secs_f64().max(0.001);
        let mut line = format!("{:<9} ", self.what);
        // A source that grows during the work may exceed its total.
        let total = self.total.map(|total| total.max(done).max(1));
        let Some(total) = total else {
            const MIB: f64 = 1024.0 * 1024.0;
            let _infallible = match self.unit {
                Unit::Records => write!(line, "{}, {speed:.0}/s", counted(done, "record")),
                Unit::Bytes => {
                    write!(line, "{:.1} MiB, {:.1} MiB/s", done as f64 / MIB, speed / MIB)
                }
            };
            return line;
        };
        let share = done as f64 / total as f64;
        if self.on_terminal {
            let full = (share * BAR_CHARS as f64) as usize;
            let bar = "#".repeat(full) + &".".repeat(BAR_CHARS - full.min(BAR_CHARS));
            let _infallible = write!(line, "[{bar}] ");
        }
        let percent = (share * 100.0).floor();
        let records = counted(total, "record");
        let _infallible = write!(line, "{percent} %, {done} of {records}, {speed:.0}/s");
        if speed > 0.0 {
            let left = (total - done) as f64 / speed;
            let _infallible = write!(line, ", {left:.0} s left");
        }
        line
    }
}

impl Drop for Progress {
    /// Clears the line for the next output.
    fn drop(&mut self) {
        if self.on_terminal {
            let mut stderr = io::stderr().lock();
            let _gone = write!(stderr, "{WIPE}").and_then(|()| stderr.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_progress_speed_and_time_left() {
        for (on_terminal, before, total, done, line) in [
            (false, 0, None, 500, "copying   500 records, 250/s"),
            (false, 0, Some(1000), 500, "copying   50 %, 500 of 1000 records, 250/s, 2 s left"),
            (false, 400, Some(1000), 500, "copying   50 %, 500 of 1000 records, 50/s, 10 s left"),
            (false, 0, Some(1000), 0, "copying   0 %, 0 of 1000 records, 0/s"),
            (false, 0, Some(0), 0, "copying   0 %, 0 of 1 record, 0/s"),
            (false, 0, Some(10), 20, "copying   100 %, 20 of 20 records, 10/s, 0 s left"),
            (
                true,
                0,
                Some(3),
                1,
                "copying   [##########....................] 33 %, 1 of 3 records, 0/s, 4 s left",
            ),
        ] {
            let mut progress = Progress::start("copying", before, total);
            progress.on_terminal = on_terminal;
            let message = progress.line(done, Duration::from_secs(2));
            progress.on_terminal = false;
            assert_eq!(message.replace(", 1/s", ", 0/s"), line);
        }
    }
}
