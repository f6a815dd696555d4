//! Responses: by id, and by flow with a filter.
//!
//! When a response was received is in its id, so a span of time is a span of ids, and a list is a
//! walk along the index `(app, flow, id)` that stops at its limit. A filter by version or tag can
//! walk past many rows before it finds one; that walk is cut in slices, each a read of its own, so
//! that the log can start anew in between.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Result, params_from_iter};
use sluice_flow::id::{ResponseId, v7};
use sluice_flow::time::Timestamp;

use super::super::codec::{self, RESPONSE, bytes};
use super::{limit, many, one};
use crate::{Order, ResponseQuery, ResponseRow};

/// Rows that one slice of a filtered walk looks at.
const SLICE_ROWS: i64 = 5_000;

type Bits = [u8; 16];

pub(in super::super) fn by_id(
    connection: &Connection,
    response: ResponseId,
) -> Result<Option<ResponseRow>> {
    let sql = format!("SELECT {RESPONSE} FROM responses WHERE response_id = ?1");
    one(connection, &sql, [bytes!(response)], codec::response)
}

/// A walk under way: the rows found so far, and the ids that are still to be looked at.
#[derive(Debug)]
pub(in super::super) struct Walk {
    found: Vec<ResponseRow>,
    rest: Option<Span>,
}

impl Walk {
    pub(in super::super) fn of(query: &ResponseQuery) -> Self {
        Self { found: Vec::new(), rest: Span::of(query) }
    }

    pub(in super::super) fn is_over(&self, query: &ResponseQuery) -> bool {
        self.rest.is_none() || self.found.len() >= query.limit
    }

    pub(in super::super) fn found(self) -> Vec<ResponseRow> {
        self.found
    }

    /// Walks one slice: a short read of its own. Between two slices others get their turn, and a
    /// caller who has gone away is not searched for any more.
    pub(in super::super) fn step(
        mut self,
        connection: &Connection,
        query: &ResponseQuery,
    ) -> Result<Self> {
        let Some(span) = self.rest.take() else { return Ok(self) };
        let instant = connection.unchecked_transaction()?;
        let slice_end = match query.version.is_some() || !query.tags.is_empty() {
            true => slice_end(&instant, query, span)?,
            false => None,
        };
        let slice = slice_end.map_or(span, |end| span.up_to(end, query.order));
        self.found.extend(walk(&instant, query, slice, query.limit - self.found.len())?);
        self.rest = slice_end.and_then(|end| span.beyond(end, query.order));
        Ok(self)
    }
}

/// Ids from the first to the last, both within. Never the wrong way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: u128,
    last: u128,
}

impl Span {
    /// What the query's times and place leave over, if anything.
    fn of(query: &ResponseQuery) -> Option<Self> {
        // The first id of a millisecond sorts before every id that was made in it.
        let opens = |time: Timestamp| v7(time, 0, 0).as_u128() >> 80 << 80;
        let mut span = Self { first: 0, last: u128::MAX };
        if let Some(from) = query.from {
            span.first = opens(from);
        }
        if let Some(to) = query.to {
            span.last = opens(to).checked_sub(1)?;
        }
        if span.first > span.last {
            return None;
        }
        match query.after {
            Some(id) => span.beyond(id.uuid().as_u128(), query.order),
            None => Some(span),
        }
    }

    /// What of the span comes after `id` in this order; `id` may lie outside of it.
    fn beyond(self, id: u128, order: Order) -> Option<Self> {
        let span = match order {
            Order::Asc => Self { first: self.first.max(id.checked_add(1)?), ..self },
            Order::Desc => Self { last: self.last.min(id.checked_sub(1)?), ..self },
        };
        (span.first <= span.last).then_some(span)
    }

    /// What of the span comes up to and with `id`, which is in it.
    fn up_to(self, id: u128, order: Order) -> Self {
        match order {
            Order::Asc => Self { last: id, ..self },
            Order::Desc => Self { first: id, ..self },
        }
    }
}

/// The id at which a slice ends; none where the rest of the span is shorter than a slice.
fn slice_end(connection: &Connection, query: &ResponseQuery, span: Span) -> Result<Option<u128>> {
    let sql = format!(
        "SELECT response_id FROM responses WHERE {} LIMIT 1 OFFSET {}",
        in_span(query.order, ""),
        SLICE_ROWS - 1
    );
    let end: Option<Bits> = connection
        .prepare_cached(&sql)?
        .query_row(params_from_iter(place(query, span)), |row| row.get(0))
        .optional()?;
    Ok(end.map(u128::from_be_bytes))
}

