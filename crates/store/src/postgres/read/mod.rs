//! Reads, by kind: each function is one statement, so it reads at one instant.

pub(super) mod apps;
mod blocks;
pub(super) mod counts;
pub(super) mod export;
pub(super) mod flows;
pub(super) mod instance;
pub(super) mod respondents;
pub(super) mod responses;

use uuid::Uuid;

/// A limit in the type that PostgreSQL expects.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// The responses of the flow `$2` of the app `$1` with ids from `$3` to `$4`, for statements that
/// sort by [`BY_ID`] or its reverse.
///
/// The plan is made for these ids: one for any ids reads the responses of all flows to find those
/// of a small one, if it assumes that a flow is a large one. Only with `flow_id` and `response_id`
/// by themselves does the server stop at the last id, instead of at the end of the flow; they also
/// select partitions. Rows compared as a whole say the same, and let it expect few rows, so that it
/// prefers the primary key to the index by id.
pub(super) const IN_SPAN: &str = "app_id = $1 AND flow_id = $2 AND response_id BETWEEN $3 AND $4 \
     AND (flow_id, response_id) >= ($2, $3) AND (flow_id, response_id) <= ($2, $4)";
pub(super) const BY_ID: &str = "ORDER BY flow_id, response_id";

/// The id after this one: a span begins with its first id.
pub(super) fn id_after(id: Uuid) -> Uuid {
    Uuid::from_u128(id.as_u128().saturating_add(1))
}
