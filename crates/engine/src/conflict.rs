//! Changes that are attempted again after a concurrent change.
//!
//! A change is computed from a state that was read before. The store refuses it if that state is no
//! longer current: if the app, or the users, were changed in the meantime ([`sluice_store::At`]).

use sluice_store::StoreError;

use crate::request_scope::RequestScope;

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

/// Attempts a change until it does not conflict with a concurrent one, at most `ATTEMPTS_MAX`
/// times, and not again if the condition of the request does not hold. The argument of `attempt` is
/// whether it is a retry, for which the state must be read again.
pub(crate) async fn retry_on_conflict<T, E: MayBeConflict, F>(
    attempt: impl Fn(bool) -> F,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    for number in 1..ATTEMPTS_MAX {
        match attempt(number > 1).await {
            Err(error) if error.is_conflict() && !RequestScope::has_failed() => {}
            done => return done,
        }
    }
    attempt(true).await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_change_is_attempted_until_it_no_longer_conflicts() {
        for (conflicts, expected) in [(0, Some(1)), (1, Some(2)), (9, Some(10)), (10, None)] {
            let attempts = AtomicUsize::new(0);
            let done = retry_on_conflict(|is_retry| {
                let number = attempts.fetch_add(1, Ordering::Relaxed) + 1;
                assert_eq!(is_retry, number > 1);
                async move { if number > conflicts { Ok(number) } else { Err(StoreError::Conflict) } }
            });
            assert_eq!(done.await.ok(), expected, "{conflicts} conflicts");
            assert_eq!(attempts.into_inner(), expected.unwrap_or(ATTEMPTS_MAX));
        }
    }

    #[tokio::test]
    async fn no_other_error_is_retried() {
        let attempts = AtomicUsize::new(0);
        let failed: Result<(), _> = retry_on_conflict(|_| {
            attempts.fetch_add(1, Ordering::Relaxed);
            async { Err(StoreError::Closed) }
        })
        .await;
        assert!(matches!(failed, Err(StoreError::Closed)));
        assert_eq!(attempts.into_inner(), 1);
    }
}
