//! The storage traits, their backends, and the suite that every backend passes.
//!
//! The store keeps rows and promises durability; it knows no rule of flows and never sees an issue.
//! Everything it promises is a doc line in [`roles`] and a case of the module `conformance`, which
//! the feature `testsuite` adds; a backend has no separate test for a promise. There is
//! deliberately no method "publish" or "retire": the engine decides what rows come out of a use
//! case, and [`AdminStore::apply`] writes them all or none.
//!
//! Two numbers make that safe without long locks, both kept by app:
//! - the **revision** grows with every [`AdminStore::apply`] to the app, so that a decision made on
//!   rows that have changed since is refused with [`StoreError::Conflict`] and made again;
//! - the **public revision** grows only with changes that the public API can see. A response is
//!   judged against rows of one public revision, and is stored only while that is still the newest.

mod codec;
#[cfg(feature = "testsuite")]
pub mod conformance;
mod counting;
mod error;
mod invitation;
mod listing;
mod people;
pub mod postgres;
mod record;
mod removal;
mod respondent;
mod response;
pub mod roles;
mod row;
mod schema;
mod skip_index;
pub mod sqlite;

pub use counting::{Compacted, CountsQuery, DayTotal, FlowCounts, Walk};
pub use error::StoreError;
pub use invitation::*;
pub use listing::{ResponseCount, ResponsePage, ResponseQuery, Search, folded};
pub(crate) use people::joined;
pub use people::*;
pub use record::*;
pub use removal::*;
pub use respondent::*;
pub use response::ResponseRow;
pub use roles::*;
pub use row::*;
pub use skip_index::{SkipIndexCursor, SkipIndexPart};

pub type StoreResult<T> = Result<T, StoreError>;
