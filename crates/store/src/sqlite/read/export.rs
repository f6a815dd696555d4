//! Exports everything, table by table, in the order of [`RecordCursor`].
//!
//! Each table is scanned along an index from where the last page ended; only the few tokens are
//! sorted. A page ends at its limit, or at a number of bytes: definitions and answers can be long,
//! and a page is held in memory.

mod events;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Params, Result, Row, params};
use uuid::Uuid;

use super::super::codec::{
    self, APP, ASSET, AUDIT, CLOSING_COUNTS, CONSENT, Cells, FLOW, GRANT, IDENTITY, IDENTITY_KEY,
    INVITATION, KEY, MAIL, REPORT, RESPONDENT, RESPONSE, SAVED_VIEW, SHORT_PATH, TEST_RESPONSE,
    TOKEN, USED_KEY, USER, VERSION, VISIT_COUNT,
};
use super::super::failure::is_file_damage;
use super::super::response_keys;
use super::super::response_row::key_in_app;
use super::super::version_numbers::RESPONSES;
use super::limit;
use crate::visit_count::VisitCountKey;
use crate::{IdempotencyKey, Record, RecordCursor, RecordPage, Table, UnreadableRow};
use events::select_events;

/// The most bytes of records on one page; the record that exceeds it is the last.
const PAGE_BYTES: usize = 8 * 1024 * 1024;
/// The app id of rows that belong to no app.
const NO_APP: [u8; 16] = [0; 16];

pub(in super::super) fn page(
    connection: &Connection,
    after: Option<&RecordCursor>,
    rows: usize,
) -> Result<Vec<Record>> {
    let instant = connection.unchecked_transaction()?;
    let mut filling = Filling::new(rows, IfUnreadable::Fail);
    for table in Table::ALL {
        match after {
            Some(cursor) if cursor.table > table => {}
            Some(cursor) if cursor.table == table => filling.scan(&instant, cursor)?,
            _ => filling.scan(&instant, &RecordCursor::start_of(table))?,
        }
    }
    Ok(filling.page.records)
}

/// A page of one table at a separate instant. A row that cannot be decoded is listed.
pub(in super::super) fn read_table(
    connection: &Connection,
    after: &RecordCursor,
    rows: usize,
) -> Result<RecordPage> {
    let instant = connection.unchecked_transaction()?;
    page_of_table(&instant, after, rows)
}

/// A page of one table at the instant of a transaction that is open. A row that cannot be decoded
/// is listed.
pub(in super::super) fn page_of_table(
    connection: &Connection,
    after: &RecordCursor,
    rows: usize,
) -> Result<RecordPage> {
    let mut filling = Filling::new(rows, IfUnreadable::List);
    filling.scan(connection, after)?;
    Ok(filling.page)
}

/// What happens at a row that cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfUnreadable {
    Fail,
    List,
}

struct Filling {
    page: RecordPage,
    rows: usize,
    bytes_left: usize,
    if_unreadable: IfUnreadable,
}

impl Filling {
    fn new(rows: usize, if_unreadable: IfUnreadable) -> Self {
        Self { page: RecordPage::default(), rows, bytes_left: PAGE_BYTES, if_unreadable }
    }

    fn is_full(&self) -> bool {
        self.page.records.len() >= self.rows || self.bytes_left == 0
    }

    /// The limit of a statement. Rows that cannot be decoded do not count: after any number of
    /// them, a page ends with a record, or at the end of its table.
    fn rows_left(&self) -> i64 {
        match self.if_unreadable {
            IfUnreadable::Fail => limit(self.rows - self.page.records.len()),
            IfUnreadable::List => i64::MAX,
        }
    }

