//! A part of the log, and how an export reads its responses: see [`super::since`].

use std::collections::HashSet;

use sluice_flow::id::{EventId, ResponseId, v7};
use sluice_flow::time::Timestamp;
use sluice_store::{ResponseQuery, ResponseRow, Store, StoreResult};
use uuid::Uuid;

/// Late responses that are read and written at a time.
const LATE_PAGE: usize = 200;

/// A part of the log: what a flow received between two instants.
#[derive(Debug)]
pub(super) struct LogSpan {
    pub(super) since: Timestamp,
    /// Where the next export starts.
    pub(super) until: Timestamp,
    /// The responses from before `since` that were announced again in this part.
    pub(super) late: Vec<ResponseId>,
}

/// How the rows of a part are read.
#[derive(Debug)]
pub(super) struct SpanRead {
    span: LogSpan,
    /// Finds a late response, if it passes the filter.
    query: ResponseQuery,
}

impl LogSpan {
    /// Whether nothing can be in it.
    pub(super) async fn is_empty(
        &self,
        store: &dyn Store,
        query: &ResponseQuery,
    ) -> StoreResult<bool> {
        if !self.late.is_empty() {
            return Ok(false);
        }
        let page = store.list_responses(&ResponseQuery { limit: 1, ..query.clone() }).await?;
        Ok(page.rows.is_empty() && page.next.is_none())
    }

    /// Reads it with the query of its responses; `from` and `to` are those that the caller asked
    /// for.
    pub(super) fn read_with(
        self,
        query: &ResponseQuery,
        (from, to): (Option<Timestamp>, Option<Timestamp>),
    ) -> SpanRead {
        SpanRead { span: self, query: ResponseQuery { from, to, limit: 1, ..query.clone() } }
    }
}

impl SpanRead {
    pub(super) fn until(&self) -> Timestamp {
        self.span.until
    }

    /// The late responses, in parts of a page.
    pub(super) fn late_pages(&self) -> impl Iterator<Item = &[ResponseId]> {
        self.span.late.chunks(LATE_PAGE)
    }

    /// Those of these responses that pass the filter and are still stored.
    pub(super) async fn late(
        &self,
        store: &dyn Store,
        ids: &[ResponseId],
    ) -> StoreResult<Vec<ResponseRow>> {
        let mut rows = Vec::new();
        for id in ids {
            let before = Uuid::from_u128(id.uuid().as_u128().saturating_sub(1));
            let after = Some(ResponseId::from_uuid(before));
            let page = store.list_responses(&ResponseQuery { after, ..self.query.clone() }).await?;
            rows.extend(page.rows.into_iter().filter(|row| row.response_id == *id));
        }
        Ok(rows)
    }

    /// The rows of a page without those that belong to a later part, because they were stored
    /// behind this one and are announced again in that. Such a row and its announcement are one
    /// transaction, so the announcement is visible after the page was read.
    pub(super) async fn without_later(
        &self,
        store: &dyn Store,
        mut rows: Vec<ResponseRow>,
    ) -> StoreResult<Vec<ResponseRow>> {
        if rows.is_empty() {
            return Ok(rows);
        }
        let last = v7(self.span.until, 0, 0).as_u128().saturating_sub(1);
        let after = EventId::from_uuid(Uuid::from_u128(last));
        let ResponseQuery { app_id, flow_id, .. } = self.query;
        let later = store.late_responses(app_id, flow_id, after).await?;
        if !later.is_empty() {
            let later: HashSet<ResponseId> = later.into_iter().collect();
            rows.retain(|row| !later.contains(&row.response_id));
        }
        Ok(rows)
    }
}
