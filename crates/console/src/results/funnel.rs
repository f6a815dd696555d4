//! The funnel: how many people open the flow, start, reach each question, leave there, and finish.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::funnel::{Completion, Funnel, FunnelFilter, FunnelQuestion};
use sluice_engine::rows::{FlowState, Scope};
use sluice_engine::summary::AskedUntil;
use sluice_engine::{AdminResult, FlowHandle};
use sluice_flow::id::{FlowId, FlowVersionId};
use sluice_flow::time::Day;
use sluice_flow::visit::MedianTime;

use super::card::tools_at;
use super::filters::{folded, hidden, periods};
use super::head::stat;
use super::query::{self, ResultsQuery, page_path};
use crate::Console;
use crate::chart::{Chart, FEW, FunnelChart, FunnelStep, count, share};
use crate::frame::{Frame, NavItem, Tab};
use crate::parts::{code, counted, empty, number};
use crate::reply::{self, Kind, Reply};
use crate::request::{Fields, PathParam, Query};
use crate::session::Visitor;
use crate::sidebar::Sidebar;

/// The page, and its chart as a file.
const PAGE: &str = "funnel";
const FILE: &str = "funnel.svg";
const TITLE: &str = "From opening to finishing";

pub(super) async fn page(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let (sidebar, state) = Sidebar::flow(&console, &visitor, flow).await?;
    let query = read(&fields);
    let funnel = state.funnel(&filter(&query, sidebar.now.day())).await?;
    let title = format!("Funnel · {}", state.flow.name);
    let frame = Frame::new(&visitor, &sidebar, NavItem::Flow(&state, Tab::Results), &title);
    let content = html! {
        p { a href=(query.address(flow)) { "← Results" } }
        (filters(flow, &query, &funnel))
        @if has_visits(&funnel) { (shown(flow, &query, &funnel)) } @else { (nothing(&state, &query, &funnel)) }
    };
    Ok(frame.script("results.js").page(Kind::Shown, content))
}

/// The chart as a file.
pub(super) async fn file(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(fields): Query,
) -> Reply {
    let state = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let (query, today) = (read(&fields), console.engine.now().day());
    let funnel = state.funnel(&filter(&query, today)).await?;
    let period = query.period.label();
    let note = format!("{} · {period} · {}", state.flow.name, query::date_label(today));
    Ok(reply::drawing(FILE, chart(&funnel).file(&note)))
}

/// The address of the funnel of the same period and version; visits have no tags and no answers.
pub(super) fn address(flow: FlowId, query: &ResultsQuery) -> String {
    narrowed(query).page_address(flow, PAGE, &[])
}

fn read(fields: &Fields) -> ResultsQuery {
    narrowed(&ResultsQuery::from_fields(fields))
}

fn narrowed(query: &ResultsQuery) -> ResultsQuery {
    ResultsQuery { period: query.period, version: query.version, ..ResultsQuery::default() }
}

fn filter(query: &ResultsQuery, today: Day) -> FunnelFilter {
    let (from, to) = query.period.days(today);
    FunnelFilter { from, to, version: query.version }
}

/// How many of all visits finished; none if nothing was counted. A page with filters or a
/// comparison has no read left for it.
pub(super) async fn completion(
    flow: &FlowHandle,
    query: &ResultsQuery,
    today: Day,
) -> AdminResult<Option<Completion>> {
    if *query != ResultsQuery::default() {
        return Ok(None);
    }
    let completion = flow.completion(&filter(query, today)).await?;
    Ok(Some(completion).filter(|it| it.opened > 0))
}

/// The figures of the visits, for the top of the results.
pub(super) fn visit_stats(completion: &Completion) -> Markup {
    let Completion { opened, finished, time_to_finish } = completion;
    let visits = count(*opened, "visit", "visits");
    html! {
        (stat("Completion rate", html! { (share((*finished).min(*opened), *opened)) },
            html! { (number(*finished)) " of " (visits) " finished" }))
        @if let Some(median) = time_to_finish { (median_time(median)) }
    }
}

