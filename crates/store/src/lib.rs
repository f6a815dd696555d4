//! The storage traits, their backends, and the conformance suite for all backends.
//!
//! The store keeps rows and promises durability. It contains no rules about flows and never sees an
//! issue. Every promise is a doc line in [`roles`] and a case in the module `conformance`, which
//! the feature `testsuite` adds; a backend has no separate test for a promise. There is
//! deliberately no method "publish" or "retire": the engine decides which rows a use case produces,
//! and [`AdminStore::apply`] writes all of them or none.
//!
//! Two numbers, both per app, make that safe without long locks:
//! - the **revision** grows with every [`AdminStore::apply`] to the app, so a decision based on
//!   rows that have changed since fails with [`StoreError::Conflict`] and is made again;
//! - the **public revision** grows only with changes that the public API can see. A response is
//!   judged against the rows of one public revision, and is stored only while that is still the
//!   newest.

mod admin_request;
mod asset;
mod change;
mod closing;
mod codec;
#[cfg(feature = "testsuite")]
pub mod conformance;
mod counting;
mod damage;
mod delivery_health;
mod digest;
mod endpoint;
mod error;
mod event;
pub mod hex;
mod invitation;
mod listing;
mod mail;
mod new_response;
mod people;
mod pictures;
pub mod postgres;
mod record;
mod removal;
mod report;
mod respondent;
mod response;
pub mod roles;
mod room;
mod row;
mod schema;
mod short_path;
mod sink;
mod skip_index;
pub mod sqlite;
mod status;
mod test_response;
mod visit_count;

pub use admin_request::*;
pub use asset::*;
pub use change::*;
pub use closing::{ClosingCountsRow, ClosingWrite, SetClosing};
pub use counting::{Compacted, CompactionCursor, CountScan, CountsQuery, DayTotal, FlowCounts};
pub use damage::{Damage, DamageMark};
pub use delivery_health::EndpointHealth;
pub use digest::*;
pub use endpoint::*;
pub use error::StoreError;
pub use event::{EventRow, LATE, LogEntry, LogPage, LogQuery};
pub use invitation::*;
pub use listing::{ResponseCount, ResponsePage, ResponseQuery, Search};
pub use mail::*;
pub use new_response::*;
pub(crate) use people::joined;
pub use people::*;
pub use record::*;
pub use removal::*;
pub use report::*;
pub use respondent::*;
pub use response::ResponseRow;
pub use roles::*;
pub use row::*;
pub use short_path::*;
pub use sink::*;
pub use skip_index::{SkipIndexCursor, SkipIndexPart};
pub use status::*;
pub use test_response::*;
pub use visit_count::{VisitCountRow, VisitCountsQuery};

/// The number of the newest schema that this build supports, in either backend.
pub fn schema_version() -> i64 {
    let known = [schema::SQLITE, schema::POSTGRES].map(|it| it.last().map_or(0, |it| it.version));
    known[0].max(known[1])
}

pub type StoreResult<T> = Result<T, StoreError>;
