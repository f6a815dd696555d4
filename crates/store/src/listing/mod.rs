//! Lists of responses: what is asked for, what comes back, and the parts of the walk that backends
//! share.
//!
//! When a response was received is in its id, so a list is a walk along ids ([`Span`]) that stops
//! when its page is full, or when it has looked at enough rows ([`Walk`]). Whether a row passes the
//! filter is judged here ([`RowFilter`]), on its JSON as it is stored, so that all backends judge
//! alike; a backend may leave out beforehand what cannot pass.

mod match_count;
mod row_filter;
mod span;
mod walk;

use std::collections::BTreeSet;

use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;

pub(crate) use match_count::MatchCount;
pub use row_filter::folded;
#[cfg(test)]
pub(crate) use row_filter::tests::query_of_all;
pub(crate) use row_filter::{Candidate, RowFilter};
pub(crate) use span::Span;
pub(crate) use walk::Walk;

use crate::{Order, ResponseRow};

/// Which responses of a flow. Times are half-open `[from, to)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseQuery {
    pub app_id: AppId,
    pub flow_id: FlowId,
    pub version: Option<FlowVersionId>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub admission: Option<Admission>,
    /// Each tag must have this value, or hold it where it is a list.
    pub tags: Vec<(String, String)>,
    /// Each question must be answered with this value, or with a list that holds it. The value
    /// `other` also stands for every text that begins with `other:`.
    pub answers: Vec<(String, String)>,
    pub search: Option<Search>,
    /// Those beyond this id, in the order asked for.
    pub after: Option<ResponseId>,
    pub order: Order,
    pub limit: usize,
    /// How many rows to look at, at the most; at least one.
    pub look: usize,
}

/// Words that must all occur in the texts of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// As [`folded`] gives them.
    pub words: Vec<String>,
    /// The questions whose answers are texts. Of all others, what stands behind `other:` is one.
    pub questions: Vec<String>,
}

/// A part of a list of responses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponsePage {
    pub rows: Vec<ResponseRow>,
    /// The `after` of the next page: the last row that was looked at. Absent where nothing follows.
    pub next: Option<ResponseId>,
}

/// How many responses pass a filter, as far as one call looked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseCount {
    pub responses: u64,
    /// The names of all their tags.
    pub tag_names: BTreeSet<String>,
    /// As in [`ResponsePage`].
    pub next: Option<ResponseId>,
}
