//! The two-sided failure of a store: the caller reads the text, the log reads the source.

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why the store did not do what it was asked. These are ours, never the respondent's.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written, and trying again later may work (disk full, database away).
    #[error("the store cannot do this now")]
    Failed(#[source] Source),
    /// It cannot be said whether it was written; nothing more may be acknowledged by this process.
    #[error("the store lost track of a write")]
    Unknown(#[source] Source),
    /// It cannot be said whether this one was written; later calls are not touched by that, and the
    /// process goes on. A retry with the same idempotency key settles it.
    #[error("the store cannot say whether this was written")]
    InDoubt(#[source] Source),
    /// The rows that the change was decided on have changed since.
    #[error("this was changed by another request at the same time")]
    Conflict,
    /// What is stored cannot be read as what it should be.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    /// Nothing was written: the disk has less free space than the reserve that submissions leave
    /// alone.
    #[error("free disk space is below the reserve")]
    DiskReserve,
    /// The store was closed, or has stopped after an unknown outcome.
    #[error("the store is closed")]
    Closed,
}
