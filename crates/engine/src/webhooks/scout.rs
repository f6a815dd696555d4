//! Finds which endpoints of an app with something new have an event to send.
//!
//! Most changes match no filter of an endpoint. So the log is read before anything is written: how
//! far it was read without a match is kept in memory, and saved when the endpoint is served anyway.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_flow::event::EventType;
use sluice_flow::event::delivery::FAILURES_IN_A_ROW_MAX;
use sluice_flow::id::{AppId, EndpointId, EventId, FlowId};
use sluice_store::{EndpointRow, StoreError};
use tokio::task::JoinSet;

use super::filter_of;
use super::places::Places;
use crate::admin::{AdminError, AdminResult};
use crate::core::Core;
use crate::events::{PAGE_BYTES_MAX, read};

/// Apps that are read at a time.
const APPS_AT_ONCE: usize = 8;
/// The most pages of the log that are read for one endpoint at a time.
const PAGES_MAX: usize = 10;
/// The rows of such a page.
const PAGE: usize = 100;
/// How much later than usual the log may end before it counts as held back by a slow write.
pub(super) const HELD_BACK_MILLIS: i64 = 1_000;
/// With more endpoints than this, positions are forgotten, and read again.
const POSITIONS_MAX: usize = 10_000;

/// How far the log was read for endpoints without finding anything to send.
#[derive(Debug, Default)]
pub(super) struct Positions(Mutex<HashMap<EndpointId, Position>>);

/// Valid as long as the endpoint has this cursor and this filter.
#[derive(Debug)]
struct Position {
    cursor: EventId,
    types: Vec<String>,
    flows: Vec<FlowId>,
    read_up_to: EventId,
}

impl Positions {
    /// Where reading for an endpoint continues.
    pub(super) fn start(&self, row: &EndpointRow) -> EventId {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let valid = known
            .get(&row.endpoint_id)
            .filter(|it| it.cursor == row.cursor && it.types == row.types && it.flows == row.flows);
        valid.map_or(row.cursor, |it| it.read_up_to)
    }

    fn note(&self, row: &EndpointRow, read_up_to: EventId) {
        let position = Position {
            cursor: row.cursor,
            types: row.types.clone(),
            flows: row.flows.clone(),
            read_up_to,
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= POSITIONS_MAX {
            known.clear();
        }
        known.insert(row.endpoint_id, position);
    }

    /// The cursor of an endpoint was saved.
    pub(super) fn forget(&self, endpoint: EndpointId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&endpoint);
    }
}

/// What was found in apps with something new.
#[derive(Debug, Default)]
pub(super) struct Scouted {
    /// Endpoints with an event to send.
    pub(super) endpoints: Vec<(AppId, EndpointId)>,
    /// Apps to read again: there was more than one call reads, or an endpoint is being served.
    pub(super) unfinished: Vec<AppId>,
    /// Apps whose log ends before the present, because a write takes long.
    pub(super) held_back: Vec<AppId>,
    /// Apps whose log could not be read.
    pub(super) failed: Vec<AppId>,
    /// The first error.
    pub(super) error: Option<StoreError>,
}

/// Reads the logs of these apps.
pub(super) async fn scout(
    core: &Arc<Core>,
    places: &Arc<Places>,
    positions: &Arc<Positions>,
    mut apps: Vec<AppId>,
) -> Scouted {
    let mut running = JoinSet::new();
    let mut scouted = Scouted::default();
    loop {
        while running.len() < APPS_AT_ONCE
            && let Some(app) = apps.pop()
        {
            let (core, places) = (Arc::clone(core), Arc::clone(places));
            let positions = Arc::clone(positions);
            running.spawn(async move { (app, of_app(&core, &places, &positions, app).await) });
        }
        match running.join_next().await {
            Some(Ok((app, found))) => scouted.note(app, found),
            Some(Err(panicked)) => {
                scouted.error.get_or_insert(StoreError::Failed(Box::new(panicked)));
            }
            None => return scouted,
        }
    }
}

impl Scouted {
    fn note(&mut self, app: AppId, found: AdminResult<OfApp>) {
        match found {
            Ok(OfApp { endpoints, is_unfinished, is_held_back }) => {
                self.endpoints.extend(endpoints.into_iter().map(|endpoint| (app, endpoint)));
                match (is_unfinished, is_held_back) {
                    (true, _) => self.unfinished.push(app),
                    (false, true) => self.held_back.push(app),
                    (false, false) => {}
                }
            }
            Err(error) => {
                self.failed.push(app);
                let error = match error {
                    AdminError::Store(error) => error,
                    other => StoreError::Failed(Box::new(other)),
                };
                self.error.get_or_insert(error);
            }
        }
    }
}

/// What was found in one app.
#[derive(Debug, Default)]
struct OfApp {
    /// Endpoints with an event to send.
    endpoints: Vec<EndpointId>,
    is_unfinished: bool,
    is_held_back: bool,
}

async fn of_app(
    core: &Core,
    places: &Places,
    positions: &Positions,
    app: AppId,
) -> AdminResult<OfApp> {
    let mut found = OfApp::default();
    let now = core.now();
    for row in core.store.list_endpoints(app).await? {
        if places.is_running(row.endpoint_id) {
            found.is_unfinished = true;
            continue;
        }
        // One that fails gets nothing new, and one that is due is served anyway.
        let is_idle = row.failures < FAILURES_IN_A_ROW_MAX && row.due_at > now;
        if row.disabled_at.is_some() || !is_idle {
            continue;
        }
        match peek(core, positions, &row).await? {
            Peeked::Event => found.endpoints.push(row.endpoint_id),
            Peeked::Nothing => {}
            Peeked::HeldBack => found.is_held_back = true,
            Peeked::Unfinished => found.is_unfinished = true,
        }
    }
    Ok(found)
}

/// What the log has for an endpoint.
enum Peeked {
    Event,
    Nothing,
    /// Nothing yet, because the log ends before the present.
    HeldBack,
    /// Nothing so far, and there is more to read.
    Unfinished,
}

async fn peek(core: &Core, positions: &Positions, row: &EndpointRow) -> AdminResult<Peeked> {
    let filter = filter_of(row);
    if !row.types.is_empty() && filter.types.is_empty() {
        return Ok(Peeked::Nothing);
    }
    let takes_any = filter.flows.is_empty() && filter.wants(EventType::ResponseCreated);
    let limit = if takes_any { 1 } else { PAGE };
    let mut after = positions.start(row);
    for _ in 0..PAGES_MAX {
        let page = read(core, row.app_id, &filter, after, (limit, PAGE_BYTES_MAX)).await?;
        if !page.events.is_empty() {
            return Ok(Peeked::Event);
        }
        after = page.next;
        positions.note(row, after);
        if !page.has_more {
            let behind = core.now().as_millis() - after.made_at().as_millis();
            let usual = core.store.log_delay_millis() + HELD_BACK_MILLIS;
            return Ok(if behind > usual { Peeked::HeldBack } else { Peeked::Nothing });
        }
    }
    Ok(Peeked::Unfinished)
}
