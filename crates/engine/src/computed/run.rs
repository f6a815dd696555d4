//! Runs a computation: reads the responses page by page, and adds them to the aggregate.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_flow::id::ResponseId;
use sluice_flow::time::{DAY_MILLIS, Day, Timestamp};
use sluice_store::{ResponseQuery, ResponseRow, StoreError};

use super::aggregate::{Aggregate, Kind, KnownTags, VersionDefinitions};
use super::cache::{Computation, Computed, Outcome, ReadProgress};
use crate::admin::{AdminError, AdminResult};
use crate::core::Core;
use crate::read_end::read_end;
use crate::summary::versions::published_versions;

/// Responses of one page.
const PAGE_ROWS: usize = 2_000;

/// Waits for its turn, and runs until the result is complete or there are no requests any more.
pub(super) async fn run(core: Arc<Core>, computation: Arc<Computation>) {
    let mut ending = Ending { core: &core, computation: &computation, outcome: Outcome::Stopped };
    let Ok(_slot) = core.computations.slots.acquire().await else { return };
    ending.outcome = match Pass::new(&core, &computation).computed().await {
        Ok(Some(computed)) => {
            let entries = computed.aggregate.entries();
            Outcome::Computed(Arc::new(computed), entries)
        }
        Ok(None) => Outcome::Stopped,
        Err(AdminError::Conflict { code, detail }) => Outcome::Refused { code, detail },
        Err(error) => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, source, "results cannot be computed from the responses");
            Outcome::Failed(Some(error))
        }
    };
}

/// Records the end of a run, also if it panics.
struct Ending<'c> {
    core: &'c Core,
    computation: &'c Computation,
    outcome: Outcome,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let now = self.core.clock.monotonic();
        self.computation.end(std::mem::replace(&mut self.outcome, Outcome::Stopped), now);
        self.core.computations.tidy(now);
    }
}

/// One pass over the responses of the subject, oldest first.
struct Pass<'c> {
    core: &'c Core,
    computation: &'c Computation,
    definitions: VersionDefinitions,
    known_tags: KnownTags,
}

impl<'c> Pass<'c> {
    fn new(core: &'c Core, computation: &'c Computation) -> Self {
        Self { core, computation, definitions: HashMap::new(), known_tags: KnownTags::default() }
    }

    /// The result; none if there are no requests any more.
    async fn computed(mut self) -> AdminResult<Option<Computed>> {
        let subject = &self.computation.subject;
        let as_of = self.core.now();
        if !self.is_wanted() {
            return Ok(None);
        }
        let days = self.days().await?;
        let for_counts = !matches!(subject.kind, Kind::Sorted { .. });
        let mut query = ResponseQuery { limit: PAGE_ROWS, for_counts, ..subject.query.clone() };
        let end = read_end(&*self.core.store, query.app_id, query.flow_id, as_of).await?;
        query.to = Some(query.to.map_or(end, |to| to.min(end)));
        let aggregate = match Aggregate::new(&subject.kind) {
            Aggregate::Count(_) => self.counted(query, &days).await?.map(Aggregate::Count),
            empty => self.aggregated(empty, query, &days).await?,
        };
        Ok(aggregate.map(|aggregate| Computed { aggregate, as_of }))
    }

    /// The number of responses: to count them, they need not leave the store.
    async fn counted(
        &self,
        mut query: ResponseQuery,
        days: &[(Day, u64)],
    ) -> AdminResult<Option<u64>> {
        let mut responses = 0;
        loop {
            let part = self.core.store.count_responses(&query).await?;
            responses += part.responses;
            let Some(next) = part.next else { return Ok(Some(responses)) };
            if !self.continues(days, next) {
                return Ok(None);
            }
            query.after = Some(next);
        }
    }

    /// The aggregate with all responses. While a page is added, the next one is read.
    async fn aggregated(
        &mut self,
        mut aggregate: Aggregate,
        mut query: ResponseQuery,
        days: &[(Day, u64)],
    ) -> AdminResult<Option<Aggregate>> {
        let store = &self.core.store;
        let mut page = store.list_responses(&query).await?;
        while let Some(next) = page.next {
            if !self.continues(days, next) {
                return Ok(None);
            }
            query.after = Some(next);
            let following = async { Ok(store.list_responses(&query).await?) };
            (aggregate, page) = tokio::try_join!(self.added(aggregate, page.rows), following)?;
        }
        self.added(aggregate, page.rows).await.map(Some)
    }

    /// Records the progress; false if nobody requests the result any more.
    fn continues(&self, days: &[(Day, u64)], next: ResponseId) -> bool {
        self.computation.lock().progress = progress(days, next.made_at());
        self.is_wanted()
    }

    fn is_wanted(&self) -> bool {
        self.computation.lock().is_wanted(self.core.clock.monotonic())
    }

    /// The responses of each day, for the progress.
    async fn days(&self) -> AdminResult<Vec<(Day, u64)>> {
        let ResponseQuery { app_id, flow_id, from, to, .. } = self.computation.subject.query;
        let days = self.core.store.count_by_day(app_id, from.map(Timestamp::day)).await?;
        let own = days.into_iter().filter(|it| it.flow_id == flow_id);
        let own = own.filter(|it| to.is_none_or(|to| it.day.starts_at() < to));
        Ok(own.map(|it| (it.day, u64::try_from(it.responses).unwrap_or(0))).collect())
    }

    /// The aggregate with one more page.
    async fn added(
        &mut self,
        mut aggregate: Aggregate,
        rows: Vec<ResponseRow>,
    ) -> AdminResult<Aggregate> {
        self.learn(&rows).await?;
        let definitions = self.definitions.clone();
        let mut known_tags = std::mem::take(&mut self.known_tags);
        // Parsing a page takes some milliseconds.
        let added = tokio::task::spawn_blocking(move || {
            aggregate.add(&rows, &definitions, &mut known_tags);
            (aggregate, known_tags)
        });
        let added = added.await.map_err(|panicked| StoreError::Failed(Box::new(panicked)))?;
        let (added, known_tags) = added;
        self.known_tags = known_tags;
        if added.is_too_large() {
            let detail = "the responses that match have too many different answers to be counted \
                          together; choose fewer days";
            return Err(AdminError::conflict("too_many_answers", detail));
        }
        Ok(added)
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
}

/// The responses received up to a time; those of its day as if they had arrived evenly.
fn progress(days: &[(Day, u64)], at: Timestamp) -> ReadProgress {
    let today = at.day();
    let passed = at.as_millis().saturating_sub(today.starts_at().as_millis());
    let passed = u64::try_from(passed).unwrap_or(0);
    let read = days.iter().map(|&(day, responses)| match day.cmp(&today) {
        std::cmp::Ordering::Less => responses,
        std::cmp::Ordering::Equal => responses.saturating_mul(passed) / DAY_MILLIS.unsigned_abs(),
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
