//! The numbers that stand for the app, the flow and the version of a response.
//!
//! The first response to a version gives it a number, in the same transaction. Numbers are never
//! removed or changed: neither are versions.

use std::collections::BTreeMap;

use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, FlowId, FlowVersionId};

use super::codec::{Cells, bytes};
use super::read::one;
use crate::ResponseRow;

/// What the reader of a response selects from: the numbers are replaced by the ids.
pub(super) const RESPONSES: &str = "responses CROSS JOIN version_numbers USING (version_number)";

/// The condition for a response to belong to the app `?1` and the flow `?2`.
pub(super) const OF_FLOW: &str = "responses.flow_number = (SELECT flow_number \
     FROM version_numbers WHERE app_id = ?1 AND flow_id = ?2 LIMIT 1)";

const FIND: &str = "SELECT flow_number, version_number FROM version_numbers \
     WHERE app_id = ?1 AND flow_id = ?2 AND flow_version_id = ?3";

/// The first version of a flow also numbers the flow.
const ADD: &str = "INSERT INTO version_numbers \
     (version_number, flow_number, app_id, flow_id, flow_version_id) \
     SELECT free, coalesce((SELECT flow_number FROM version_numbers \
     WHERE app_id = ?1 AND flow_id = ?2 LIMIT 1), free), ?1, ?2, ?3 \
     FROM (SELECT coalesce(max(version_number), 0) + 1 AS free FROM version_numbers) \
     RETURNING flow_number, version_number";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) flow: i64,
    pub(super) version: i64,
}

/// The numbers that one transaction has used, read or added.
#[derive(Debug, Default)]
pub(super) struct VersionNumbers {
    /// A few at most, which a tree compares in less time than it takes to hash one.
    known: BTreeMap<(AppId, FlowId, FlowVersionId), Numbers>,
}

impl VersionNumbers {
    /// The numbers of a response; adds them if it is the first one.
    pub(super) fn get_or_add(
        &mut self,
        connection: &Connection,
        row: &ResponseRow,
    ) -> Result<Numbers> {
        let ids = (row.app_id, row.flow_id, row.flow_version_id);
        if let Some(numbers) = self.known.get(&ids) {
            return Ok(*numbers);
        }
        let params = params![bytes!(ids.0), bytes!(ids.1), bytes!(ids.2)];
        let numbers = match one(connection, FIND, params, numbers)? {
            Some(found) => found,
            None => connection
                .prepare_cached(ADD)?
                .query_row(params, |row| numbers(&mut Cells::new(row)))?,
        };
        self.known.insert(ids, numbers);
        Ok(numbers)
    }
}

fn numbers(cells: &mut Cells) -> Result<Numbers> {
    Ok(Numbers { flow: cells.take()?, version: cells.take()? })
}
