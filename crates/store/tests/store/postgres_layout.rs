//! The schema can be distributed by app, as `layout.sql` does it: every table is placed, and keys
//! and foreign keys follow the rules of Citus. Needs no cluster.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};

use sluice_store::postgres::{Options, PgStore};
use sluice_store::roles::*;
use support::Cluster;

const LAYOUT: &str = include_str!("../../src/postgres/citus/layout.sql");

/// On the coordinator only, and unknown to Citus: never written together with another table.
const UNPLACED: [&str; 4] = ["marks", "migration_lock", "probe", "schema_history"];

/// The tables that the layout names in calls of this function.
fn named(function: &str) -> BTreeSet<String> {
    let calls = LAYOUT.split(function).skip(1);
    let names = calls.filter_map(|call| call.strip_prefix("('")?.split('\'').next());
    names.map(str::to_owned).collect()
}

/// A table and the tables that are connected with it by foreign keys.
fn with_connected(table: &str, keys: &[ForeignKey]) -> BTreeSet<String> {
    let mut all = BTreeSet::from([table.to_owned()]);
    loop {
        let ends = keys.iter().map(|key| [key.table.clone(), key.other.clone()]);
        let more: BTreeSet<_> =
            ends.filter(|ends| ends.iter().any(|it| all.contains(it))).flatten().collect();
        if more.is_subset(&all) {
            return all;
        }
        all.extend(more);
    }
}

struct ForeignKey {
    table: String,
    other: String,
    /// The columns, and those that they refer to.
    columns: String,
    refers_to: String,
}

/// A database with the schema, as a map from each table to the columns of its unique keys.
struct Schema {
    tables: BTreeSet<String>,
    unique: BTreeMap<String, Vec<String>>,
    foreign_keys: Vec<ForeignKey>,
}

async fn schema(cluster: &Cluster, database: &str) -> Schema {
    let client = cluster.client(database).await;
    let tables = "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') \
         AND NOT relispartition AND relnamespace = 'public'::regnamespace";
    let rows = client.query(tables, &[]).await.unwrap();
    let tables = rows.iter().map(|row| row.get(0)).collect();
    let unique = "SELECT indrelid::regclass::text, \
         (SELECT attname::text FROM pg_attribute WHERE attrelid = indrelid AND attnum = indkey[0]) \
         FROM pg_index JOIN pg_class ON pg_class.oid = indrelid \
         WHERE indisunique AND NOT relispartition AND relnamespace = 'public'::regnamespace";
    let mut by_table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in client.query(unique, &[]).await.unwrap() {
        // An index on an expression has no first column.
        let column: Option<String> = row.get(1);
        by_table.entry(row.get(0)).or_default().push(column.unwrap_or_default());
    }
    let names = |relation: &str, keys: &str| {
        format!(
            "(SELECT string_agg(attname::text, ', ' ORDER BY place) FROM unnest({keys}) \
             WITH ORDINALITY AS key (number, place) JOIN pg_attribute \
             ON attrelid = {relation} AND attnum = number)"
        )
    };
    let foreign = format!(
        "SELECT conrelid::regclass::text, confrelid::regclass::text, {}, {} FROM pg_constraint \
         WHERE contype = 'f' AND conparentid = 0",
        names("conrelid", "conkey"),
        names("confrelid", "confkey")
    );
    let foreign_keys = client.query(&foreign, &[]).await.unwrap();
    let foreign_key = |row: &tokio_postgres::Row| ForeignKey {
        table: row.get(0),
        other: row.get(1),
        columns: row.get(2),
        refers_to: row.get(3),
    };
    let foreign_keys = foreign_keys.iter().map(foreign_key).collect();
    Schema { tables, unique: by_table, foreign_keys }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_follows_the_rules_of_the_layout() {
    let cluster = Cluster::start(&[]);
    let database = cluster.database().await;
    let store = PgStore::connect(&cluster.url(&database), Options::default()).await.unwrap();
    store.close().await;
    let schema = schema(&cluster, &database).await;
    let distributed = named("create_distributed_table");
    let local: BTreeSet<String> = named("citus_add_local_table_to_metadata")
        .iter()
        .flat_map(|table| with_connected(table, &schema.foreign_keys))
        .collect();

    assert!(distributed.is_disjoint(&local), "placed twice, or connected with a distributed table");
    let placed = distributed.iter().chain(&local).cloned();
    let placed: BTreeSet<String> = placed.chain(UNPLACED.map(str::to_owned)).collect();
    assert_eq!(placed, schema.tables, "every table is placed");

    for table in &distributed {
        for first in schema.unique.get(table).into_iter().flatten() {
            assert_eq!(first, "app_id", "a unique key of {table} must start with it");
        }
        assert!(schema.unique.contains_key(table), "{table} has a primary key");
    }
    for ForeignKey { table, other, columns, refers_to } in &schema.foreign_keys {
        assert_eq!(distributed.contains(table), distributed.contains(other), "{table} to {other}");
        if distributed.contains(table) {
            let start = |columns: &str| columns == "app_id" || columns.starts_with("app_id, ");
            assert!(start(columns) && start(refers_to), "{table} ({columns}) to {other}");
        }
    }
    let others = "SELECT 'trigger ' || tgname FROM pg_trigger WHERE NOT tgisinternal UNION ALL \
         SELECT 'sequence ' || relname FROM pg_class WHERE relkind = 'S' UNION ALL \
         SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace";
    assert!(cluster.sql(&database, others).await.is_empty(), "has something that is not a table");
}

#[test]
fn every_distributed_table_is_colocated_with_apps() {
    let calls = LAYOUT.lines().filter(|line| line.contains("create_distributed_table("));
    for call in calls {
        let is_first = call.contains("'apps', 'app_id', shard_count");
        assert!(is_first || call.contains("'app_id', colocate_with => 'apps'"), "{call}");
    }
}
