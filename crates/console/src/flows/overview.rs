//! What is new in an app: responses of today, and the flows that close soon.

use maud::{Markup, html};
use sluice_engine::AdminResult;
use sluice_engine::summary::Spark;
use sluice_flow::time::DAY_MILLIS;

use crate::parts::{number, time};
use crate::sidebar::Sidebar;

/// A flow that ends within this time closes soon.
const SOON_MILLIS: i64 = 7 * DAY_MILLIS;
/// The most such flows that are named.
const CLOSING_SHOWN: usize = 3;

pub(super) async fn strip(sidebar: &Sidebar, sparks: &[Spark]) -> AdminResult<Markup> {
    let on = |days_ago: usize| -> u64 {
        sparks.iter().filter_map(|spark| spark.days.iter().rev().nth(days_ago)).sum()
    };
    let closing = sidebar.own()?.closing_flows(SOON_MILLIS).await?;
    Ok(html! {
        dl.overview aria-label="What is new" {
            div { dt { "Responses today" } dd { span.big { (number(on(0))) } span.hint { (number(on(1))) " yesterday (UTC)" } } }
            div { dt { "Responses in the last 7 days" } dd { span.big { (number((0..7).map(on).sum())) } } }
            div {
                dt { "Closing within 7 days" }
                dd {
                    @if closing.is_empty() { span.hint { "None" } }
                    @for state in closing.iter().take(CLOSING_SHOWN) {
                        @if let Some(end) = state.flow.live.ends_at {
                            p { a href={ "/console/flows/" (state.flow.flow_id) } { (state.flow.name) } " " span.hint { (time(end)) } }
                        }
                    }
                    @if closing.len() > CLOSING_SHOWN { p.hint { "and " (closing.len() - CLOSING_SHOWN) " more" } }
                }
            }
        }
    })
}
