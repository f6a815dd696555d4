//! Lists of responses: the query, the result, and the parts of the scan that backends share.
//!
//! A response's id contains the time it was received, so a list is a scan over ids ([`Span`]) that
//! stops when its page is full or when it has read enough rows ([`Scan`]). Whether a row passes the
//! filter is decided here ([`RowFilter`]), on its stored JSON, so that all backends agree; a
//! backend may skip rows that cannot pass.

mod match_count;
mod row_filter;
mod scan;
mod span;

use std::collections::BTreeSet;

use sluice_flow::answer_filter::AnswerFilter;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, ResponseId};
use sluice_flow::submission::Admission;
use sluice_flow::time::Timestamp;

pub(crate) use match_count::MatchCount;
#[cfg(test)]
pub(crate) use row_filter::tests::query_of_all;
pub(crate) use row_filter::{Candidate, RowFilter};
pub(crate) use scan::Scan;
pub(crate) use span::Span;

use crate::codec::{COUNTED, RESPONSE};
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
    /// Each tag must have this value; if the tag is a list, it must contain the value.
    pub tags: Vec<(String, String)>,
    /// Every filter must hold.
    pub answers: Vec<AnswerFilter>,
    pub search: Option<Search>,
    /// Continues after this id, in the requested order.
    pub after: Option<ResponseId>,
    pub order: Order,
    pub limit: usize,
    /// The most rows to read; at least one.
    pub scan_limit: usize,
    /// Leaves out what counts do not need: identities, context and assignment are absent.
    pub for_counts: bool,
}

impl ResponseQuery {
    /// All responses of a flow, oldest first, in pages of `limit`.
    pub fn new(app_id: AppId, flow_id: FlowId, limit: usize) -> Self {
        Self {
            app_id,
            flow_id,
            version: None,
            from: None,
            to: None,
            admission: None,
            tags: Vec::new(),
            answers: Vec::new(),
            search: None,
            after: None,
            order: Order::Asc,
            limit,
            scan_limit: usize::MAX,
            for_counts: false,
        }
    }

    /// The columns to select.
    pub(crate) fn columns(&self) -> &'static str {
        if self.for_counts { &COUNTED } else { RESPONSE }
    }
}

/// Words that must all occur in the texts of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// As [`sluice_flow::folding::folded`] gives them.
    pub words: Vec<String>,
    /// The questions with text answers. For all other questions, the text after `other:` counts.
    pub questions: Vec<String>,
}

/// One page of a list of responses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponsePage {
    pub rows: Vec<ResponseRow>,
    /// The `after` of the next page: the last row that was read. Absent if nothing follows.
    pub next: Option<ResponseId>,
}

/// How many responses pass a filter, of the rows read in one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseCount {
    pub responses: u64,
    /// The names of all their tags.
    pub tag_names: BTreeSet<String>,
    /// As in [`ResponsePage`].
    pub next: Option<ResponseId>,
}
