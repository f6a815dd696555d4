//! The event log of an app, from a time or a position on.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;
use sluice_engine::events::{Event, EventPage};
use sluice_engine::rows::Scope;
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::event::payload::{Payload, response_of};
use sluice_flow::id::{AppId, EventId, FlowId};

use super::super::Console;
use super::super::parts::field::{Field, select};
use super::super::parts::{self, time};
use super::super::reply::{Kind, Reply};
use super::super::request::{Fields, PathParam, Query};
use super::super::session::Visitor;
use super::super::sidebar::Sidebar;
use super::webhooks::event_label;
use super::{app_page, may};

const TAB: &str = "events";
const PAGE_ROWS: usize = 50;
const HOUR: i64 = 60 * 60;
const DAY: i64 = 24 * HOUR;

/// Where the page starts: name, label, seconds before now.
const SINCE: [(&str, &str, i64); 4] = [
    ("hour", "Last hour", HOUR),
    ("day", "Last 24 hours", DAY),
    ("week", "Last 7 days", 7 * DAY),
    ("month", "Last 30 days", 30 * DAY),
];
const SINCE_DEFAULT: &str = "day";

/// What the address selects. Unknown values are ignored.
struct Selected {
    filter: EventFilter,
    since: &'static str,
    seconds: i64,
    after: Option<EventId>,
}

impl Selected {
    fn new(query: &Fields) -> Self {
        let named = |name: &str| SINCE.into_iter().find(|(it, ..)| *it == name);
        let since = query.get("since").and_then(named).or_else(|| named(SINCE_DEFAULT));
        let (since, _, seconds) = since.unwrap_or(SINCE[0]);
        let kind = query.get("type").and_then(|name| name.parse::<EventType>().ok());
        let flow = query.get("flow").and_then(|id| id.parse::<FlowId>().ok());
        Self {
            filter: EventFilter {
                types: kind.filter(|it| it.is_logged()).into_iter().collect(),
                flows: flow.into_iter().collect(),
            },
            since,
            seconds,
            after: query.get("after").and_then(|id| id.parse().ok()),
        }
    }

    fn kind(&self) -> &'static str {
        self.filter.types.first().map_or("", |kind| kind.as_str())
    }

    fn flow(&self) -> String {
        self.filter.single_flow().map(|flow| flow.to_string()).unwrap_or_default()
    }

    /// The address of the page after a position, or of the first one.
    fn address(&self, base: &str, after: Option<EventId>) -> String {
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let (since, kind, flow) = (self.since, self.kind(), self.flow());
        format!("{base}?since={since}&type={kind}&flow={flow}{after}")
    }
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let (selected, own) = (Selected::new(&query), sidebar.own()?);
    let page = match selected.after {
        Some(after) => own.read_events(&selected.filter, Some(after), PAGE_ROWS).await?,
        None => {
            let since = sidebar.now.plus_seconds(-selected.seconds);
            own.read_events_since(&selected.filter, since, PAGE_ROWS).await?
        }
    };
    let base = format!("/console/apps/{app}/settings/events");
    let content = html! {
        (filters(app, &base, &selected, &sidebar, may(&visitor, Scope::Admin, app)))
        (log(&base, &selected, &page, &sidebar))
    };
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, None, content))
}

fn filters(
    app: AppId,
    base: &str,
    selected: &Selected,
    sidebar: &Sidebar,
    is_owner: bool,
) -> Markup {
    let since = SINCE.map(|(name, label, _)| (name, label));
    let types = EventType::logged().map(|kind| (kind.as_str(), event_label(kind)));
    let types: Vec<(&str, &str)> = [("", "All types")].into_iter().chain(types).collect();
    let chosen = selected.flow();
    let near = sidebar.flows.iter().map(|flow| (flow.flow_id.to_string(), flow.name.as_str()));
    let near: Vec<(String, &str)> = near.collect();
    let is_far = !chosen.is_empty() && near.iter().all(|(id, _)| *id != chosen);
    let far = is_far.then_some((chosen.as_str(), chosen.as_str()));
    let flows = near.iter().map(|(id, name)| (id.as_str(), *name));
    let flows: Vec<(&str, &str)> =
        [("", "All flows")].into_iter().chain(flows).chain(far).collect();
    let after = selected.after.map(|after| after.to_string()).unwrap_or_default();
    let after =
        Field { id: "after", label: "After event", value: &after, mono: true, ..Field::default() };
    html! {
        section.card {
            h2 { "Event log" }
            p {
                "What happened in this app, oldest first. Programs read the same from the "
                a href="/docs#webhooks" { "API" }
                @if is_owner { ", or receive it with " a href={ "/console/apps/" (app) "/settings/webhooks" } { "webhooks" } }
                "."
            }
            form.inline method="get" action=(base) {
                (select("since", "From", &since, selected.since))
                (select("type", "Type", &types, selected.kind()))
                (select("flow", "Flow", &flows, &chosen))
                (after.draw())
                button.button type="submit" { "Show" }
            }
        }
    }
}

fn log(base: &str, selected: &Selected, page: &EventPage, sidebar: &Sidebar) -> Markup {
    html! {
        @if page.events.is_empty() {
            @if page.has_more {
                (parts::empty("Nothing in this part of the log", "The log is long, and this part has no event that matches. Continue to read the next part.", html! {}))
            } @else if selected.after.is_some() {
                (parts::empty("No later events", "You have reached the end of the log.", html! {}))
            } @else {
                (parts::empty("No events", "Nothing that matches has happened in this time. Stored responses, published flows and other changes appear here.", html! {}))
            }
        } @else {
            (table(&page.events, sidebar))
        }
        nav.pager aria-label="Pages" {
            @if selected.after.is_some() { a.button href=(selected.address(base, None)) { "First page" } }
            @if page.has_more { a.button href=(selected.address(base, Some(page.next))) { "Next page" } }
        }
    }
}

fn table(events: &[Event], sidebar: &Sidebar) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Events" {
            table.table.stacks {
                thead { tr { th scope="col" { "Time" } th scope="col" { "Event" } th scope="col" { "Flow" } } }
                tbody { @for event in events { (row(&event.payload, sidebar)) } }
            }
        }
    }
}

fn row(payload: &Payload, sidebar: &Sidebar) -> Markup {
    let data: Value = serde_json::from_str(payload.data.get()).unwrap_or_default();
    let flow: Option<FlowId> = data["flowId"].as_str().and_then(|id| id.parse().ok());
    let name = flow.map(|flow| {
        let near = sidebar.flows.iter().find(|it| it.flow_id == flow);
        near.map_or_else(|| flow.to_string(), |it| it.name.clone())
    });
    let response = response_of(payload.id, payload.kind).zip(flow);
    let text = parts::json(payload.data.get());
    html! {
        tr {
            td data-label="Time" { (time(payload.timestamp)) }
            td data-label="Event" {
                details.entry {
                    summary { (event_label(payload.kind)) }
                    dl.facts {
                        dt { "Type" } dd { code { (payload.kind.as_str()) } }
                        dt { "ID" } dd { code { (payload.id) } }
                        @if let Some((response, flow)) = response {
                            dt { "Response" } dd { a href={ "/console/flows/" (flow) "/responses/" (response) } { code { (response) } } }
                        }
                        dt { "Data" } dd { pre.data { code { (text) } } }
                    }
                }
            }
            td data-label="Flow" { @if let (Some(flow), Some(name)) = (flow, name) { a href={ "/console/flows/" (flow) } { (name) } } }
        }
    }
}
