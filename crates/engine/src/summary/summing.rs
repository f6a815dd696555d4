//! Reads the data for summaries: the versions of a flow, and its counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_flow::counts;
use sluice_flow::crosstab::CrosstabSide;
use sluice_flow::id::{AppId, FlowId, FlowVersionId};
use sluice_flow::time::{Day, Timestamp};
use sluice_store::{CountsQuery, FlowCounts, Order, ResponseQuery, Scope, StoreError};

use super::crosstab::{self, Crosstab};
use super::versions::{Version, published_versions};
use super::{
    CountingProgress, Results, Spark, Summary, SummaryFilter, TagSums, add_up, count, sparks,
};
use crate::admin::AdminResult;
use crate::boxed;
use crate::computed::aggregate::{Aggregate, DailyAggregate, Kind, Subject};
use crate::computed::ask::ask;
use crate::computed::cache::Computed;
use crate::core::Core;
use crate::fault::faultless;
use crate::handle::{AppHandle, FlowHandle};
use crate::question_history::QuestionHistory;
use crate::responses::{Paging, ResponseFilter};

/// Names and values.
type Tags = Vec<(String, String)>;

/// The number of count rows above which they are added up on a blocking thread.
const AT_ONCE_DAYS_MAX: usize = 100;

impl FlowHandle {
    #[boxed]
    pub async fn summary(&self, filter: &SummaryFilter) -> AdminResult<Results<Summary>> {
        self.summing().await?.summary(filter).await
    }

    /// The answers to two questions together.
    #[boxed]
    pub async fn crosstab(
        &self,
        rows: &CrosstabSide,
        columns: &CrosstabSide,
        filter: &SummaryFilter,
    ) -> AdminResult<Results<Crosstab>> {
        self.summing().await?.crosstab(rows, columns, filter).await
    }

    /// Starts several summaries of the flow, which share one read of the versions.
    #[boxed]
    pub async fn summing(&self) -> AdminResult<Summing> {
        let core = Arc::clone(self.permit.core(Scope::Read)?);
        let (app_id, flow_id) = (self.app_id(), self.flow_id());
        let versions = Arc::new(published_versions(&core, app_id, flow_id).await?);
        Ok(Summing {
            core,
            app_id,
            flow_id,
            versions,
            by_tag: None,
            counted: Mutex::default(),
            computed: Mutex::default(),
        })
    }

    /// The number of responses of each version of the flow; versions without any are absent.
    #[boxed]
    pub async fn responses_by_version(&self) -> AdminResult<BTreeMap<FlowVersionId, u64>> {
        let core = self.permit.core(Scope::Read)?;
        let counted = core.store.count_by_version(self.app_id(), self.flow_id()).await?;
        Ok(counted.into_iter().map(|(version, responses)| (version, count(responses))).collect())
    }
}

impl AppHandle {
    /// The flows of the app that have responses, each with the counts of the last days: one read
    /// for a whole list.
    #[boxed]
    pub async fn sparks(&self, days: u32) -> AdminResult<Vec<Spark>> {
        let core = self.permit.core(Scope::Read)?;
        let totals = core.store.count_by_day(self.app_id(), None).await?;
        Ok(sparks(&totals, core.now().day(), days))
    }

    /// The same with only the last days, which costs the same however old a flow is.
    #[boxed]
    pub async fn recent_sparks(&self, days: u32) -> AdminResult<Vec<Spark>> {
        let core = self.permit.core(Scope::Read)?;
        let today = core.now().day();
        let length = i32::try_from(days).unwrap_or(i32::MAX);
        let from = Day::from_number(today.number().saturating_sub(length).saturating_add(1));
        let totals = core.store.count_by_day(self.app_id(), Some(from)).await?;
        Ok(sparks(&totals, today, days))
    }

    /// When the newest response of each of these flows was received; flows without one are absent.
    #[boxed]
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
    /// The tag whose values are compared.
    by_tag: Option<String>,
    /// The counts that were read.
    counted: Mutex<Vec<(CountsQuery, Arc<FlowCounts>)>>,
    /// The results that were computed.
    computed: Mutex<Vec<(ResponseQuery, Arc<Computed>)>>,
}

impl std::fmt::Debug for Summing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Summing").field("flow_id", &self.flow_id).finish_non_exhaustive()
    }
}

