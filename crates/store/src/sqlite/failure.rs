//! What a SQLite error means for the caller: nothing happened, or the outcome is unknown.
//!
//! When unsure, the outcome is unknown. After an I/O error in a write, SQLite has been seen to hide
//! rows until the next start and to show them then; so every such error is [`StoreError::Unknown`],
//! and the writer stops for good. A sync is never retried.

use rusqlite::{Error, ErrorCode};

use crate::{Damage, StoreError};

/// An error while reading: no write is in doubt.
pub(super) fn of_read(error: Error) -> StoreError {
    match error {
        _ if is_file_damage(&error) => StoreError::Damaged(error.to_string()),
        Error::FromSqlConversionFailure(..)
        | Error::InvalidColumnType(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::Utf8Error(..) => StoreError::Corrupt(error.to_string()),
        _ => StoreError::Failed(Box::new(error)),
    }
}

/// An error between BEGIN and COMMIT: a rollback undoes everything.
pub(super) fn of_write(error: Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure) => StoreError::Unknown(Box::new(error)),
        _ => of_read(error),
    }
}

/// An error from COMMIT itself: only an explicit refusal to commit is not in doubt.
pub(super) fn of_commit(error: Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::ConstraintViolation) => {
            StoreError::Failed(Box::new(error))
        }
        _ => StoreError::Unknown(Box::new(error)),
    }
}

/// Notes an error that means that the file is damaged.
pub(super) fn note_damage(damage: &Damage, error: &Error) {
    if is_file_damage(error) {
        damage.note(error);
    }
}

/// Whether the file itself is damaged, not only a value in it.
pub(super) fn is_file_damage(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn sqlite(code: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(code), None)
    }

    fn name(error: &StoreError) -> &'static str {
        match error {
            StoreError::Failed(_) => "failed",
            StoreError::Unknown(_) => "unknown",
            StoreError::Damaged(_) => "damaged",
            StoreError::InDoubt(_)
            | StoreError::Corrupt(_)
            | StoreError::Conflict
            | StoreError::DiskReserve
            | StoreError::Closed => "other",
        }
    }

    #[test]
    fn an_error_is_unknown_if_a_write_may_have_survived_it() {
        let io_sync = ffi::SQLITE_IOERR_FSYNC;
        for (code, read, write, commit) in [
            (ffi::SQLITE_FULL, "failed", "failed", "failed"),
            (ffi::SQLITE_BUSY, "failed", "failed", "failed"),
            (ffi::SQLITE_BUSY_SNAPSHOT, "failed", "failed", "failed"),
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, "failed", "failed", "failed"),
            (ffi::SQLITE_IOERR, "failed", "unknown", "unknown"),
            (io_sync, "failed", "unknown", "unknown"),
            (ffi::SQLITE_IOERR_SHORT_READ, "failed", "unknown", "unknown"),
            (ffi::SQLITE_NOMEM, "failed", "failed", "unknown"),
            (ffi::SQLITE_READONLY, "failed", "failed", "unknown"),
            (ffi::SQLITE_CORRUPT, "damaged", "damaged", "unknown"),
            (ffi::SQLITE_NOTADB, "damaged", "damaged", "unknown"),
        ] {
            assert_eq!(name(&of_read(sqlite(code))), read, "reading: {code}");
            assert_eq!(name(&of_write(sqlite(code))), write, "writing: {code}");
            assert_eq!(name(&of_commit(sqlite(code))), commit, "committing: {code}");
        }
    }
}
