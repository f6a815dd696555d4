//! How many responses match: from counts if possible, or counted in the background.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::Scope;
use sluice_engine::{AdminError, AdminResult, FlowHandle, QuestionHistory, ReadProgress, Results};
use sluice_flow::id::FlowId;
use sluice_flow::time::Timestamp;

use super::query::{ListPosition, ResponsesQuery};
use crate::Console;
use crate::chart::share;
use crate::parts::{counted, time};
use crate::reply::{self, Reply};
use crate::request::{PathParam, Query};
use crate::session::BackgroundVisitor;

/// How long a page may take to read before it is sent without the number, and how long a script
/// waits for it. The list itself may take longer: a tenth of a second.
const PAGE_WAIT: Duration = Duration::from_millis(50);
const SCRIPT_WAIT: Duration = Duration::from_secs(1);

/// What is known about the number of matches.
#[derive(Debug, Clone, Copy)]
pub(super) enum MatchCount {
    Known(u64, Option<Timestamp>),
    Counting(ReadProgress),
    /// Too much else is being counted.
    Unavailable,
}

impl MatchCount {
    pub(super) async fn read(
        flow: &FlowHandle,
        history: &QuestionHistory,
        query: &ResponsesQuery,
        taken: Duration,
    ) -> AdminResult<Self> {
        match Self::within(flow, history, query, PAGE_WAIT.saturating_sub(taken)).await {
            // The rows of the page were read: it is shown without the number.
            Err(AdminError::Store(_)) => Ok(Self::Unavailable),
            count => count,
        }
    }

    async fn within(
        flow: &FlowHandle,
        history: &QuestionHistory,
        query: &ResponsesQuery,
        wait: Duration,
    ) -> AdminResult<Self> {
        match flow.count_matching(history, &query.filter(), wait).await {
            Ok(Results::Ready(count)) => Ok(Self::Known(count.responses, count.as_of)),
            Ok(Results::Computing(progress)) => Ok(Self::Counting(progress)),
            Err(AdminError::Conflict { .. }) => Ok(Self::Unavailable),
            Err(error) => Err(error),
        }
    }

    /// The number in words. Until it is known, the script asks for it again, and without a script
    /// there is a link.
    pub(super) fn draw(self, flow: FlowId, query: &ResponsesQuery) -> Markup {
        let address = query
            .with_position(ListPosition::First)
            .address_of(&format!("{}/count", ResponsesQuery::path(flow)));
        let again = html! { a href=(query.address(flow)) data-unscripted { "Reload" } };
        html! {
            span.match-count data-count=(address) data-waits[!matches!(self, Self::Known(..))] data-counted[matches!(self, Self::Known(_, Some(_)))] {
                @match self {
                    Self::Known(responses, as_of) => {
                        strong { (counted(responses, "response")) }
                        @if query.is_filtered() { @if responses == 1 { " matches" } @else { " match" } }
                        @if let Some(as_of) = as_of { " (counted " (time(as_of)) ")" }
                    }
                    Self::Counting(ReadProgress { read, of }) => {
                        "Counting matches… " @if of > 0 { (share(read, of)) " " } (again)
                    }
                    Self::Unavailable => { "The number of matches appears when other results are ready. " (again) }
                }
            }
        }
    }
}

/// The number, for a script.
pub(super) async fn fragment(
    State(console): State<Arc<Console>>,
    BackgroundVisitor(visitor): BackgroundVisitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let opened = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let history = opened.asked().await?;
    let query = ResponsesQuery::from_fields(&fields).known(&history);
    let count = MatchCount::within(&opened, &history, &query, SCRIPT_WAIT).await?;
    Ok(reply::fragment(count.draw(flow, &query)))
}
