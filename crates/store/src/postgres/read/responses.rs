//! Responses: by id, and by flow with a filter.
//!
//! When a response was received is in its id, so a span of time is a span of ids: a list walks the
//! index `(app, flow, id)` of the partitions in that span, and stops at its limit. A filter by version
//! or tag is applied along the walk.

use sluice_flow::id::{ResponseId, v7};
use sluice_flow::time::Timestamp;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::super::codec::{self, RESPONSE};
use super::super::pool::Pool;
use super::limit;
use crate::{Order, ResponseQuery, ResponseRow, StoreResult};

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
    let Some((first, last)) = span(query) else { return Ok(Vec::new()) };
    let (sql, params) = walking(query, first, last);
    let params: Vec<_> = params.iter().map(|it| it.as_ref() as &(dyn ToSql + Sync)).collect();
    pool.many(&sql, &params, codec::response).await
}

/// The ids, first and last, that the query's times and place leave over, if any.
fn span(query: &ResponseQuery) -> Option<(Uuid, Uuid)> {
    // The first id of a millisecond sorts before every id that was made in it.
    let opens = |time: Timestamp| v7(time, 0, 0).as_u128() >> 80 << 80;
    let mut first = query.from.map_or(0, opens);
    let mut last = match query.to {
        Some(to) => opens(to).checked_sub(1)?,
        None => u128::MAX,
    };
    match (query.after.map(|id| id.uuid().as_u128()), query.order) {
        (None, _) => {}
        (Some(after), Order::Asc) => first = first.max(after.checked_add(1)?),
        (Some(after), Order::Desc) => last = last.min(after.checked_sub(1)?),
    }
    (first <= last).then(|| (Uuid::from_u128(first), Uuid::from_u128(last)))
}

type Param = Box<dyn ToSql + Sync + Send>;

fn walking(query: &ResponseQuery, first: Uuid, last: Uuid) -> (String, Vec<Param>) {
    let mut filter = String::new();
    let ids = [query.app_id.uuid(), query.flow_id.uuid(), first, last];
    let mut params: Vec<Param> = ids.into_iter().map(|id| Box::new(id) as Param).collect();
    params.push(Box::new(limit(query.limit)));
    if let Some(version) = query.version {
        params.push(Box::new(version.uuid()));
        filter.push_str(&format!(" AND flow_version_id = ${}", params.len()));
    }
    for (name, value) in &query.tags {
        params.push(Box::new(name.clone()));
        params.push(Box::new(value.clone()));
        filter.push_str(&has_tag(params.len() - 1, params.len()));
    }
    let direction = match query.order {
        Order::Asc => "ASC",
        Order::Desc => "DESC",
    };
    let sql = format!(
        "SELECT {RESPONSE} FROM responses WHERE app_id = $1 AND flow_id = $2 \
         AND response_id BETWEEN $3 AND $4{filter} ORDER BY response_id {direction} LIMIT $5"
    );
    (sql, params)
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
            let bits = span(&query).map(|(first, last)| (first.as_u128(), last.as_u128()));
            assert_eq!(bits, expected, "[{from:?}, {to:?}) after {after:?} {order:?}");
        }
    }
}
