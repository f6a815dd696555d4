//! What a store reports about itself, for the metrics of operators.

use sluice_flow::time::Timestamp;

/// What can be read at any time without asking the database.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreStatus {
    /// `sqlite` or `postgres`.
    pub kind: &'static str,
    /// Whether it stores responses by month: see [`Partitions`].
    pub has_partitions: bool,
    pub pool: PoolStatus,
    /// Absent if another machine syncs.
    pub log_syncs: Option<SyncTimes>,
    /// Absent unless tables are distributed over several servers.
    pub workers: Option<WorkerStatus>,
}

/// The workers of a distributed database, by what they answered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkerStatus {
    pub up: usize,
    /// Those that cannot be reached: their apps are unavailable.
    pub away: usize,
    /// Those that could lose what they acknowledge: nothing is stored while there is one.
    pub weak: usize,
}

/// The connections to the database: those for reading with SQLite, all of them with PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolStatus {
    pub in_use: usize,
    /// Open and not in use.
    pub idle: usize,
    /// Callers that wait for a connection.
    pub waiting: usize,
    pub max: usize,
}

/// How long the syncs of the write-ahead log took, since this process started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncTimes {
    /// The number of syncs in each interval; the last one has no upper bound.
    pub counts: Vec<u64>,
    /// The upper bounds of the intervals, in nanoseconds: one less than there are counts.
    pub bounds_nanos: &'static [u64],
    pub sum_nanos: u64,
}

/// The partitions of responses, one for each month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partitions {
    pub months: u64,
    /// The months from the current one on that have a partition, up to the first that has none. At
    /// most as many as are created ahead.
    pub ahead: u64,
    /// The responses in the default partition, counted up to [`DEFAULT_ROWS_MAX`].
    pub default_rows: u64,
}

/// Responses in the default partition are counted up to this number.
pub const DEFAULT_ROWS_MAX: u64 = 10_000;

/// The e-mails that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MailBacklog {
    /// To be sent now.
    pub due: u64,
    /// Being sent, or to be sent again after a failed attempt.
    pub retrying: u64,
    /// Since when the oldest due e-mail has been due.
    pub due_since: Option<Timestamp>,
}
