//! Runs a computation: reads the responses page by page, and adds them to the aggregate.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use sluice_flow::id::ResponseId;
use sluice_flow::time::{Day, Timestamp};
use sluice_store::{ResponseQuery, ResponseRow, StoreError};

use super::aggregate::{Aggregate, VersionDefinitions};
use super::cache::{Begun, Computation, Computed, IDLE_MAX, REMOVAL_SECONDS, ReadProgress, Resume};
use super::removals;
use crate::admin::{AdminError, AdminResult};
use crate::core::Core;
use crate::summary::versions::published_versions;

/// Responses of one page.
const PAGE_ROWS: usize = 1_000;
/// Younger responses may become visible after others with a later id.
const SETTLES_SECONDS: i64 = 60;
/// The most numbers and texts in one aggregate.
const ENTRIES_MAX: usize = 250_000;

/// Runs until the result is complete, or nobody asks any longer.
pub(super) async fn run(core: Arc<Core>, computation: Arc<Computation>) {
    let _ending = Ending { core: &core, computation: &computation };
    let Ok(_slot) = core.computations.slots.acquire().await else { return };
    if let Err(error) = compute(&core, &computation).await {
        if let AdminError::Store(error) = &error {
            let source = std::error::Error::source(error).map(ToString::to_string);
            tracing::warn!(%error, source, "results cannot be computed from the responses");
        }
        let mut state = computation.lock();
        state.discard();
        state.failed = Some(error);
    }
}

/// Marks the end of a run, also if it panics.
struct Ending<'c> {
    core: &'c Core,
    computation: &'c Computation,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.computation.lock().is_running = false;
        self.computation.ended.send_modify(|runs| *runs += 1);
        self.core.computations.trim();
    }
}

/// What happened to a scan.
#[derive(PartialEq, Eq)]
enum Scanned {
    Whole,
    /// Nobody asks any longer.
    Stopped,
    /// What was read is no longer valid.
    Outdated,
}

async fn compute(core: &Arc<Core>, computation: &Arc<Computation>) -> AdminResult<()> {
    loop {
        let mut scan = Scan::begin(core, computation).await?;
        let settled = core.now().plus_seconds(-SETTLES_SECONDS);
        match scan.up_to(settled).await? {
            Scanned::Whole => {}
            Scanned::Stopped => return Ok(()),
            Scanned::Outdated => continue,
        }
        let as_of = core.now();
        let mut recent = Aggregate::new(&computation.subject.kind);
        match scan.since(settled, &mut recent).await? {
            Scanned::Whole => {}
            Scanned::Stopped => return Ok(()),
            Scanned::Outdated => continue,
        }
        let mut state = computation.lock();
        if state.generation == scan.generation {
            let Scan { begun, resume: Resume { settled, .. }, .. } = scan;
            state.entries = settled.entries() + recent.entries();
            let computed = Computed { settled, recent, as_of, begun, ended: Instant::now() };
            state.computed = Some(Arc::new(computed));
            return Ok(());
        }
    }
}

/// A scan over the responses of the subject.
struct Scan<'c> {
    core: &'c Core,
    computation: &'c Computation,
    generation: u64,
    begun: Begun,
    resume: Resume,
    definitions: VersionDefinitions,
    /// The responses of each day, for the progress.
    days: Vec<(Day, u64)>,
}

impl<'c> Scan<'c> {
    /// Continues where the last scan ended, or begins at the first response.
    async fn begin(core: &'c Core, computation: &'c Computation) -> AdminResult<Self> {
        let query = &computation.subject.query;
        let now = core.now();
        let since = now.plus_seconds(-REMOVAL_SECONDS);
        let recent = removals::since(&*core.store, query.app_id, since).await?;
        let days = core.store.count_by_day(query.app_id, query.from.map(Timestamp::day)).await?;
        let own = days.into_iter().filter(|it| it.flow_id == query.flow_id);
        let days = own.filter(|it| query.to.is_none_or(|to| it.day.starts_at() < to));
        let days = days.map(|it| (it.day, u64::try_from(it.responses).unwrap_or(0))).collect();
        let mut state = computation.lock();
        let (begun, resume) = match (state.begun.clone(), state.resume.clone()) {
            (Some(begun), Some(resume)) => (begun, resume),
            _ => {
                let removals = recent.unwrap_or_default();
                let settled = Arc::new(Aggregate::new(&computation.subject.kind));
                let begun = Begun { at: now, instant: Instant::now(), removals };
                (begun, Resume { settled, from: None, after: None })
            }
        };
        state.begun = Some(begun.clone());
        let generation = state.generation;
        drop(state);
        let definitions = HashMap::new();
        Ok(Self { core, computation, generation, begun, resume, definitions, days })
    }

