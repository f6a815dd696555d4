//! Rows to and from SQL values.
//!
//! Columns are read in order by [`Cells`], so each row type has its list of columns and its reader
//! side by side, and a query may join two lists. What cannot be read back is an error of the
//! conversion, which the caller sees as [`crate::StoreError::Corrupt`].

use std::fmt;

use rusqlite::types::{FromSql, FromSqlError, ValueRef};
use rusqlite::{Result, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::respondent::Known;
use sluice_flow::submission::Admission;
use sluice_flow::time::{Timestamp, Window};

use sluice_flow::id::{AppId, AuditId, FlowId, FlowVersionId, RespondentId, ResponseId, TokenId};

use crate::{
    App, AppLimits, AppRow, AuditRow, ConsentRow, FlowRow, IdentityKeyRow, IdentityRow, KeyRow,
    RespondentRow, ResponseRow, TokenRow, UsedKeyRow, VersionRow,
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
    pub(super) fn of(row: &'a Row<'stmt>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn take<T: FromSql>(&mut self) -> Result<T> {
        let index = self.next;
        self.next += 1;
        self.row.get(index)
    }

    pub(super) fn revision(&mut self) -> Result<u64> {
        self.take::<i64>().map(i64::cast_unsigned)
    }

    /// An id of its bytes; `make` is the id type's own way in.
    pub(super) fn id<U: TryFrom<Vec<u8>>, T>(&mut self, make: fn(U) -> T) -> Result<T> {
        self.optional_id(make)?.ok_or_else(|| self.unreadable("an id is missing"))
    }

    pub(super) fn optional_id<U, T>(&mut self, make: fn(U) -> T) -> Result<Option<T>>
    where
        U: TryFrom<Vec<u8>>,
    {
        match self.take::<Option<Vec<u8>>>()? {
            None => Ok(None),
            Some(bytes) => match U::try_from(bytes) {
                Ok(bits) => Ok(Some(make(bits))),
                Err(_) => Err(self.unreadable("an id is not 16 bytes")),
            },
        }
    }

    pub(super) fn time(&mut self) -> Result<Timestamp> {
        self.take().map(Timestamp::from_millis)
    }

    pub(super) fn optional_time(&mut self) -> Result<Option<Timestamp>> {
        Ok(self.take::<Option<i64>>()?.map(Timestamp::from_millis))
    }

    /// A value that is kept as JSON.
    fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        let text: String = self.take()?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(error))
    }

    /// The same, of a cell that may be empty.
    fn optional_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let text: Option<String> = self.take()?;
        let read = |text: String| serde_json::from_str(&text);
        text.map(read).transpose().map_err(|error| self.unreadable(error))
    }

    /// A value that is kept as one word, as serde names it.
    pub(super) fn word<T: DeserializeOwned>(&mut self) -> Result<T> {
        let word: String = self.take()?;
        serde_json::from_value(serde_json::Value::String(word))
            .map_err(|error| self.unreadable(error))
    }

    fn key<T: std::str::FromStr<Err: fmt::Display>>(&mut self) -> Result<T> {
        let text: String = self.take()?;
        text.parse().map_err(|error| self.unreadable(error))
    }

    /// The cell that was read last does not hold what it should.
    pub(super) fn unreadable(&self, why: impl fmt::Display) -> rusqlite::Error {
        let index = self.next.saturating_sub(1);
        let kind = self
            .row
            .get_ref(index)
            .map_or(rusqlite::types::Type::Null, |v: ValueRef| v.data_type());
        let why = FromSqlError::other(std::io::Error::other(why.to_string()));
        rusqlite::Error::FromSqlConversionFailure(index, kind, Box::new(why))
    }
}

/// The word that serde has for a value of an enum.
pub(super) fn word<T: Serialize>(value: &T) -> Result<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(other) => Err(unwritable(format!("{other} is no word"))),
        Err(error) => Err(unwritable(error)),
    }
}

pub(super) fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(unwritable)
}

fn unwritable(why: impl fmt::Display) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(std::io::Error::other(why.to_string())))
}

pub(super) const APP: &str = "apps.app_id, apps.name, apps.identity_verification, \
     apps.allowed_origins, apps.grace_window_seconds, apps.retention_days, \
     apps.token_lifetime_seconds, apps.hosted, apps.calls_per_second, apps.bytes_per_day, \
     apps.created_at, apps.revision, apps.public_revision";

pub(super) fn app(cells: &mut Cells) -> Result<App> {
    let row = AppRow {
        app_id: cells.id(AppId::from_uuid)?,
        name: cells.take()?,
        identity_verification: cells.word()?,
        allowed_origins: cells.json()?,
        grace_window_seconds: cells.take()?,
        retention_days: cells.take()?,
        token_lifetime_seconds: cells.take()?,
        hosted: cells.take()?,
        limits: AppLimits {
            calls_per_second: cells.take()?,
            bytes_per_day: cells.take::<Option<i64>>()?.map(i64::cast_unsigned),
        },
        created_at: cells.time()?,
    };
    Ok(App { row, revision: cells.revision()?, public_revision: cells.revision()? })
}

pub(super) const KEY: &str = "app_id, api_key, created_at, revoked_at";

pub(super) fn key(cells: &mut Cells) -> Result<KeyRow> {
    Ok(KeyRow {
        app_id: cells.id(AppId::from_uuid)?,
        api_key: cells.key()?,
        created_at: cells.time()?,
        revoked_at: cells.optional_time()?,
    })
}

