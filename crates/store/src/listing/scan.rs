//! A scan in progress: what it has found, and what is left to read.

use std::time::{Duration, Instant};

use sluice_flow::id::ResponseId;
use uuid::Uuid;

use super::{MatchCount, ResponseCount, ResponsePage, ResponseQuery, RowFilter, Span};
use crate::{Order, ResponseRow};

/// How long one call may scan: with all the rest a page takes a tenth of a second. At least one
/// slice is always read, and none that would probably exceed this.
const SCAN_TIME_MAX: Duration = Duration::from_millis(85);
/// A slice is not made shorter than this to fit into the time.
const SLICE_ROWS_MIN: usize = 500;
/// A slice of fewer rows has skipped blocks: its time says nothing about rows.
const TIMED_ROWS_MIN: usize = 100;
/// The most bytes of texts on one page; the row that exceeds it is the last.
const PAGE_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) query: ResponseQuery,
    pub(crate) filter: RowFilter,
    /// For callers that only count.
    pub(crate) matches: MatchCount,
    found: Vec<ResponseRow>,
    rest: Option<Span>,
    /// The last id that was read.
    last_read: Option<u128>,
    rows_read: usize,
    bytes: usize,
    /// Whether a row beyond the limit was found: the page is full, and more follow.
    goes_on: bool,
    begun: Instant,
    /// When the last slice ended, and how many rows it had in what time; zero before the first.
    ended_after: Duration,
    last_slice: (usize, Duration),
}

impl Scan {
    pub(crate) fn new(query: &ResponseQuery) -> Self {
        Self {
            query: query.clone(),
            filter: RowFilter::new(query),
            matches: MatchCount::default(),
            found: Vec::new(),
            rest: Span::for_query(query),
            last_read: None,
            rows_read: 0,
            bytes: 0,
            goes_on: false,
            begun: Instant::now(),
            ended_after: Duration::ZERO,
            last_slice: (0, Duration::ZERO),
        }
    }

    /// The ids to read next, and how many of their rows; `None` if the scan has ended.
    pub(crate) fn slice(&self, rows_max: usize) -> Option<(Span, usize)> {
        let span = self.rest.filter(|_| !self.is_full())?;
        let left = self.query.scan_limit.saturating_sub(self.rows_read);
        if self.rows_read == 0 {
            return Some((span, left.clamp(1, rows_max)));
        }
        let fits = self.rows_that_fit().filter(|_| left > 0)?;
        Some((span, left.min(fits).clamp(1, rows_max)))
    }

    /// How many rows fit into the time that is left, if they take as long as those of the last
    /// slice; `None` if a slice like that would take too long.
    fn rows_that_fit(&self) -> Option<usize> {
        let (rows, took) = self.last_slice;
        let left = SCAN_TIME_MAX.checked_sub(self.begun.elapsed())?;
        if rows < TIMED_ROWS_MIN {
            return (took <= left).then_some(usize::MAX);
        }
        let fits = rows as u128 * left.as_nanos() / took.as_nanos().max(1);
        usize::try_from(fits).ok().filter(|fits| *fits >= SLICE_ROWS_MIN)
    }

    /// Takes the next row that passed the filter; returns whether there is room for more.
    pub(crate) fn take(&mut self, row: ResponseRow) -> bool {
        if self.found.len() >= self.query.limit {
            self.goes_on = true;
            return false;
        }
        self.last_read = Some(row.response_id.uuid().as_u128());
        self.bytes += row.texts_len();
        self.found.push(row);
        self.bytes < PAGE_BYTES
    }

    /// Records that this many rows were read, up to and including this id; without an id, all the
    /// rest.
    pub(crate) fn advance(&mut self, rows: usize, up_to: Option<u128>) {
        self.rows_read += rows.max(1);
        let elapsed = self.begun.elapsed();
        self.last_slice = (rows, elapsed.saturating_sub(self.ended_after));
        self.ended_after = elapsed;
        // A full or heavy page ends at its last row, even if more was read.
        let up_to = if self.is_full() { self.last_read } else { up_to };
        self.last_read = up_to;
        self.rest =
            self.rest.and_then(|span| up_to.and_then(|id| span.beyond(id, self.query.order)));
    }

    /// Where a part of the rest ends, if the scan continues after it.
    pub(crate) fn end_of(&self, part: Span) -> Option<u128> {
        let rest = self.rest?;
        match self.query.order {
            Order::Asc => (part.last < rest.last).then_some(part.last),
            Order::Desc => (part.first > rest.first).then_some(part.first),
        }
    }

    fn is_full(&self) -> bool {
        self.goes_on || self.bytes >= PAGE_BYTES
    }

    /// The `after` of the next page.
    fn next(&self) -> Option<ResponseId> {
        let last_read = self.last_read.filter(|_| self.goes_on || self.rest.is_some());
        last_read.map(|id| ResponseId::from_uuid(Uuid::from_u128(id)))
    }

    pub(crate) fn page(self) -> ResponsePage {
        let next = self.next();
        ResponsePage { rows: self.found, next }
    }

    pub(crate) fn count(self) -> ResponseCount {
        let next = self.next();
        let MatchCount { responses, tag_names, .. } = self.matches;
        ResponseCount { responses, tag_names, next }
    }
}
