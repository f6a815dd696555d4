//! The form that creates and changes an endpoint.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::webhooks::format::FORMATS;
use sluice_engine::{AdminError, AppHandle, Endpoint, EndpointPatch, NewEndpoint};
use sluice_flow::definition::Fault;
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{AppId, EndpointId, FlowId};

use super::super::super::Console;
use super::super::super::parts;
use super::super::super::parts::field::Field;
use super::super::super::reply::{self, Kind, Reply};
use super::super::super::request::{Fields, Form, PathParam, faults_of};
use super::super::super::session::Visitor;
use super::super::super::sidebar::Sidebar;
use super::super::{app_page, error_of};
use super::endpoint::{self, EndpointPage};
use super::{TAB, address, event_label, flow_name, list_address, opened};

/// The side bar lists this many flows; an app may have more.
const FLOWS_LISTED: usize = 30;

/// What the form contains.
#[derive(Default)]
struct Typed {
    url: String,
    description: String,
    format: String,
    batch: bool,
    types: Vec<EventType>,
    flows: Vec<FlowId>,
    /// Flows that were typed by id, as typed.
    other_flows: String,
    faults: Vec<Fault>,
}

impl Typed {
    fn new(endpoint: &Endpoint) -> Self {
        Self {
            url: endpoint.url.clone(),
            description: endpoint.description.clone(),
            format: endpoint.format.clone(),
            batch: endpoint.batch,
            types: endpoint.filter.types.clone(),
            flows: endpoint.filter.flows.clone(),
            ..Self::default()
        }
    }

    fn read(form: &Fields) -> Self {
        let types = form.all("types").filter_map(|name| name.parse().ok());
        let flows = form.all("flows").filter_map(|id| id.parse().ok());
        let mut typed = Self {
            url: form.get("url").unwrap_or_default().to_owned(),
            description: form.get("description").unwrap_or_default().to_owned(),
            format: form.get("format").unwrap_or_default().to_owned(),
            batch: form.get("batch").is_some(),
            types: types.collect(),
            flows: flows.collect(),
            other_flows: form.get("otherFlows").unwrap_or_default().to_owned(),
            faults: Vec::new(),
        };
        let words = typed.other_flows.split([',', ' ', '\n', '\r']).map(str::trim);
        for word in words.filter(|word| !word.is_empty()) {
            match word.parse::<FlowId>() {
                Ok(flow) if !typed.flows.contains(&flow) => typed.flows.push(flow),
                Ok(_) => {}
                Err(_) => typed.faults.push(of_flows(word)),
            }
        }
        typed
    }

    fn format(&self) -> Option<String> {
        (!self.format.is_empty()).then(|| self.format.clone())
    }

    fn with(self, faults: Vec<Fault>) -> Self {
        let named = faults.into_iter().map(|fault| {
            let flow = fault.pointer.strip_prefix("/flows/").and_then(|at| at.parse().ok());
            match flow.and_then(|at: usize| self.flows.get(at)) {
                Some(flow) => of_flows(&flow.to_string()),
                None => fault,
            }
        });
        Self { faults: named.collect(), ..self }
    }
}

fn of_flows(word: &str) -> Fault {
    Fault::new("/flows", format!("contain “{word}”, which is not the ID of a flow of this app"))
}

pub(super) async fn new(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
) -> Reply {
    let (_, sidebar) = opened(&console, &visitor, app).await?;
    let content = page(app, None, &Typed::default(), &sidebar);
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, None, content))
}

pub(super) async fn create(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    Form(form): Form,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    let typed = Typed::read(&form);
    let made = match typed.faults.is_empty() {
        true => create_typed(&handle, &typed).await,
        false => Err(AdminError::Invalid(typed.faults.clone())),
    };
    match faults_of(made)? {
        Ok((endpoint, secret)) => {
            let shown = EndpointPage { secret: Some(secret), ..EndpointPage::default() };
            endpoint::page(&visitor, &handle, &sidebar, endpoint.endpoint_id, shown).await
        }
        Err(faults) => {
            let content = page(app, None, &typed.with(faults), &sidebar);
            Ok(app_page(&visitor, &sidebar, TAB, Kind::Unfinished, None, content))
        }
    }
}

async fn create_typed(handle: &AppHandle, typed: &Typed) -> Result<(Endpoint, String), AdminError> {
    let new = NewEndpoint {
        url: typed.url.clone(),
        description: typed.description.clone(),
        format: typed.format(),
        batch: typed.batch,
        filter: EventFilter { types: typed.types.clone(), flows: typed.flows.clone() },
    };
    let (endpoint, secret) = handle.create_endpoint(&new).await?;
    Ok((endpoint, secret.0))
}

pub(super) async fn edit(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    let typed = Typed::new(&handle.endpoint(endpoint).await?);
    let content = page(app, Some(endpoint), &typed, &sidebar);
    Ok(app_page(&visitor, &sidebar, TAB, Kind::Shown, None, content))
}

