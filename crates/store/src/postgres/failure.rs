//! What a PostgreSQL error means: nothing happened, or the outcome is unknown; and whether the
//! connection can be reused.
//!
//! Before COMMIT is sent nothing is in doubt, whatever goes wrong: the server rolls back. After it,
//! only an explicit refusal by the server is certain; silence, a lost connection or an unusual
//! error are [`StoreError::InDoubt`]. That applies to this write only: others use other
//! connections, so the process continues.

use std::fmt;

use tokio_postgres::error::{DbError, Error, Severity, SqlState};

use crate::{Damage, StoreError};

/// Why work with the database stopped.
#[derive(Debug)]
pub(super) enum TransactionError {
    Pg(Error),
    /// Our own deadline passed while waiting for this.
    Deadline(&'static str),
    /// Another transaction was faster; the whole transaction can be retried.
    Race,
    Answer(StoreError),
    /// Any of these, on a connection that must not be used again: its answers are out of step.
    OutOfStep(Box<Self>),
}

impl From<Error> for TransactionError {
    fn from(error: Error) -> Self {
        Self::Pg(error)
    }
}

impl From<StoreError> for TransactionError {
    fn from(error: StoreError) -> Self {
        Self::Answer(error)
    }
}

impl TransactionError {
    /// Lost a race against another transaction; the whole transaction can be retried.
    pub(super) fn lost_a_race(&self) -> bool {
        match self {
            Self::Race => true,
            Self::Pg(error) => match error.code() {
                Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => {
                    true
                }
                Some(&SqlState::UNIQUE_VIOLATION) => is_key_taken(error),
                _ => false,
            },
            Self::OutOfStep(error) => error.lost_a_race(),
            Self::Deadline(_) | Self::Answer(_) => false,
        }
    }

    /// The server refused some row or did not get its lock in time: other rows may still be stored.
    pub(super) fn is_about_rows(&self) -> bool {
        match self {
            Self::Pg(error) => error.code().is_some_and(|code| {
                let is_of_class = |class| code.code().starts_with(class);
                *code == SqlState::LOCK_NOT_AVAILABLE || is_of_class("22") || is_of_class("23")
            }),
            Self::OutOfStep(error) => error.is_about_rows(),
            Self::Race | Self::Deadline(_) | Self::Answer(_) => false,
        }
    }

    /// Whether the session continues after this. An error that ends it may come from a pooler that
    /// does not know what its server did.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Self::Pg(error) => {
                error.as_db_error().and_then(DbError::parsed_severity) == Some(Severity::Error)
            }
            Self::OutOfStep(error) => error.is_plain(),
            Self::Race => true,
            Self::Deadline(_) | Self::Answer(_) => false,
        }
    }

    /// Marks the connection as out of step.
    pub(super) fn out_of_step(self) -> Self {
        Self::OutOfStep(Box::new(self))
    }

    /// Whether the connection must not be used again: it is broken, closing, or the server has
    /// become read-only.
    pub(super) fn ends_connection(&self) -> bool {
        match self {
            Self::Answer(_) | Self::Race => false,
            Self::Deadline(_) | Self::OutOfStep(_) => true,
            Self::Pg(error) => error.as_db_error().is_none_or(|reported| {
                reported.parsed_severity() != Some(Severity::Error)
                    || *reported.code() == SqlState::READ_ONLY_SQL_TRANSACTION
                    || reported.code().code().starts_with("57P")
            }),
        }
    }

    /// Records damage if the error means that files of the server are damaged.
    pub(super) fn note_damage(&self, damage: &Damage) {
        match self {
            Self::Pg(error) if is_damage(error) => damage.note(RedactedError::new(error)),
            Self::OutOfStep(error) => error.note_damage(damage),
            Self::Pg(_) | Self::Deadline(_) | Self::Race | Self::Answer(_) => {}
        }
    }

    /// The error before COMMIT was sent, and while reading.
    pub(super) fn of_statement(self) -> StoreError {
        match self {
            Self::Answer(answer) => answer,
            Self::OutOfStep(error) => error.of_statement(),
            Self::Pg(error) if is_damage(&error) => {
                StoreError::Damaged(RedactedError::new(&error).to_string())
            }
            other => StoreError::Failed(Box::new(other.redacted())),
        }
    }

    /// The error after COMMIT was sent.
    pub(super) fn of_commit(self) -> StoreError {
        match self {
            Self::Answer(answer) => answer,
            Self::OutOfStep(error) => error.of_commit(),
            Self::Pg(error) if is_refusal(&error) => {
                StoreError::Failed(Box::new(RedactedError::new(&error)))
            }
            other => StoreError::InDoubt(Box::new(other.redacted())),
        }
    }

    fn redacted(self) -> RedactedError {
        match self {
            Self::Pg(error) => RedactedError::new(&error),
            Self::Deadline(what) => RedactedError(format!("no {what} within the deadline")),
            Self::Race => RedactedError("another transaction was faster".to_owned()),
            Self::Answer(answer) => RedactedError(answer.to_string()),
            Self::OutOfStep(error) => error.redacted(),
        }
    }
}

/// Whether an idempotency key is in use that was free when it was looked up. On a distributed
/// database, the number of a shard follows the name, and only the message has it.
fn is_key_taken(error: &Error) -> bool {
    const NAME: &str = "idempotency_pkey";
    error.as_db_error().is_some_and(|reported| match reported.constraint() {
        Some(constraint) => constraint.starts_with(NAME),
        None => reported.message().contains(&format!("\"{NAME}")),
    })
}

/// Whether the server found its own files damaged.
fn is_damage(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED))
}

/// Whether the server reported that it did not commit.
fn is_refusal(error: &Error) -> bool {
    let Some(reported) = error.as_db_error() else { return false };
    let code = reported.code().code();
    let refuses = match code.get(..2) {
        // Integrity, resources (a full disk among them), state of the transaction.
        Some("23" | "53" | "25") => true,
        Some("40") => *reported.code() != SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN,
        _ => *reported.code() == SqlState::QUERY_CANCELED,
    };
    refuses && reported.parsed_severity() == Some(Severity::Error)
}

/// The part of an error that may be logged. Deliberately without the server's DETAIL, which quotes
/// values of the row.
#[derive(Debug)]
pub(super) struct RedactedError(String);

impl RedactedError {
    pub(super) fn new(error: &Error) -> Self {
        match (error.as_db_error(), std::error::Error::source(error)) {
            (Some(reported), _) => {
                Self(format!("{} ({})", reported.message(), reported.code().code()))
            }
            (None, Some(source)) => Self(format!("{error}: {source}")),
            (None, None) => Self(error.to_string()),
        }
    }
}

impl fmt::Display for RedactedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RedactedError {}
