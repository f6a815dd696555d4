//! Exports everything, table by table, in the order of [`RecordCursor`].
//!
//! Each table is scanned along an index from where the last page ended. A page ends at its limit,
//! or at a number of bytes: any text can be long, and a page is held in memory. The database adds
//! up the lengths, which it knows without reading the texts.
//!
//! The planner is forced to use the index: it estimates the number of rows after a cursor from the
//! app alone, expects "hardly any" at the last app, and would then read and sort the rest of the
//! table for every page.
//!
//! On a distributed database a table of apps is scanned app by app, each on its worker: a statement
//! over all apps would read a whole page from every shard.

use std::sync::Arc;

use tokio_postgres::Row;
use uuid::Uuid;

use super::super::codec::{
    self, ADMIN_REQUEST, APP, ASSET, AUDIT, CLOSING_COUNTS, CONSENT, Cells, DELIVERY, ENDPOINT,
    EVENT, FLOW, GRANT, IDENTITY, IDENTITY_KEY, INVITATION, KEY, MAIL, REPORT, RESPONDENT,
    RESPONSE, SAVED_VIEW, SHORT_PATH, SINK_POSITION, TEST_RESPONSE, TOKEN, USED_KEY, USER, VERSION,
    VISIT_COUNT,
};
use super::super::failure::TransactionError;
use super::super::pool::{Params, Pool};
use super::super::transaction::Transaction;
use super::limit;
use crate::visit_count::VisitCountKey;
use crate::{Record, RecordCursor, RecordPage, StoreError, StoreResult, Table, UnreadableRow};

/// The length of the ids at the start of a key.
const IDS_BYTES: usize = 32;
/// The most bytes of texts on one page; the record that exceeds it is the last.
const PAGE_BYTES: i64 = 8 * 1024 * 1024;

/// In force until the transaction ends.
pub(in super::super) const INDEX_SCAN: &str = "SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_sort', \
     'enable_incremental_sort', 'enable_seqscan', 'enable_bitmapscan']) AS name";

pub(in super::super) async fn page(
    pool: &Arc<Pool>,
    after: Option<&RecordCursor>,
    rows: usize,
) -> StoreResult<Vec<Record>> {
    in_transaction(pool, async |transaction| {
        let mut filling = Filling::new(rows, IfUnreadable::Fail);
        for table in Table::ALL {
            match after {
                Some(cursor) if cursor.table > table => {}
                Some(cursor) if cursor.table == table => filling.scan(transaction, cursor).await?,
                _ => filling.scan(transaction, &RecordCursor::start_of(table)).await?,
            }
        }
        Ok(filling.page.records)
    })
    .await
}

/// A page of one table. A row that cannot be decoded is listed.
pub(in super::super) async fn read_table(
    pool: &Arc<Pool>,
    after: &RecordCursor,
    rows: usize,
) -> StoreResult<RecordPage> {
    in_transaction(pool, async |transaction| page_of_table(transaction, after, rows).await).await
}

/// Reads in a short transaction, after which the connection is used again.
async fn in_transaction<T>(
    pool: &Arc<Pool>,
    read: impl AsyncFnOnce(&Transaction) -> Result<T, TransactionError>,
) -> StoreResult<T> {
    let transaction = Transaction::begun(pool).await.map_err(TransactionError::of_statement)?;
    let page = async {
        transaction.query(INDEX_SCAN, &[]).await?;
        read(&transaction).await
    };
    match page.await {
        Ok(page) => {
            transaction.roll_back().await;
            Ok(page)
        }
        Err(error) => Err(transaction.abort(error).await.of_statement()),
    }
}

/// A page of one table at the instant of a transaction. A row that cannot be decoded is listed.
pub(in super::super) async fn page_of_table(
    transaction: &Transaction,
    after: &RecordCursor,
    rows: usize,
) -> Result<RecordPage, TransactionError> {
    let mut filling = Filling::new(rows, IfUnreadable::List);
    filling.scan(transaction, after).await?;
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
    bytes_left: i64,
    if_unreadable: IfUnreadable,
}

impl Filling {
    fn new(rows: usize, if_unreadable: IfUnreadable) -> Self {
        Self { page: RecordPage::default(), rows, bytes_left: PAGE_BYTES, if_unreadable }
    }

    fn is_full(&self) -> bool {
        self.page.records.len() >= self.rows || self.bytes_left <= 0
    }

