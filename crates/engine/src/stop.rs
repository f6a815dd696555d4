//! Stops sending webhooks and e-mails when the server stops: nothing more is started, requests in
//! progress get some time to finish, and the rest are cut off and sent again later.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

/// How long requests and e-mails in progress may continue by default.
const DRAIN: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Phase {
    #[default]
    Working,
    /// Nothing is started.
    Ending,
    /// Nothing continues.
    Cut,
}

#[derive(Debug, Default)]
pub(crate) struct Stop {
    phase: watch::Sender<Phase>,
    until: OnceLock<Instant>,
    /// Held by the task that sends e-mails until its last one has ended.
    pub(crate) mailing: Mutex<()>,
}

impl Stop {
    /// Nothing more is started; what is in progress may continue for this long. The first call
    /// decides.
    pub(crate) fn begin(&self, drain: Duration) {
        self.until.get_or_init(|| Instant::now() + drain);
        self.advance(Phase::Ending);
    }

    /// Begins to stop, unless that was done before. Returns how long what is in progress may
    /// continue.
    pub(crate) fn time_left(&self) -> Duration {
        self.begin(DRAIN);
        self.until.get().map_or(DRAIN, |until| until.saturating_duration_since(Instant::now()))
    }

    /// A later phase stays.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let is_later = phase > *now;
            *now = phase.max(*now);
            is_later
        });
    }

    pub(crate) fn is_ending(&self) -> bool {
        *self.phase.borrow() >= Phase::Ending
    }

    /// Waits for a phase, or a later one.
    pub(crate) async fn reaches(&self, phase: Phase) {
        // The sender lives as long as this future, so there is no error.
        let _ = self.phase.subscribe().wait_for(|now| *now >= phase).await;
    }
}
