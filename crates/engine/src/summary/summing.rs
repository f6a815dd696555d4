//! Reads the data for summaries: the versions of a flow, and its counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_flow::counts;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::{Day, Timestamp};
use sluice_store::{CountsQuery, FlowCounts, Scope, StoreError};

use super::{CountingProgress, Spark, Summary, SummaryFilter, Version, add_up, count, sparks};
use crate::admin::AdminResult;
use crate::core::Core;
use crate::handle::{AppHandle, FlowHandle};

/// The number of versions to read at a time.
const VERSIONS_PAGE: usize = 100;
/// The number of count rows above which they are added up on a blocking thread.
const AT_ONCE_DAYS_MAX: usize = 100;

impl FlowHandle {
    pub async fn summary(&self, filter: &SummaryFilter) -> AdminResult<Summary> {
        self.summing().await?.summary(filter).await
    }

    /// Starts several summaries of the flow, which share one read of the versions.
    pub async fn summing(&self) -> AdminResult<Summing> {
        let core = Arc::clone(self.permit.core(Scope::Read)?);
        let (app_id, flow_id) = (self.app_id(), self.flow_id());
        let versions = Arc::new(published_versions(&core, app_id, flow_id).await?);
        Ok(Summing { core, app_id, flow_id, versions, counted: Mutex::default() })
    }

    /// The number of responses of each version of the flow; versions without any are absent.
    pub async fn responses_by_version(&self) -> AdminResult<BTreeMap<FlowVersionId, u64>> {
        let core = self.permit.core(Scope::Read)?;
        let counted = core.store.count_by_version(self.app_id(), self.flow_id()).await?;
        Ok(counted.into_iter().map(|(version, responses)| (version, count(responses))).collect())
    }
}

impl AppHandle {
    /// The flows of the app that have responses, each with the counts of the last days: one read
    /// for a whole list.
    pub async fn sparks(&self, days: u32) -> AdminResult<Vec<Spark>> {
        let core = self.permit.core(Scope::Read)?;
        let totals = core.store.count_by_day(self.app_id(), None).await?;
        Ok(sparks(&totals, core.now().day(), days))
    }

    /// The same with only the last days, which costs the same however old a flow is.
    pub async fn recent_sparks(&self, days: u32) -> AdminResult<Vec<Spark>> {
        let core = self.permit.core(Scope::Read)?;
        let today = core.now().day();
        let length = i32::try_from(days).unwrap_or(i32::MAX);
        let from = Day::from_number(today.number().saturating_sub(length).saturating_add(1));
        let totals = core.store.count_by_day(self.app_id(), Some(from)).await?;
        Ok(sparks(&totals, today, days))
    }

    /// When the newest response of each of these flows was received; flows without one are absent.
    pub async fn last_received(
        &self,
        flows: &[FlowId],
    ) -> AdminResult<BTreeMap<FlowId, Timestamp>> {
        let core = self.permit.core(Scope::Read)?;
        let newest = core.store.newest_responses(self.app_id(), flows).await?;
        Ok(newest.into_iter().map(|(flow, response)| (flow, response.made_at())).collect())
    }
}

/// Several summaries of one flow, for one page. The versions are read once, and so are counts that
/// several summaries need.
pub struct Summing {
    core: Arc<Core>,
    app_id: AppId,
    flow_id: FlowId,
    versions: Arc<Vec<Version>>,
    /// The counts that were read.
    counted: Mutex<Vec<(CountsQuery, Arc<FlowCounts>)>>,
}

impl std::fmt::Debug for Summing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Summing").field("flow_id", &self.flow_id).finish_non_exhaustive()
    }
}

impl Summing {
    pub async fn summary(&self, filter: &SummaryFilter) -> AdminResult<Summary> {
        let counts = self.counts(query_of(filter)).await?;
        let counting = counts.scan.map(|scan| CountingProgress {
            counted_until: scan.passed.map(|passed| passed.made_at()),
        });
        let summary = match counts.daily.len() <= AT_ONCE_DAYS_MAX {
            true => add_up(&self.versions, &counts.daily, filter),
            false => {
                let (versions, filter) = (Arc::clone(&self.versions), filter.clone());
                let added_up = move || add_up(&versions, &counts.daily, &filter);
                let added_up = tokio::task::spawn_blocking(added_up).await;
                added_up.map_err(|panicked| StoreError::Failed(Box::new(panicked)))?
            }
        };
        Ok(Summary { counting, ..summary })
    }

    /// Reads the counts that this filter needs, for later summaries of fewer days.
    pub async fn prepare(&self, filter: &SummaryFilter) -> AdminResult<()> {
        self.counts(query_of(filter)).await.map(|_| ())
    }

    /// Counts of at least the days of the query; reuses counts that were already read.
    async fn counts(&self, query: CountsQuery) -> AdminResult<Arc<FlowCounts>> {
        if let Some(known) = self.known(&query) {
            return Ok(known);
        }
        let read = self.core.store.read_counts(self.app_id, self.flow_id, &query).await?;
        let read = Arc::new(read);
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.push((query, Arc::clone(&read)));
        Ok(read)
    }

    fn known(&self, query: &CountsQuery) -> Option<Arc<FlowCounts>> {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut covering = counted.iter().filter(|(known, _)| covers(known, query));
        covering.next().map(|(_, counts)| Arc::clone(counts))
    }
}

fn query_of(filter: &SummaryFilter) -> CountsQuery {
    let segment = filter.tag.as_ref().map(|(name, value)| counts::segment(name, value));
    CountsQuery { from: filter.from, to: filter.to, segment }
}

/// Whether the counts of one query include all that another needs. Additional days are ignored when
/// counts are added up.
fn covers(known: &CountsQuery, query: &CountsQuery) -> bool {
    let from = known.from.is_none_or(|known| query.from.is_some_and(|from| from >= known));
    let to = known.to.is_none_or(|known| query.to.is_some_and(|to| to <= known));
    let segment = query.segment.is_none() || known.segment == query.segment;
    from && to && segment
}

/// Newest first.
async fn published_versions(core: &Core, app: AppId, flow: FlowId) -> AdminResult<Vec<Version>> {
    let mut versions = Vec::new();
    let mut before = None;
    loop {
        let page = core.store.list_versions(app, flow, before, VERSIONS_PAGE).await?;
        let is_last = page.len() < VERSIONS_PAGE;
        before = page.last().map(|last| last.number);
        for row in page {
            versions.push(Version {
                flow_version_id: row.flow_version_id,
                number: row.number,
                published_at: row.times.published_at.unwrap_or(row.created_at),
                definition: core.definitions.readable(&row),
            });
        }
        if is_last {
            return Ok(versions);
        }
    }
}