    /// Adds the records of the table after the cursor, until the page is full.
    async fn scan(
        &mut self,
        transaction: &Transaction,
        after: &RecordCursor,
    ) -> Result<(), TransactionError> {
        let scope = match transaction.is_spread() && is_of_apps(after.table) {
            true => ScanScope::OneApp,
            false => ScanScope::AllApps,
        };
        let mut after = Some(after.clone());
        while let Some(cursor) = after.filter(|_| !self.is_full()) {
            let wanted = (self.rows - self.page.records.len(), self.bytes_left);
            let (rows, read) = scan(transaction, &cursor, wanted, scope).await?;
            self.take(cursor.table, &rows, read)?;
            after = match scope {
                ScanScope::OneApp => next_app(transaction, &cursor).await?,
                ScanScope::AllApps => None,
            };
        }
        Ok(())
    }

    /// Decodes rows of a table. If none of several can be decoded, there is no cursor to continue
    /// from, and the rest of the table is listed as one place.
    fn take(&mut self, table: Table, rows: &[Row], read: Read) -> StoreResult<()> {
        let before = self.page.records.len();
        for row in rows {
            match read(&mut Cells::new(row)) {
                Ok(record) => {
                    self.bytes_left -= limit(record.weight_bytes());
                    self.page.records.push(record);
                }
                Err(error) if self.if_unreadable == IfUnreadable::Fail => return Err(error),
                Err(error) => self.page.unreadable.push(unreadable(table, row, &error)),
            }
        }
        if self.page.records.len() == before && !rows.is_empty() {
            let why = "none of the rows from here on was read";
            self.page.unreadable.push(UnreadableRow::new(table, std::iter::empty(), why));
        }
        Ok(())
    }
}

fn unreadable(table: Table, row: &Row, error: &StoreError) -> UnreadableRow {
    let columns = row.columns().iter().enumerate().filter_map(|(index, column)| {
        let id = row.try_get::<_, Uuid>(index).ok()?;
        Some((column.name().to_owned(), id))
    });
    UnreadableRow::new(table, columns, error)
}

/// What one statement scans.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanScope {
    AllApps,
    /// The app of the cursor.
    OneApp,
}

/// Whether the rows of a table are where their app is, and not where the directory is.
fn is_of_apps(table: Table) -> bool {
    match table {
        Table::Flows
        | Table::Versions
        | Table::Respondents
        | Table::Identities
        | Table::Responses
        | Table::Consents
        | Table::UsedKeys
        | Table::Invitations
        | Table::VisitCounts
        | Table::ClosingCounts
        | Table::TestResponses
        | Table::Events => true,
        Table::Apps
        | Table::Keys
        | Table::IdentityKeys
        | Table::Tokens
        | Table::Audit
        | Table::Users
        | Table::Grants
        | Table::Reports
        | Table::SavedViews
        | Table::ShortPaths
        | Table::Endpoints
        | Table::Deliveries
        | Table::Assets
        | Table::SinkPositions
        | Table::AdminRequests
        | Table::Mails => false,
    }
}

/// The start of the app after that of the cursor.
async fn next_app(
    transaction: &Transaction,
    cursor: &RecordCursor,
) -> Result<Option<RecordCursor>, TransactionError> {
    let sql = "SELECT app_id FROM app_directory WHERE app_id > $1 ORDER BY app_id LIMIT 1";
    let rows = transaction.query(sql, &[&Uuid::from_bytes(cursor.app)]).await?;
    let app: Option<Uuid> = rows.first().map(|row| Cells::new(row).take()).transpose()?;
    let table = cursor.table;
    Ok(app.map(|app| RecordCursor { table, app: app.into_bytes(), key: Vec::new() }))
}

/// The rows of a table after the cursor, and how to decode them.
async fn scan(
    transaction: &Transaction,
    after: &RecordCursor,
    (rows, bytes): (usize, i64),
    scope: ScanScope,
) -> Result<(Vec<Row>, Read), TransactionError> {
    let (sql, read) = select(after.table, scope);
    let (rows, app) = (limit(rows), Uuid::from_bytes(after.app));
    let (text, ids) = (String::from_utf8_lossy(&after.key), ids(&after.key));
    let name = String::from_utf8_lossy(after.key.get(IDS_BYTES..).unwrap_or_default());
    let identity = text.split_once('\0').unwrap_or((&*text, ""));
    let counted = VisitCountKey::read(&after.key);
    let (flow, version) = (Uuid::from_bytes(counted.flow), Uuid::from_bytes(counted.version));
    let params: Params = match after.table {
        Table::Apps => &[&rows, &bytes, &app],
        Table::Keys | Table::IdentityKeys | Table::SinkPositions => &[&rows, &bytes, &app, &&*text],
        Table::Responses | Table::TestResponses | Table::Deliveries => {
            &[&rows, &bytes, &app, &ids[0], &ids[1]]
        }
        Table::Identities => &[&rows, &bytes, &app, &identity.0, &identity.1],
        Table::VisitCounts => {
            &[&rows, &bytes, &app, &flow, &counted.day, &version, &counted.counter]
        }
        Table::SavedViews => &[&rows, &bytes, &app, &ids[0], &ids[1], &&*name],
        Table::Flows
        | Table::Versions
        | Table::Tokens
        | Table::Audit
        | Table::Respondents
        | Table::Consents
        | Table::UsedKeys
        | Table::Invitations
        | Table::ClosingCounts
        | Table::Users
        | Table::Grants
        | Table::Reports
        | Table::ShortPaths
        | Table::Events
        | Table::Endpoints
        | Table::Assets
        | Table::AdminRequests
        | Table::Mails => &[&rows, &bytes, &app, &ids[0]],
    };
    Ok((transaction.query(&sql, params).await?, read))
}

