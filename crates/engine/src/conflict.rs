//! Changes that are attempted again after a concurrent change.
//!
//! A change is computed from a state that was read before. The store refuses it if that state is no
//! longer current: if the app, or the users, were changed in the meantime ([`sluice_store::At`]).

use sluice_store::StoreError;

/// The maximum number of attempts of one change.
const ATTEMPTS_MAX: usize = 10;

/// An error that may be a refusal because of a concurrent change.
pub(crate) trait MayBeConflict {
    fn is_conflict(&self) -> bool;
}

impl MayBeConflict for StoreError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict)
    }
}

/// Attempts a change until it does not conflict with a concurrent one, or once too often. The
/// argument of `attempt` is whether it is a retry, for which the state must be read again.
pub(crate) async fn retry_on_conflict<T, E: MayBeConflict, F>(
    attempt: impl Fn(bool) -> F,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    for number in 1..ATTEMPTS_MAX {
        match attempt(number > 1).await {
            Err(error) if error.is_conflict() => {}
            done => return done,
        }
    }
    attempt(true).await
}
