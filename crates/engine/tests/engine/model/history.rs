//! A history: every operation with its begin, its end and its outcome, as its client saw them.
//!
//! Moments have a number, which orders all of them, and the time of the run's clock. The history is
//! all that the checker gets, and can be written to a file.

use std::fmt;
use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use sluice_flow::id::{FlowVersionId, ResponseId};

use super::model::{Change, FlowConfig};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Moment {
    pub(super) number: u64,
    pub(super) millis: i64,
}

impl Moment {
    /// After everything.
    pub(super) const NEVER: Self = Self { number: u64::MAX, millis: i64::MAX };
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) client: usize,
    /// The running engine that was called. A restarted node is another one.
    pub(super) engine: u32,
    pub(super) invoked: Moment,
    pub(super) returned: Moment,
    pub(super) action: Action,
    pub(super) outcome: Outcome,
}

/// An operation with what it was resolved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Action {
    Submit(Sent),
    Change {
        flow: usize,
        change: Change,
    },
    Recount {
        flow: usize,
    },
    Retain {
        app: usize,
        days: Option<u32>,
    },
    Expire,
    Erase {
        app: usize,
        person: u8,
        delete: bool,
    },
    Delete {
        id: ResponseId,
    },
    Read {
        id: ResponseId,
    },
    Count {
        flow: usize,
    },
    /// All erasures that were begun are finished.
    FinishErasures,
    /// Everything stored, while nothing else happens.
    Audit,
    Move,
}

/// A submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) app: usize,
    pub(super) flow: usize,
    pub(super) version: FlowVersionId,
    pub(super) key: Option<String>,
    /// Its content: an answer that no other submission has, except retries.
    pub(super) content: String,
    pub(super) person: Option<u8>,
    pub(super) invalid: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Did {
    Done,
    /// Nothing was changed.
    Refused,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Outcome {
    Accepted {
        id: ResponseId,
        replayed: bool,
    },
    /// With the code of its first issue. Nothing was stored.
    Refused(String),
    /// The service could not do it, and promised that nothing was stored.
    NotStored,
    /// Nothing is known about it.
    Unknown,
    /// The client went away; it may take effect later.
    Abandoned,
    /// The settings that the flow had after the change, as read, and the counter of its limit.
    Changed {
        did: Did,
        after: FlowConfig,
        counter: Option<Counter>,
    },
    Retained {
        did: Did,
        after: Option<u32>,
    },
    /// Whether everything that was too old is gone.
    Expired {
        complete: bool,
    },
    Erased {
        done: bool,
    },
    NoRespondent,
    Deleted(Did),
    Present(Seen),
    Absent,
    Counted(u64),
    /// Some are still being counted.
    CountedSoFar(u64),
    Audited(Audit),
    /// The number of records that differ.
    Moved {
        differences: u64,
    },
    Finished,
}

/// The counter of a limit, as read between these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counter {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) value: u64,
}

/// A stored response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) id: ResponseId,
    pub(super) flow: usize,
    pub(super) version: FlowVersionId,
    pub(super) content: String,
    /// Whether it is linked to a respondent, or has identities.
    pub(super) linked: bool,
    /// Whether everything else is as sent, and its digest matches.
    pub(super) intact: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Audit {
    pub(super) flows: Vec<AuditedFlow>,
    /// What `sluice verify` finds.
    pub(super) damaged: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuditedFlow {
    pub(super) config: FlowConfig,
    pub(super) rows: Vec<Seen>,
    /// As the results show it, before and after a recount, and as the recount returned it.
    pub(super) counted: u64,
    pub(super) recounted: u64,
    pub(super) counted_again: u64,
    pub(super) counter: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct History {
    pub(super) apps: usize,
    /// The settings of each flow at the beginning.
    pub(super) flows: Vec<FlowConfig>,
    /// In no order.
    pub(super) entries: Vec<Entry>,
    /// When each engine began to read the change feed; only reads that succeeded.
    pub(super) feed_reads: Vec<(u32, u64)>,
}

impl History {
    /// One line of JSON for each entry; the first line is the rest.
    pub(super) fn write(&self, mut to: impl Write) -> std::io::Result<()> {
        let head = Self { entries: Vec::new(), ..self.clone() };
        writeln!(to, "{}", serde_json::to_string(&head)?)?;
        for entry in &self.entries {
            writeln!(to, "{}", serde_json::to_string(entry)?)?;
        }
        to.flush()
    }

    pub(super) fn read(from: impl BufRead) -> std::io::Result<Self> {
        let mut lines = from.lines();
        let head = lines.next().transpose()?.unwrap_or_default();
        let mut history: Self = serde_json::from_str(&head)?;
        for line in lines {
            history.entries.push(serde_json::from_str(&line?)?);
        }
        Ok(history)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match self.returned {
            Moment::NEVER => "…".to_owned(),
            returned => format!("{} ({} ms)", returned.number, returned.millis),
        };
        let (from, millis) = (self.invoked.number, self.invoked.millis);
        write!(f, "{from} ({millis} ms) – {end} client {} engine {}: ", self.client, self.engine)?;
        match (&self.action, &self.outcome) {
            (action, Outcome::Audited(audit)) => {
                let rows: Vec<usize> = audit.flows.iter().map(|it| it.rows.len()).collect();
                write!(f, "{action:?} → {rows:?} responses, damaged: {:?}", audit.damaged)
            }
            (action, outcome) => write!(f, "{action:?} → {outcome:?}"),
        }
    }
}
