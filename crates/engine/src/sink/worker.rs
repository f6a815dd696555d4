//! The background work that publishes events to a sink.
//!
//! A node that has the lease of the sink reads the logs of all apps in turn, publishes page by
//! page, and notes the positions every second: a write for each page would cost the store a sync.
//! So after a crash the events of the last second are published again. A sink that takes nothing
//! is left alone for a moment, and its lease is given back: another node may reach it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::event::filter::EventFilter;
use sluice_flow::event::payload::Payload;
use sluice_flow::id::{AppId, EventId};
use sluice_flow::time::Timestamp;
use sluice_store::{Page, SinkLease, SinkPositionRow, StoreError, WorkerId};
use tokio::sync::Mutex;

use super::{SinkError, SinkOptions};
use crate::admin::AdminError;
use crate::background::{is_final, keep_running_after};
use crate::core::Core;
use crate::events::{PAGE_BYTES_MAX, read, start};
use crate::ids::random_bits;
use crate::sink_position::waiting_since;

/// The length of a lease. Longer than publishing a page may take.
const LEASE_SECONDS: i64 = 15;
/// How often it is renewed.
const RENEW_INTERVAL: Duration = Duration::from_secs(5);
/// How often positions that moved are written.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
/// How long a node waits if another one publishes, or the sink takes nothing.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// How often the logs are read to report what waits, while nothing is sent.
const HELD_INTERVAL: Duration = Duration::from_secs(30);
/// How often the log of an app is read if nothing is new, unless there are many apps.
const IDLE_INTERVAL: Duration = Duration::from_millis(500);
/// How often the apps are listed, unless there are many.
const LIST_INTERVAL: Duration = Duration::from_secs(1);
/// What each app adds to both intervals, so that ten thousand idle apps cost 200 reads a second.
const EACH_APP: Duration = Duration::from_millis(5);
/// The pause between two rounds without anything to publish.
const TICK: Duration = Duration::from_millis(100);
/// The longest pause after the sink refused events of an app.
const REFUSED_MAX: Duration = Duration::from_secs(60);
/// Events of a page: what is published before its positions can move.
const PAGE: (usize, usize) = (128, PAGE_BYTES_MAX);
const APPS_PAGE: usize = 1_000;

pub(crate) struct SinkWorker {
    core: Arc<Core>,
    /// Absent if nothing is published.
    options: Option<SinkOptions>,
    worker: WorkerId,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Absent if this node does not publish.
    leading: Option<Leading>,
    /// The sink took nothing when it was last tried.
    is_down: bool,
    /// While nothing is sent: when the logs were read, and the time of the oldest event that waits.
    held: Option<(Instant, Option<Timestamp>)>,
}

/// What the publishing node knows.
struct Leading {
    apps: BTreeMap<AppId, AppLog>,
    listed_at: Option<Instant>,
    saved_at: Instant,
}

/// How far the log of an app is published.
struct AppLog {
    position: EventId,
    /// The position in the store.
    saved: Option<EventId>,
    /// When it is read next.
    next_at: Instant,
    /// The time of the first event that was read and is not published.
    waiting_since: Option<Timestamp>,
    refusals: u32,
}

/// What became of a page.
enum Published {
    All { has_more: bool },
    Refused,
    Unavailable(String),
}

impl SinkWorker {
    pub(crate) fn new(core: &Arc<Core>, options: Option<SinkOptions>) -> Self {
        let worker = random_bits().to_be_bytes();
        Self { core: Arc::clone(core), options, worker, state: Mutex::default() }
    }

