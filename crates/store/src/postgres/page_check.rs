//! Checks indexes, and rows of different tables that must belong together.
//!
//! A commit writes such rows in one transaction, and a statement reads one instant, so servers may
//! run meanwhile. All rows of an app are on one server of a distributed database.

use std::sync::Arc;
use std::time::Duration;

use sluice_flow::id::ResponseId;
use tokio_postgres::Row;

use super::codec::{Cells, ReadCells as _};
use super::failure::TransactionError;
use super::pool::{Params, Pool, within};
use crate::{PageCheck, StoreError, StoreResult};

/// How long the check of one index, or of one table against another, may take.
const STATEMENT_DEADLINE: Duration = Duration::from_secs(4 * 60 * 60);
/// The B-tree indexes of our tables that hold entries.
const INDEXES: &str = "SELECT index.oid::bigint, index.relname::text FROM pg_class AS index \
     JOIN pg_am ON pg_am.oid = index.relam AND pg_am.amname = 'btree' \
     WHERE index.relkind = 'i' AND index.relpersistence = 'p' \
     AND index.relnamespace = current_schema()::regnamespace ORDER BY index.relname";
const MAY_CHECK: &str =
    "SELECT has_function_privilege('bt_index_check(regclass, boolean)', 'EXECUTE')";
const IS_INSTALLED: &str = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'amcheck')";

/// Whether retention is removing the month of a response: the month is detached, and keys of it may
/// be left. The lock of the statement on `responses` keeps other months attached.
const IN_DETACHED_MONTH: &str = "EXISTS (SELECT FROM pg_class WHERE relkind = 'r' \
     AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'responses'::regclass) \
     AND relname = 'expired_responses_' || to_char(to_timestamp(('x' || left(replace( \
     taken.response_id::text, '-', ''), 12))::bit(48)::bigint / 1000) AT TIME ZONE 'UTC', 'YYYY_MM'))";

/// What selects the responses whose rows do not belong together, and what is wrong with them. Lists
/// at most a thousand.
const LINKS: [(&str, &str); 4] = [
    (
        "SELECT responses.response_id FROM responses \
         LEFT JOIN idempotency AS taken ON taken.app_id = responses.app_id \
         AND taken.key = responses.idempotency_key WHERE responses.idempotency_key IS NOT NULL \
         AND taken.response_id IS DISTINCT FROM responses.response_id LIMIT 1000",
        "its idempotency key is missing from the table idempotency, or another response has it there",
    ),
    (
        "SELECT taken.response_id FROM idempotency AS taken \
         WHERE NOT EXISTS (SELECT FROM responses WHERE responses.app_id = taken.app_id \
         AND responses.response_id = taken.response_id AND responses.idempotency_key = taken.key) \
         AND NOT EXISTS (SELECT FROM used_keys WHERE used_keys.app_id = taken.app_id \
         AND used_keys.response_id = taken.response_id AND used_keys.key = taken.key) \
         AND NOT IN_DETACHED_MONTH LIMIT 1000",
        "the table idempotency has a key of it, but it is not stored with that key, and the key is not marked as used",
    ),
    (
        "SELECT used_keys.response_id FROM used_keys \
         LEFT JOIN idempotency AS taken ON taken.app_id = used_keys.app_id \
         AND taken.key = used_keys.key \
         WHERE taken.response_id IS DISTINCT FROM used_keys.response_id LIMIT 1000",
        "its used key is missing from the table idempotency, or another response has it there",
    ),
    // A consent may outlive its response.
    (
        "SELECT responses.response_id FROM responses \
         LEFT JOIN consents ON consents.app_id = responses.app_id \
         AND consents.response_id = responses.response_id \
         WHERE consents.respondent_id IS DISTINCT FROM responses.respondent_id \
         OR consents.flow_id <> responses.flow_id \
         OR consents.flow_version_id <> responses.flow_version_id LIMIT 1000",
        "it has another respondent, flow or version in the table consents",
    ),
];

/// Indexes are checked with the server's extension `amcheck` if this user may call it.
pub(super) async fn check_pages(pool: &Arc<Pool>) -> StoreResult<PageCheck> {
    let mut damaged = Vec::new();
    for (sql, what) in LINKS {
        let in_detached_month = if pool.is_spread() { "false" } else { IN_DETACHED_MONTH };
        let sql = sql.replace("IN_DETACHED_MONTH", in_detached_month);
        match rows(pool, &sql, &[]).await {
            Ok(found) => {
                for row in &found {
                    let id = Cells::new(row).id(ResponseId::from_uuid)?;
                    damaged.push(format!("{id}: {what}"));
                }
            }
            Err(StoreError::Damaged(why)) => damaged.push(why),
            Err(error) => return Err(error),
        }
    }
    let flag = |cells: &mut Cells| cells.take::<bool>();
    let is_installed = pool.one(IS_INSTALLED, &[], flag).await? == Some(true);
    if !is_installed || pool.one(MAY_CHECK, &[], flag).await? != Some(true) {
        let skipped = "indexes were not checked: install the extension amcheck in this database, and allow \
                       this user to execute bt_index_check(regclass, boolean)";
        return Ok(PageCheck { damaged, skipped: Some(skipped.to_owned()) });
    }
    let read = |cells: &mut Cells| Ok((cells.take::<i64>()?, cells.take::<String>()?));
    for (oid, name) in pool.many(INDEXES, &[], read).await? {
        match rows(pool, "SELECT bt_index_check($1::bigint::oid::regclass, true)", &[&oid]).await {
            Ok(_) => {}
            Err(StoreError::Damaged(why)) => damaged.push(format!("index {name}: {why}")),
            Err(error) => return Err(error),
        }
    }
    let skipped = "the indexes of the workers were not checked, only those of the coordinator: call \
                   bt_index_check on each worker";
    Ok(PageCheck { damaged, skipped: pool.is_citus().then(|| skipped.to_owned()) })
}

/// The rows of a statement that may take as long as reading whole tables.
async fn rows(pool: &Arc<Pool>, sql: &str, params: Params<'_>) -> StoreResult<Vec<Row>> {
    // It is not returned to the pool, so that neither the transaction nor its setting stays.
    let lease = pool.lease().await?;
    let found = within(STATEMENT_DEADLINE, "answer", async {
        lease.batch_execute("BEGIN READ ONLY; SET LOCAL statement_timeout = 0").await?;
        lease.query(sql, params).await
    });
    found.await.map_err(TransactionError::of_statement)
}