pub(super) const IDENTITY_KEY: &str = "app_id, kid, kind, material, issuer, created_at, revoked_at";

pub(super) fn identity_key(cells: &mut Cells) -> Result<IdentityKeyRow> {
    Ok(IdentityKeyRow {
        app_id: cells.id(AppId::from_uuid)?,
        kid: cells.take()?,
        kind: cells.word()?,
        material: cells.take()?,
        issuer: cells.take()?,
        created_at: cells.time()?,
        revoked_at: cells.optional_time()?,
    })
}

pub(super) const FLOW: &str = "flows.app_id, flows.flow_id, flows.kind, flows.name, \
     flows.live_starts_at, flows.live_ends_at, flows.grace_window_seconds, flows.created_at, \
     flows.archived_at";

pub(super) fn flow(cells: &mut Cells) -> Result<FlowRow> {
    Ok(FlowRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        kind: cells.word()?,
        name: cells.take()?,
        live: Window { starts_at: cells.optional_time()?, ends_at: cells.optional_time()? },
        grace_window_seconds: cells.take()?,
        created_at: cells.time()?,
        archived_at: cells.optional_time()?,
    })
}

pub(super) const VERSION: &str = "versions.app_id, versions.flow_id, versions.flow_version_id, \
     versions.number, versions.published_at, versions.superseded_at, versions.grace_ends_at, \
     versions.retired_at, versions.created_at, versions.updated_at, versions.definition";

pub(super) fn version(cells: &mut Cells) -> Result<VersionRow> {
    Ok(VersionRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
        number: cells.take()?,
        times: VersionTimes {
            published_at: cells.optional_time()?,
            superseded_at: cells.optional_time()?,
            grace_ends_at: cells.optional_time()?,
            retired_at: cells.optional_time()?,
        },
        created_at: cells.time()?,
        updated_at: cells.time()?,
        definition: cells.take()?,
    })
}

pub(super) const RESPONSE: &str = "app_id, flow_id, flow_version_id, response_id, admitted, \
     answers, identities, identity_verified, respondent_id, tags, context, flow_assignment_id, \
     digest";

pub(super) fn response(cells: &mut Cells) -> Result<ResponseRow> {
    Ok(ResponseRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
        response_id: cells.id(ResponseId::from_uuid)?,
        admission: Admission::of_admitted(cells.take()?),
        answers: cells.take()?,
        identities: cells.take()?,
        identity_verified: cells.take()?,
        respondent_id: cells.optional_id(RespondentId::from_uuid)?,
        tags: cells.take()?,
        context: cells.take()?,
        flow_assignment_id: cells.take()?,
        digest: cells.take()?,
    })
}

/// A list of columns with the name of their table before each.
pub(super) fn of_table(table: &str, columns: &str) -> String {
    let named = columns.split(", ").map(|name| format!("{table}.{}", name.trim()));
    named.collect::<Vec<_>>().join(", ")
}

pub(super) const RESPONDENT: &str = "app_id, respondent_id, erasing";

pub(super) fn respondent(cells: &mut Cells) -> Result<RespondentRow> {
    let app_id = cells.id(AppId::from_uuid)?;
    Ok(RespondentRow {
        app_id,
        respondent_id: cells.id(RespondentId::from_uuid)?,
        erasing: cells.optional_json()?,
    })
}

pub(super) const IDENTITY: &str = "app_id, type, value, respondent_id";

pub(super) fn identity(cells: &mut Cells) -> Result<IdentityRow> {
    Ok(IdentityRow {
        app_id: cells.id(AppId::from_uuid)?,
        known: Known { of: cells.word()?, value: cells.take()? },
        respondent_id: cells.id(RespondentId::from_uuid)?,
    })
}

pub(super) const CONSENT: &str = "app_id, response_id, respondent_id, flow_id, flow_version_id";

pub(super) fn consent(cells: &mut Cells) -> Result<ConsentRow> {
    Ok(ConsentRow {
        app_id: cells.id(AppId::from_uuid)?,
        response_id: cells.id(ResponseId::from_uuid)?,
        respondent_id: cells.id(RespondentId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
    })
}

pub(super) const USED_KEY: &str = "app_id, response_id, key";

pub(super) fn used_key(cells: &mut Cells) -> Result<UsedKeyRow> {
    Ok(UsedKeyRow {
        app_id: cells.id(AppId::from_uuid)?,
        response_id: cells.id(ResponseId::from_uuid)?,
        key: cells.take()?,
    })
}

pub(super) const TOKEN: &str =
    "token_id, name, hash, scopes, app_id, created_at, expires_at, revoked_at";

pub(super) fn token(cells: &mut Cells) -> Result<TokenRow> {
    Ok(TokenRow {
        token_id: cells.id(TokenId::from_uuid)?,
        name: cells.take()?,
        hash: cells.take()?,
        scopes: cells.json()?,
        app_id: cells.optional_id(AppId::from_uuid)?,
        created_at: cells.time()?,
        expires_at: cells.optional_time()?,
        revoked_at: cells.optional_time()?,
    })
}

pub(super) const AUDIT: &str = "audit_id, app_id, actor, action, subject, detail";

pub(super) fn audit(cells: &mut Cells) -> Result<AuditRow> {
    Ok(AuditRow {
        audit_id: cells.id(AuditId::from_uuid)?,
        app_id: cells.optional_id(AppId::from_uuid)?,
        actor: cells.take()?,
        action: cells.take()?,
        subject: cells.take()?,
        detail: cells.take()?,
    })
}
