//! Decoding rows from SQL values: the part that both backends share.
//!
//! Each row type has its column list and its reader side by side ([`rows`] and [`flows`]; for
//! responses in `crate::response`). A reader takes the cells from left to right, so a query can
//! concatenate several lists. A backend implements reading one cell ([`ReadCells`]) and the error
//! for an unreadable cell. The SQL stays in the backends.

mod admin_requests;
pub(crate) mod cells;
mod flows;
mod rows;

use serde::Serialize;

pub(crate) use crate::response::{
    COLUMNS, COUNTED, Column, Get, RESPONSE, response, rewritten_columns, text_columns,
};
pub(crate) use admin_requests::*;
pub(crate) use cells::ReadCells;
pub(crate) use flows::*;
pub(crate) use rows::*;

/// The serde name of an enum variant.
pub(crate) fn variant_name<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(name) => Ok(name),
        other => Err(serde::ser::Error::custom(format!("{other} is not a string"))),
    }
}

pub(crate) fn json<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(value)
}

/// A column list with each name qualified by its table.
pub(crate) fn of_table(table: &str, columns: &str) -> String {
    let named = columns.split(", ").map(|name| format!("{table}.{}", name.trim()));
    named.collect::<Vec<_>>().join(", ")
}

/// The shared readers for one backend's cells, as plain functions: a query takes a function that
/// reads a row of any lifetime, which a generic function is not.
macro_rules! readers {
    ($cells:ident, $result:ident) => {
        readers! {
            $cells, $result:
            admin_request -> AdminRequestRow,
            app -> App,
            key -> KeyRow,
            identity_key -> IdentityKeyRow,
            flow -> FlowRow,
            version -> VersionRow,
            response -> ResponseRow,
            respondent -> RespondentRow,
            identity -> IdentityRow,
            consent -> ConsentRow,
            used_key -> UsedKeyRow,
            token -> TokenRow,
            audit -> AuditRow,
            invitation -> InvitationRow,
            visit_count -> VisitCountRow,
            closing_counts -> ClosingCountsRow,
            user -> UserRow,
            grant -> GrantRow,
            saved_view -> SavedViewRow,
            link -> LinkRow,
            session -> SessionRow,
            report -> ReportRow,
            short_path -> ShortPathRow,
            test_response -> TestResponseRow,
            mail -> MailRow,
            asset -> AssetRow,
            asset_info -> AssetInfo,
            event -> EventRow,
            endpoint -> EndpointRow,
            delivery -> DeliveryRow,
            sink_position -> SinkPositionRow,
        }
    };
    ($cells:ident, $result:ident: $($name:ident -> $row:ty),+ $(,)?) => {
        $(
            pub(super) fn $name(cells: &mut $cells) -> $result<$row> {
                crate::codec::$name(cells)
            }
        )+
    };
}
pub(crate) use readers;
