//! What happens while someone answers a flow, as anonymous steps: opened, started, which questions
//! were seen and passed, finished.
//!
//! Steps are only counted. A visit has no identifier, so nobody can join two of its steps, and what
//! is stored is a number for each step ([`VisitCounter`]), by version and day. `passed` is counted
//! besides `seen` because a question that is skipped by `visibleIf` has fewer visitors without
//! having lost any: those who left at a question are those who saw it and did not pass it.

mod fault;
mod parse;
mod times;

use std::fmt;
use std::str::FromStr;

use crate::definition::Definition;

pub use fault::VisitFault;
pub use parse::{BODY_BYTES_MAX, STEPS_MAX};
pub use times::{MedianTime, TimeBin, Times};

/// The steps of one visit to one version, or those since the last report of the same visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    pub flow_version_id: String,
    pub steps: Vec<VisitStep>,
}

/// One thing that happened. In a visit, each happens at most once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum VisitStep {
    /// The form was shown.
    Opened,
    /// The first answer was given, or the first question was passed without one.
    Started,
    /// A question was shown that is further than all before.
    Seen(String),
    /// The visitor moved on from a question, with or without an answer.
    Passed(String),
    /// The answers were stored.
    Finished {
        /// The time since the form was opened, if it is known.
        seconds: Option<u32>,
    },
}

impl VisitStep {
    /// The question that the step is about.
    pub fn question(&self) -> Option<&str> {
        match self {
            Self::Seen(question) | Self::Passed(question) => Some(question),
            Self::Opened | Self::Started | Self::Finished { .. } => None,
        }
    }

    /// What the step adds one to.
    pub fn counters(&self) -> impl Iterator<Item = VisitCounter> {
        let (counter, time) = match self {
            Self::Opened => (VisitCounter::Opened, None),
            Self::Started => (VisitCounter::Started, None),
            Self::Seen(question) => (VisitCounter::Seen(question.clone()), None),
            Self::Passed(question) => (VisitCounter::Passed(question.clone()), None),
            Self::Finished { seconds } => (VisitCounter::Finished, *seconds),
        };
        let time = time.map(|seconds| VisitCounter::Time(TimeBin::containing(seconds)));
        std::iter::once(counter).chain(time)
    }
}

impl Visit {
    /// Whether the version has all questions of the steps.
    pub fn check(&self, definition: &Definition) -> Result<(), VisitFault> {
        let is_unknown = |step: &VisitStep| {
            step.question().is_some_and(|question| definition.question(question).is_none())
        };
        match self.steps.iter().position(is_unknown) {
            Some(at) => Err(VisitFault::unknown_question(at)),
            None => Ok(()),
        }
    }
}

/// What is counted, by version and day. As text, it is a key of the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VisitCounter {
    Opened,
    Started,
    Seen(String),
    Passed(String),
    Finished,
    /// Finished within a time of this bin.
    Time(TimeBin),
}

impl fmt::Display for VisitCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opened => f.write_str("opened"),
            Self::Started => f.write_str("started"),
            Self::Seen(question) => write!(f, "seen:{question}"),
            Self::Passed(question) => write!(f, "passed:{question}"),
            Self::Finished => f.write_str("finished"),
            Self::Time(bin) => write!(f, "time:{}", bin.from_seconds()),
        }
    }
}

/// The text is not a counter that this build knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownCounter;

impl FromStr for VisitCounter {
    type Err = UnknownCounter;

    fn from_str(text: &str) -> Result<Self, UnknownCounter> {
        Ok(match text.split_once(':') {
            None if text == "opened" => Self::Opened,
            None if text == "started" => Self::Started,
            None if text == "finished" => Self::Finished,
            Some(("seen", question)) => Self::Seen(question.to_owned()),
            Some(("passed", question)) => Self::Passed(question.to_owned()),
            Some(("time", seconds)) => {
                let seconds = seconds.parse().map_err(|_| UnknownCounter)?;
                Self::Time(TimeBin::containing(seconds))
            }
            _ => return Err(UnknownCounter),
        })
    }
}
