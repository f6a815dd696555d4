//! How deliveries end when the server stops: no request is started any more, those in progress have
//! some time, and what is left is cut off and noted, to be sent again.

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Phase {
    #[default]
    Working,
    /// No request is started.
    Ending,
    /// No request goes on.
    Cut,
}

#[derive(Debug, Default)]
pub(super) struct Stop(watch::Sender<Phase>);

impl Stop {
    /// A later phase stays.
    pub(super) fn advance(&self, phase: Phase) {
        self.0.send_if_modified(|now| {
            let is_later = phase > *now;
            *now = phase.max(*now);
            is_later
        });
    }

    pub(super) fn is_ending(&self) -> bool {
        *self.0.borrow() >= Phase::Ending
    }

    /// Waits for a phase, or a later one.
    pub(super) async fn reaches(&self, phase: Phase) {
        // The sender lives as long as this future, so there is no error.
        let _ = self.0.subscribe().wait_for(|now| *now >= phase).await;
    }
}
