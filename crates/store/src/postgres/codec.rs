//! Rows out of SQL values: each row type has its list of columns and its reader side by side.
//!
//! Columns are read in order by [`Cells`], so that a query may join several lists. What cannot be
//! read back is [`StoreError::Corrupt`].

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_flow::id::{AppId, AuditId, FlowId, FlowVersionId, RespondentId, ResponseId, TokenId};
use sluice_flow::lifecycle::VersionTimes;
use sluice_flow::respondent::Known;
use sluice_flow::submission::Admission;
use sluice_flow::time::{Timestamp, Window};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::{
    App, AppLimits, AppRow, AuditRow, ConsentRow, FlowRow, IdempotencyKey, IdentityKeyRow,
    IdentityRow, KeyRow, RespondentRow, ResponseRow, StoreError, StoreResult, TokenRow, UsedKeyRow,
    VersionRow,
};

/// The cells of one row, read from left to right.
pub(super) struct Cells<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> Cells<'a> {
    pub(super) fn of(row: &'a Row) -> Self {
        Self { row, next: 0 }
    }

    /// The cells behind the first so many.
    pub(super) fn after(row: &'a Row, first: usize) -> Self {
        Self { row, next: first }
    }

    pub(super) fn take<T: FromSql<'a>>(&mut self) -> StoreResult<T> {
        let index = self.next;
        self.next += 1;
        self.row.try_get(index).map_err(|error| self.unreadable(error))
    }

    pub(super) fn revision(&mut self) -> StoreResult<u64> {
        self.take::<i64>().map(i64::cast_unsigned)
    }

    pub(super) fn id<T>(&mut self, make: fn(Uuid) -> T) -> StoreResult<T> {
        self.take().map(make)
    }

    /// An id where the nil id stands for none.
    pub(super) fn id_or_nil<T>(&mut self, make: fn(Uuid) -> T) -> StoreResult<Option<T>> {
        self.take().map(|id: Uuid| (!id.is_nil()).then(|| make(id)))
    }

    pub(super) fn hash(&mut self) -> StoreResult<[u8; 32]> {
        let bytes: &[u8] = self.take()?;
        bytes.try_into().map_err(|_| self.unreadable("a hash is not 32 bytes"))
    }

    pub(super) fn optional_hash(&mut self) -> StoreResult<Option<[u8; 32]>> {
        let bytes: Option<&[u8]> = self.take()?;
        bytes
            .map(|bytes| bytes.try_into().map_err(|_| self.unreadable("a hash is not 32 bytes")))
            .transpose()
    }

    pub(super) fn number(&mut self) -> StoreResult<u32> {
        let number: i64 = self.take()?;
        u32::try_from(number).map_err(|error| self.unreadable(error))
    }

    pub(super) fn optional_number<T>(&mut self) -> StoreResult<Option<T>>
    where
        T: TryFrom<i64, Error: std::fmt::Display>,
    {
        let number: Option<i64> = self.take()?;
        number.map(|it| T::try_from(it).map_err(|error| self.unreadable(error))).transpose()
    }

    pub(super) fn time(&mut self) -> StoreResult<Timestamp> {
        self.take().map(Timestamp::from_millis)
    }

    pub(super) fn optional_time(&mut self) -> StoreResult<Option<Timestamp>> {
        Ok(self.take::<Option<i64>>()?.map(Timestamp::from_millis))
    }

    /// A value that is kept as JSON.
    fn json<T: DeserializeOwned>(&mut self) -> StoreResult<T> {
        let text: &str = self.take()?;
        serde_json::from_str(text).map_err(|error| self.unreadable(error))
    }

    /// The same, of a cell that may be empty.
    fn optional_json<T: DeserializeOwned>(&mut self) -> StoreResult<Option<T>> {
        let text: Option<&str> = self.take()?;
        let read = |text: &str| serde_json::from_str(text);
        text.map(read).transpose().map_err(|error| self.unreadable(error))
    }

    /// A value that is kept as one word, as serde names it.
    pub(super) fn word<T: DeserializeOwned>(&mut self) -> StoreResult<T> {
        let word: String = self.take()?;
        serde_json::from_value(serde_json::Value::String(word))
            .map_err(|error| self.unreadable(error))
    }

    fn key<T: std::str::FromStr<Err: fmt::Display>>(&mut self) -> StoreResult<T> {
        let text: &str = self.take()?;
        text.parse().map_err(|error| self.unreadable(error))
    }

    /// The cell that was read last does not hold what it should.
    fn unreadable(&self, why: impl fmt::Display) -> StoreError {
        let index = self.next.saturating_sub(1);
        let column = self.row.columns().get(index).map_or("?", |column| column.name());
        StoreError::Corrupt(format!("column {column}: {why}"))
    }
}