fn median_time(median: &MedianTime) -> Markup {
    stat(
        "Median time to finish",
        html! { "≈ " (time(median.about_seconds)) },
        html! { (bounds(median)) },
    )
}

fn has_visits(funnel: &Funnel) -> bool {
    let is_seen = funnel.questions.iter().any(|question| question.seen > 0);
    funnel.opened > 0 || funnel.started > 0 || funnel.finished > 0 || is_seen
}

fn filters(flow: FlowId, query: &ResultsQuery, funnel: &Funnel) -> Markup {
    html! {
        section.filters-bar aria-label="Filters" {
            (folded(query, false, html! {
                (periods(query, |query| address(flow, query)))
                (versions(flow, query, funnel))
            }))
        }
    }
}

fn versions(flow: FlowId, query: &ResultsQuery, funnel: &Funnel) -> Markup {
    html! {
        @if funnel.versions.len() > 1 || query.version.is_some() {
            form.inline.choices method="get" action=(page_path(flow, PAGE)) data-send {
                (hidden(&query.period.pairs()))
                div.field {
                    label for="version" { "Version" }
                    select.input id="version" name="version" {
                        option value="" { "All versions" }
                        @for version in &funnel.versions {
                            option value=(version.flow_version_id) selected[query.version == Some(version.flow_version_id)] {
                                "Version " (version.number) " (" (number(version.opened)) " opened)"
                            }
                        }
                    }
                }
                button.button type="submit" { "Apply" }
            }
        }
    }
}

fn shown(flow: FlowId, query: &ResultsQuery, funnel: &Funnel) -> Markup {
    let opened = count(funnel.opened, "visit", "visits");
    let drawing = query.page_address(flow, FILE, &[]);
    html! {
        (figures(funnel))
        section.card.result aria-labelledby="funnel-title" {
            header {
                div.result-title {
                    h2 id="funnel-title" { (TITLE) }
                    p.hint { "Shares are of " (opened) ". “Left” counts visits that ended at a question."
                        @if (0..funnel.questions.len()).any(|at| is_skipped(funnel, at)) {
                            " A grey bar is a question that not everyone is asked: its share is of those who were, and who went on."
                        }
                    }
                }
            }
            @if funnel.opened < FEW { p.hint.few { "Fewer than " (FEW) " visits: shares are not reliable." } }
            @if let Some(worst) = worst(funnel) {
                p { "Largest drop-off: " strong dir="auto" { (worst.prompt) } ", where " (number(worst.left())) " of " (opened) " ended." }
            }
            (chart(funnel).figure("chart-funnel", tools_at(&drawing, PAGE, TITLE)))
        }
        p.hint {
            "A visit is one load of the form. Visits are counted without cookies and without identity, so someone who comes back counts again. "
            "Someone who is still answering counts as having left at the last question that was reported."
        }
    }
}

fn figures(funnel: &Funnel) -> Markup {
    let of_opened = |part: u64| html! { (share(part, funnel.opened)) " of those who opened it" };
    html! {
        dl.stats {
            (stat("Opened", html! { (number(funnel.opened)) }, html! {}))
            (stat("Started", html! { (number(funnel.started)) }, of_opened(funnel.started)))
            (stat("Finished", html! { (number(funnel.finished)) }, of_opened(funnel.finished)))
            @match &funnel.time_to_finish {
                Some(median) => (median_time(median)),
                None => (stat("Median time to finish", html! { "–" }, html! { "no times yet" })),
            }
        }
    }
}

/// Times are stored in ranges, so the median is known by its bounds.
fn bounds(median: &MedianTime) -> String {
    let from = time(median.from_seconds);
    match median.to_seconds {
        Some(to) => format!("between {from} and {}", time(to)),
        None => format!("{from} or more"),
    }
}

