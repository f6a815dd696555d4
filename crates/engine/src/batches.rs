//! Selects the waiting submissions for the next write.
//!
//! With one lane there is one writer, and a write takes everything that waits. With several lanes,
//! a write holds the responses of one app only: on a database that is sharded by app, each write
//! then touches one machine, and an unavailable machine delays only its own apps. Apps take turns,
//! and no app may hold every lane.

use std::collections::{HashMap, VecDeque};

use sluice_flow::id::AppId;

/// The maximum number of responses in one write; more would only delay the first.
pub(crate) const BATCH_MAX: usize = 512;
/// The number of an app's responses that must wait before a second concurrent write starts.
const FURTHER_ROWS_MIN: usize = 128;

const _: () = assert!(FURTHER_ROWS_MIN <= BATCH_MAX);

/// The app that a write belongs to; `None` if there is one lane for all apps.
pub(crate) type Lane = Option<AppId>;

/// The waiting submissions by app, and the apps with writes in progress.
pub(crate) struct Batches<T> {
    lanes: usize,
    count: usize,
    /// Lanes with waiting submissions, in the order in which they are served.
    turns: VecDeque<Lane>,
    waiting: HashMap<Lane, VecDeque<T>>,
    under_way: HashMap<Lane, usize>,
}

impl<T> Batches<T> {
    pub(crate) fn new(lanes: usize) -> Self {
        Self {
            lanes,
            count: 0,
            turns: VecDeque::new(),
            waiting: HashMap::new(),
            under_way: HashMap::new(),
        }
    }

    /// Whether more may be taken from the queue: at most one round of full writes waits here.
    pub(crate) fn has_room(&self) -> bool {
        self.count < self.lanes * BATCH_MAX
    }

    pub(crate) fn add(&mut self, taken: impl Iterator<Item = (AppId, T)>) {
        for (app, waiting) in taken {
            // A single lane is shared by all apps.
            let lane = (self.lanes > 1).then_some(app);
            let line = self.waiting.entry(lane).or_default();
            if line.is_empty() {
                self.turns.push_back(lane);
            }
            line.push_back(waiting);
            self.count += 1;
        }
    }

    /// The next write: of the first app in turn that may start one. Call [`Self::ended`] when it
    /// ends.
    pub(crate) fn next(&mut self) -> Option<(Lane, Vec<T>)> {
        let turn = self.turns.iter().position(|lane| self.may_write(lane))?;
        let lane = self.turns.remove(turn)?;
        let line = self.waiting.get_mut(&lane)?;
        let batch: Vec<T> = line.drain(..line.len().min(BATCH_MAX)).collect();
        self.count -= batch.len();
        if line.is_empty() {
            self.waiting.remove(&lane);
        } else {
            self.turns.push_back(lane);
        }
        *self.under_way.entry(lane).or_default() += 1;
        Some((lane, batch))
    }

    /// Whether a lane is free and worth using. A second concurrent write costs the database as much
    /// as a large one, so it waits until enough responses have gathered.
    fn may_write(&self, lane: &Lane) -> bool {
        let lanes_each = if self.lanes > 1 { self.lanes - 1 } else { 1 };
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

    fn waiting(app: u128) -> (AppId, ()) {
        (AppId::from_uuid(Uuid::from_u128(app)), ())
    }

    fn sizes(batches: &mut Batches<()>) -> Vec<(Option<u128>, usize)> {
        std::iter::from_fn(|| batches.next())
            .map(|(lane, batch)| (lane.map(|app| app.uuid().as_u128()), batch.len()))
            .collect()
    }

    #[test]
    fn one_lane_takes_all_apps_in_one_write() {
        let mut batches = Batches::new(1);
        batches.add([1, 2, 1].into_iter().map(waiting));
        assert_eq!(sizes(&mut batches), [(None, 3)]);
    }

    #[test]
    fn several_lanes_write_one_app_each_and_no_app_holds_every_lane() {
        let mut batches = Batches::new(3);
        batches.add((0..5 * BATCH_MAX).map(|_| waiting(1)));
        assert_eq!(sizes(&mut batches), [(Some(1), BATCH_MAX), (Some(1), BATCH_MAX)]);
        assert!(!batches.has_room());
        batches.add([waiting(2)].into_iter());
        assert_eq!(sizes(&mut batches), [(Some(2), 1)]);
        batches.ended(Some(AppId::from_uuid(Uuid::from_u128(1))));
        assert_eq!(sizes(&mut batches), [(Some(1), BATCH_MAX)]);
        assert!(batches.has_room());
    }

    #[test]
    fn apps_take_turns() {
        let mut batches = Batches::new(8);
        batches.add((0..BATCH_MAX + FURTHER_ROWS_MIN).map(|_| waiting(1)));
        batches.add([waiting(2), waiting(3)].into_iter());
        let last = (Some(1), FURTHER_ROWS_MIN);
        let expected = [(Some(1), BATCH_MAX), (Some(2), 1), (Some(3), 1), last];
        assert_eq!(sizes(&mut batches), expected);
    }

    #[test]
    fn a_second_write_of_an_app_waits_for_enough_responses() {
        let mut batches = Batches::new(4);
        let app = AppId::from_uuid(Uuid::from_u128(1));
        batches.add([waiting(1)].into_iter());
        assert_eq!(sizes(&mut batches), [(Some(1), 1)]);
        batches.add((1..FURTHER_ROWS_MIN).map(|_| waiting(1)));
        assert_eq!(sizes(&mut batches), []);
        batches.ended(Some(app));
        assert_eq!(sizes(&mut batches), [(Some(1), FURTHER_ROWS_MIN - 1)]);
    }
}
