//! A table of responses: sorted by a column, and how many there are.
//!
//! By time, a list is in the order of the store ([`crate::responses`]). Any other order needs every
//! response that passes the filter to be read once, in the background ([`crate::computed`]): the
//! first [`SORTED_MAX`] of the order are kept, by id, and a page reads its responses again. So a
//! response that was deleted in the meantime is not shown.
//!
//! The number of matches comes from stored counts if they can answer it, and otherwise from such a
//! pass, too.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use sluice_flow::counts;
use sluice_flow::definition::Fault;
use sluice_flow::response_order::Direction;
use sluice_flow::submission::Admission;
use sluice_flow::time::{Day, Timestamp};
use sluice_store::{CountsQuery, Order, ResponseQuery, ResponseRow, Scope, StoreError};

use crate::admin::{AdminError, AdminResult};
use crate::boxed;
use crate::computed::aggregate::{self, Aggregate, Kind, Subject};
use crate::computed::ask::{WAIT_MAX, ask_within};
use crate::computed::cache::Results;
use crate::core::Core;
use crate::handle::FlowHandle;
use crate::question_history::QuestionHistory;
use crate::response_columns::{ResponseColumn, SortValues};
use crate::responses::{Paging, ResponseFilter, response_query};

/// The most responses of an order that pages can reach.
pub const SORTED_MAX: usize = aggregate::SORTED_MAX;
/// The days whose counts are read for the names of tags.
const TAG_DAYS: i32 = 14;

/// A column to sort by, and the direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortBy {
    pub column: ResponseColumn,
    pub direction: Direction,
}

/// A page of sorted responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedPage {
    /// Those that were deleted since the order was computed are missing.
    pub rows: Vec<ResponseRow>,
    /// How many responses match.
    pub matching: u64,
    /// How many of them pages can reach: at most [`SORTED_MAX`].
    pub reachable: usize,
    /// All responses that were stored by then are sorted and counted.
    pub as_of: Timestamp,
}

/// How many responses match a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matching {
    pub responses: u64,
    /// If they were counted by reading them: all that were stored by then. Otherwise the number is
    /// current.
    pub as_of: Option<Timestamp>,
}

impl FlowHandle {
    /// A page of the responses that pass the filter, in the order of a column: `limit` of them,
    /// without the first `skipped`.
    #[boxed]
    pub async fn sorted_responses(
        &self,
        asked: &QuestionHistory,
        filter: &ResponseFilter,
        sort: &SortBy,
        (skipped, limit): (usize, usize),
    ) -> AdminResult<Results<SortedPage>> {
        let core = self.permit.core(Scope::Read)?;
        let query = response_query(core, self, filter, whole(), Some(asked)).await?;
        let unsortable = || {
            let message = format!("must not be {}, which cannot be sorted", sort.column.name());
            AdminError::Invalid(vec![Fault::new("/sort", message)])
        };
        let values = SortValues::new(&sort.column, asked).ok_or_else(unsortable)?;
        let kind = Kind::Sorted { values, direction: sort.direction };
        let computed = match ask_within(core, Subject { query, kind }, WAIT_MAX).await? {
            Results::Computing(progress) => return Ok(Results::Computing(progress)),
            Results::Ready(computed) => computed,
        };
        let Aggregate::Sorted(sorted) = &computed.aggregate else { return Err(another_kind()) };
        let ids = sorted.first.in_order();
        let wanted: Vec<_> = ids.iter().skip(skipped).take(limit).copied().collect();
        let found = core.store.find_responses(self.app_id(), &wanted).await?;
        let mut by_id: HashMap<_, _> =
            found.into_iter().map(|row| (row.response_id, row)).collect();
        Ok(Results::Ready(SortedPage {
            rows: wanted.iter().filter_map(|id| by_id.remove(id)).collect(),
            matching: sorted.matching,
            reachable: ids.len(),
            as_of: computed.as_of,
        }))
    }