type Read = fn(&mut Cells) -> StoreResult<Record>;

#[expect(clippy::too_many_lines, reason = "a list of every table")]
fn select(table: Table, scope: ScanScope) -> (String, Read) {
    let (name, columns, key, read): (_, _, &[&str], Read) = match table {
        Table::Apps => ("app_directory", APP, &[], |it| codec::app(it).map(Record::App)),
        Table::Keys => ("api_keys", KEY, &["api_key"], |it| codec::key(it).map(Record::Key)),
        Table::IdentityKeys => ("identity_keys", IDENTITY_KEY, &["kid"], |it| {
            codec::identity_key(it).map(Record::IdentityKey)
        }),
        Table::Flows => ("flows", FLOW, &["flow_id"], |it| codec::flow(it).map(Record::Flow)),
        Table::Versions => ("versions", VERSION, &["flow_version_id"], |it| {
            codec::version(it).map(Record::Version)
        }),
        Table::Tokens => ("tokens", TOKEN, &["token_id"], |it| codec::token(it).map(Record::Token)),
        Table::Audit => ("audit", AUDIT, &["audit_id"], |it| codec::audit(it).map(Record::Audit)),
        Table::Respondents => ("respondents", RESPONDENT, &["respondent_id"], |it| {
            codec::respondent(it).map(Record::Respondent)
        }),
        Table::Identities => ("identities", IDENTITY, &["type", "value"], |it| {
            codec::identity(it).map(Record::Identity)
        }),
        Table::Consents => {
            ("consents", CONSENT, &["response_id"], |it| codec::consent(it).map(Record::Consent))
        }
        Table::UsedKeys => {
            ("used_keys", USED_KEY, &["response_id"], |it| codec::used_key(it).map(Record::UsedKey))
        }
        Table::Responses => ("responses", RESPONSE, &["flow_id", "response_id"], response),
        Table::Invitations => ("invitations", INVITATION, &["assignment_id"], |it| {
            codec::invitation(it).map(Record::Invitation)
        }),
        Table::VisitCounts => {
            let key = &["flow_id", "day", "flow_version_id", "counter"];
            ("visit_counts", VISIT_COUNT, key, |it| codec::visit_count(it).map(Record::VisitCount))
        }
        Table::ClosingCounts => ("closing_counts", CLOSING_COUNTS, &["flow_id"], |it| {
            codec::closing_counts(it).map(Record::ClosingCounts)
        }),
        Table::Users => ("users", USER, &["user_id"], |it| codec::user(it).map(Record::User)),
        Table::Grants => ("grants", GRANT, &["user_id"], |it| codec::grant(it).map(Record::Grant)),
        Table::Reports => ("reports", REPORT, &["report_id"], |it| {
            codec::report(it).map(|row| Record::Report(Box::new(row)))
        }),
        Table::ShortPaths => ("short_paths", SHORT_PATH, &["flow_id"], short_path),
        Table::TestResponses => ("test_responses", TEST_RESPONSE, &["flow_id", "form_key"], |it| {
            codec::test_response(it).map(Record::TestResponse)
        }),
        Table::Mails => ("mails", MAIL, &["mail_id"], |it| codec::mail(it).map(Record::Mail)),
        Table::Assets => ("assets", ASSET, &["asset_id"], |it| codec::asset(it).map(Record::Asset)),
        Table::Events => ("events", EVENT, &["event_id"], |it| codec::event(it).map(Record::Event)),
        Table::Endpoints => ("endpoints", ENDPOINT, &["endpoint_id"], |it| {
            codec::endpoint(it).map(|row| Record::Endpoint(Box::new(row)))
        }),
        Table::Deliveries => ("deliveries", DELIVERY, &["endpoint_id", "delivery_id"], |it| {
            codec::delivery(it).map(|row| Record::Delivery(Box::new(row)))
        }),
        Table::SinkPositions => ("sink_positions", SINK_POSITION, &["sink"], |it| {
            codec::sink_position(it).map(Record::SinkPosition)
        }),
        Table::AdminRequests => ("admin_requests", ADMIN_REQUEST, &["request_id"], |it| {
            codec::admin_request(it).map(Record::AdminRequest)
        }),
        Table::SavedViews => ("saved_views", SAVED_VIEW, &["flow_id", "user_id", "name"], |it| {
            codec::saved_view(it).map(Record::SavedView)
        }),
    };
    let key_column = match table {
        Table::Responses => ", idempotency_key",
        _ => "",
    };
    let only = match table {
        // These belong to no app, so there are none after any app.
        Table::Users | Table::AdminRequests => {
            "$3 = '00000000-0000-0000-0000-000000000000'::uuid AND "
        }
        _ if scope == ScanScope::OneApp => "app_id = $3 AND ",
        _ => "",
    };
    let of_no_app = matches!(table, Table::Users | Table::AdminRequests);
    let is_of_app = !of_no_app && scope == ScanScope::AllApps;
    let app = is_of_app.then_some("app_id");
    let order = app.iter().chain(key).copied().collect::<Vec<_>>().join(", ");
    let first = if is_of_app { 3 } else { 4 };
    let beyond = (first..=3 + key.len()).map(|it| format!("${it}")).collect::<Vec<_>>().join(", ");
    // The columns of some tables are written with the name of their table.
    let alias = if table == Table::Apps { "apps" } else { name };
    let weighs: String = texts(table)
        .iter()
        .map(|column| format!("coalesce(octet_length({column}), 0) + "))
        .collect();
    let sql = format!(
        "SELECT {columns}{key_column} FROM (SELECT *, \
         coalesce(sum({weighs}256) OVER (ORDER BY {order} \
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before \
         FROM (SELECT * FROM {name} WHERE {only}({order}) > ({beyond}) ORDER BY {order} LIMIT $1) AS page) \
         AS {alias} WHERE bytes_before < $2 ORDER BY {order}"
    );
    (sql, read)
}