impl Summing {
    /// The summary of the responses that pass the filter: from counts if possible.
    #[boxed]
    pub async fn summary(&self, filter: &SummaryFilter) -> AdminResult<Results<Summary>> {
        if filter.is_counted() {
            return self.counted(filter).await.map(Results::Ready);
        }
        let query = self.query(filter)?;
        let (computed, tags) = match self.known_computed(&query) {
            Some(known) => known,
            None => match self.compute(query).await? {
                Results::Ready(computed) => (computed, Vec::new()),
                Results::Computing(progress) => return Ok(Results::Computing(progress)),
            },
        };
        let filter = SummaryFilter { tags, ..filter.clone() };
        let versions = Arc::clone(&self.versions);
        let added_up = move || add_up_computed(&versions, &computed, &filter);
        let added_up = tokio::task::spawn_blocking(added_up).await;
        let summary = added_up.map_err(|panicked| StoreError::Failed(Box::new(panicked)))?;
        Ok(Results::Ready(summary))
    }

    /// Also counts by the values of this tag, so that a comparison of them needs one computation.
    pub fn comparing_tag(self, name: Option<&str>) -> Self {
        Self { by_tag: name.map(str::to_owned), ..self }
    }

    async fn compute(&self, query: ResponseQuery) -> AdminResult<Results<Arc<Computed>>> {
        let kind = Kind::Results { by_tag: self.by_tag.clone() };
        let results = ask(&self.core, Subject { query: query.clone(), kind }).await?;
        if let Results::Ready(computed) = &results {
            let mut known = self.computed.lock().unwrap_or_else(PoisonError::into_inner);
            known.push((query, Arc::clone(computed)));
        }
        Ok(results)
    }

    /// A result that includes this one, and the tags that it has not applied.
    fn known_computed(&self, query: &ResponseQuery) -> Option<(Arc<Computed>, Tags)> {
        let all = self.computed.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find_map(|(known, computed)| {
            let is_compared =
                matches!(query.tags.as_slice(), [(name, _)] if Some(name) == self.by_tag.as_ref());
            // The values of a tag are counted for all days together.
            if is_compared && *known == (ResponseQuery { tags: Vec::new(), ..query.clone() }) {
                return Some((Arc::clone(computed), query.tags.clone()));
            }
            let (from, to) = (known.from, known.to);
            let same_days = ResponseQuery { from, to, ..query.clone() };
            let is_from = from.is_none_or(|from| query.from.is_some_and(|it| it >= from));
            let is_to = to.is_none_or(|to| query.to.is_some_and(|it| it <= to));
            (*known == same_days && is_from && is_to).then(|| (Arc::clone(computed), Vec::new()))
        })
    }

    /// The questions of the flow, over all versions that can be read.
    pub fn asked(&self) -> QuestionHistory {
        let mut asked = QuestionHistory::default();
        for version in self.versions.iter().rev() {
            if let Some(definition) = &version.definition {
                asked.add(version.flow_version_id, version.number, Arc::clone(definition));
            }
        }
        asked
    }

    /// The answers to two questions together, of the responses that pass the filter.
    #[boxed]
    pub async fn crosstab(
        &self,
        rows: &CrosstabSide,
        columns: &CrosstabSide,
        filter: &SummaryFilter,
    ) -> AdminResult<Results<Crosstab>> {
        faultless(crosstab::faults(&self.versions, rows, columns))?;
        let kind = Kind::Crosstab { rows: rows.clone(), columns: columns.clone() };
        let computed = match ask(&self.core, Subject { query: self.query(filter)?, kind }).await? {
            Results::Computing(progress) => return Ok(Results::Computing(progress)),
            Results::Ready(computed) => computed,
        };
        let (versions, chosen) = (Arc::clone(&self.versions), filter.versions.clone());
        let sides = (rows.clone(), columns.clone());
        let added_up = tokio::task::spawn_blocking(move || {
            let Aggregate::Crosstab(counts) = &computed.aggregate else { return None };
            let sides = (&sides.0, &sides.1);
            crosstab::add_up(&versions, &chosen, sides, &counts.versions, computed.as_of)
        });
        let table = added_up.await.map_err(|panicked| StoreError::Failed(Box::new(panicked)))?;
        // A question that was checked is found.
        let missing = || StoreError::Corrupt("a question is missing".to_owned());
        Ok(Results::Ready(table.ok_or_else(missing)?))
    }

