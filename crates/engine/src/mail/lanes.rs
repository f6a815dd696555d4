//! Which e-mails are sent next, and how many at the same time.
//!
//! Every server does this. Lanes are independent: a mailing to many people delays no notice and no
//! password link, and within a lane the apps take turns. A reply that takes minutes occupies one of
//! the places of its lane.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use sluice_flow::id::{AppId, MailId};
use sluice_store::{MailLane, MailRow, StoreResult};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

use super::MailOptions;
use super::outbox::Delivered;
use crate::background::keep_running_after;
use crate::core::Core;
use crate::stop::Phase;

/// How long a server waits while the mail server is away.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(15);
/// The e-mails that are read at a time.
const BATCH: usize = 20;
/// The e-mails of one lane that are sent at the same time.
const PLACES: usize = 8;

/// Some e-mails of a lane that are due.
struct Due {
    rows: Vec<MailRow>,
    /// Whether there may be others.
    has_more: bool,
}

/// The work on one lane.
struct LaneWork {
    /// The app whose invitations had their turn last.
    turn: Option<AppId>,
    /// E-mails that were read, but whose sending has not begun.
    queue: VecDeque<MailRow>,
    running: JoinSet<StoreResult<Delivered>>,
    ids: HashMap<Id, MailId>,
    look_at: Instant,
}

impl Core {
    /// Sends e-mails as they become due, until the server stops.
    pub(crate) async fn send_mails(self: Arc<Self>) {
        let Some(options) = self.mail.clone() else { return };
        let Some(interval) = options.interval else { return };
        let _mailing = self.stop.mailing.lock().await;
        let lanes = MailLane::ALL.map(|lane| self.send_lane(lane, &options, interval));
        let [passwords, notices, invitations] = lanes;
        tokio::join!(passwords, notices, invitations);
    }

    async fn send_lane(
        self: &Arc<Self>,
        lane: MailLane,
        options: &MailOptions,
        interval: Duration,
    ) {
        let mut work = LaneWork {
            turn: None,
            queue: VecDeque::new(),
            running: JoinSet::new(),
            ids: HashMap::new(),
            look_at: Instant::now(),
        };
        loop {
            if self.stop.is_ending() {
                // What is queued was not taken from the store; the next start sends it.
                work.queue.clear();
                if work.running.is_empty() {
                    return;
                }
            }
            work.begin(self, options);
            let is_ending = self.stop.is_ending();
            let may_look = work.queue.is_empty() && work.running.len() < PLACES;
            let worked = tokio::select! {
                Some(ended) = work.running.join_next_with_id() => {
                    work.ended(ended).map(|done| work.pause_after(done, interval))
                }
                () = self.stop.reaches(Phase::Ending), if !is_ending => Ok(()),
                () = tokio::time::sleep_until(work.look_at), if may_look && !is_ending => {
                    self.due_mails(lane, &mut work.turn).await.map(|due| work.read(due, interval))
                }
            };
            if let Err(error) = worked {
                if !keep_running_after(&error, "e-mails were not sent", &self.lost) {
                    return;
                }
                work.queue.clear();
                work.look_at = Instant::now() + UNREACHABLE_PAUSE;
            }
        }
    }

    /// Waits for the e-mails in progress, as long as a stop may take. One that is cut off has an
    /// unknown outcome, and is sent again.
    pub(crate) async fn finish_mails(&self) {
        let left = self.stop.time_left();
        if !*self.lost.borrow()
            && tokio::time::timeout(left, self.stop.mailing.lock()).await.is_err()
        {
            tracing::warn!("the server stops before the mail server has replied to every e-mail");
        }
    }

    /// Sends what is due now: one pass over each lane.
    pub(crate) async fn deliver_mails(&self) -> StoreResult<Delivered> {
        let mut all = Delivered::default();
        let Some(options) = &self.mail else { return Ok(all) };
        for lane in MailLane::ALL {
            for row in self.due_mails(lane, &mut None).await?.rows {
                let done = self.attempt_mail(options, row).await?;
                all.add(done);
                if done.is_held || done.is_unreachable {
                    break;
                }
            }
        }
        Ok(all)
    }

    /// Some of what is due in a lane. If more invitations are due than are read, each app has its
    /// turn.
    async fn due_mails(&self, lane: MailLane, turn: &mut Option<AppId>) -> StoreResult<Due> {
        let (store, now) = (&self.store, self.now());
        if self.outbound.is_held(&**store).await? {
            return Ok(Due { rows: Vec::new(), has_more: false });
        }
        let oldest = store.list_due_mails(lane, now, BATCH).await?;
        let has_more = oldest.len() >= BATCH;
        if lane != MailLane::Invitations || !has_more {
            return Ok(Due { rows: oldest, has_more });
        }
        let mut apps = store.list_apps_with_due_invitations(now, *turn, BATCH).await?;
        if turn.is_some() && apps.len() < BATCH {
            let first = store.list_apps_with_due_invitations(now, None, BATCH).await?;
            let room = BATCH - apps.len();
            let others: Vec<_> = first.into_iter().filter(|app| !apps.contains(app)).collect();
            apps.extend(others.into_iter().take(room));
        }
        *turn = apps.last().copied();
        if apps.len() < 2 {
            return Ok(Due { rows: oldest, has_more });
        }
        let each = BATCH.div_ceil(apps.len());
        let mut by_app = Vec::with_capacity(apps.len());
        for app in apps {
            by_app.push(store.list_due_invitations(app, now, each).await?);
        }
        Ok(Due { rows: in_turns(by_app), has_more })
    }
}

/// The first of each list, then the second of each and so on.
fn in_turns<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

impl LaneWork {
    /// Begins as many e-mails as there are places.
    fn begin(&mut self, core: &Arc<Core>, options: &MailOptions) {
        while self.running.len() < PLACES
            && let Some(row) = self.queue.pop_front()
        {
            let (core, options, id) = (Arc::clone(core), options.clone(), row.mail_id);
            let task = self.running.spawn(async move { core.attempt_mail(&options, row).await });
            self.ids.insert(task.id(), id);
        }
    }

    /// The outcome of an e-mail whose sending was begun.
    fn ended(
        &mut self,
        ended: Result<(Id, StoreResult<Delivered>), JoinError>,
    ) -> StoreResult<Delivered> {
        match ended {
            Ok((task, done)) => {
                self.ids.remove(&task);
                done
            }
            Err(error) => {
                tracing::error!(%error, "sending an e-mail failed");
                self.ids.remove(&error.id());
                Ok(Delivered::default())
            }
        }
    }

    fn pause_after(&mut self, done: Delivered, interval: Duration) {
        let pause = match (done.is_unreachable, done.is_held) {
            (true, _) => UNREACHABLE_PAUSE,
            (false, true) => interval,
            (false, false) => return,
        };
        self.queue.clear();
        self.look_at = self.look_at.max(Instant::now() + pause);
    }

    /// Queues what was read; after a full batch there may be more at once.
    fn read(&mut self, due: Due, interval: Duration) {
        let pause = if due.has_more { Duration::ZERO } else { interval };
        self.look_at = Instant::now() + pause;
        let begun: HashSet<_> = self.ids.values().copied().collect();
        self.queue.extend(due.rows.into_iter().filter(|row| !begun.contains(&row.mail_id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apps_take_turns() {
        assert_eq!(in_turns(vec![vec![1, 2, 3], vec![4], vec![5, 6]]), [1, 4, 5, 2, 6, 3]);
        assert!(in_turns::<u8>(vec![vec![], vec![]]).is_empty());
    }
}
