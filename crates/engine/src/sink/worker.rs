//! The background work that publishes events to a sink.
//!
//! Every node reads the logs of all apps in turn. When one has something to publish, the node takes
//! the lease of the sink and publishes page by page. It saves the positions every second, because a
//! write for each page would cost the store a sync: after a crash the events of the last second are
//! published again. While nothing is new, nothing is written, and the lease ends by itself. If the
//! sink takes nothing, the node pauses and releases the lease: another node may reach the sink. It
//! also does so if an event has a type of a newer release: a node of that release publishes the
//! event, and no later event of the app is published before it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_flow::id::AppId;
use sluice_flow::time::Timestamp;
use sluice_store::{Page, SinkLease, StoreError, WorkerId};
use tokio::sync::Mutex;

use super::logs::{AppLog, AppPage, Logs};
use super::{PUBLISH_MAX, SinkError, SinkOptions, TooLarge};
use crate::admin::AdminError;
use crate::background::{is_final, keep_running_after};
use crate::core::Core;
use crate::ids::random_bits;
use crate::sink_position::waiting_since;

/// The length of a lease.
const LEASE_SECONDS: i64 = 15;
/// The time that must be left of it before a page is published: for the page, and the write after
/// it.
const LEFT_SECONDS: i64 = PUBLISH_MAX.as_secs() as i64 + 2;
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
const APPS_PAGE: usize = 1_000;

const _: () = assert!(LEFT_SECONDS + SAVE_INTERVAL.as_secs() as i64 <= LEASE_SECONDS);

pub(crate) struct SinkWorker {
    core: Arc<Core>,
    /// Absent if nothing is published.
    options: Option<SinkOptions>,
    worker: WorkerId,
    state: Mutex<PublishingState>,
}

#[derive(Default)]
struct PublishingState {
    /// Absent if the positions must be read again.
    logs: Option<Logs>,
    /// The sink took nothing when it was last tried.
    is_down: bool,
    /// As far as this node knows, it was the last one to publish: other nodes check less often.
    is_last: bool,
    /// While nothing is sent: when the logs were read, and the time of the oldest event that waits.
    held: Option<(Instant, Option<Timestamp>)>,
}

/// Whether this node may publish.
enum Lease {
    Held,
    /// It was just taken: events that were read before may already be published.
    New,
    OfAnother,
}

/// The outcome of publishing a page.
enum PublishedPart {
    All,
    Refused,
    Unavailable(String),
}

/// The outcome of a round, for the next one.
#[derive(Default)]
struct Round {
    has_more: bool,
    has_published: bool,
    /// Why the sink takes nothing.
    is_down: Option<String>,
    /// An event of an unknown type is next in an app.
    is_held_up: bool,
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
                    state.logs = None;
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

    /// Publishes everything that can be read now, and saves the positions, if this node can get the
    /// lease. Returns whether it did.
    pub(crate) async fn publish_all(&self) -> Result<bool, StoreError> {
        let Some(options) = &self.options else { return Ok(false) };
        let mut state = self.state.lock().await;
        let logs = self.logs(options, &mut state).await?;
        logs.listed_at = None;
        if matches!(self.lease(options, logs).await?, Lease::OfAnother) {
            self.leave(options, &mut state).await?;
            return Ok(false);
        }
        logs.read_all_next();
        while self.pass(options, &mut state).await?.is_zero() {}
        match &mut state.logs {
            Some(logs) if logs.leased_until.is_some() => {
                self.save(options, logs, LEASE_SECONDS).await
            }
            _ => Ok(false),
        }
    }

    /// Saves the sink position and releases the lease, before the store is closed.
    pub(crate) async fn close(&self) {
        let Some(options) = &self.options else { return };
        let mut state = self.state.lock().await;
        if let Some(mut logs) = state.logs.take()
            && (logs.is_unsaved() || logs.is_leased(self.core.now()))
            && let Err(error) = self.save(options, &mut logs, 0).await
        {
            tracing::warn!(%error, "cannot save the sink position");
        }
    }

