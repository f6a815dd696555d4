//! Searching for flows from any page: what the dialog of the script shows.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use sluice_engine::rows::Page;
use sluice_engine::{AdminResult, AppHandle};

use super::Console;
use super::reply::{self, Kind, Reply};
use super::request::Query;
use super::session::Visitor;

/// The apps that are read at once, and in all.
const PAGE_APPS: usize = 100;
const APPS_MAX: usize = 1_000;
/// The most flows of an app, and of all; a search ends when it has found them.
const FLOWS_PER_APP: usize = 8;
const FLOWS_MAX: usize = 50;

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
    let mut hits: Vec<Hit> = Vec::new();
    let (mut searched, mut after) = (0, None);
    loop {
        let page = Page { after, limit: PAGE_APPS };
        let apps = console.engine.list_apps(&visitor.actor, page).await?;
        let Some(text) = query.get("q") else { break };
        search(&apps, text, &mut hits).await?;
        searched += apps.len();
        after = apps.last().map(|app| app.app_id());
        if apps.len() < PAGE_APPS || hits.len() >= FLOWS_MAX {
            break;
        }
        if searched >= APPS_MAX {
            hits.push(Hit {
                name: "More apps".to_owned(),
                hint: format!("Only the first {APPS_MAX} were searched"),
                address: "/console/settings/apps".to_owned(),
            });
            break;
        }
    }
    Ok(reply::json(Kind::Shown, &hits))
}

/// Adds the flows of these apps that match, until there are enough.
async fn search(apps: &[AppHandle], text: &str, hits: &mut Vec<Hit>) -> AdminResult<()> {
    for app in apps {
        if hits.len() >= FLOWS_MAX {
            break;
        }
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
    Ok(())
}