/// The word that serde has for a value of an enum.
pub(super) fn word<T: Serialize>(value: &T) -> StoreResult<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        Ok(other) => Err(StoreError::Failed(format!("{other} is no word").into())),
        Err(error) => Err(StoreError::Failed(Box::new(error))),
    }
}

pub(super) fn json<T: Serialize>(value: &T) -> StoreResult<String> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(Box::new(error)))
}

pub(super) const APP: &str = "apps.app_id, apps.name, apps.identity_verification, \
     apps.allowed_origins, apps.grace_window_seconds, apps.retention_days, \
     apps.token_lifetime_seconds, apps.hosted, apps.calls_per_second, apps.bytes_per_day, \
     apps.created_at, apps.revision, apps.public_revision";

pub(super) fn app(cells: &mut Cells) -> StoreResult<App> {
    let row = AppRow {
        app_id: cells.id(AppId::from_uuid)?,
        name: cells.take()?,
        identity_verification: cells.word()?,
        allowed_origins: cells.json()?,
        grace_window_seconds: cells.optional_number()?,
        retention_days: cells.optional_number()?,
        token_lifetime_seconds: cells.optional_number()?,
        hosted: cells.take()?,
        limits: AppLimits {
            calls_per_second: cells.optional_number()?,
            bytes_per_day: cells.optional_number()?,
        },
        created_at: cells.time()?,
    };
    Ok(App { row, revision: cells.revision()?, public_revision: cells.revision()? })
}

pub(super) const KEY: &str = "app_id, api_key, created_at, revoked_at";

pub(super) fn key(cells: &mut Cells) -> StoreResult<KeyRow> {
    Ok(KeyRow {
        app_id: cells.id(AppId::from_uuid)?,
        api_key: cells.key()?,
        created_at: cells.time()?,
        revoked_at: cells.optional_time()?,
    })
}

pub(super) const IDENTITY_KEY: &str = "app_id, kid, kind, material, issuer, created_at, revoked_at";

pub(super) fn identity_key(cells: &mut Cells) -> StoreResult<IdentityKeyRow> {
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

pub(super) fn flow(cells: &mut Cells) -> StoreResult<FlowRow> {
    Ok(FlowRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        kind: cells.word()?,
        name: cells.take()?,
        live: Window { starts_at: cells.optional_time()?, ends_at: cells.optional_time()? },
        grace_window_seconds: cells.optional_number()?,
        created_at: cells.time()?,
        archived_at: cells.optional_time()?,
    })
}

/// What the flow's app decides with it: both revisions, and the app's grace window.
pub(super) const FLOW_APP: &str = "apps.revision, apps.public_revision, apps.grace_window_seconds";

pub(super) fn flow_app(cells: &mut Cells) -> StoreResult<(u64, u64, Option<u32>)> {
    Ok((cells.revision()?, cells.revision()?, cells.optional_number()?))
}

pub(super) const VERSION: &str = "versions.app_id, versions.flow_id, versions.flow_version_id, \
     versions.number, versions.published_at, versions.superseded_at, versions.grace_ends_at, \
     versions.retired_at, versions.created_at, versions.updated_at, versions.definition";
const VERSION_COLUMNS: usize = 11;