    /// The logs that this node knows; read from the store if it knows none.
    async fn logs<'s>(
        &self,
        options: &SinkOptions,
        state: &'s mut PublishingState,
    ) -> Result<&'s mut Logs, StoreError> {
        Ok(match &mut state.logs {
            Some(logs) => logs,
            none => {
                let rows = self.core.store.list_sink_positions(options.sink.name()).await?;
                none.insert(Logs::new(rows))
            }
        })
    }

    /// One round over the apps. Returns how long to wait for the next one.
    async fn pass(
        &self,
        options: &SinkOptions,
        state: &mut PublishingState,
    ) -> Result<Duration, StoreError> {
        let is_last = state.is_last;
        let logs = self.logs(options, state).await?;
        self.list_apps(options, logs).await?;
        let least = if is_last { IDLE_INTERVAL } else { RETRY_INTERVAL };
        let idle = least.max(EACH_APP * logs.apps.len() as u32);
        let mut round = Round::default();
        for app in logs.due() {
            // With many apps, a pass may last longer than the lease.
            if !self.save_if_due(options, logs).await? {
                return self.leave(options, state).await;
            }
            let Some(log) = logs.apps.get_mut(&app) else { continue };
            log.next_at = Instant::now() + idle;
            let Some(page) = self.read(app, log).await? else { continue };
            round.is_held_up |= page.unknown.is_some();
            if page.events.is_empty() {
                (log.position, log.waiting_since) = (page.next, None);
            } else {
                log.waiting_since = page.events.first().map(|event| event.timestamp);
                match self.lease(options, logs).await? {
                    Lease::Held => {}
                    Lease::New => return Ok(Duration::ZERO),
                    Lease::OfAnother => return self.leave(options, state).await,
                }
                let Some(log) = logs.apps.get_mut(&app) else { continue };
                match self.publish(options, app, log, &page).await {
                    PublishedPart::All => round.has_published = true,
                    PublishedPart::Refused => continue,
                    PublishedPart::Unavailable(why) => {
                        round.is_down = Some(why);
                        break;
                    }
                }
            }
            if page.has_more
                && let Some(log) = logs.apps.get_mut(&app)
            {
                log.next_at = Instant::now();
                round.has_more = true;
            }
        }
        self.end(options, state, round).await
    }

    /// Ends a round: reports it, and saves the positions or releases the lease. Returns the pause.
    async fn end(
        &self,
        options: &SinkOptions,
        state: &mut PublishingState,
        round: Round,
    ) -> Result<Duration, StoreError> {
        let (now, sink) = (self.core.now(), options.sink.name());
        let Some(logs) = &mut state.logs else { return Ok(RETRY_INTERVAL) };
        self.core.metrics.sink.set_lag(logs.lag_millis(now));
        state.is_last |= round.has_published;
        if let Some(why) = round.is_down {
            // Once, not with each of the following attempts.
            if !std::mem::replace(&mut state.is_down, true) {
                tracing::warn!(sink, why, "events cannot be published now");
            }
            self.save(options, logs, 0).await?;
            state.logs = None;
            return Ok(RETRY_INTERVAL);
        }
        if round.has_published && std::mem::take(&mut state.is_down) {
            tracing::info!(sink, "events are published again");
        }
        if round.is_held_up && !round.has_more {
            if logs.is_leased(now) {
                self.save(options, logs, 0).await?;
            }
            return Ok(RETRY_INTERVAL);
        }
        if !self.save_if_due(options, logs).await? {
            return self.leave(options, state).await;
        }
        Ok(if round.has_more { Duration::ZERO } else { TICK })
    }

    /// Another node publishes, or nothing is sent.
    async fn leave(
        &self,
        options: &SinkOptions,
        state: &mut PublishingState,
    ) -> Result<Duration, StoreError> {
        // What was read stays known, so that an idle node reads no more than others.
        state.logs.iter_mut().for_each(Logs::leave);
        state.is_last = false;
        let lag = self.held_millis(options, &mut state.held).await?;
        self.core.metrics.sink.set_lag(lag);
        Ok(RETRY_INTERVAL)
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

    /// Takes the lease, unless enough of it is left.
    async fn lease(&self, options: &SinkOptions, logs: &mut Logs) -> Result<Lease, StoreError> {
        let (store, now) = (&self.core.store, self.core.now());
        if logs.is_leased(now.plus_seconds(LEFT_SECONDS)) {
            return Ok(Lease::Held);
        }
        if logs.is_leased(now) {
            let is_held = self.save(options, logs, LEASE_SECONDS).await?;
            return Ok(if is_held { Lease::Held } else { Lease::OfAnother });
        }
        if self.core.outbound.is_held(&**store).await? {
            return Ok(Lease::OfAnother);
        }
        let lease = self.lease_for(options, LEASE_SECONDS);
        let until = lease.until;
        if !self.core.watched(store.lease_sink(lease).await)? {
            return Ok(Lease::OfAnother);
        }
        logs.leased_until = Some(until);
        logs.advance(store.list_sink_positions(options.sink.name()).await?);
        Ok(Lease::New)
    }

    fn lease_for(&self, options: &SinkOptions, seconds: i64) -> SinkLease {
        let (sink, now) = (options.sink.name().to_owned(), self.core.now());
        SinkLease { sink, worker: self.worker, now, until: now.plus_seconds(seconds) }
    }

    /// Adds the apps that are new, and drops those whose events are not published.
    async fn list_apps(&self, options: &SinkOptions, logs: &mut Logs) -> Result<(), StoreError> {
        let interval = LIST_INTERVAL.max(EACH_APP * logs.apps.len() as u32);
        if logs.listed_at.is_some_and(|at| at.elapsed() < interval) {
            return Ok(());
        }
        if !options.apps.is_empty() {
            logs.apps.retain(|app, _| options.apps.contains(app));
        }
        let mut after = None;
        loop {
            let page = Page { after, limit: APPS_PAGE };
            let found = self.core.store.list_apps(page).await?;
            for app in &found {
                let id = app.row.app_id;
                if options.apps.is_empty() || options.apps.contains(&id) {
                    logs.apps.entry(id).or_insert_with(AppLog::new);
                }
            }
            match found.last() {
                Some(last) if found.len() >= APPS_PAGE => after = Some(last.row.app_id),
                _ => break,
            }
        }
        logs.listed_at = Some(Instant::now());
        Ok(())
    }

    /// The next events of an app; `None` if they cannot be read now.
    async fn read(&self, app: AppId, log: &mut AppLog) -> Result<Option<AppPage>, StoreError> {
        let page = match log.read(&self.core, app).await {
            Ok(page) => page,
            Err(AdminError::Store(error)) if is_final(&error) => return Err(error),
            Err(error) => {
                // The logs of the other apps continue.
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, source, %app, "the events of an app cannot be read");
                log.next_at = Instant::now() + RETRY_INTERVAL;
                return Ok(None);
            }
        };
        if let Some(row) = &page.unknown
            && log.unknown.replace(row.event_id) != Some(row.event_id)
        {
            let (event, kind) = (row.event_id, row.kind.as_str());
            let what = "an event of an unknown type waits for a node of a newer release";
            tracing::warn!(%app, %event, kind, "{what}");
        }
        Ok(Some(page))
    }

    /// Publishes a page of an app. Its position moves only if the sink has all of it.
    async fn publish(
        &self,
        options: &SinkOptions,
        app: AppId,
        log: &mut AppLog,
        page: &AppPage,
    ) -> PublishedPart {
        let (sink, metrics) = (options.sink.name(), &self.core.metrics.sink);
        let published = tokio::time::timeout(PUBLISH_MAX, options.sink.publish(app, &page.events));
        let late = || Err(SinkError::Unavailable("it did not answer in time".to_owned()));
        match published.await.unwrap_or_else(|_| late()) {
            Ok(too_large) => {
                (log.position, log.is_unsaved, log.refusals) = (page.next, true, 0);
                log.waiting_since = page.has_more.then(|| page.next.made_at());
                metrics.count_published(page.events.len() - too_large.len());
                too_large.iter().for_each(|it| self.report(sink, app, it));
                PublishedPart::All
            }
            Err(SinkError::Refused(why)) => {
                metrics.count_failed(page.events.len());
                tracing::warn!(sink, %app, why, "events were refused");
                log.refused(REFUSED_MAX);
                PublishedPart::Refused
            }
            Err(SinkError::Unavailable(why)) => {
                metrics.count_failed(page.events.len());
                PublishedPart::Unavailable(why)
            }
        }
    }

    fn report(&self, sink: &str, app: AppId, it: &TooLarge) {
        let TooLarge { event, bytes, bytes_max, is_skipped, advice } = it;
        self.core.metrics.sink.count_too_large(*is_skipped);
        if *is_skipped {
            tracing::error!(sink, %app, %event, bytes, bytes_max, advice, "an event was skipped");
        } else {
            let what = "an event was published without its contents";
            tracing::warn!(sink, %app, %event, bytes, bytes_max, advice, "{what}");
        }
    }

    /// Saves positions that moved a while ago. Returns false if another node has the lease.
    async fn save_if_due(
        &self,
        options: &SinkOptions,
        logs: &mut Logs,
    ) -> Result<bool, StoreError> {
        match logs.is_unsaved() && logs.saved_at.elapsed() >= SAVE_INTERVAL {
            true => self.save(options, logs, LEASE_SECONDS).await,
            false => Ok(true),
        }
    }

    /// Saves the positions that moved, and renews the lease for these seconds. Returns false if
    /// another node has it.
    async fn save(
        &self,
        options: &SinkOptions,
        logs: &mut Logs,
        seconds: i64,
    ) -> Result<bool, StoreError> {
        let lease = self.lease_for(options, seconds);
        let until = (seconds > 0).then_some(lease.until);
        let rows = logs.unsaved(options.sink.name());
        let saved = self.core.store.save_sink_positions(lease, rows).await;
        let is_held = self.core.watched(saved)?;
        if is_held {
            logs.saved(until);
        }
        Ok(is_held)
    }
}