    async fn counted(&self, filter: &SummaryFilter) -> AdminResult<Summary> {
        let counts = self.counts(query_of(filter)).await?;
        let counting = counts.scan.map(|scan| CountingProgress {
            counted_until: scan.passed.map(|passed| passed.made_at()),
        });
        let summary = match counts.daily.len() <= AT_ONCE_DAYS_MAX {
            true => add_up_all(&self.versions, &counts, filter),
            false => {
                let (versions, filter) = (Arc::clone(&self.versions), filter.clone());
                let added_up = move || add_up_all(&versions, &counts, &filter);
                let added_up = tokio::task::spawn_blocking(added_up).await;
                added_up.map_err(|panicked| StoreError::Failed(Box::new(panicked)))?
            }
        };
        Ok(Summary { counting, ..summary })
    }

    /// The responses that a computation reads. Versions are chosen when it is added up, so that all
    /// of them share it.
    fn query(&self, filter: &SummaryFilter) -> AdminResult<ResponseQuery> {
        let filter = ResponseFilter {
            version: None,
            from: filter.from.map(Day::starts_at),
            to: filter.to.map(|day| day.plus(1).starts_at()),
            admission: filter.admission,
            tags: filter.tags.clone(),
            answers: filter.answers.clone(),
            search: None,
        };
        let answers = filter.checked_answers(|question| {
            let asking = self.versions.iter().rev().filter_map(|it| it.question(question));
            asking.map(|question| &question.question_type).collect()
        })?;
        let paging = Paging { after: None, order: Order::Asc, limit: 1 };
        Ok(filter.query(self.app_id, self.flow_id, paging, answers, None))
    }

    /// Reads or computes what this filter needs, for later summaries of fewer days.
    #[boxed]
    pub async fn prepare(&self, filter: &SummaryFilter) -> AdminResult<Results<()>> {
        if filter.is_counted() {
            self.counts(query_of(filter)).await?;
            return Ok(Results::Ready(()));
        }
        Ok(match self.compute(self.query(filter)?).await? {
            Results::Ready(_) => Results::Ready(()),
            Results::Computing(progress) => Results::Computing(progress),
        })
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

fn add_up_all(versions: &[Version], counts: &FlowCounts, filter: &SummaryFilter) -> Summary {
    let daily = counts.daily.iter().map(|(version, day, counts)| (*version, *day, counts));
    add_up(versions, &daily.collect::<Vec<_>>(), filter)
}

/// Applies the versions, and the days or the tag that the computation did not apply. The tags are
/// those of all its days. With a tag, there is no development over time.
fn add_up_computed(versions: &[Version], computed: &Computed, filter: &SummaryFilter) -> Summary {
    let nothing = DailyAggregate::default();
    let aggregate = match &computed.aggregate {
        Aggregate::Results(aggregate) => aggregate,
        Aggregate::Crosstab(_) | Aggregate::Count(_) | Aggregate::Sorted(_) => &nothing,
    };
    let daily = aggregate.daily.iter().map(|((day, version), counts)| (*version, *day, counts));
    let any_day = filter.from.or(filter.to).unwrap_or(computed.as_of.day());
    let tagged = aggregate.tags.iter().map(|(version, counts)| (*version, any_day, counts));
    let is_by_tag = !filter.tags.is_empty();
    let counts: Vec<_> = if is_by_tag { tagged.collect() } else { daily.collect() };
    let is_chosen = |id: &FlowVersionId| filter.versions.is_empty() || filter.versions.contains(id);
    let tags = aggregate.tags.iter().filter(|(version, _)| is_chosen(version));
    let tags = TagSums::from_daily(tags.map(|(_, counts)| counts)).counts();
    let mut summary = add_up(versions, &counts, filter);
    if is_by_tag {
        summary.days.clear();
        summary.questions.iter_mut().for_each(|it| it.over_time.clear());
    }
    Summary { as_of: Some(computed.as_of), tags, ..summary }
}

fn query_of(filter: &SummaryFilter) -> CountsQuery {
    let segment = filter.tags.first().map(|(name, value)| counts::segment(name, value));
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
