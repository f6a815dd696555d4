//! Where each table is on a cluster. `layout.sql` puts them there; this finds what it did not.

use tokio_postgres::{Client, Error};

use super::super::connect::ConnectError;

/// On the workers, by `app_id`: what grows with the responses.
pub(super) const OF_APPS: &[&str] = &[
    "apps",
    "flows",
    "versions",
    "responses",
    "idempotency",
    "used_keys",
    "response_blocks",
    "counts",
    "count_deltas",
    "count_scans",
    "respondents",
    "identities",
    "consents",
    "invitations",
    "visit_counts",
    "closing_counts",
    "test_responses",
    "events",
];

/// On the coordinator: what concerns all apps. `marks`, `probe`, `schema_history` and
/// `migration_lock` are there too, unknown to Citus: they are never written together with another
/// table.
pub(super) const OF_INSTANCE: &[&str] = &[
    "app_directory",
    "id_directory",
    "api_keys",
    "identity_keys",
    "reports",
    "short_paths",
    "assets",
    "endpoints",
    "deliveries",
    "sink_positions",
    "sink_leases",
    "tokens",
    "users",
    "grants",
    "saved_views",
    "links",
    "sessions",
    "admin_requests",
    "mails",
    "mail_pace",
    "outbound",
    "people",
    "audit",
    "feed",
];

const DISTRIBUTED: &str = "distributed by app_id";
const ON_COORDINATOR: &str = "on the coordinator and known to Citus";

/// Whether tables are distributed. Without a worker and without a distributed table, Citus is
/// installed but not used.
pub(super) async fn check(client: &Client) -> Result<Result<bool, ConnectError>, Error> {
    let installed = "SELECT count(*) FROM pg_extension WHERE extname = 'citus'";
    if client.query_one(installed, &[]).await?.try_get::<_, i64>(0)? == 0 {
        return Ok(Ok(false));
    }
    let sql = "SELECT name, coalesce(CASE \
         WHEN partmethod = 'h' AND column_to_column_name(logicalrelid, partkey) = 'app_id' THEN $2 \
         WHEN partmethod = 'n' AND repmodel = 's' THEN $3 \
         WHEN partmethod = 'n' THEN 'a reference table' \
         WHEN partmethod IS NOT NULL THEN 'distributed otherwise' END, 'not placed') \
         FROM unnest($1::text[]) AS name \
         LEFT JOIN pg_dist_partition ON logicalrelid = to_regclass(name) ORDER BY name";
    let names: Vec<&str> = OF_APPS.iter().chain(OF_INSTANCE).copied().collect();
    let mut wrong = None;
    let mut is_used = has_workers(client).await?;
    for row in client.query(sql, &[&names, &DISTRIBUTED, &ON_COORDINATOR]).await? {
        let (table, found): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        let expected = match OF_APPS.contains(&table.as_str()) {
            true => DISTRIBUTED,
            false => ON_COORDINATOR,
        };
        is_used |= found == DISTRIBUTED;
        if found != expected && wrong.is_none() {
            wrong = Some(ConnectError::NotPlaced { table, expected, found });
        }
    }
    Ok(match wrong {
        Some(wrong) if is_used => Err(wrong),
        _ => Ok(is_used),
    })
}

async fn has_workers(client: &Client) -> Result<bool, Error> {
    let sql = "SELECT count(*) FROM pg_dist_node WHERE groupid <> 0";
    Ok(client.query_one(sql, &[]).await?.try_get::<_, i64>(0)? > 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SQL: &str = include_str!("layout.sql");

    /// The tables that `layout.sql` names in calls of this function.
    fn named(function: &str) -> BTreeSet<&'static str> {
        let calls = SQL.split(function).skip(1);
        calls.filter_map(|call| call.strip_prefix("('")?.split('\'').next()).collect()
    }

    #[test]
    fn layout_sql_places_every_table() {
        assert_eq!(named("create_distributed_table"), OF_APPS.iter().copied().collect());
        // A table with a foreign key to another one is placed together with it.
        let mut local = named("citus_add_local_table_to_metadata");
        local.extend(["api_keys", "identity_keys", "reports", "short_paths", "assets"]);
        local.extend(["endpoints", "deliveries", "sink_positions"]);
        local.extend(["grants", "saved_views", "links"]);
        assert_eq!(local, OF_INSTANCE.iter().copied().collect());
    }
}
