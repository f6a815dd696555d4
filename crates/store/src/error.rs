//! A store error has two sides: callers show its text, logs include its source.

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a call to the store failed. These errors are ours, never the respondent's.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written. A retry may succeed (disk full, database unreachable).
    #[error("the store cannot do this now")]
    Failed(#[source] Source),
    /// The outcome of a write is unknown; this process must not acknowledge anything more.
    #[error("the outcome of a write is unknown")]
    Unknown(#[source] Source),
    /// The outcome of this write is unknown. Later calls are not affected, and the process
    /// continues. A retry with the same idempotency key settles it.
    #[error("it is unknown whether this was written")]
    InDoubt(#[source] Source),
    /// The rows that the change was based on have changed since.
    #[error("this was changed by another request at the same time")]
    Conflict,
    /// A stored value cannot be decoded: it was damaged or changed, or a newer build wrote it.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    /// The database is damaged: its own software reports that, or a row does not match its digest.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// Nothing was written: free disk space is below the reserve that submissions must not use, or
    /// the log of the database is at its limit.
    #[error("free disk space is below the reserve, or the log of the database at its limit")]
    DiskReserve,
    /// The store was closed, or stopped after an unknown outcome.
    #[error("the store is closed")]
    Closed,
}
