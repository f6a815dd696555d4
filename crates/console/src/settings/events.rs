//! The event log of an app, newest first, within a time and around a position.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;
use sluice_engine::events::{Event, EventPage, EventSpan};
use sluice_engine::rows::{Order, Scope};
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::event::payload::{Payload, response_of};
use sluice_flow::id::{AppId, EventId, FlowId};
use sluice_flow::time::{DAY_SECONDS, HOUR_SECONDS, Timestamp};

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

/// How far back the log is shown: name, label, seconds before now.
const SINCE: [(&str, &str, Option<i64>); 5] = [
    ("", "Any time", None),
    ("hour", "Last hour", Some(HOUR_SECONDS)),
    ("day", "Last 24 hours", Some(DAY_SECONDS)),
    ("week", "Last 7 days", Some(7 * DAY_SECONDS)),
    ("month", "Last 30 days", Some(30 * DAY_SECONDS)),
];

/// What the address selects. Unknown values are ignored.
struct Selected {
    filter: EventFilter,
    since: &'static str,
    seconds: Option<i64>,
    /// Only what happened before: a minute in UTC, as the field sends it.
    until: Option<(String, Timestamp)>,
    /// The page that follows a position, or the one that precedes it.
    after: Option<EventId>,
    before: Option<EventId>,
}

impl Selected {
    fn new(query: &Fields) -> Self {
        let named = |name: &str| SINCE.into_iter().find(|(it, ..)| *it == name);
        let (since, _, seconds) = query.get("since").and_then(named).unwrap_or(SINCE[0]);
        let kind = query.get("type").and_then(|name| name.parse::<EventType>().ok());
        let flow = query.get("flow").and_then(|id| id.parse::<FlowId>().ok());
        let position = |name| query.get(name).and_then(|id| id.parse().ok());
        Self {
            filter: EventFilter {
                types: kind.filter(|it| it.is_logged()).into_iter().collect(),
                flows: flow.into_iter().collect(),
            },
            since,
            seconds,
            until: query.get("until").and_then(minute),
            after: position("after"),
            before: position("before"),
        }
    }

    fn kind(&self) -> &'static str {
        self.filter.types.first().map_or("", |kind| kind.as_str())
    }

    fn flow(&self) -> String {
        self.filter.single_flow().map(|flow| flow.to_string()).unwrap_or_default()
    }

    fn until(&self) -> &str {
        self.until.as_ref().map_or("", |(text, _)| text)
    }

    /// What to read, and from which end.
    fn span(&self, now: Timestamp) -> (EventSpan, Order) {
        let since = self.seconds.map(|seconds| now.plus_seconds(-seconds));
        let all = EventSpan::between(since, self.until.as_ref().map(|(_, until)| *until));
        match (self.after, self.before) {
            (Some(after), _) => {
                (EventSpan { after: all.after.max(Some(after)), ..all }, Order::Asc)
            }
            (None, Some(before)) => {
                let before = all.before.map_or(before, |until| until.min(before));
                (EventSpan { before: Some(before), ..all }, Order::Desc)
            }
            (None, None) => (all, Order::Desc),
        }
    }

    /// The address of a page: `after=` or `before=` with a position, or nothing for the newest.
    fn address(&self, base: &str, place: Option<(&str, EventId)>) -> String {
        let (since, kind, flow) = (self.since, self.kind(), self.flow());
        let until = self.until().replace(':', "%3A");
        let place = place.map(|(name, position)| format!("&{name}={position}")).unwrap_or_default();
        format!("{base}?since={since}&until={until}&type={kind}&flow={flow}{place}")
    }
}

/// A minute as a field of the type `datetime-local` sends it.
fn minute(text: &str) -> Option<(String, Timestamp)> {
    let minute = text.get(..16)?;
    Some((minute.to_owned(), format!("{minute}:00Z").parse().ok()?))
}

pub(super) async fn show(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Query(query): Query,
) -> Reply {
    let sidebar = Sidebar::app(&console, &visitor, app).await?;
    let (selected, own) = (Selected::new(&query), sidebar.own()?);
    let (span, order) = selected.span(sidebar.now);
    let mut page = own.read_events_in(&selected.filter, span, order, PAGE_ROWS).await?;
    if order == Order::Asc {
        page.events.reverse();
    }
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
    let until = Field {
        id: "until",
        label: "Until (UTC)",
        value: selected.until(),
        kind: "datetime-local",
        ..Field::default()
    };
    html! {
        section.card {
            h2 { "Event log" }
            p {
                "What happened in this app, newest first. Programs read the same from the "
                a href="/docs/reference#webhooks" { "API" }
                @if is_owner { ", or receive it with " a href={ "/console/apps/" (app) "/settings/webhooks" } { "webhooks" } }
                "."
            }
            form.inline method="get" action=(base) {
                (select("since", "From", &since, selected.since))
                (until.draw())
                (select("type", "Type", &types, selected.kind()))
                (select("flow", "Flow", &flows, &chosen))
                (after.draw())
                button.button type="submit" { "Show" }
            }
        }
    }
}

fn log(base: &str, selected: &Selected, page: &EventPage, sidebar: &Sidebar) -> Markup {
    let is_first = selected.after.is_none() && selected.before.is_none();
    html! {
        @if page.events.is_empty() {
            @if page.has_more {
                (parts::empty("Nothing in this part of the log", "The log is long, and this part has no event that matches. Continue to read the next part.", html! {}))
            } @else if selected.after.is_some() {
                (parts::empty("No later events", "You have reached the end of the log.", html! {}))
            } @else if selected.before.is_some() {
                (parts::empty("No earlier events", "You have reached the beginning of the log.", html! {}))
            } @else {
                (parts::empty("No events", "Nothing that matches has happened in this time. Stored responses, published flows and other changes appear here.", html! {}))
            }
        } @else {
            (table(&page.events, sidebar))
        }
        @let (newer, older) = around(selected, page);
        @if newer.is_some() || older.is_some() || !is_first {
            nav.pager aria-label="Pages" {
                @if !is_first { a.button href=(selected.address(base, None)) { "Newest" } }
                @if let Some(after) = newer { a.button href=(selected.address(base, Some(("after", after)))) { "Newer" } }
                @if let Some(before) = older { a.button href=(selected.address(base, Some(("before", before)))) { "Older" } }
            }
        }
    }
}

/// Where the pages with newer and with older events begin, if there are such pages.
fn around(selected: &Selected, page: &EventPage) -> (Option<EventId>, Option<EventId>) {
    let newest = page.events.first().map(|event| event.position);
    let oldest = page.events.last().map(|event| event.position);
    let next = page.has_more.then_some(page.next);
    match selected.after {
        // What was read upwards has older events below: at least the one it began after.
        Some(_) => (next, oldest),
        None => (newest.filter(|_| selected.before.is_some()), next),
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
