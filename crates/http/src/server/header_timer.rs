//! The timer of hyper for the headers of HTTP/1 requests: one for each connection.
//!
//! hyper starts a timer for each request and stops it when the headers are there, milliseconds
//! later. Starting and stopping take a lock that all connections share. Here the timer of the
//! runtime continues instead, and starts again when it ends before the current deadline: about once
//! per timeout, not once per request.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

/// The timer of one connection. Only the last sleep that was polled is woken.
#[derive(Debug, Default)]
pub(super) struct HeaderTimer(Arc<Mutex<Option<RuntimeSleep>>>);

type RuntimeSleep = Pin<Box<tokio::time::Sleep>>;

impl Timer for HeaderTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(HeaderSleep { deadline: deadline.into(), shared: Arc::clone(&self.0) })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }
}

struct HeaderSleep {
    deadline: tokio::time::Instant,
    shared: Arc<Mutex<Option<RuntimeSleep>>>,
}

impl Sleep for HeaderSleep {}

impl Future for HeaderSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let sleep = shared.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(self.deadline)));
        if sleep.deadline() > self.deadline {
            sleep.as_mut().reset(self.deadline);
        }
        ready!(sleep.as_mut().poll(context));
        if sleep.deadline() < self.deadline {
            sleep.as_mut().reset(self.deadline);
            return sleep.as_mut().poll(context);
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sleep_ends_at_its_own_deadline() {
        let timer = HeaderTimer::default();
        let start = timer.now();
        let seconds = Duration::from_secs;
        // Stopped before its end.
        let stopped = tokio::time::timeout(seconds(1), timer.sleep(seconds(30))).await;
        assert!(stopped.is_err());
        timer.sleep(seconds(30)).await;
        assert_eq!(timer.now() - start, seconds(31));
        // The one before ended later.
        drop(tokio::time::timeout(seconds(1), timer.sleep(seconds(30))).await);
        timer.sleep(seconds(2)).await;
        assert_eq!(timer.now() - start, seconds(34));
        timer.sleep_until(start).await;
        assert_eq!(timer.now() - start, seconds(34));
    }
}
