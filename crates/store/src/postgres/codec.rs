//! PostgreSQL cells, and the shared readers for them.
//!
//! A value that cannot be decoded is [`StoreError::Corrupt`].

use std::fmt;

use serde::Serialize;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::codec::{self, readers};
use crate::{
    AdminRequestRow, App, AssetInfo, AssetRow, AuditRow, ClosingCountsRow, ConsentRow, DeliveryRow,
    EndpointRow, EventRow, FlowRow, GrantRow, IdempotencyKey, IdentityKeyRow, IdentityRow,
    InvitationRow, KeyRow, LinkRow, MailRow, ReportRow, RespondentRow, ResponseRow, SavedViewRow,
    SessionRow, ShortPathRow, SinkPositionRow, StoreError, StoreResult, TestResponseRow, TokenRow,
    UsedKeyRow, UserRow, VersionRow, VisitCountRow,
};

pub(super) use crate::codec::{
    ADMIN_REQUEST, APP, ASSET, ASSET_INFO, AUDIT, CLOSING_COUNTS, CONSENT, DELIVERY, ENDPOINT,
    EVENT, FLOW, GRANT, IDENTITY, IDENTITY_KEY, INVITATION, KEY, LINK, LISTED_APP, LISTED_FLOW,
    MAIL, REPORT, RESPONDENT, RESPONSE, ReadCells, SAVED_VIEW, SESSION, SHORT_PATH, SINK_POSITION,
    TEST_RESPONSE, TOKEN, USED_KEY, USER, VERSION, VISIT_COUNT, of_table, text_columns,
};

/// The cells of one row, read from left to right.
pub(super) struct Cells<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> Cells<'a> {
    pub(super) fn new(row: &'a Row) -> Self {
        Self { row, next: 0 }
    }

    /// The cells after the first `first` ones.
    pub(super) fn after(row: &'a Row, first: usize) -> Self {
        Self { row, next: first }
    }

    pub(super) fn take<T: FromSql<'a>>(&mut self) -> StoreResult<T> {
        let index = self.next;
        self.next += 1;
        self.row.try_get(index).map_err(|error| self.unreadable(error))
    }
}

impl ReadCells for Cells<'_> {
    type Error = StoreError;

    fn text(&mut self) -> StoreResult<String> {
        self.take()
    }

    fn optional_text(&mut self) -> StoreResult<Option<String>> {
        self.take()
    }

    fn integer(&mut self) -> StoreResult<i64> {
        self.take()
    }

    fn optional_integer(&mut self) -> StoreResult<Option<i64>> {
        self.take()
    }

    fn flag(&mut self) -> StoreResult<bool> {
        self.take()
    }

    fn uuid(&mut self) -> StoreResult<Uuid> {
        self.take()
    }

    fn optional_uuid(&mut self) -> StoreResult<Option<Uuid>> {
        self.take()
    }

    fn hash(&mut self) -> StoreResult<[u8; 32]> {
        let bytes: &[u8] = self.take()?;
        bytes.try_into().map_err(|_| self.unreadable("a hash is not 32 bytes"))
    }

    fn optional_hash(&mut self) -> StoreResult<Option<[u8; 32]>> {
        let bytes: Option<&[u8]> = self.take()?;
        bytes
            .map(|bytes| bytes.try_into().map_err(|_| self.unreadable("a hash is not 32 bytes")))
            .transpose()
    }

    fn optional_bytes(&mut self) -> StoreResult<Option<Vec<u8>>> {
        self.take()
    }

    fn unreadable(&self, why: impl fmt::Display) -> StoreError {
        let index = self.next.saturating_sub(1);
        let column = self.row.columns().get(index).map_or("?", |column| column.name());
        StoreError::Corrupt(format!("column {column}: {why}"))
    }
}

pub(super) fn variant_name<T: Serialize>(value: &T) -> StoreResult<String> {
    codec::variant_name(value).map_err(|error| StoreError::Failed(Box::new(error)))
}

pub(super) fn json<T: Serialize>(value: &T) -> StoreResult<String> {
    codec::json(value).map_err(|error| StoreError::Failed(Box::new(error)))
}

readers! { Cells, StoreResult }

/// The app's columns that decide about a flow: both revisions, and the grace window.
pub(super) const FLOW_APP: &str = "apps.revision, apps.public_revision, apps.grace_window_seconds";

pub(super) fn flow_app(cells: &mut Cells) -> StoreResult<(u64, u64, Option<u32>)> {
    Ok((cells.revision()?, cells.revision()?, cells.optional_number()?))
}

const VERSION_COLUMNS: usize = 11;

/// A version from an outer join.
pub(super) fn optional_version(cells: &mut Cells) -> StoreResult<Option<VersionRow>> {
    let first = cells.next;
    if cells.optional_uuid()?.is_none() {
        cells.next = first + VERSION_COLUMNS;
        return Ok(None);
    }
    cells.next = first;
    version(cells).map(Some)
}

/// A response followed by the column `idempotency_key`.
pub(super) fn keyed_response(
    cells: &mut Cells,
) -> StoreResult<(ResponseRow, Option<IdempotencyKey>)> {
    Ok((response(cells)?, cells.optional_id(Uuid::into_bytes)?))
}