pub(super) fn version(cells: &mut Cells) -> StoreResult<VersionRow> {
    Ok(VersionRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
        number: cells.number()?,
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

/// A version out of an outer join.
pub(super) fn optional_version(cells: &mut Cells) -> StoreResult<Option<VersionRow>> {
    let first = cells.next;
    if cells.take::<Option<Uuid>>()?.is_none() {
        cells.next = first + VERSION_COLUMNS;
        return Ok(None);
    }
    cells.next = first;
    version(cells).map(Some)
}

pub(super) const RESPONSE: &str = "app_id, flow_id, flow_version_id, response_id, admitted, \
     answers, identities, identity_verified, respondent_id, tags, context, flow_assignment_id, \
     digest";

pub(super) fn response(cells: &mut Cells) -> StoreResult<ResponseRow> {
    Ok(ResponseRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
        response_id: cells.id(ResponseId::from_uuid)?,
        admission: Admission::of_admitted(cells.take()?),
        answers: cells.take()?,
        identities: cells.take()?,
        identity_verified: cells.take()?,
        respondent_id: cells.take::<Option<Uuid>>()?.map(RespondentId::from_uuid),
        tags: cells.take()?,
        context: cells.take()?,
        flow_assignment_id: cells.take()?,
        digest: cells.hash()?,
    })
}

/// A response with the column `idempotency_key` after it.
pub(super) fn keyed_response(
    cells: &mut Cells,
) -> StoreResult<(ResponseRow, Option<IdempotencyKey>)> {
    Ok((response(cells)?, cells.optional_hash()?))
}

/// A list of columns with the name of their table before each.
pub(super) fn of_table(table: &str, columns: &str) -> String {
    let named = columns.split(", ").map(|name| format!("{table}.{}", name.trim()));
    named.collect::<Vec<_>>().join(", ")
}

pub(super) const RESPONDENT: &str = "app_id, respondent_id, erasing";

pub(super) fn respondent(cells: &mut Cells) -> StoreResult<RespondentRow> {
    let app_id = cells.id(AppId::from_uuid)?;
    Ok(RespondentRow {
        app_id,
        respondent_id: cells.id(RespondentId::from_uuid)?,
        erasing: cells.optional_json()?,
    })
}

pub(super) const IDENTITY: &str = "app_id, type, value, respondent_id";

pub(super) fn identity(cells: &mut Cells) -> StoreResult<IdentityRow> {
    Ok(IdentityRow {
        app_id: cells.id(AppId::from_uuid)?,
        known: Known { of: cells.word()?, value: cells.take()? },
        respondent_id: cells.id(RespondentId::from_uuid)?,
    })
}

pub(super) const CONSENT: &str = "app_id, response_id, respondent_id, flow_id, flow_version_id";

pub(super) fn consent(cells: &mut Cells) -> StoreResult<ConsentRow> {
    Ok(ConsentRow {
        app_id: cells.id(AppId::from_uuid)?,
        response_id: cells.id(ResponseId::from_uuid)?,
        respondent_id: cells.id(RespondentId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        flow_version_id: cells.id(FlowVersionId::from_uuid)?,
    })
}

pub(super) const USED_KEY: &str = "app_id, response_id, key";

pub(super) fn used_key(cells: &mut Cells) -> StoreResult<UsedKeyRow> {
    Ok(UsedKeyRow {
        app_id: cells.id(AppId::from_uuid)?,
        response_id: cells.id(ResponseId::from_uuid)?,
        key: cells.hash()?,
    })
}

pub(super) const TOKEN: &str =
    "app_id, token_id, name, hash, scopes, created_at, expires_at, revoked_at";

pub(super) fn token(cells: &mut Cells) -> StoreResult<TokenRow> {
    Ok(TokenRow {
        app_id: cells.id_or_nil(AppId::from_uuid)?,
        token_id: cells.id(TokenId::from_uuid)?,
        name: cells.take()?,
        hash: cells.hash()?,
        scopes: cells.json()?,
        created_at: cells.time()?,
        expires_at: cells.optional_time()?,
        revoked_at: cells.optional_time()?,
    })
}

pub(super) const AUDIT: &str = "app_id, audit_id, actor, action, subject, detail";

pub(super) fn audit(cells: &mut Cells) -> StoreResult<AuditRow> {
    Ok(AuditRow {
        app_id: cells.id_or_nil(AppId::from_uuid)?,
        audit_id: cells.id(AuditId::from_uuid)?,
        actor: cells.take()?,
        action: cells.take()?,
        subject: cells.take()?,
        detail: cells.take()?,
    })
}