pub(super) async fn save(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(app): PathParam<AppId>,
    PathParam(endpoint): PathParam<EndpointId>,
    Form(form): Form,
) -> Reply {
    let (handle, sidebar) = opened(&console, &visitor, app).await?;
    let typed = Typed::read(&form);
    let patch = EndpointPatch {
        url: Some(typed.url.clone()),
        description: Some(typed.description.clone()),
        format: typed.format(),
        batch: Some(typed.batch),
        types: Some(typed.types.clone()),
        flows: Some(typed.flows.clone()),
        enabled: None,
    };
    let saved = match typed.faults.is_empty() {
        true => handle.change_endpoint(endpoint, &patch).await,
        false => Err(AdminError::Invalid(typed.faults.clone())),
    };
    match faults_of(saved)? {
        Ok(_) => Ok(reply::see_other(&format!("{}?done=saved", address(app, endpoint)))),
        Err(faults) => {
            let content = page(app, Some(endpoint), &typed.with(faults), &sidebar);
            Ok(app_page(&visitor, &sidebar, TAB, Kind::Unfinished, None, content))
        }
    }
}

fn page(app: AppId, endpoint: Option<EndpointId>, typed: &Typed, sidebar: &Sidebar) -> Markup {
    let back = endpoint.map_or_else(|| list_address(app), |id| address(app, id));
    let action = match endpoint {
        Some(_) => format!("{back}/edit"),
        None => back.clone(),
    };
    let field_of = |pointer: &str| pointer.split('/').nth(1).map(str::to_owned);
    let faults = &typed.faults;
    let url = Field {
        id: "url",
        label: "URL",
        kind: "url",
        value: &typed.url,
        hint: Some("An https address with a public host, such as https://example.com/hooks/sluice"),
        error: error_of(faults, "url", field_of),
        required: true,
        autocomplete: Some("off"),
        ..Field::default()
    };
    let description = Field {
        id: "description",
        label: "Description",
        value: &typed.description,
        hint: Some("Optional: what receives the events, and who looks after it."),
        error: error_of(faults, "description", field_of),
        ..Field::default()
    };
    html! {
        section.card {
            h2 { @if endpoint.is_some() { "Edit endpoint" } @else { "New endpoint" } }
            (parts::errors(faults, field_of))
            form.form method="post" action=(action) {
                (url.draw())
                (description.draw())
                (types(typed))
                (flows(typed, sidebar, error_of(faults, "flows", field_of)))
                (formats(typed))
                (batch(typed, error_of(faults, "batch", field_of)))
                div.buttons {
                    button.button.primary type="submit" { @if endpoint.is_some() { "Save" } @else { "Create endpoint" } }
                    a.button.quiet href=(back) { "Cancel" }
                }
            }
        }
    }
}

fn types(typed: &Typed) -> Markup {
    html! {
        fieldset.checklist {
            legend.label { "Events" }
            p.hint { "Without a choice, the endpoint receives all events, including types that are added later." }
            @for kind in EventType::logged() {
                label.check {
                    input type="checkbox" name="types" value=(kind.as_str()) checked[typed.types.contains(&kind)];
                    span { (event_label(kind)) " " code.muted { (kind.as_str()) } }
                }
            }
        }
    }
}

fn flows(typed: &Typed, sidebar: &Sidebar, error: Option<&str>) -> Markup {
    let near = sidebar.flows.iter().map(|flow| flow.flow_id);
    let far = typed.flows.iter().copied().filter(|id| !near.clone().any(|it| it == *id));
    let listed: Vec<FlowId> = near.clone().chain(far).collect();
    let others = Field {
        id: "otherFlows",
        label: "Other flows",
        value: &typed.other_flows,
        hint: Some("The IDs of flows that are not listed (fl_…), separated by commas."),
        ..Field::default()
    };
    html! {
        fieldset.checklist id="flows" tabindex="-1" aria-describedby=[error.map(|_| "flows-error")] {
            legend.label { "Flows" }
            p.hint { "Without a choice, the endpoint receives events of all flows. With a choice, it receives no events without a flow, such as an erased respondent." }
            @if let Some(error) = error { p.error id="flows-error" { "Flows " (error) } }
            @for flow in &listed {
                label.check {
                    input type="checkbox" name="flows" value=(flow) checked[typed.flows.contains(flow)];
                    span { (flow_name(sidebar, *flow)) }
                }
            }
            @if sidebar.flows.len() >= FLOWS_LISTED { (others.draw()) }
        }
    }
}

/// One format is no choice.
fn formats(typed: &Typed) -> Markup {
    let chosen = FORMATS.iter().position(|it| it.name == typed.format).unwrap_or_default();
    html! {
        @if FORMATS.len() > 1 {
            fieldset.checklist {
                legend.label { "Format" }
                @for (at, format) in FORMATS.iter().enumerate() {
                    label.check {
                        input type="radio" name="format" value=(format.name) checked[at == chosen];
                        span { (format.label) span.muted { " · " (format.description) } }
                    }
                }
            }
        }
    }
}

fn batch(typed: &Typed, error: Option<&str>) -> Markup {
    html! {
        fieldset.checklist id="batch" tabindex="-1" aria-describedby=[error.map(|_| "batch-error")] {
            legend.label { "Batches" }
            @if let Some(error) = error { p.error id="batch-error" { "Batches " (error) } }
            label.check {
                input type="checkbox" name="batch" value="yes" checked[typed.batch];
                span { "Send up to 100 events in one request" span.muted { " · Only with the format Standard Webhooks. An event waits for others for up to a second." } }
            }
        }
    }
}
