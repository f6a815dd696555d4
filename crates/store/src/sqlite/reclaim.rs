//! Returns unused pages of the database file to the file system, a few at a time.
//!
//! Deleted data leaves unused pages, which new data fills. Retention and erasure may leave far more
//! than that needs; what exceeds a share of the file is cut off from its end while the writer has
//! nothing else to do.

use rusqlite::Connection;

/// Pages that one step moves and cuts off: short enough that a submission hardly waits for it.
const STEP_PAGES: u32 = 64;
/// Unused pages that stay: this part of the file, and at least this number (4 MiB).
const KEPT_PARTS: u32 = 16;
const KEPT_MIN: u32 = 1_024;

/// Whether there are more unused pages than should stay.
pub(super) fn is_due(connection: &Connection) -> rusqlite::Result<bool> {
    let kept = (number(connection, "page_count")? / KEPT_PARTS).max(KEPT_MIN);
    Ok(number(connection, "freelist_count")? > kept + STEP_PAGES)
}

/// Cuts off some pages, within the caller's transaction; returns whether that had an effect; it has
/// none in a file that was created without this feature.
pub(super) fn step(connection: &Connection) -> rusqlite::Result<bool> {
    let before = number(connection, "page_count")?;
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
    // One row for each page.
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    drop(rows);
    Ok(number(connection, "page_count")? < before)
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_cuts_off_all_of_its_pages() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "PRAGMA auto_vacuum = incremental; CREATE TABLE filler (bytes BLOB); \
                 INSERT INTO filler VALUES (zeroblob(16000000)); DELETE FROM filler",
            )
            .unwrap();
        assert!(is_due(&connection).unwrap());
        let before = number(&connection, "page_count").unwrap();
        assert!(step(&connection).unwrap());
        assert_eq!(number(&connection, "page_count").unwrap(), before - STEP_PAGES);
        while is_due(&connection).unwrap() {
            assert!(step(&connection).unwrap());
        }
        assert!(number(&connection, "freelist_count").unwrap() <= KEPT_MIN + STEP_PAGES);
    }

    #[test]
    fn a_file_without_incremental_vacuum_is_left_as_it_is() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE filler (bytes BLOB)").unwrap();
        assert!(!step(&connection).unwrap());
    }
}
