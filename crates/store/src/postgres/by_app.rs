//! Statements for rows of several apps, and the same for rows of one app.
//!
//! A distributed database runs a statement on one server only if the statement names the app. So
//! there a commit sends each statement once for every app, with `$1` as the app. Elsewhere it sends
//! each statement once, with `$1` as an array: the app of each row.

use std::collections::BTreeMap;

use sluice_flow::id::AppId;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// One statement in both forms.
#[derive(Debug)]
pub(super) struct ByApp {
    pub(super) one: String,
    pub(super) many: String,
}

impl ByApp {
    pub(super) fn form(&self, is_spread: bool) -> &str {
        if is_spread { &self.one } else { &self.many }
    }

    /// Inserts rows: `app_id`, and columns with these names and types from `$2` on. `after` is the
    /// end of the statement.
    pub(super) fn insert(table: &str, columns: &[(&str, &str)], after: &str) -> Self {
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
        let types = columns.iter().enumerate().map(|(at, (_, of))| format!("${}::{of}[]", at + 2));
        let (names, arrays) = (names.join(", "), types.collect::<Vec<_>>());
        let insert = format!("INSERT INTO {table} (app_id, {names})");
        Self {
            one: format!("{insert} {} {after}", rows_of_one_app("$1::uuid", &arrays)),
            many: format!(
                "{insert} SELECT * FROM unnest($1::uuid[], {}) {after}",
                arrays.join(", ")
            ),
        }
    }
}

/// Rows to insert: `same` has the columns that all of them share, such as their app; each of the
/// others has an array, all of the same length.
///
/// VALUES with sets is one row for each of their elements. Citus keeps the plan of such an INSERT,
/// and looks for the shard when it runs. It would plan an INSERT … SELECT with every execution, and
/// once for each shard of the table.
pub(super) fn rows_of_one_app(same: &str, arrays: &[String]) -> String {
    let sets: Vec<_> = arrays.iter().map(|array| format!("unnest({array})")).collect();
    format!("VALUES ({same}, {})", sets.join(", "))
}

/// The parameter `$1`.
#[derive(Debug)]
pub(super) enum AppColumn {
    One(Uuid),
    OfEachRow(Vec<Uuid>),
}

impl AppColumn {
    /// For these rows; on a distributed database they are of one app.
    pub(super) fn new(is_spread: bool, mut apps: impl Iterator<Item = AppId>) -> Self {
        match is_spread {
            true => Self::One(apps.next().map(AppId::uuid).unwrap_or_default()),
            false => Self::OfEachRow(apps.map(AppId::uuid).collect()),
        }
    }

    pub(super) fn param(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::One(app) => app,
            Self::OfEachRow(apps) => apps,
        }
    }
}

/// Splits rows into groups that one statement can take: by app if the database is distributed.
pub(super) fn groups<T>(
    is_spread: bool,
    rows: impl Iterator<Item = T>,
    app_of: impl Fn(&T) -> AppId,
) -> Vec<Vec<T>> {
    if !is_spread {
        let rows: Vec<T> = rows.collect();
        return if rows.is_empty() { Vec::new() } else { vec![rows] };
    }
    let mut by_app: BTreeMap<AppId, Vec<T>> = BTreeMap::new();
    for row in rows {
        by_app.entry(app_of(&row)).or_default().push(row);
    }
    by_app.into_values().collect()
}
