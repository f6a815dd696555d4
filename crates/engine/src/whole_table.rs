//! Reads all rows of a table of few rows, such as secrets, around those that this build cannot
//! decode.
//!
//! Only of that table: a page of all records continues with the next one, and a row there that
//! cannot be decoded would fail work that does not need it, such as a start.

use sluice_store::{Record, RecordCursor, Store, StoreError, StoreResult, Table, UnreadableRow};

/// The number of records to read at a time.
const PAGE: usize = 1_000;

/// The rows of a table.
#[derive(Debug)]
pub(crate) struct WholeTable<T> {
    rows: Vec<T>,
    unreadable: Vec<UnreadableRow>,
}

impl<T> WholeTable<T> {
    /// The records for which `row` returns something.
    pub(crate) async fn read(
        store: &dyn Store,
        table: Table,
        row: fn(Record) -> Option<T>,
    ) -> StoreResult<Self> {
        let mut last = RecordCursor::start_of(table);
        let (mut rows, mut unreadable) = (Vec::new(), Vec::new());
        loop {
            let page = store.read_records(&last, PAGE).await?;
            unreadable.extend(page.unreadable);
            let Some(end) = page.records.last() else { break };
            last = end.cursor();
            rows.extend(page.records.into_iter().filter_map(row));
        }
        // A row at the end of a page is listed again with the next one.
        unreadable.sort_unstable();
        unreadable.dedup();
        Ok(Self { rows, unreadable })
    }

    /// For work that goes on without the rows that cannot be decoded: they are logged.
    pub(crate) fn readable(self) -> Vec<T> {
        self.unreadable.iter().for_each(log_unreadable);
        self.rows
    }

    /// For work that must not leave out a row.
    pub(crate) fn complete(self) -> StoreResult<Vec<T>> {
        // A page without a readable row is reported as a row without ids.
        let named = self.unreadable.iter().find(|row| !row.ids.is_empty());
        let Some(row) = named.or(self.unreadable.first()) else { return Ok(self.rows) };
        let UnreadableRow { table, ids, why, .. } = row;
        Err(StoreError::Corrupt(format!("{} {ids}: {why}", table.name())))
    }
}

/// Logs a row that this build cannot decode, with what to do.
pub(crate) fn log_unreadable(row: &UnreadableRow) {
    let (table, ids, why) = (row.table.name(), &row.ids, &row.why);
    tracing::error!(
        table,
        ids,
        why,
        "a stored row cannot be read by this build: what needs it fails, everything else goes on. If a \
         newer release has written it, finish the upgrade; otherwise docs/operating.md says what to do, \
         at SluiceUnreadableRecords"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_not_complete_names_the_first_row_that_has_an_id() {
        let row = |ids: &str, why: &str| UnreadableRow {
            table: Table::Flows,
            flow: None,
            ids: ids.to_owned(),
            why: why.to_owned(),
        };
        let complete = |unreadable| WholeTable { rows: vec![1], unreadable }.complete();
        assert_eq!(complete(Vec::new()).unwrap(), [1]);
        let rows = vec![row("", "none was read"), row("flow_id 1", "an unknown kind")];
        let refused = complete(rows).unwrap_err().to_string();
        assert!(refused.contains("flow_id 1: an unknown kind"), "{refused}");
        let refused = complete(vec![row("", "none was read")]).unwrap_err().to_string();
        assert!(refused.contains("none was read"), "{refused}");
    }
}
