//! Searching for flows from any page: what the dialog of the script shows.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use sluice_engine::rows::Page;

use super::Console;
use super::reply::{self, Kind, Reply};
use super::request::Query;
use super::session::Visitor;

/// The apps that are searched, and the flows found in each.
const APPS_MAX: usize = 20;
const FLOWS_PER_APP: usize = 8;

/// One flow that matches.
#[derive(Debug, Serialize)]
struct Hit {
    name: String,
    /// Its app, and the question that matches.
    hint: String,
    address: String,
}

pub(super) async fn find(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Query(query): Query,
) -> Reply {
    let page = Page { after: None, limit: APPS_MAX };
    let apps = console.engine.list_apps(&visitor.actor, page).await?;
    let Some(text) = query.get("q") else {
        return Ok(reply::json(Kind::Shown, &Vec::<Hit>::new()));
    };
    let mut hits = Vec::new();
    for app in &apps {
        for found in app.search_flows(text, None, false, FLOWS_PER_APP).await?.flows {
            let flow = &found.state.flow;
            let hint = match &found.question {
                Some(question) => format!("{} · {question}", app.row.name),
                None => app.row.name.clone(),
            };
            let address = format!("/console/flows/{}", flow.flow_id);
            hits.push(Hit { name: flow.name.clone(), hint, address });
        }
    }
    Ok(reply::json(Kind::Shown, &hits))
}
