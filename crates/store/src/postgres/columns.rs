//! Many responses as columns: one array each, so that one statement takes any number of rows.

use sluice_flow::id::AppId;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::codec::{COLUMNS, Column, Get};
use crate::{IdempotencyKey, ResponseRow};

/// A column as a parameter: an array of its values.
type Array<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// The columns except `app_id`, which is the same for all rows of a statement.
fn columns() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| column.name != "app_id")
}

/// The names of the columns except `app_id` and `counted`, in the order of [`Columns::params`].
pub(super) fn names() -> Vec<&'static str> {
    columns().map(|column| column.name).chain(["idempotency_key"]).collect()
}

/// The parameters of these columns; `$1` is the app.
pub(super) fn arrays() -> Vec<String> {
    let types = columns().map(|column| match column.get {
        Get::Id(_) => "uuid",
        Get::Flag(_) => "boolean",
        Get::Text(_) => "text",
    });
    let parameter = |(index, name): (usize, &str)| format!("${}::{name}[]", index + 2);
    types.chain(["uuid"]).enumerate().map(parameter).collect()
}

/// The rows as a table named `given`; `$1` is the app.
pub(super) fn given() -> String {
    format!("unnest({}) AS given ({})", arrays().join(", "), names().join(", "))
}

/// The rows of one app.
pub(super) struct Columns<'a> {
    app: Uuid,
    rows: usize,
    arrays: Vec<Array<'a>>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(app: AppId, rows: &[(&'a ResponseRow, Option<&'a IdempotencyKey>)]) -> Self {
        let array = |column: &Column| -> Array<'a> {
            match column.get {
                Get::Id(get) => Box::new(rows.iter().map(|(row, _)| get(row)).collect::<Vec<_>>()),
                Get::Flag(get) => {
                    Box::new(rows.iter().map(|(row, _)| get(row)).collect::<Vec<_>>())
                }
                Get::Text(get) => {
                    Box::new(rows.iter().map(|(row, _)| get(row)).collect::<Vec<_>>())
                }
            }
        };
        let keys = rows.iter().map(|(_, key)| key.map(|key| Uuid::from_bytes(*key)));
        let keys: Array = Box::new(keys.collect::<Vec<_>>());
        Self {
            app: app.uuid(),
            rows: rows.len(),
            arrays: columns().map(array).chain([keys]).collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        let app: &(dyn ToSql + Sync) = &self.app;
        let arrays = self.arrays.iter().map(|array| -> &(dyn ToSql + Sync) { &**array });
        [app].into_iter().chain(arrays).collect()
    }
}
