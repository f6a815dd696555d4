//! The tables of events, webhooks, sinks and administrators' requests in an export.

use rusqlite::{Connection, Result, params};

use super::super::super::codec::{self, ADMIN_REQUEST, DELIVERY, ENDPOINT, EVENT, SINK_POSITION};
use super::{Filling, NO_APP, select};
use crate::{Record, RecordCursor, Table};

/// The scan of one of these tables, as [`select`].
pub(super) fn select_events(table: Table) -> String {
    let (columns, name, key) = match table {
        Table::Endpoints => (ENDPOINT, "endpoints", "endpoint_id"),
        Table::Deliveries => {
            return format!(
                "SELECT {DELIVERY} FROM deliveries \
                 WHERE (app_id, endpoint_id, delivery_id) > (?1, ?2, ?3) \
                 ORDER BY app_id, endpoint_id, delivery_id LIMIT ?4"
            );
        }
        Table::AdminRequests => {
            return format!(
                "SELECT {ADMIN_REQUEST} FROM admin_requests WHERE request_id > ?1 \
                 ORDER BY request_id LIMIT ?2"
            );
        }
        Table::SinkPositions => (SINK_POSITION, "sink_positions", "sink"),
        _ => (EVENT, "events", "event_id"),
    };
    format!(
        "SELECT {columns} FROM {name} WHERE (app_id, {key}) > (?1, ?2) \
         ORDER BY app_id, {key} LIMIT ?3"
    )
}

impl Filling {
    pub(super) fn scan_events(
        &mut self,
        connection: &Connection,
        after: &RecordCursor,
    ) -> Result<()> {
        let (table, rows) = (after.table, self.rows_left());
        let (app, key, sql) = (&after.app, &after.key, select(table));
        match table {
            Table::Endpoints => {
                self.add(connection, table, &sql, params![app, key, rows], |cells| {
                    codec::endpoint(cells).map(|row| Record::Endpoint(Box::new(row)))
                })
            }
            Table::Deliveries => {
                let (endpoint, delivery) = key.split_at(key.len().min(NO_APP.len()));
                let params = params![app, endpoint, delivery, rows];
                self.add(connection, table, &sql, params, |cells| {
                    codec::delivery(cells).map(|row| Record::Delivery(Box::new(row)))
                })
            }
            // They belong to no app, so there are none after any app.
            Table::AdminRequests if *app != NO_APP => Ok(()),
            Table::AdminRequests => {
                self.add(connection, table, &sql, params![key, rows], |cells| {
                    codec::admin_request(cells).map(Record::AdminRequest)
                })
            }
            Table::SinkPositions => {
                let sink = String::from_utf8_lossy(key);
                self.add(connection, table, &sql, params![app, sink, rows], |cells| {
                    codec::sink_position(cells).map(Record::SinkPosition)
                })
            }
            _ => self.add(connection, table, &sql, params![app, key, rows], |cells| {
                codec::event(cells).map(Record::Event)
            }),
        }
    }
}
