//! Responses: by id, and by flow with a filter.
//!
//! When a response was received is in its id, so a span of time is a span of ids: a list walks the
//! index `(app, flow, id)` of the partitions in that span, and stops at its limit. A filter by version
//! or tag can walk past many rows before it finds one; that walk is cut in slices, each a statement of
//! its own and well within its deadline.

use sluice_flow::id::{ResponseId, v7};
use sluice_flow::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::super::codec::{self, RESPONSE};
use super::super::pool::Pool;
use super::limit;
use crate::{Order, ResponseQuery, ResponseRow, StoreResult};

/// How far one slice of a filtered walk goes, in rows.
const SLICE_ROWS: u32 = 10_000;

pub(in super::super) async fn by_id(
    pool: &Pool,
    response: ResponseId,
) -> StoreResult<Option<ResponseRow>> {
    let sql = format!("SELECT {RESPONSE} FROM responses WHERE response_id = $1");
    pool.one(&sql, &[&response.uuid()], codec::response).await
}

pub(in super::super) async fn list(
    pool: &Pool,
    query: &ResponseQuery,
) -> StoreResult<Vec<ResponseRow>> {
    let filters = query.version.is_some() || !query.tags.is_empty();
    let mut found = Vec::new();
    let mut rest = Span::of(query);
    while let Some(span) = rest
        && found.len() < query.limit
    {
        let slice_end = if filters { slice_end(pool, query, span).await? } else { None };
        let slice = slice_end.map_or(span, |end| span.up_to(end, query.order));
        let (sql, params) = walking(query, slice, query.limit - found.len());
        found.extend(pool.many(&sql, &refs(&params), codec::response).await?);
        rest = slice_end.and_then(|end| span.beyond(end, query.order));
    }
    Ok(found)
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
        let first = query.from.map_or(0, opens);
        let last = match query.to {
            Some(to) => opens(to).checked_sub(1)?,
            None => u128::MAX,
        };
        let span = (first <= last).then_some(Self { first, last })?;
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
async fn slice_end(pool: &Pool, query: &ResponseQuery, span: Span) -> StoreResult<Option<u128>> {
    let (walk, params) = (in_span(query.order, ""), place(query, span));
    let sql = format!("SELECT response_id FROM responses WHERE {walk} LIMIT 1 OFFSET {SLICE_ROWS}");
    let end: Option<Uuid> = pool.one(&sql, &refs(&params), |cells| cells.take()).await?;
    Ok(end.map(|id| id.as_u128()))
}

type Param = Box<dyn ToSql + Sync + Send>;

fn refs(params: &[Param]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|param| param.as_ref() as &(dyn ToSql + Sync)).collect()
}

fn place(query: &ResponseQuery, span: Span) -> Vec<Param> {
    let ids = [span.first, span.last].map(Uuid::from_u128);
    let ids = [query.app_id.uuid(), query.flow_id.uuid()].into_iter().chain(ids);
    ids.map(|id| Box::new(id) as Param).collect()
}

fn in_span(order: Order, filter: &str) -> String {
    let direction = match order {
        Order::Asc => "ASC",
        Order::Desc => "DESC",
    };
    format!(
        "app_id = $1 AND flow_id = $2 AND response_id BETWEEN $3 AND $4{filter} \
         ORDER BY response_id {direction}"
    )
}

fn walking(query: &ResponseQuery, span: Span, rows: usize) -> (String, Vec<Param>) {
    let mut filter = String::new();
    let mut params = place(query, span);
    params.push(Box::new(limit(rows)));
    if let Some(version) = query.version {
        params.push(Box::new(version.uuid()));
        filter.push_str(&format!(" AND flow_version_id = ${}", params.len()));
    }
    for (name, value) in &query.tags {
        params.push(Box::new(name.clone()));
        params.push(Box::new(value.clone()));
        filter.push_str(&has_tag(params.len() - 1, params.len()));
    }
    let walk = in_span(query.order, &filter);
    (format!("SELECT {RESPONSE} FROM responses WHERE {walk} LIMIT $5"), params)
}

/// The tag is this text, or a list that holds it. Containment says both, but would also let the text
/// stand for a list of it, so the two are asked apart.
fn has_tag(name: usize, value: usize) -> String {
    format!(
        " AND CASE jsonb_typeof(tags::jsonb -> ${name}::text) \
         WHEN 'string' THEN tags::jsonb ->> ${name}::text = ${value}::text \
         WHEN 'array' THEN tags::jsonb -> ${name}::text ? ${value}::text ELSE false END"
    )
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::{AppId, FlowId};

    use super::*;

    fn query(
        from: Option<i64>,
        to: Option<i64>,
        after: Option<i64>,
        order: Order,
    ) -> ResponseQuery {
        let id = v7(Timestamp::from_millis(1), 0, 0);
        let time = |millis: Option<i64>| millis.map(Timestamp::from_millis);
        ResponseQuery {
            app_id: AppId::from_uuid(id),
            flow_id: FlowId::from_uuid(id),
            version: None,
            from: time(from),
            to: time(to),
            tags: Vec::new(),
            after: time(after).map(|at| ResponseId::from_uuid(v7(at, 0, 0))),
            order,
            limit: 10,
        }
    }

    #[test]
    fn a_span_of_time_is_a_span_of_ids() {
        let start = |millis: u128| millis << 80;
        let of = |millis: i64| v7(Timestamp::from_millis(millis), 0, 0).as_u128();
        for (from, to, after, order, expected) in [
            (None, None, None, Order::Asc, Some((0, u128::MAX))),
            (Some(5), Some(9), None, Order::Asc, Some((start(5), start(9) - 1))),
            (Some(5), Some(9), Some(7), Order::Asc, Some((of(7) + 1, start(9) - 1))),
            (Some(5), Some(9), Some(7), Order::Desc, Some((start(5), of(7) - 1))),
            (Some(5), Some(9), Some(3), Order::Asc, Some((start(5), start(9) - 1))),
            (Some(5), Some(9), Some(9), Order::Asc, None),
            (Some(9), Some(9), None, Order::Asc, None),
            (None, Some(0), None, Order::Asc, None),
        ] {
            let query = query(from, to, after, order);
            let bits = Span::of(&query).map(|span| (span.first, span.last));
            assert_eq!(bits, expected, "[{from:?}, {to:?}) after {after:?} {order:?}");
        }
    }
}