    /// Reads the responses received before a time.
    async fn up_to(&mut self, settled: Timestamp) -> AdminResult<Scanned> {
        let mut query = self.query();
        query.from = self.resume.from.max(query.from);
        query.to = Some(query.to.map_or(settled, |to| to.min(settled)));
        query.after = self.resume.after;
        let mut aggregate = Aggregate::clone(&self.resume.settled);
        loop {
            let next = self.page(&query, &mut aggregate).await?;
            let ended = self.state_after(next);
            if let (None, Some(_)) = (&ended, next) {
                query.after = next;
                continue;
            }
            let (from, after) = match next {
                Some(_) => (self.resume.from, next),
                None => (query.to, None),
            };
            self.resume = Resume { settled: Arc::new(aggregate), from, after };
            self.save();
            return Ok(ended.unwrap_or(Scanned::Whole));
        }
    }

    /// Keeps what was read for the next run.
    fn save(&self) {
        let mut state = self.computation.lock();
        if state.generation == self.generation {
            state.entries = self.resume.settled.entries();
            state.resume = Some(self.resume.clone());
        }
    }

    /// Reads the responses received at a time or later.
    async fn since(&mut self, settled: Timestamp, into: &mut Aggregate) -> AdminResult<Scanned> {
        let mut query = self.query();
        query.from = Some(query.from.map_or(settled, |from| from.max(settled)));
        loop {
            query.after = self.page(&query, into).await?;
            match (self.state_after(query.after), query.after) {
                (Some(ended), _) => return Ok(ended),
                (None, None) => return Ok(Scanned::Whole),
                (None, Some(_)) => {}
            }
        }
    }

    fn query(&self) -> ResponseQuery {
        ResponseQuery { limit: PAGE_ROWS, ..self.computation.subject.query.clone() }
    }

    /// Adds one page, and returns where the next one starts.
    async fn page(
        &mut self,
        query: &ResponseQuery,
        into: &mut Aggregate,
    ) -> AdminResult<Option<ResponseId>> {
        let page = self.core.store.list_responses(query).await?;
        self.learn(&page.rows).await?;
        let (mut aggregate, definitions) = (std::mem::take(into), self.definitions.clone());
        // Parsing a page takes some milliseconds.
        let added = tokio::task::spawn_blocking(move || {
            aggregate.add(&page.rows, &definitions);
            aggregate
        });
        *into = added.await.map_err(|panicked| StoreError::Failed(Box::new(panicked)))?;
        if into.entries() > ENTRIES_MAX {
            let detail = "the responses that match have too many different answers to be counted \
                          together; choose fewer days";
            return Err(AdminError::conflict("too_many_answers", detail));
        }
        Ok(page.next)
    }

    /// Reads the definitions of versions that are not known yet.
    async fn learn(&mut self, rows: &[ResponseRow]) -> AdminResult<()> {
        let is_known = |row: &ResponseRow| self.definitions.contains_key(&row.flow_version_id);
        if rows.iter().all(is_known) {
            return Ok(());
        }
        let query = &self.computation.subject.query;
        let versions = published_versions(self.core, query.app_id, query.flow_id).await?;
        let pairs = versions.into_iter().map(|it| (it.flow_version_id, it.definition));
        self.definitions.extend(pairs);
        // A version that is missing is counted without its answers.
        for row in rows {
            self.definitions.entry(row.flow_version_id).or_default();
        }
        Ok(())
    }

    /// Records the progress; returns why the scan must end, if it must.
    fn state_after(&self, last: Option<ResponseId>) -> Option<Scanned> {
        let progress = last.map(|last| progress(&self.days, last.made_at()));
        let mut state = self.computation.lock();
        state.progress = progress.unwrap_or(state.progress);
        if state.generation != self.generation {
            return Some(Scanned::Outdated);
        }
        let is_wanted = !state.is_forgotten && state.asked_at.elapsed() < IDLE_MAX;
        (!is_wanted).then_some(Scanned::Stopped)
    }
}

/// The responses received up to a time; those of its day as if they had arrived evenly.
fn progress(days: &[(Day, u64)], at: Timestamp) -> ReadProgress {
    const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;
    let today = at.day();
    let passed = at.as_millis().saturating_sub(today.starts_at().as_millis());
    let passed = u64::try_from(passed).unwrap_or(0);
    let read = days.iter().map(|&(day, responses)| match day.cmp(&today) {
        std::cmp::Ordering::Less => responses,
        std::cmp::Ordering::Equal => responses.saturating_mul(passed) / DAY_MILLIS,
        std::cmp::Ordering::Greater => 0,
    });
    ReadProgress { read: read.sum(), of: days.iter().map(|(_, responses)| responses).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_the_share_of_responses_up_to_a_time() {
        let day = |number| Day::from_number(number);
        let days = [(day(10), 100), (day(12), 50), (day(20), 50)];
        for (at, read) in [
            (day(9).starts_at(), 0),
            (day(10).starts_at().plus_seconds(12 * 60 * 60), 50),
            (day(11).starts_at(), 100),
            (day(12).starts_at().plus_seconds(6 * 60 * 60), 112),
            (day(21).starts_at(), 200),
        ] {
            assert_eq!(progress(&days, at), ReadProgress { read, of: 200 }, "{at}");
        }
    }
}
