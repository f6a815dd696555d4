//! A page of the list, and the links to the pages around it.

use maud::{Markup, html};
use sluice_engine::response_table::{SORTED_MAX, SortedPage};
use sluice_engine::rows::{Order, ResponsePage, ResponseRow};
use sluice_engine::{AdminResult, FlowHandle, Paging, QuestionHistory, Results};
use sluice_flow::id::{FlowId, ResponseId};
use sluice_flow::time::Timestamp;

use super::query::{ListOrder, ListPosition, ResponsesQuery};
use crate::parts::{number, time};

/// Responses per page.
pub(super) const PAGE_ROWS: usize = 50;

/// A page of the list: in the order of time, or sorted by a column.
pub(super) enum Listed {
    ByTime(ListPage),
    Sorted(SortedPage),
}

impl Listed {
    pub(super) async fn read(
        flow: &FlowHandle,
        history: &QuestionHistory,
        query: &ResponsesQuery,
    ) -> AdminResult<Results<Self>> {
        let sort = match query.order() {
            ListOrder::ByTime(order) => {
                let page = ListPage::read(flow, history, query, order).await?;
                return Ok(Results::Ready(Self::ByTime(page)));
            }
            ListOrder::ByColumn(sort) => sort,
        };
        let skipped = (page_number(query) - 1).saturating_mul(PAGE_ROWS);
        let part = (skipped, PAGE_ROWS);
        Ok(match flow.sorted_responses(history, &query.filter(), sort, part).await? {
            Results::Ready(page) => Results::Ready(Self::Sorted(page)),
            Results::Computing(progress) => Results::Computing(progress),
        })
    }

    pub(super) fn rows(&self) -> &[ResponseRow] {
        match self {
            Self::ByTime(list) => &list.page.rows,
            Self::Sorted(page) => &page.rows,
        }
    }

    /// Whether no response matches.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::ByTime(list) => list.page.rows.is_empty() && list.page.next.is_none(),
            Self::Sorted(page) => page.matching == 0,
        }
    }

    /// The number of matches, and when they were counted, if the list knows it.
    pub(super) fn matching(&self, query: &ResponsesQuery) -> Option<(u64, Option<Timestamp>)> {
        match self {
            Self::ByTime(list) => {
                let is_whole = query.position == ListPosition::First && list.page.next.is_none();
                is_whole.then_some((list.page.rows.len() as u64, None))
            }
            Self::Sorted(page) => Some((page.matching, Some(page.as_of))),
        }
    }

    /// The last page, if a page after it was requested.
    pub(super) fn last_page_before(&self, query: &ResponsesQuery) -> Option<ListPosition> {
        let Self::Sorted(page) = self else { return None };
        let last = page.reachable.div_ceil(PAGE_ROWS).max(1);
        let position = match last {
            1 => ListPosition::First,
            last => ListPosition::Page(last),
        };
        (page_number(query) > last).then_some(position)
    }

    pub(super) fn pager(&self, flow: FlowId, query: &ResponsesQuery) -> Markup {
        match self {
            Self::ByTime(list) => list.pager(flow, query),
            Self::Sorted(page) => sorted_pager(flow, query, page),
        }
    }
}

/// The number of a page of a sorted list.
fn page_number(query: &ResponsesQuery) -> usize {
    match query.position {
        ListPosition::Page(page) => page.min(SORTED_MAX.div_ceil(PAGE_ROWS)),
        ListPosition::First | ListPosition::After(_) | ListPosition::Before(_) => 1,
    }
}

fn sorted_pager(flow: FlowId, query: &ResponsesQuery, page: &SortedPage) -> Markup {
    let current = page_number(query);
    let pages = page.reachable.div_ceil(PAGE_ROWS);
    let to = |page: usize| {
        let position = if page == 1 { ListPosition::First } else { ListPosition::Page(page) };
        query.with_position(position).address(flow)
    };
    html! {
        @if page.matching > page.reachable as u64 && current >= pages {
            p.note role="status" {
                "Only the first " (number(page.reachable as u64)) " in this order are listed. "
                "To see others, add a filter, reverse the order, or export them."
            }
        }
        nav.pager aria-label="Pages" {
            @if current > 1 { a.button rel="prev" href=(to(current - 1)) { "Previous" } } @else { span {} }
            @if pages > 1 { span.muted { "Page " (current) " of " (pages) } }
            @if current < pages { a.button rel="next" href=(to(current + 1)) { "Next" } } @else { span {} }
        }
    }
}

/// A page of the list in the order of time.
pub(super) struct ListPage {
    pub(super) page: ResponsePage,
    order: Order,
    /// Whether others precede it.
    has_previous: bool,
    /// How far a scan backwards came, if it did not reach the start.
    scanned_to: Option<ResponseId>,
}