/// The columns without a fixed length, as in [`Record::weight_bytes`].
fn texts(table: Table) -> Vec<&'static str> {
    let columns: &[_] = match table {
        Table::Apps => &["name", "allowed_origins", "hosted", "hosted_with_pictures"],
        Table::Keys | Table::Respondents | Table::Consents | Table::UsedKeys => &[],
        Table::IdentityKeys => &["kid", "material", "issuer"],
        Table::Identities => &["value"],
        Table::Flows => &[
            "name",
            "closing",
            "flow_key",
            "labels",
            "design",
            "design_with_pictures",
            "invitation_email",
        ],
        Table::ClosingCounts => &["counts"],
        Table::Versions => &["definition"],
        Table::Tokens => &["name", "scopes"],
        Table::Audit => &["actor", "action", "subject", "detail"],
        Table::Responses => return codec::text_columns().collect(),
        Table::Invitations => &["user_id", "email"],
        Table::VisitCounts => &["counter"],
        Table::Users => &["email", "name", "password", "issuer", "subject"],
        Table::Grants => &[],
        Table::Reports => &["title", "questions", "filters", "password", "created_by"],
        Table::SavedViews => &["name", "query"],
        Table::ShortPaths => &["path"],
        Table::TestResponses => &["answers", "tags", "score"],
        Table::Assets => &["bytes"],
        Table::Events => &["kind", "body"],
        Table::Endpoints => &["url", "description", "secret", "previous_secret"],
        Table::Deliveries => &["kind", "reply", "error"],
        Table::Mails => &["detail", "reply"],
        Table::SinkPositions => &["sink"],
        Table::AdminRequests => &["holder", "reply"],
    };
    columns.to_vec()
}

fn short_path(cells: &mut Cells) -> StoreResult<Record> {
    codec::short_path(cells).map(Record::ShortPath)
}

fn response(cells: &mut Cells) -> StoreResult<Record> {
    let (row, idempotency_key) = codec::keyed_response(cells)?;
    Ok(Record::Response { row, idempotency_key })
}

/// The ids in a key; if it is short, padded with zeros to the lowest possible ids.
fn ids(key: &[u8]) -> [Uuid; 2] {
    let mut bytes = [0; IDS_BYTES];
    for (byte, given) in bytes.iter_mut().zip(key) {
        *byte = *given;
    }
    let (first, second) = bytes.split_at(16);
    [first, second].map(|id| Uuid::from_slice(id).unwrap_or_default())
}