    /// Adds the records of the table after the cursor, until the page is full.
    #[expect(clippy::too_many_lines, reason = "a list of every table")]
    fn scan(&mut self, connection: &Connection, after: &RecordCursor) -> Result<()> {
        if self.is_full() {
            return Ok(());
        }
        let (table, app, key) = (after.table, &after.app, &after.key);
        let (rows, sql) = (self.rows_left(), select(table));
        match table {
            Table::Apps => self.add(connection, table, &sql, params![app, rows], |cells| {
                codec::app(cells).map(Record::App)
            }),
            Table::Keys => {
                let key = String::from_utf8_lossy(key);
                self.add(connection, table, &sql, params![app, key, rows], |cells| {
                    codec::key(cells).map(Record::Key)
                })
            }
            Table::IdentityKeys => {
                let kid = String::from_utf8_lossy(key);
                self.add(connection, table, &sql, params![app, kid, rows], |cells| {
                    codec::identity_key(cells).map(Record::IdentityKey)
                })
            }
            Table::Flows => self.add(connection, table, &sql, params![app, key, rows], |cells| {
                codec::flow(cells).map(Record::Flow)
            }),
            Table::Versions => {
                self.add(connection, table, &sql, params![app, key, rows], |cells| {
                    codec::version(cells).map(Record::Version)
                })
            }
            Table::Tokens => self.add(connection, table, &sql, params![app, key, rows], |cells| {
                codec::token(cells).map(Record::Token)
            }),
            Table::Audit => self.scan_audit(connection, after),
            Table::Respondents => {
                self.add(connection, table, &sql, params![app, key, rows], |cells| {
                    codec::respondent(cells).map(Record::Respondent)
                })
            }
            Table::Identities => self.scan_identities(connection, after),
            Table::Consents => {
                self.add(connection, table, &sql, params![app, key, rows], |cells| {
                    codec::consent(cells).map(Record::Consent)
                })
            }
            Table::UsedKeys => {
                self.add(connection, table, &sql, params![app, key, rows], |cells| {
                    codec::used_key(cells).map(Record::UsedKey)
                })
            }
            Table::Responses => self.scan_responses(connection, after),
            Table::Invitations => {
                self.add(connection, table, &sql, params![app, key, rows], |cells| {
                    codec::invitation(cells).map(Record::Invitation)
                })
            }
            Table::VisitCounts => self.scan_visit_counts(connection, after),
            Table::ClosingCounts => {
                self.add(connection, table, &sql, params![app, key, rows], |cells| {
                    codec::closing_counts(cells).map(Record::ClosingCounts)
                })
            }
            // Users belong to no app, so there are none after any app.
            Table::Users if *app != NO_APP => Ok(()),
            Table::Users => self.add(connection, table, &sql, params![key, rows], |cells| {
                codec::user(cells).map(Record::User)
            }),
            Table::Grants => self.add(connection, table, &sql, params![app, key, rows], |cells| {
                codec::grant(cells).map(Record::Grant)
            }),
            Table::Reports => self.add(connection, table, &sql, params![app, key, rows], |cells| {
                codec::report(cells).map(|row| Record::Report(Box::new(row)))
            }),
            Table::SavedViews => self.scan_saved_views(connection, after),
            Table::ShortPaths => {
                self.add(connection, table, &sql, params![app, key, rows], |cells| {
                    codec::short_path(cells).map(Record::ShortPath)
                })
            }
            Table::TestResponses => self.scan_test_responses(connection, after),
            Table::Mails => self.add(connection, table, &sql, params![app, key, rows], |cells| {
                codec::mail(cells).map(Record::Mail)
            }),
            Table::Assets => self.add(connection, table, &sql, params![app, key, rows], |cells| {
                codec::asset(cells).map(Record::Asset)
            }),
            Table::Events | Table::Endpoints | Table::Deliveries | Table::SinkPositions => {
                self.scan_events(connection, after)
            }
            Table::AdminRequests => self.scan_events(connection, after),
        }
    }

    fn scan_test_responses(&mut self, connection: &Connection, after: &RecordCursor) -> Result<()> {
        let (flow, form) = after.key.split_at(after.key.len().min(NO_APP.len()));
        let params = params![after.app, flow, form, self.rows_left()];
        self.add(connection, after.table, &select(after.table), params, |cells| {
            codec::test_response(cells).map(Record::TestResponse)
        })
    }

    fn scan_saved_views(&mut self, connection: &Connection, after: &RecordCursor) -> Result<()> {
        let (flow, rest) = after.key.split_at(after.key.len().min(NO_APP.len()));
        let (user, name) = rest.split_at(rest.len().min(NO_APP.len()));
        let params =
            params![after.app, flow, user, String::from_utf8_lossy(name), self.rows_left()];
        self.add(connection, after.table, &select(after.table), params, |cells| {
            codec::saved_view(cells).map(Record::SavedView)
        })
    }

    /// Entries without an app come first. Their app is NULL, which no comparison matches.
    fn scan_audit(&mut self, connection: &Connection, after: &RecordCursor) -> Result<()> {
        let entry = |cells: &mut Cells| codec::audit(cells).map(Record::Audit);
        let RecordCursor { app, key, .. } = after;
        if *app == NO_APP {
            let sql = format!(
                "SELECT {AUDIT} FROM audit WHERE app_id IS NULL AND audit_id > ?1 \
                 ORDER BY audit_id LIMIT ?2"
            );
            let rows = self.rows_left();
            self.add(connection, Table::Audit, &sql, params![key, rows], entry)?;
        }
        if self.is_full() {
            return Ok(());
        }
        let rows = self.rows_left();
        self.add(connection, Table::Audit, &select(Table::Audit), params![app, key, rows], entry)
    }

