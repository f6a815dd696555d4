//! Why a command failed: one line for what happened, one for what to do.
//!
//! Deliberately without a chain of causes: an operator reads two lines, not a dump. Details for
//! developers go to the log.

use std::fmt;

/// Exit codes. `sluice --help` lists the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    /// A stored value or a file is damaged.
    Damaged,
    /// The command line, the environment or the configuration file is invalid.
    Usage,
    /// A flow was checked and has faults.
    Faults,
    /// Flow files differ from what is on the server, and only the difference was asked for.
    WouldChange,
    /// The outcome of a write is unknown: a restart recovers.
    LostTrack,
    /// A second signal arrived before the process had stopped.
    Interrupted,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed | Self::Damaged => 1,
            Self::Usage | Self::WouldChange => 2,
            Self::Faults => 3,
            Self::LostTrack => 4,
            Self::Interrupted => 130,
        }
    }
}

pub(crate) type Outcome = Result<Exit, Failure>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    what: String,
    remedy: String,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, what: what.into(), remedy: remedy.into() }
    }

    pub(crate) fn usage(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::new(what, remedy) }
    }

    pub(crate) fn with_remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// Names what the failure is about, such as a file.
    pub(crate) fn about(self, subject: &str) -> Self {
        Self { what: format!("{subject}: {}", self.what), ..self }
    }

    /// For commands whose exit code 2 has another meaning.
    pub(crate) fn never_usage(self) -> Self {
        let exit = if self.exit == Exit::Usage { Exit::Failed } else { self.exit };
        Self { exit, ..self }
    }

    pub(crate) fn with_exit(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }
}

/// An error with its root cause, on one line.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    let mut cause = None;
    let mut next = error.source();
    while let Some(deeper) = next {
        cause = Some(deeper.to_string());
        next = deeper.source();
    }
    match cause {
        Some(cause) if cause != error.to_string() => format!("{error} ({cause})"),
        _ => error.to_string(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if !self.remedy.is_empty() {
            write!(f, "\n  {}", self.remedy)?;
        }
        Ok(())
    }
}
