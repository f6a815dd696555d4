//! A file system for SQLite that writes a commit to the log with one call instead of two for every
//! page, see [`gathered`], and omits a sync of the log if nothing was written since the last one.
//!
//! **It needs `synchronous=FULL`**, where each commit syncs the log before other connections read
//! it. With less, they would look for pages that are still in memory. **It needs `cache_spill=0`**,
//! where only a commit writes to the log. Otherwise a transaction that rolls back would leave pages
//! in memory, which would be written after another process has written its own to their place.
//!
//! A checkpoint begins with a sync of the log, because with `synchronous=NORMAL` its frames might
//! not be durable yet. With `synchronous=FULL` they are: the commit before has synced them. On a
//! disk that takes a second for a sync, submissions wait for that second, so it is omitted there.
//! On a fast disk nothing changes: see [`durable`].
//!
//! Only the log is treated in this way, and only in connections that are opened with [`NAME`].
//! Everything else is done by SQLite's own file system.

#[cfg(unix)]
mod durable;
#[cfg(unix)]
mod gathered;
#[cfg(unix)]
mod shim;
#[cfg(unix)]
mod sync_times;

#[cfg(unix)]
pub use shim::register;
#[cfg(unix)]
pub use sync_times::{BOUNDS_NANOS, sync_times};

/// The name under which [`register`] makes it known to SQLite.
pub const NAME: &str = "sluice";