    /// How many responses pass the filter. Waits at most this long if they must be counted.
    #[boxed]
    pub async fn count_matching(
        &self,
        asked: &QuestionHistory,
        filter: &ResponseFilter,
        wait: Duration,
    ) -> AdminResult<Results<Matching>> {
        let core = self.permit.core(Scope::Read)?;
        let query = response_query(core, self, filter, whole(), Some(asked)).await?;
        if let Some(responses) = counted(core, &query).await? {
            return Ok(Results::Ready(Matching { responses, as_of: None }));
        }
        let subject = Subject { query, kind: Kind::Count };
        Ok(match ask_within(core, subject, wait).await? {
            Results::Computing(progress) => Results::Computing(progress),
            Results::Ready(computed) => {
                let Aggregate::Count(responses) = computed.aggregate else {
                    return Err(another_kind());
                };
                Results::Ready(Matching { responses, as_of: Some(computed.as_of) })
            }
        })
    }

    /// The names of the tags of recent responses.
    #[boxed]
    pub async fn recent_tag_names(&self) -> AdminResult<BTreeSet<String>> {
        let core = self.permit.core(Scope::Read)?;
        let from = Some(core.now().day().plus(-TAG_DAYS));
        let query = CountsQuery { from, to: None, segment: None };
        let counts = core.store.read_counts(self.app_id(), self.flow_id(), &query).await?;
        let tags = counts.daily.iter().flat_map(|(_, _, daily)| daily.tags());
        Ok(tags.map(|(name, _)| name.to_owned()).collect())
    }
}

/// A computation returns the kind of result that its subject names.
fn another_kind() -> AdminError {
    StoreError::Corrupt("a result is of another kind".to_owned()).into()
}

/// All responses of the filter.
fn whole() -> Paging {
    Paging { after: None, order: Order::Asc, limit: 1 }
}

/// The number of responses that pass a query, from stored counts. `None` if they cannot answer it,
/// or while responses are still being counted.
pub(crate) async fn counted(core: &Core, query: &ResponseQuery) -> AdminResult<Option<u64>> {
    let ResponseQuery { app_id, flow_id, version, .. } = *query;
    let to = query.to.filter(|to| *to <= core.now());
    let (Some(from), Some(to)) = (day_of(query.from), day_of(to)) else { return Ok(None) };
    if query.tags.len() > 1 || !query.answers.is_empty() || query.search.is_some() {
        return Ok(None);
    }
    let is_plain = query.tags.is_empty() && query.admission.is_none();
    if is_plain && from.is_none() && to.is_none() {
        let today = Some(core.now().day());
        let day = CountsQuery { from: today, to: today, segment: None };
        if core.store.read_counts(app_id, flow_id, &day).await?.scan.is_some() {
            return Ok(None);
        }
        let by_version = core.store.count_by_version(app_id, flow_id).await?;
        let counted = by_version.iter().filter(|(id, _)| version.is_none_or(|it| it == *id));
        return Ok(u64::try_from(counted.map(|(_, responses)| responses).sum::<i64>()).ok());
    }
    let tag = query.tags.first();
    let segment = tag.map(|(name, value)| counts::segment(name, value));
    // The last day ends where the period ends.
    let days = CountsQuery { from, to: to.map(|day| day.plus(-1)), segment: segment.clone() };
    let counts = core.store.read_counts(app_id, flow_id, &days).await?;
    if counts.scan.is_some() {
        return Ok(None);
    }
    let (mut responses, mut admitted) = (0, 0);
    let is_chosen = |id| version.is_none_or(|it| it == id);
    for (_, _, daily) in counts.daily.iter().filter(|(id, ..)| is_chosen(*id)) {
        if tag.is_some_and(|(name, value)| daily.may_hide(name, value)) {
            return Ok(None);
        }
        let counts = match &segment {
            None => Some(daily.all()),
            Some(segment) => daily.of_segment(segment),
        };
        if let Some(counts) = counts {
            responses += counts.responses;
            admitted += counts.admitted;
        }
    }
    let matching = match query.admission {
        None => responses,
        Some(Admission::Admitted) => admitted,
        Some(Admission::CollectionOnly) => responses - admitted,
    };
    Ok(u64::try_from(matching).ok())
}

/// The day that a time starts, if any is given; `None` if the time is within a day.
fn day_of(time: Option<Timestamp>) -> Option<Option<Day>> {
    match time {
        None => Some(None),
        Some(time) => (time.day().starts_at() == time).then(|| Some(time.day())),
    }
}
