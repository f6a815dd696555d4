//! Finds which endpoints of an app with something new have an event to send.
//!
//! Most changes match no filter of an endpoint. So the log is read before anything is written, once
//! for all endpoints that need the same rows: how far it was read without a match is kept in
//! memory, and saved when the endpoint is served anyway.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_flow::event::EventType;
use sluice_flow::event::delivery::FAILURES_IN_A_ROW_MAX;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::id::{AppId, EndpointId, EventId, FlowId};
use sluice_store::{EndpointRow, StoreError};
use tokio::task::JoinSet;

use super::filter_of;
use super::pages::LogShape;
use super::slots::EndpointSlots;
use crate::admin::{AdminError, AdminResult};
use crate::core::Core;
use crate::events::{Event, PAGE_BYTES_MAX, not_ahead, read};

/// Apps that are read at a time.
const APPS_AT_ONCE: usize = 8;
/// The most pages of the log that are read at a time.
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
    slots: &Arc<EndpointSlots>,
    positions: &Arc<Positions>,
    mut apps: Vec<AppId>,
) -> Scouted {
    let mut running = JoinSet::new();
    let mut scouted = Scouted::default();
    loop {
        while running.len() < APPS_AT_ONCE
            && let Some(app) = apps.pop()
        {
            let (core, slots) = (Arc::clone(core), Arc::clone(slots));
            let positions = Arc::clone(positions);
            running.spawn(async move { (app, of_app(&core, &slots, &positions, app).await) });
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
    slots: &EndpointSlots,
    positions: &Positions,
    app: AppId,
) -> AdminResult<OfApp> {
    let mut found = OfApp::default();
    let now = core.now();
    let mut seeking: HashMap<LogShape, Vec<Seeking>> = HashMap::new();
    for row in core.store.list_endpoints(app).await? {
        if slots.is_running(row.endpoint_id) {
            found.is_unfinished = true;
            continue;
        }
        // One that fails gets nothing new, and one that is due is served anyway.
        let is_idle = row.failures < FAILURES_IN_A_ROW_MAX && row.due_at > now;
        let filter = filter_of(&row);
        // An endpoint with types of a newer release only: their events stay in the log for it.
        let is_known = row.types.is_empty() || !filter.types.is_empty();
        if row.disabled_at.is_none() && is_idle && is_known {
            let after = not_ahead(core, positions.start(&row));
            let of_shape = seeking.entry(LogShape::new(&filter)).or_default();
            of_shape.push(Seeking { row, filter, after });
        }
    }
    for (shape, endpoints) in seeking {
        seek(core, positions, app, (shape, endpoints), &mut found).await?;
    }
    Ok(found)
}

/// An endpoint for which an event is sought.
struct Seeking {
    row: EndpointRow,
    filter: EventFilter,
    /// There is nothing for it up to here.
    after: EventId,
}

impl Seeking {
    /// Whether it takes nearly everything.
    fn takes_any(&self) -> bool {
        self.filter.flows.is_empty() && self.filter.wants(EventType::ResponseCreated)
    }

    fn is_for(&self, event: &Event) -> bool {
        event.position > self.after && self.filter.matches(event.payload.kind, event.flow_id)
    }
}

/// Reads the log for endpoints that need the same rows of it.
async fn seek(
    core: &Core,
    positions: &Positions,
    app: AppId,
    (shape, mut endpoints): (LogShape, Vec<Seeking>),
    found: &mut OfApp,
) -> AdminResult<()> {
    for number in 0..PAGES_MAX {
        let Some(after) = endpoints.iter().map(|it| it.after).min() else { return Ok(()) };
        let is_short = number == 0 && endpoints.iter().all(Seeking::takes_any);
        let limit = if is_short { 1 } else { PAGE };
        let page = read(core, app, &shape.filter(), after, (limit, PAGE_BYTES_MAX)).await?;
        let has_event = |it: &mut Seeking| page.events.iter().any(|event| it.is_for(event));
        let ready = endpoints.extract_if(.., has_event);
        found.endpoints.extend(ready.map(|it| it.row.endpoint_id));
        for it in endpoints.iter_mut().filter(|it| it.after < page.next) {
            it.after = page.next;
            positions.note(&it.row, it.after);
        }
        if !page.has_more {
            let behind = core.now().as_millis() - page.next.made_at().as_millis();
            let usual = core.store.log_delay_millis() + HELD_BACK_MILLIS;
            found.is_held_back |=
                !page.ends_before_unknown && !endpoints.is_empty() && behind > usual;
            return Ok(());
        }
    }
    found.is_unfinished |= !endpoints.is_empty();
    Ok(())
}
