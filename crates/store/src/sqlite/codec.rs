//! SQLite cells, and the shared readers for them.
//!
//! A value that cannot be decoded is a conversion error, which the caller sees as
//! [`crate::StoreError::Corrupt`].

use std::fmt;

use rusqlite::types::{FromSql, FromSqlError, ValueRef};
use rusqlite::{Result, Row};
use serde::Serialize;
use uuid::Uuid;

use crate::codec::{self, readers};
use crate::{
    AdminRequestRow, App, AssetInfo, AssetRow, AuditRow, ClosingCountsRow, ConsentRow, DeliveryRow,
    EndpointRow, EventRow, FlowRow, GrantRow, IdentityKeyRow, IdentityRow, InvitationRow, KeyRow,
    LinkRow, MailRow, ReportRow, RespondentRow, ResponseRow, SavedViewRow, SessionRow,
    ShortPathRow, SinkPositionRow, TestResponseRow, TokenRow, UsedKeyRow, UserRow, VersionRow,
    VisitCountRow,
};

pub(super) use crate::codec::{
    ADMIN_REQUEST, APP, ASSET, ASSET_INFO, AUDIT, CLOSING_COUNTS, CONSENT, DELIVERY, ENDPOINT,
    EVENT, FLOW, GRANT, IDENTITY, IDENTITY_KEY, INVITATION, KEY, LINK, LISTED_APP, LISTED_FLOW,
    MAIL, REPORT, RESPONDENT, RESPONSE, ReadCells, SAVED_VIEW, SESSION, SHORT_PATH, SINK_POSITION,
    TEST_RESPONSE, TOKEN, USED_KEY, USER, VERSION, VISIT_COUNT,
};

/// The bytes of an id, as they are stored.
macro_rules! bytes {
    ($id:expr) => {
        $id.uuid().into_bytes()
    };
}
pub(super) use bytes;

/// The cells of one row, read from left to right.
pub(super) struct Cells<'a, 'stmt> {
    row: &'a Row<'stmt>,
    next: usize,
}

impl<'a, 'stmt> Cells<'a, 'stmt> {
    pub(super) fn new(row: &'a Row<'stmt>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn take<T: FromSql>(&mut self) -> Result<T> {
        let index = self.next;
        self.next += 1;
        self.row.get(index)
    }
}

impl ReadCells for Cells<'_, '_> {
    type Error = rusqlite::Error;

    fn text(&mut self) -> Result<String> {
        self.take()
    }

    fn optional_text(&mut self) -> Result<Option<String>> {
        self.take()
    }

    fn integer(&mut self) -> Result<i64> {
        self.take()
    }

    fn optional_integer(&mut self) -> Result<Option<i64>> {
        self.take()
    }

    fn flag(&mut self) -> Result<bool> {
        self.take()
    }

    fn uuid(&mut self) -> Result<Uuid> {
        self.optional_uuid()?.ok_or_else(|| self.unreadable("an id is missing"))
    }

    fn optional_uuid(&mut self) -> Result<Option<Uuid>> {
        match self.take::<Option<[u8; 16]>>() {
            Ok(bytes) => Ok(bytes.map(Uuid::from_bytes)),
            Err(rusqlite::Error::FromSqlConversionFailure(..)) => {
                Err(self.unreadable("an id is not 16 bytes"))
            }
            Err(other) => Err(other),
        }
    }

    fn hash(&mut self) -> Result<[u8; 32]> {
        self.take()
    }

    fn optional_hash(&mut self) -> Result<Option<[u8; 32]>> {
        self.take()
    }

    fn optional_bytes(&mut self) -> Result<Option<Vec<u8>>> {
        self.take()
    }

    fn unreadable(&self, why: impl fmt::Display) -> rusqlite::Error {
        let index = self.next.saturating_sub(1);
        let kind = self
            .row
            .get_ref(index)
            .map_or(rusqlite::types::Type::Null, |v: ValueRef| v.data_type());
        let why = FromSqlError::other(std::io::Error::other(why.to_string()));
        rusqlite::Error::FromSqlConversionFailure(index, kind, Box::new(why))
    }
}

pub(super) fn variant_name<T: Serialize>(value: &T) -> Result<String> {
    codec::variant_name(value).map_err(unwritable)
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String> {
    codec::json(value).map_err(unwritable)
}

fn unwritable(why: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(why))
}

readers! { Cells, Result }