    pub(crate) async fn run(self: Arc<Self>) {
        let Some(options) = &self.options else { return };
        loop {
            let passed = {
                let mut state = self.state.lock().await;
                let passed = self.pass(options, &mut state).await;
                if passed.is_err() {
                    // What is stored may differ from what this node knows.
                    state.leading = None;
                }
                passed
            };
            let pause = match passed {
                Ok(pause) => pause,
                Err(error) => {
                    if !keep_running_after(&error, "events were not published", &self.core.lost) {
                        return;
                    }
                    RETRY_INTERVAL
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Publishes everything that can be read now, and notes it, if this node can get the lease.
    /// Returns whether it did.
    pub(crate) async fn publish_all(&self) -> Result<bool, StoreError> {
        let Some(options) = &self.options else { return Ok(false) };
        let mut state = self.state.lock().await;
        if let Some(leading) = &mut state.leading {
            leading.listed_at = None;
            leading.apps.values_mut().for_each(|log| log.next_at = Instant::now());
        }
        while self.pass(options, &mut state).await?.is_zero() {}
        match &mut state.leading {
            Some(leading) => self.save(options, leading, LEASE_SECONDS).await,
            None => Ok(false),
        }
    }

    /// Notes what was published and gives the lease back, before the store is closed.
    pub(crate) async fn close(&self) {
        let Some(options) = &self.options else { return };
        let mut state = self.state.lock().await;
        if let Some(mut leading) = state.leading.take()
            && let Err(error) = self.save(options, &mut leading, 0).await
        {
            tracing::warn!(%error, "the last published events were not noted");
        }
    }

    /// One round over the apps. Returns how long to wait for the next one.
    async fn pass(&self, options: &SinkOptions, state: &mut State) -> Result<Duration, StoreError> {
        if state.leading.is_none() {
            state.leading = self.lead(options).await?;
        }
        let Some(leading) = &mut state.leading else {
            let lag = self.held_millis(options, &mut state.held).await?;
            self.core.metrics.sink.set_lag(lag);
            return Ok(RETRY_INTERVAL);
        };
        self.list_apps(options, leading).await?;
        let idle = IDLE_INTERVAL.max(EACH_APP * leading.apps.len() as u32);
        let mut pause = TICK;
        let (mut is_down, mut published) = (false, false);
        for app in leading.due() {
            // With many apps, a pass may last longer than the lease.
            if leading.saved_at.elapsed() >= SAVE_INTERVAL
                && !self.save(options, leading, LEASE_SECONDS).await?
            {
                state.leading = None;
                return Ok(RETRY_INTERVAL);
            }
            let Some(log) = leading.apps.get_mut(&app) else { continue };
            log.next_at = Instant::now() + idle;
            match self.publish_page(options, app, log).await? {
                Published::All { has_more } => {
                    published = true;
                    if has_more {
                        (log.next_at, pause) = (Instant::now(), Duration::ZERO);
                    }
                }
                Published::Refused => {}
                Published::Unavailable(why) => {
                    // Once, not with each of the following attempts.
                    if !state.is_down {
                        let sink = options.sink.name();
                        tracing::warn!(sink, why, "events cannot be published now");
                    }
                    is_down = true;
                    break;
                }
            }
        }
        self.core.metrics.sink.set_lag(leading.lag_millis(self.core.now()));
        if !is_down && published && std::mem::take(&mut state.is_down) {
            tracing::info!(sink = options.sink.name(), "events are published again");
        }
        let has_moved = leading.apps.values().any(AppLog::has_moved);
        let due = if has_moved { SAVE_INTERVAL } else { RENEW_INTERVAL };
        if is_down {
            state.is_down = true;
            self.save(options, leading, 0).await?;
            state.leading = None;
            return Ok(RETRY_INTERVAL);
        }
        if leading.saved_at.elapsed() >= due && !self.save(options, leading, LEASE_SECONDS).await? {
            state.leading = None;
        }
        Ok(pause)
    }

    /// Takes the lease, and reads where to continue.
    async fn lead(&self, options: &SinkOptions) -> Result<Option<Leading>, StoreError> {
        let store = &self.core.store;
        if self.core.outbound.is_held(&**store).await? {
            return Ok(None);
        }
        if !self.core.watched(store.lease_sink(self.lease(options, LEASE_SECONDS)).await)? {
            return Ok(None);
        }
        let rows = store.list_sink_positions(options.sink.name()).await?;
        let apps = rows.into_iter().map(|row| (row.app_id, AppLog::at(Some(row.position))));
        Ok(Some(Leading { apps: apps.collect(), listed_at: None, saved_at: Instant::now() }))
    }

    /// The age of the oldest event that waits because nothing is sent; 0 if another node publishes.
    async fn held_millis(
        &self,
        options: &SinkOptions,
        held: &mut Option<(Instant, Option<Timestamp>)>,
    ) -> Result<i64, StoreError> {
        let (core, sink) = (&self.core, options.sink.name());
        if !core.outbound.is_held(&*core.store).await? {
            return Ok(0);
        }
        let since = match *held {
            Some((read_at, since)) if read_at.elapsed() < HELD_INTERVAL => since,
            _ => {
                let (configured, now) = (core.outbound.publishes.as_ref(), core.now());
                let since = waiting_since(&*core.store, sink, configured, now).await?;
                *held = Some((Instant::now(), since));
                since
            }
        };
        Ok(since.map_or(0, |since| (core.now().as_millis() - since.as_millis()).max(0)))
    }

    fn lease(&self, options: &SinkOptions, seconds: i64) -> SinkLease {
        let (sink, now) = (options.sink.name().to_owned(), self.core.now());
        SinkLease { sink, worker: self.worker, now, until: now.plus_seconds(seconds) }
    }

    /// Adds the apps that are new, and drops those whose events are not published.
    async fn list_apps(
        &self,
        options: &SinkOptions,
        leading: &mut Leading,
    ) -> Result<(), StoreError> {
        let interval = LIST_INTERVAL.max(EACH_APP * leading.apps.len() as u32);
        if leading.listed_at.is_some_and(|at| at.elapsed() < interval) {
            return Ok(());
        }
        if !options.apps.is_empty() {
            leading.apps.retain(|app, _| options.apps.contains(app));
        }
        let mut after = None;
        loop {
            let page = Page { after, limit: APPS_PAGE };
            let found = self.core.store.list_apps(page).await?;
            for app in &found {
                let id = app.row.app_id;
                if options.apps.is_empty() || options.apps.contains(&id) {
                    leading.apps.entry(id).or_insert_with(|| AppLog::at(None));
                }
            }
            match found.last() {
                Some(last) if found.len() >= APPS_PAGE => after = Some(last.row.app_id),
                _ => break,
            }
        }
        leading.listed_at = Some(Instant::now());
        Ok(())
    }

    /// Publishes the next page of an app. Its position moves only if the sink has all of it.
    async fn publish_page(
        &self,
        options: &SinkOptions,
        app: AppId,
        log: &mut AppLog,
    ) -> Result<Published, StoreError> {
        let all = EventFilter::default();
        let page = match read(&self.core, app, &all, log.position, PAGE).await {
            Ok(page) => page,
            Err(AdminError::Store(error)) if is_final(&error) => return Err(error),
            Err(error) => {
                // The logs of the other apps go on.
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, source, %app, "the events of an app cannot be read");
                log.next_at = Instant::now() + RETRY_INTERVAL;
                return Ok(Published::Refused);
            }
        };
        let events: Vec<Payload> = page.events.into_iter().map(|event| event.payload).collect();
        log.waiting_since = events.first().map(|event| event.timestamp);
        let published = match events.is_empty() {
            true => Ok(()),
            false => options.sink.publish(app, &events).await,
        };
        match published {
            Ok(()) => {
                log.position = page.next;
                log.waiting_since = page.has_more.then(|| page.next.made_at());
                log.refusals = 0;
                self.core.metrics.sink.count_published(events.len());
                Ok(Published::All { has_more: page.has_more })
            }
            Err(SinkError::Refused(why)) => {
                self.core.metrics.sink.count_failed(events.len());
                tracing::warn!(sink = options.sink.name(), %app, why, "events were refused");
                let pause = Duration::from_secs(1 << log.refusals.min(6)).min(REFUSED_MAX);
                log.next_at = Instant::now() + pause;
                log.refusals = log.refusals.saturating_add(1);
                Ok(Published::Refused)
            }
            Err(SinkError::Unavailable(why)) => {
                self.core.metrics.sink.count_failed(events.len());
                Ok(Published::Unavailable(why))
            }
        }
    }

    /// Notes the positions that moved, and renews the lease for these seconds. Returns false if
    /// another node has it.
    async fn save(
        &self,
        options: &SinkOptions,
        leading: &mut Leading,
        seconds: i64,
    ) -> Result<bool, StoreError> {
        let sink = options.sink.name();
        let moved = leading.apps.iter().filter(|(_, log)| log.has_moved());
        let rows = moved.map(|(app, log)| SinkPositionRow {
            app_id: *app,
            sink: sink.to_owned(),
            position: log.position,
        });
        let lease = self.lease(options, seconds);
        let saved = self.core.store.save_sink_positions(lease, rows.collect()).await;
        let is_held = self.core.watched(saved)?;
        if is_held {
            leading.apps.values_mut().for_each(|log| log.saved = Some(log.position));
            leading.saved_at = Instant::now();
        }
        Ok(is_held)
    }
}

impl Leading {
    /// The apps whose logs are read now.
    fn due(&self) -> Vec<AppId> {
        let now = Instant::now();
        self.apps.iter().filter(|(_, log)| log.next_at <= now).map(|(app, _)| *app).collect()
    }

    /// The age of the oldest event that was read and is not published.
    fn lag_millis(&self, now: Timestamp) -> i64 {
        let oldest = self.apps.values().filter_map(|log| log.waiting_since).min();
        oldest.map_or(0, |oldest| (now.as_millis() - oldest.as_millis()).max(0))
    }
}

impl AppLog {
    fn at(saved: Option<EventId>) -> Self {
        Self {
            position: saved.unwrap_or_else(start),
            saved,
            next_at: Instant::now(),
            waiting_since: None,
            refusals: 0,
        }
    }

    fn has_moved(&self) -> bool {
        self.saved != Some(self.position)
    }
}