    fn scan_identities(&mut self, connection: &Connection, after: &RecordCursor) -> Result<()> {
        let key = String::from_utf8_lossy(&after.key);
        let (of, value) = key.split_once('\0').unwrap_or((&*key, ""));
        let (table, rows) = (Table::Identities, self.rows_left());
        let params = params![after.app, of, value, rows];
        self.add(connection, table, &select(table), params, |cells| {
            codec::identity(cells).map(Record::Identity)
        })
    }

    fn scan_visit_counts(&mut self, connection: &Connection, after: &RecordCursor) -> Result<()> {
        let VisitCountKey { flow, day, version, counter } = VisitCountKey::read(&after.key);
        let (table, rows) = (Table::VisitCounts, self.rows_left());
        let params = params![after.app, flow, day, version, counter, rows];
        self.add(connection, table, &select(table), params, |cells| {
            codec::visit_count(cells).map(Record::VisitCount)
        })
    }

    /// Flow by flow: the number of a flow is that of its first version.
    fn scan_responses(&mut self, connection: &Connection, after: &RecordCursor) -> Result<()> {
        let (flow, response) = after.key.split_at(after.key.len().min(NO_APP.len()));
        let sql = "SELECT (app_id, flow_id) = (?1, ?2), flow_number FROM version_numbers \
             WHERE (app_id, flow_id) >= (?1, ?2) AND flow_number = version_number \
             ORDER BY app_id, flow_id";
        let mut flows = connection.prepare_cached(sql)?;
        let mut flows = flows.query(params![after.app, flow])?;
        while !self.is_full() {
            let Some(found) = flows.next()? else { break };
            let first = match <[u8; 16]>::try_from(response) {
                Ok(last) if found.get(0)? => {
                    response_keys::after(connection, u128::from_be_bytes(last))?
                }
                _ => 0,
            };
            let number: i64 = found.get(1)?;
            let rows = self.rows_left();
            let sql = select(Table::Responses);
            self.add(connection, Table::Responses, &sql, params![number, first, rows], |cells| {
                let row = codec::response(cells)?;
                let key = cells.take::<Option<IdempotencyKey>>()?;
                let idempotency_key = key.map(|key| key_in_app(row.app_id, key));
                Ok(Record::Response { row, idempotency_key })
            })?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        connection: &Connection,
        table: Table,
        sql: &str,
        params: impl Params,
        read: fn(&mut Cells) -> Result<Record>,
    ) -> Result<()> {
        let mut statement = connection.prepare_cached(sql)?;
        let mut found = statement.query(params)?;
        while !self.is_full() {
            let Some(row) = found.next()? else { break };
            match read(&mut Cells::new(row)) {
                Ok(record) => {
                    self.bytes_left = self.bytes_left.saturating_sub(record.weight_bytes());
                    self.page.records.push(record);
                }
                Err(error)
                    if self.if_unreadable == IfUnreadable::Fail || is_file_damage(&error) =>
                {
                    return Err(error);
                }
                Err(error) => self.page.unreadable.push(unreadable(table, row, &error)),
            }
        }
        Ok(())
    }
}

fn unreadable(table: Table, row: &Row<'_>, error: &Error) -> UnreadableRow {
    let names = row.as_ref().column_names();
    let columns = names.enumerate().filter_map(|(index, name)| match row.get_ref(index) {
        Ok(ValueRef::Blob(bytes)) => Some((name.to_owned(), Uuid::from_slice(bytes).ok()?)),
        _ => None,
    });
    UnreadableRow::new(table, columns, error)
}

/// The scan of one table: the last parameter is the limit, those before it the cursor.
#[expect(clippy::too_many_lines, reason = "a list of every table")]
fn select(table: Table) -> String {
    match table {
        Table::Apps => format!("SELECT {APP} FROM apps WHERE app_id > ?1 ORDER BY app_id LIMIT ?2"),
        Table::Keys => format!(
            "SELECT {KEY} FROM api_keys WHERE (app_id, api_key) > (?1, ?2) \
             ORDER BY app_id, api_key LIMIT ?3"
        ),
        Table::IdentityKeys => format!(
            "SELECT {IDENTITY_KEY} FROM identity_keys WHERE (app_id, kid) > (?1, ?2) \
             ORDER BY app_id, kid LIMIT ?3"
        ),
        Table::Flows => format!(
            "SELECT {FLOW} FROM flows WHERE (app_id, flow_id) > (?1, ?2) \
             ORDER BY app_id, flow_id LIMIT ?3"
        ),
        Table::Versions => format!(
            "SELECT {VERSION} FROM versions WHERE (app_id, flow_version_id) > (?1, ?2) \
             ORDER BY app_id, flow_version_id LIMIT ?3"
        ),
        Table::Tokens => format!(
            "SELECT {TOKEN} FROM tokens \
             WHERE (coalesce(app_id, zeroblob(16)), token_id) > (?1, ?2) \
             ORDER BY coalesce(app_id, zeroblob(16)), token_id LIMIT ?3"
        ),
        Table::Audit => format!(
            "SELECT {AUDIT} FROM audit WHERE (app_id, audit_id) > (?1, ?2) \
             ORDER BY app_id, audit_id LIMIT ?3"
        ),
        Table::Respondents => format!(
            "SELECT {RESPONDENT} FROM respondents WHERE (app_id, respondent_id) > (?1, ?2) \
             ORDER BY app_id, respondent_id LIMIT ?3"
        ),
        Table::Identities => format!(
            "SELECT {IDENTITY} FROM identities WHERE (app_id, type, value) > (?1, ?2, ?3) \
             ORDER BY app_id, type, value LIMIT ?4"
        ),
        Table::Consents => format!(
            "SELECT {CONSENT} FROM consents WHERE (app_id, response_id) > (?1, ?2) \
             ORDER BY app_id, response_id LIMIT ?3"
        ),
        Table::UsedKeys => format!(
            "SELECT {USED_KEY} FROM used_keys WHERE (app_id, response_id) > (?1, ?2) \
             ORDER BY app_id, response_id LIMIT ?3"
        ),
        Table::Responses => format!(
            "SELECT {RESPONSE}, idempotency_key FROM {RESPONSES} \
             WHERE responses.flow_number = ?1 AND response_key >= ?2 ORDER BY response_key LIMIT ?3"
        ),
        Table::Invitations => format!(
            "SELECT {INVITATION} FROM invitations WHERE (app_id, assignment_id) > (?1, ?2) \
             ORDER BY app_id, assignment_id LIMIT ?3"
        ),
        Table::VisitCounts => format!(
            "SELECT {VISIT_COUNT} FROM visit_counts \
             WHERE (app_id, flow_id, day, flow_version_id, counter) > (?1, ?2, ?3, ?4, ?5) \
             ORDER BY app_id, flow_id, day, flow_version_id, counter LIMIT ?6"
        ),
        Table::ClosingCounts => format!(
            "SELECT {CLOSING_COUNTS} FROM closing_counts WHERE (app_id, flow_id) > (?1, ?2) \
             ORDER BY app_id, flow_id LIMIT ?3"
        ),
        Table::Users => {
            format!("SELECT {USER} FROM users WHERE user_id > ?1 ORDER BY user_id LIMIT ?2")
        }
        Table::Grants => format!(
            "SELECT {GRANT} FROM grants WHERE (app_id, user_id) > (?1, ?2) \
             ORDER BY app_id, user_id LIMIT ?3"
        ),
        Table::Reports => format!(
            "SELECT {REPORT} FROM reports WHERE (app_id, report_id) > (?1, ?2) \
             ORDER BY app_id, report_id LIMIT ?3"
        ),
        Table::ShortPaths => format!(
            "SELECT {SHORT_PATH} FROM short_paths WHERE (app_id, flow_id) > (?1, ?2) \
             ORDER BY app_id, flow_id LIMIT ?3"
        ),
        Table::TestResponses => format!(
            "SELECT {TEST_RESPONSE} FROM test_responses \
             WHERE (app_id, flow_id, form_key) > (?1, ?2, ?3) \
             ORDER BY app_id, flow_id, form_key LIMIT ?4"
        ),
        Table::Events | Table::Endpoints | Table::Deliveries | Table::SinkPositions => {
            select_events(table)
        }
        Table::AdminRequests => select_events(table),
        Table::Mails => format!(
            "SELECT {MAIL} FROM mails WHERE (app_id, mail_id) > (?1, ?2) \
             ORDER BY app_id, mail_id LIMIT ?3"
        ),
        Table::Assets => format!(
            "SELECT {ASSET} FROM assets WHERE (app_id, asset_id) > (?1, ?2) \
             ORDER BY app_id, asset_id LIMIT ?3"
        ),
        Table::SavedViews => format!(
            "SELECT {SAVED_VIEW} FROM saved_views \
             WHERE (app_id, flow_id, user_id, name) > (?1, ?2, ?3, ?4) \
             ORDER BY app_id, flow_id, user_id, name LIMIT ?5"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_except_tokens_is_scanned_by_index() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = std::path::Path::new("memory");
        super::super::super::schema::bring_up_to_date(&mut connection, path).unwrap();
        let steps = |table: Table| -> Vec<String> {
            let sql = format!("EXPLAIN QUERY PLAN {}", select(table));
            let mut explain = connection.prepare(&sql).unwrap();
            explain.raw_query().mapped(|row| row.get("detail")).map(Result::unwrap).collect()
        };
        for (table, scan) in [
            (Table::Apps, "SEARCH apps USING PRIMARY KEY (app_id>?)"),
            (Table::Keys, "SEARCH api_keys USING PRIMARY KEY ((app_id,api_key)>(?,?))"),
            (Table::IdentityKeys, "SEARCH identity_keys USING PRIMARY KEY ((app_id,kid)>(?,?))"),
            (Table::Flows, "SEARCH flows USING PRIMARY KEY ((app_id,flow_id)>(?,?))"),
            (
                Table::Versions,
                "SEARCH versions USING INDEX sqlite_autoindex_versions_1 \
                 ((app_id,flow_version_id)>(?,?))",
            ),
            (Table::Audit, "SEARCH audit USING INDEX audit_by_app ((app_id,audit_id)>(?,?))"),
            (
                Table::Respondents,
                "SEARCH respondents USING PRIMARY KEY ((app_id,respondent_id)>(?,?))",
            ),
            (
                Table::Identities,
                "SEARCH identities USING PRIMARY KEY ((app_id,type,value)>(?,?,?))",
            ),
            (Table::Consents, "SEARCH consents USING PRIMARY KEY ((app_id,response_id)>(?,?))"),
            (Table::UsedKeys, "SEARCH used_keys USING PRIMARY KEY ((app_id,response_id)>(?,?))"),
            (
                Table::Invitations,
                "SEARCH invitations USING PRIMARY KEY ((app_id,assignment_id)>(?,?))",
            ),
            (
                Table::VisitCounts,
                "SEARCH visit_counts USING PRIMARY KEY \
                 ((app_id,flow_id,day,flow_version_id,counter)>(?,?,?,?,?))",
            ),
            (
                Table::ClosingCounts,
                "SEARCH closing_counts USING PRIMARY KEY ((app_id,flow_id)>(?,?))",
            ),
            (Table::Users, "SEARCH users USING PRIMARY KEY (user_id>?)"),
            (Table::AdminRequests, "SEARCH admin_requests USING PRIMARY KEY (request_id>?)"),
            (Table::Grants, "SEARCH grants USING PRIMARY KEY ((app_id,user_id)>(?,?))"),
            (Table::Reports, "SEARCH reports USING PRIMARY KEY ((app_id,report_id)>(?,?))"),
            (
                Table::TestResponses,
                "SEARCH test_responses USING PRIMARY KEY ((app_id,flow_id,form_key)>(?,?,?))",
            ),
            (Table::Mails, "SEARCH mails USING PRIMARY KEY ((app_id,mail_id)>(?,?))"),
            (Table::SinkPositions, "SEARCH sink_positions USING PRIMARY KEY ((app_id,sink)>(?,?))"),
            (Table::ShortPaths, "SEARCH short_paths USING PRIMARY KEY ((app_id,flow_id)>(?,?))"),
            (
                Table::Assets,
                "SEARCH assets USING INDEX sqlite_autoindex_assets_1 ((app_id,asset_id)>(?,?))",
            ),
            (
                Table::SavedViews,
                "SEARCH saved_views USING PRIMARY KEY ((app_id,flow_id,user_id,name)>(?,?,?,?))",
            ),
        ] {
            assert_eq!(steps(table), [scan], "{table:?}");
        }
        let expected = [
            "SEARCH responses USING INDEX responses_by_flow (flow_number=? AND rowid>?)",
            "SEARCH version_numbers USING INTEGER PRIMARY KEY (rowid=?)",
        ];
        assert_eq!(steps(Table::Responses), expected);
    }
}