/// The two largest units of a time: 48 s, 3 min 20 s, 2 h 5 min.
fn time(seconds: u32) -> String {
    let pair = |large: u32, unit: &str, small: u32, part: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {part}"),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => pair(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => pair(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        _ => counted(u64::from(seconds / 86_400), "day"),
    }
}

/// The question at which most people leave.
fn worst(funnel: &Funnel) -> Option<&FunnelQuestion> {
    let left = funnel.questions.iter().filter(|question| question.left() > 0);
    // Of several, the first.
    left.rev().max_by_key(|question| question.left())
}

/// Whether more people got past this question than saw it: it is asked only under a condition, was
/// skipped by a jump, or is of an earlier version.
fn is_skipped(funnel: &Funnel, at: usize) -> bool {
    let later = funnel.questions.iter().skip(at + 1).map(|question| question.seen);
    let furthest = later.chain([funnel.finished]).max();
    // A few reports may be lost, so a small difference means nothing.
    funnel.questions.get(at).is_some_and(|it| it.seen * 20 < furthest.unwrap_or(0) * 19)
}

/// In the order in which a visitor reaches them: the first question is seen before an answer.
fn chart(funnel: &Funnel) -> Chart {
    let step = |label: &str, visits| FunnelStep {
        label: label.to_owned(),
        visits,
        left: None,
        skipped: false,
    };
    let question = |(at, it): (usize, &FunnelQuestion)| FunnelStep {
        label: match it.asked {
            AskedUntil::Now => format!("{}. {}", at + 1, it.prompt),
            AskedUntil::Version(number) => format!("{} (asked until version {number})", it.prompt),
        },
        visits: it.seen,
        left: Some(it.left()),
        skipped: is_skipped(funnel, at),
    };
    let mut steps = vec![step("Opened", funnel.opened)];
    steps.extend(funnel.questions.iter().enumerate().map(question));
    steps.insert(steps.len().min(2), step("Started", funnel.started));
    steps.push(step("Finished", funnel.finished));
    FunnelChart { title: TITLE, of: funnel.opened, steps }.chart()
}

fn nothing(state: &FlowState, query: &ResultsQuery, funnel: &Funnel) -> Markup {
    let flow = state.flow.flow_id;
    html! {
        @if query.is_everything() {
            (empty("No visits yet",
                "Hosted and embedded pages count how many people open the flow, start it and finish it, and at which question they leave. There are no cookies and no identities: only numbers are stored.",
                html! { a.button href={ "/console/flows/" (flow) "/share" } { "Share the flow" } }))
            @if let Some(version) = &state.current { (by_api(version.flow_version_id, funnel.questions.first())) }
        } @else {
            (empty("No visits here", "No visits were counted for this period and version.",
                html! { a.button href=(page_path(flow, PAGE)) { "Show all" } }))
        }
    }
}

/// How a client reports visits.
fn by_api(version: FlowVersionId, first: Option<&FunnelQuestion>) -> Markup {
    let step = |step: &str| format!("{{\"step\":\"{step}\"}}");
    let about =
        |step: &str| first.map(|it| format!("{{\"step\":\"{step}\",\"question\":\"{}\"}}", it.id));
    let mut steps = vec![step("opened")];
    steps.extend(about("seen"));
    steps.push(step("started"));
    steps.extend(about("passed"));
    steps.push("{\"step\":\"finished\",\"seconds\":48}".to_owned());
    let call = format!(
        "POST /api/v1/{{apiKey}}/visits\n\n{{\"flowVersionId\":\"{version}\",\n \"steps\":[\n  {}]}}",
        steps.join(",\n  ")
    );
    html! {
        section.card aria-labelledby="visits-title" {
            header { h2 id="visits-title" { "Flows on your own pages" } a href="/docs/reference" { "Reference" } }
            p.muted { "If your own page or app shows the flow, report the same steps with the API." }
            (code("visits-call", "The call that counts a visit", &call))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_two_largest_units() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (200, "3 min 20 s"),
            (3_600, "1 h"),
            (7_530, "2 h 5 min"),
            (86_400, "1 day"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }
}
