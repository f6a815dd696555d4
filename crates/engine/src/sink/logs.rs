//! What a node knows about the logs that it publishes: how far each one is published, and its
//! lease.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sluice_flow::event::filter::EventFilter;
use sluice_flow::event::payload::Payload;
use sluice_flow::id::{AppId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{EventRow, LogEntry, SinkPositionRow};

use crate::admin::AdminResult;
use crate::core::Core;
use crate::events::{is_known, payloads, query_after, start};

/// The most events and bytes of a page, which is published as a whole, within the time limit.
const PAGE: (usize, usize) = (128, 2 * 1024 * 1024);

/// The logs of all apps.
pub(super) struct Logs {
    pub(super) apps: BTreeMap<AppId, AppLog>,
    pub(super) listed_at: Option<Instant>,
    pub(super) saved_at: Instant,
    /// The end of this node's lease. Without one it reads the logs, and publishes nothing.
    pub(super) leased_until: Option<Timestamp>,
}

/// How far the log of an app is published.
pub(super) struct AppLog {
    pub(super) position: EventId,
    /// Whether events were published that the position in the store does not include.
    pub(super) is_unsaved: bool,
    /// When it is read next.
    pub(super) next_at: Instant,
    /// The time of the first event that was read and is not published.
    pub(super) waiting_since: Option<Timestamp>,
    pub(super) refusals: u32,
    /// The last event of an unknown type that was logged.
    pub(super) unknown: Option<EventId>,
}

/// The next events of an app.
pub(super) struct AppPage {
    pub(super) events: Vec<Payload>,
    /// The position after them.
    pub(super) next: EventId,
    pub(super) has_more: bool,
    /// The event that follows them, if its type is unknown: a newer release wrote it.
    pub(super) unknown: Option<EventRow>,
}

impl Logs {
    pub(super) fn new(rows: Vec<SinkPositionRow>) -> Self {
        let apps = rows.into_iter().map(|row| (row.app_id, AppLog::at(row.position)));
        let apps = apps.collect();
        Self { apps, listed_at: None, saved_at: Instant::now(), leased_until: None }
    }

    /// Moves to the positions that another node may have reached, and reads all logs next.
    pub(super) fn advance(&mut self, rows: Vec<SinkPositionRow>) {
        for row in rows {
            if let Some(log) = self.apps.get_mut(&row.app_id) {
                log.position = log.position.max(row.position);
            }
        }
        self.read_all_next();
    }

    pub(super) fn read_all_next(&mut self) {
        let now = Instant::now();
        self.apps.values_mut().for_each(|log| log.next_at = log.next_at.min(now));
    }

    /// The apps whose logs are read now.
    pub(super) fn due(&self) -> Vec<AppId> {
        let now = Instant::now();
        self.apps.iter().filter(|(_, log)| log.next_at <= now).map(|(app, _)| *app).collect()
    }

    pub(super) fn is_leased(&self, now: Timestamp) -> bool {
        self.leased_until.is_some_and(|until| now < until)
    }

    /// Whether there are positions to write.
    pub(super) fn is_unsaved(&self) -> bool {
        self.apps.values().any(|log| log.is_unsaved)
    }

    /// The positions to write to the store.
    pub(super) fn unsaved(&self, sink: &str) -> Vec<SinkPositionRow> {
        let unsaved = self.apps.iter().filter(|(_, log)| log.is_unsaved);
        let row = |(app, log): (&AppId, &AppLog)| SinkPositionRow {
            app_id: *app,
            sink: sink.to_owned(),
            position: log.position,
        };
        unsaved.map(row).collect()
    }

    pub(super) fn saved(&mut self, leased_until: Option<Timestamp>) {
        self.apps.values_mut().for_each(|log| log.is_unsaved = false);
        (self.saved_at, self.leased_until) = (Instant::now(), leased_until);
    }

    /// Another node publishes: its positions are the same as those known here, or later.
    pub(super) fn leave(&mut self) {
        self.apps.values_mut().for_each(|log| log.is_unsaved = false);
        self.leased_until = None;
    }

    /// The age of the oldest event that was read and is not published.
    pub(super) fn lag_millis(&self, now: Timestamp) -> i64 {
        let oldest = self.apps.values().filter_map(|log| log.waiting_since).min();
        oldest.map_or(0, |oldest| (now.as_millis() - oldest.as_millis()).max(0))
    }
}

impl AppLog {
    pub(super) fn new() -> Self {
        Self::at(start())
    }

    fn at(position: EventId) -> Self {
        Self {
            position,
            is_unsaved: false,
            next_at: Instant::now(),
            waiting_since: None,
            refusals: 0,
            unknown: None,
        }
    }

    /// Records a refusal: the log is read again after a pause that grows.
    pub(super) fn refused(&mut self, pause_max: Duration) {
        let pause = Duration::from_secs(1 << self.refusals.min(6)).min(pause_max);
        self.next_at = Instant::now() + pause;
        self.refusals = self.refusals.saturating_add(1);
    }

    /// Reads what follows the position, up to an event whose type is unknown.
    pub(super) async fn read(&self, core: &Core, app: AppId) -> AdminResult<AppPage> {
        let all = EventFilter::default();
        let query = query_after(core, app, &all, self.position, PAGE);
        let mut page = core.store.read_log(&query).await?;
        let known = page.entries.iter().take_while(|entry| is_known(entry)).count();
        let unknown = page.entries.drain(known..).next();
        let (next, has_more) = match (&unknown, page.entries.last()) {
            (None, _) => (page.next, page.has_more),
            (Some(_), Some(last)) => (last.position(), false),
            (Some(_), None) => (self.position, false),
        };
        let unknown = unknown.and_then(|entry| match entry {
            LogEntry::Event(row) => Some(row),
            LogEntry::Response(_) => None,
        });
        let events = payloads(core, app, &all, page.entries).await?;
        let events = events.into_iter().map(|event| event.payload).collect();
        Ok(AppPage { events, next, has_more, unknown })
    }
}
