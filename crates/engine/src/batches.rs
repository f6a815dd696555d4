//! Selects the waiting submissions for the next write.
//!
//! A write takes everything that waits, of all apps. There are two exceptions. On a database that is
//! sharded by app, a write holds the responses of one app only: each write then touches one machine,
//! and an unavailable machine delays only its own apps. And a submission whose app was being changed
//! when it was written is written again with those of its app only, since that write waits until
//! the change is over. Apps take turns, and none may hold every place.

use std::collections::{HashMap, VecDeque};

use sluice_flow::id::AppId;
use sluice_store::Lanes;

/// The maximum number of responses in one write; more would only delay the first.
pub(crate) const BATCH_MAX: usize = 512;
/// The number of an app's responses that must wait before a second concurrent write starts.
const FURTHER_ROWS_MIN: usize = 128;

/// The first capacity of a line of waiting submissions.
const LINE_ROWS: usize = 32;

const _: () = assert!(FURTHER_ROWS_MIN <= BATCH_MAX);

/// The app that a write belongs to; `None` if it is for all apps.
pub(crate) type Lane = Option<AppId>;

/// The waiting submissions by app, and the apps with writes in progress.
pub(crate) struct Batches<T> {
    lanes: Lanes,
    count: usize,
    /// Lanes with waiting submissions, in the order in which they are served.
    turns: VecDeque<Lane>,
    waiting: HashMap<Lane, VecDeque<T>>,
    under_way: HashMap<Lane, usize>,
}

impl<T> Batches<T> {
    pub(crate) fn new(lanes: Lanes) -> Self {
        Self {
            lanes,
            count: 0,
            turns: VecDeque::new(),
            waiting: HashMap::new(),
            under_way: HashMap::new(),
        }
    }

    /// The number of submissions that wait.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Whether nothing waits and nothing is being written.
    pub(crate) fn is_idle(&self) -> bool {
        self.count == 0 && self.under_way.is_empty()
    }

    /// `alone` is for a submission that must not be written with those of other apps.
    pub(crate) fn add(&mut self, app: AppId, alone: bool, waiting: T) {
        let lane = (self.lanes.by_app || alone).then_some(app);
        let line = self.waiting.entry(lane).or_insert_with(|| VecDeque::with_capacity(LINE_ROWS));
        if line.is_empty() {
            self.turns.push_back(lane);
        }
        line.push_back(waiting);
        self.count += 1;
    }

    /// The next write: of the first app in turn that may start one. Call [`Self::ended`] when it
    /// ends.
    pub(crate) fn next(&mut self) -> Option<(Lane, Vec<T>)> {
        if self.under_way.values().sum::<usize>() >= self.lanes.count {
            return None;
        }
        let turn = self.turns.iter().position(|lane| self.may_write(lane))?;
        let lane = self.turns.remove(turn)?;
        let line = self.waiting.get_mut(&lane)?;
        let batch: Vec<T> = if line.len() > BATCH_MAX {
            self.turns.push_back(lane);
            line.drain(..BATCH_MAX).collect()
        } else {
            std::mem::take(line).into()
        };
        if line.is_empty() {
            self.waiting.remove(&lane);
        }
        self.count -= batch.len();
        *self.under_way.entry(lane).or_default() += 1;
        Some((lane, batch))
    }

    /// Whether a lane is free and worth using. A second concurrent write costs the database as much
    /// as a large one, so it waits until enough responses have gathered.
    fn may_write(&self, lane: &Lane) -> bool {
        let lanes_each = self.lanes.count.saturating_sub(1).max(1);
        let busy = self.under_way.get(lane).copied().unwrap_or(0);
        let waiting = self.waiting.get(lane).map_or(0, VecDeque::len);
        busy == 0 || (busy < lanes_each && waiting >= FURTHER_ROWS_MIN)
    }

    pub(crate) fn ended(&mut self, lane: Lane) {
        if let Some(count) = self.under_way.get_mut(&lane) {
            *count -= 1;
            if *count == 0 {
                self.under_way.remove(&lane);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn by_app(count: usize) -> Batches<()> {
        Batches::new(Lanes { count, by_app: true })
    }

    fn add(batches: &mut Batches<()>, apps: impl IntoIterator<Item = u128>) {
        for app in apps {
            batches.add(AppId::from_uuid(Uuid::from_u128(app)), false, ());
        }
    }

    fn sizes(batches: &mut Batches<()>) -> Vec<(Option<u128>, usize)> {
        std::iter::from_fn(|| batches.next())
            .map(|(lane, batch)| (lane.map(|app| app.uuid().as_u128()), batch.len()))
            .collect()
    }

    #[test]
    fn a_write_takes_all_apps() {
        for count in [1, 4] {
            let mut batches = Batches::new(Lanes { count, by_app: false });
            add(&mut batches, [1, 2, 1]);
            assert_eq!(sizes(&mut batches), [(None, 3)]);
        }
    }

    #[test]
    fn a_submission_that_must_wait_for_its_app_does_not_delay_others() {
        let mut batches = Batches::new(Lanes { count: 2, by_app: false });
        let app = AppId::from_uuid(Uuid::from_u128(1));
        batches.add(app, true, ());
        batches.add(app, true, ());
        add(&mut batches, [1, 2]);
        assert_eq!(sizes(&mut batches), [(Some(1), 2), (None, 2)]);
    }

    #[test]
    fn lanes_by_app_write_one_app_each_and_no_app_holds_every_lane() {
        let mut batches = by_app(3);
        add(&mut batches, [1; 5 * BATCH_MAX]);
        assert_eq!(sizes(&mut batches), [(Some(1), BATCH_MAX), (Some(1), BATCH_MAX)]);
        add(&mut batches, [2]);
        assert_eq!(sizes(&mut batches), [(Some(2), 1)]);
        add(&mut batches, [3]);
        assert_eq!(sizes(&mut batches), [], "every lane is in use");
        batches.ended(Some(AppId::from_uuid(Uuid::from_u128(1))));
        assert_eq!(sizes(&mut batches), [(Some(1), BATCH_MAX)]);
        assert_eq!(batches.count(), 2 * BATCH_MAX + 1);
    }

    #[test]
    fn apps_take_turns() {
        let mut batches = by_app(8);
        add(&mut batches, [1; BATCH_MAX + FURTHER_ROWS_MIN]);
        add(&mut batches, [2, 3]);
        let last = (Some(1), FURTHER_ROWS_MIN);
        let expected = [(Some(1), BATCH_MAX), (Some(2), 1), (Some(3), 1), last];
        assert_eq!(sizes(&mut batches), expected);
    }

    #[test]
    fn a_second_write_of_an_app_waits_for_enough_responses() {
        let mut batches = by_app(4);
        let app = AppId::from_uuid(Uuid::from_u128(1));
        add(&mut batches, [1]);
        assert_eq!(sizes(&mut batches), [(Some(1), 1)]);
        add(&mut batches, [1; FURTHER_ROWS_MIN - 1]);
        assert_eq!(sizes(&mut batches), []);
        batches.ended(Some(app));
        assert_eq!(sizes(&mut batches), [(Some(1), FURTHER_ROWS_MIN - 1)]);
    }
}
