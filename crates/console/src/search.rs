//! Searching for flows from any page: what the dialog of the script shows.
//!
//! A search reads a bounded number of apps and flows, whatever it finds: the app of the page first,
//! then the others, oldest first. If it was cut, the last line says so.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use sluice_engine::rows::{Page, Scope};
use sluice_engine::{AdminResult, AppHandle, SEARCHED_FLOWS_MAX};
use sluice_flow::id::AppId;
use sluice_http::Mount;

use super::Console;
use super::parts::number;
use super::reply::{self, Kind, Reply};
use super::request::Query;
use super::session::Visitor;

/// The apps that are read at once, and that are searched in all; each takes one read or more.
const PAGE_APPS: usize = 100;
const APPS_MAX: usize = 200;
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

/// A search in progress.
struct Search<'q> {
    text: &'q str,
    mount: &'q Mount,
    hits: Vec<Hit>,
    apps_left: usize,
    flows_left: usize,
}

pub(super) async fn find(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    Query(query): Query,
) -> Reply {
    let Some(text) = query.get("q") else {
        // For the same visitors as a search.
        console.engine.list_apps(&visitor.actor, Page { after: None, limit: 1 }).await?;
        return Ok(reply::json(Kind::Shown, &[(); 0]));
    };
    let mut search = Search {
        text,
        mount: &console.mount,
        hits: Vec::new(),
        apps_left: APPS_MAX,
        flows_left: SEARCHED_FLOWS_MAX,
    };
    let own: Option<AppId> = query.get("app").and_then(|app| app.parse().ok());
    if let Some(own) = own {
        search.add(&[console.engine.app(&visitor.actor, Scope::Read, own).await?]).await?;
    }
    let mut after = None;
    while !search.is_over() {
        let page = Page { after, limit: PAGE_APPS };
        let mut apps = console.engine.list_apps(&visitor.actor, page).await?;
        after = apps.last().map(|app| app.app_id());
        let is_last = apps.len() < PAGE_APPS;
        apps.retain(|app| Some(app.app_id()) != own);
        let is_whole = search.add(&apps).await?;
        if is_last && is_whole {
            return Ok(reply::json(Kind::Shown, &search.hits));
        }
    }
    search.hits.push(Hit {
        name: "There may be more".to_owned(),
        hint: format!(
            "A search covers up to {APPS_MAX} apps and {} flows, and shows {FLOWS_MAX}. Type more, or search in an app.",
            number(SEARCHED_FLOWS_MAX as u64)
        ),
        address: console.mount.address("/console/settings/apps"),
    });
    Ok(reply::json(Kind::Shown, &search.hits))
}

impl Search<'_> {
    /// Whether enough was found, or read.
    fn is_over(&self) -> bool {
        self.hits.len() >= FLOWS_MAX || self.apps_left == 0 || self.flows_left == 0
    }

    /// Adds the flows of these apps that match. Returns whether all of them were searched.
    async fn add(&mut self, apps: &[AppHandle]) -> AdminResult<bool> {
        for app in apps {
            if self.is_over() {
                return Ok(false);
            }
            self.apps_left -= 1;
            let budget = &mut self.flows_left;
            let found = app.search_flows(self.text, None, false, FLOWS_PER_APP, budget).await?;
            for found in found.flows {
                let flow = &found.state.flow;
                let hint = match &found.question {
                    Some(question) => format!("{} · {question}", app.row.name),
                    None => app.row.name.clone(),
                };
                let address = self.mount.address(&format!("/console/flows/{}", flow.flow_id));
                self.hits.push(Hit { name: flow.name.clone(), hint, address });
            }
        }
        Ok(true)
    }
}