impl ListPage {
    pub(super) async fn read(
        flow: &FlowHandle,
        history: &QuestionHistory,
        query: &ResponsesQuery,
        order: Order,
    ) -> AdminResult<Self> {
        let backwards = match order {
            Order::Asc => Order::Desc,
            Order::Desc => Order::Asc,
        };
        let (after, towards) = match query.position {
            ListPosition::First | ListPosition::Page(_) => (None, order),
            ListPosition::After(id) => (Some(id), order),
            ListPosition::Before(id) => (Some(id), backwards),
        };
        let paging = Paging { after, order: towards, limit: PAGE_ROWS };
        let page = flow.list_responses_to(history, &query.filter(), paging).await?;
        Ok(match towards == order {
            true => Self { page, order, has_previous: after.is_some(), scanned_to: None },
            false => Self::from_backwards(page, order),
        })
    }

    /// Turns a page that was scanned backwards into the order of the list. The next page leads back
    /// to the one that the visitor came from. If nothing was found, it starts after the last
    /// response scanned, so that it includes the response that the scan started from.
    fn from_backwards(mut page: ResponsePage, order: Order) -> Self {
        let scanned_to = page.next;
        page.rows.reverse();
        page.next = page.rows.last().map(|row| row.response_id).or(scanned_to);
        Self { page, order, has_previous: scanned_to.is_some(), scanned_to }
    }

    /// Links to the pages before and after. If the page is short, how far it searched.
    fn pager(&self, flow: FlowId, query: &ResponsesQuery) -> Markup {
        let rows = &self.page.rows;
        let is_short = rows.len() < PAGE_ROWS && self.page.next.is_some();
        let is_backwards = matches!(query.position, ListPosition::Before(_));
        let previous = match (self.scanned_to, rows.first()) {
            (Some(last), _) => query.with_position(ListPosition::Before(last)),
            (None, Some(first)) if self.has_previous => {
                query.with_position(ListPosition::Before(first.response_id))
            }
            _ => query.with_position(ListPosition::First),
        };
        let (before, start, after) = match self.order {
            Order::Desc => ("Newer", "Newest", "Older"),
            Order::Asc => ("Older", "Oldest", "Newer"),
        };
        html! {
            @if let (true, false, Some(next)) = (is_short, is_backwards, self.page.next) {
                p.note data-goes-on=(rows_address(flow, query, next)) data-wanted=(PAGE_ROWS - rows.len()) role="status" {
                    @if rows.is_empty() { "None found yet. " }
                    @if self.order == Order::Desc { "Searched back to " } @else { "Searched up to " }
                    (time(next.made_at())) "."
                }
            }
            @if let (true, Some(last)) = (rows.len() < PAGE_ROWS, self.scanned_to) {
                p.note role="status" {
                    @if rows.is_empty() { "None found yet. " }
                    @if self.order == Order::Desc { "Searched up to " } @else { "Searched back to " }
                    (time(last.made_at())) "; “" (before) "” continues the search."
                }
            }
            nav.pager aria-label="Pages" {
                @if query.position == ListPosition::First { span {} }
                @else { a.button rel="prev" href=(previous.address(flow)) { @if self.has_previous { (before) } @else { (start) } } }
                @if let Some(next) = self.page.next {
                    a.button rel="next" data-older=(after) href=(query.with_position(ListPosition::After(next)).address(flow)) {
                        @if is_short && !is_backwards { "Search further" @if self.order == Order::Desc { " back" } } @else { (after) }
                    }
                }
            }
        }
    }
}

/// The address of the next rows of a short page.
pub(super) fn rows_address(flow: FlowId, query: &ResponsesQuery, next: ResponseId) -> String {
    query
        .with_position(ListPosition::After(next))
        .address_of(&format!("{}/rows", ResponsesQuery::path(flow)))
}

#[cfg(test)]
mod tests {
    use sluice_flow::id::v7;

    use super::*;

    fn id(second: i64) -> ResponseId {
        ResponseId::from_uuid(v7(Timestamp::from_millis(second * 1_000), 0, 0))
    }

    #[test]
    fn an_empty_page_before_another_says_so_and_skips_none_on_the_way_back() {
        for (order, note) in [(Order::Desc, "Searched up to"), (Order::Asc, "Searched back to")] {
            let page = ResponsePage { rows: Vec::new(), next: Some(id(9)) };
            let list = ListPage::from_backwards(page, order);
            let flow = FlowId::from_uuid(v7(Timestamp::from_millis(0), 0, 0));
            let position = ListPosition::Before(id(5));
            let query = ResponsesQuery { position, ..ResponsesQuery::default() };
            let shown = list.pager(flow, &query).into_string();
            assert!(shown.contains("None found yet.") && shown.contains(note), "{shown}");
            let before = format!("before={}", id(9));
            assert!(shown.contains(&before), "the search continues from there: {shown}");
            let after = format!("after={}", id(9));
            assert!(shown.contains(&after), "the next page includes the fifth again: {shown}");
        }
    }
}
