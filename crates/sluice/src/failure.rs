//! Why a command did not do what it was asked: one line of what happened, one of what to do.
//!
//! There is no chain of causes here on purpose: an operator reads two lines, not a dump. What a
//! developer needs more goes to the log.

use std::fmt;

/// How a process ends. `sluice --help` lists the same codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    /// The command line, the environment or the configuration file is at fault.
    Usage,
    /// A flow was checked and has faults.
    Faults,
    /// The store lost track of a write: a restart recovers.
    LostTrack,
    /// A second signal came before the first was dealt with.
    Interrupted,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
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

    pub(crate) fn with_exit(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }
}

/// An error with the cause at the bottom of it, for one line.
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