/// The rows of a span that pass the filter, in order.
fn walk(
    connection: &Connection,
    query: &ResponseQuery,
    span: Span,
    rows: usize,
) -> Result<Vec<ResponseRow>> {
    let (sql, params) = walking(query, span, rows);
    many(connection, &sql, params_from_iter(params), codec::response)
}

fn walking(query: &ResponseQuery, span: Span, rows: usize) -> (String, Vec<Value>) {
    let mut filter = String::new();
    let mut params = place(query, span);
    if let Some(version) = query.version {
        params.push(Value::Blob(bytes!(version).to_vec()));
        filter.push_str(&format!(" AND flow_version_id = ?{}", params.len()));
    }
    for (name, value) in &query.tags {
        params.push(Value::Text(name.clone()));
        params.push(Value::Text(value.clone()));
        filter.push_str(&has_tag(params.len() - 1, params.len()));
    }
    params.push(Value::Integer(limit(rows)));
    let span = in_span(query.order, &filter);
    let sql = format!("SELECT {RESPONSE} FROM responses WHERE {span} LIMIT ?{}", params.len());
    (sql, params)
}

fn place(query: &ResponseQuery, span: Span) -> Vec<Value> {
    let ids = [span.first.to_be_bytes(), span.last.to_be_bytes()];
    [bytes!(query.app_id), bytes!(query.flow_id)]
        .into_iter()
        .chain(ids)
        .map(|bits: Bits| Value::Blob(bits.to_vec()))
        .collect()
}

fn in_span(order: Order, filter: &str) -> String {
    let direction = match order {
        Order::Asc => "ASC",
        Order::Desc => "DESC",
    };
    format!(
        "app_id = ?1 AND flow_id = ?2 AND response_id BETWEEN ?3 AND ?4{filter} \
         ORDER BY response_id {direction}"
    )
}

/// The tag is this text, or a list that holds it.
fn has_tag(name: usize, value: usize) -> String {
    format!(
        " AND EXISTS (SELECT 1 FROM json_each(responses.tags) AS tag WHERE tag.key = ?{name} \
         AND CASE tag.type WHEN 'text' THEN tag.value = ?{value} WHEN 'array' THEN EXISTS \
         (SELECT 1 FROM json_each(tag.value) AS item \
         WHERE item.type = 'text' AND item.value = ?{value}) ELSE 0 END)"
    )
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::{AppId, FlowId, FlowVersionId};

    use super::*;

    #[test]
    fn every_list_walks_the_index_of_its_flow_and_sorts_nothing() {
        let id = v7(Timestamp::from_millis(1), 0, 0);
        let tag = ("plan".to_owned(), "pro".to_owned());
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../migrations/V1__first_slice.sql")).unwrap();
        for order in [Order::Asc, Order::Desc] {
            for version in [None, Some(FlowVersionId::from_uuid(id))] {
                for tags in [vec![], vec![tag.clone()]] {
                    let query = ResponseQuery {
                        app_id: AppId::from_uuid(id),
                        flow_id: FlowId::from_uuid(id),
                        version,
                        from: Some(Timestamp::from_millis(1)),
                        to: Some(Timestamp::from_millis(2)),
                        tags,
                        after: Some(ResponseId::from_uuid(id)),
                        order,
                        limit: 10,
                    };
                    let plan = plan(&connection, &query);
                    let walk = "SEARCH responses USING INDEX responses_by_flow \
                         (app_id=? AND flow_id=? AND response_id>? AND response_id<?)";
                    assert_eq!(plan[0], walk, "{query:?}");
                    assert!(!plan.iter().any(|step| step.contains("B-TREE")), "{plan:?}");
                }
            }
        }
    }

    fn plan(connection: &Connection, query: &ResponseQuery) -> Vec<String> {
        let span = Span { first: 0, last: u128::MAX };
        let (sql, params) = walking(query, span, 10);
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = explain.query_map(params_from_iter(params), |row| row.get("detail")).unwrap();
        steps.map(Result::unwrap).collect()
    }
}
