//! Turns entries of the log into payloads.

use std::collections::HashMap;

use serde_json::value::RawValue;
use sluice_flow::event::EventType;
use sluice_flow::event::filter::EventFilter;
use sluice_flow::event::payload::{Payload, completed_id, created_id, response_of};
use sluice_flow::id::{AppId, AssignmentId, EventId, ResponseId};
use sluice_flow::submission::Admission;
use sluice_store::{EventRow, LogEntry, ResponseRow, StoreError};

use super::Event;
use crate::admin::AdminResult;
use crate::core::Core;
use crate::stored_response::ResponseJson;

/// The events of these entries that match the filter.
pub(crate) async fn payloads(
    core: &Core,
    app: AppId,
    filter: &EventFilter,
    entries: Vec<LogEntry>,
) -> AdminResult<Vec<Event>> {
    let late: Vec<ResponseId> = entries
        .iter()
        .filter_map(|entry| match entry {
            LogEntry::Event(row) => row.late_response(),
            LogEntry::Response(_) => None,
        })
        .collect();
    let late = find_responses(core, app, &late).await?;
    let mut events = Vec::with_capacity(entries.len());
    for entry in entries {
        let position = entry.position();
        match &entry {
            LogEntry::Response(row) => {
                events.extend(of_response(core, filter, row, position).await?);
            }
            LogEntry::Event(row) => match row.late_response() {
                // If it is gone, its deletion follows.
                Some(response) => {
                    if let Some(row) = late.get(&response) {
                        events.extend(of_response(core, filter, row, position).await?);
                    }
                }
                None => events.extend(of_event(filter, row)?),
            },
        }
    }
    Ok(events)
}

async fn find_responses(
    core: &Core,
    app: AppId,
    ids: &[ResponseId],
) -> AdminResult<HashMap<ResponseId, ResponseRow>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = core.store.find_responses(app, ids).await?;
    Ok(rows.into_iter().map(|row| (row.response_id, row)).collect())
}

/// The events that follow from a stored response.
async fn of_response(
    core: &Core,
    filter: &EventFilter,
    row: &ResponseRow,
    position: EventId,
) -> AdminResult<Vec<Event>> {
    let mut events = Vec::new();
    if filter.matches(EventType::ResponseCreated, Some(row.flow_id)) {
        events.push(Event { payload: created(row)?, position, flow_id: Some(row.flow_id) });
    }
    if filter.matches(EventType::InvitationCompleted, Some(row.flow_id))
        && let Some(payload) = completed(core, row).await?
    {
        events.push(Event { payload, position, flow_id: Some(row.flow_id) });
    }
    Ok(events)
}

fn created(row: &ResponseRow) -> AdminResult<Payload> {
    let response = serde_json::to_string(&ResponseJson::new(row)?).map_err(unwritable)?;
    let (app, flow) = (row.app_id, row.flow_id);
    let data = format!(r#"{{"appId":"{app}","flowId":"{flow}","response":{response}}}"#);
    let data = RawValue::from_string(data).map_err(unwritable)?;
    Ok(Payload::new(created_id(row.response_id), EventType::ResponseCreated, data))
}

/// Only for a linked response: the completion of an invitation by any other response must not lead
/// to that response, not even by its time.
async fn completed(core: &Core, row: &ResponseRow) -> AdminResult<Option<Payload>> {
    let id = row.flow_assignment_id.as_deref().and_then(|id| id.parse::<AssignmentId>().ok());
    let Some(id) = id.filter(|_| row.admission == Admission::Admitted) else { return Ok(None) };
    let found = core.store.find_invitation(id, Some(row.app_id)).await?;
    let is_its = |it: &sluice_store::InvitationRow| it.response_id == Some(row.response_id);
    if !found.as_ref().is_some_and(is_its) {
        return Ok(None);
    }
    let (app, flow, response) = (row.app_id, row.flow_id, row.response_id);
    let data = format!(
        r#"{{"appId":"{app}","flowId":"{flow}","flowAssignmentId":"{id}","responseId":"{response}"}}"#
    );
    let data = RawValue::from_string(data).map_err(unwritable)?;
    Ok(Some(Payload::new(completed_id(response), EventType::InvitationCompleted, data)))
}

/// `None` if it does not match, or if a newer release wrote it.
fn of_event(filter: &EventFilter, row: &EventRow) -> AdminResult<Option<Event>> {
    let Ok(kind) = row.kind.parse::<EventType>() else { return Ok(None) };
    if !filter.matches(kind, row.flow_id) {
        return Ok(None);
    }
    let corrupt = |error| StoreError::Corrupt(format!("{}: {error}", row.event_id));
    let data = RawValue::from_string(row.body.clone()).map_err(corrupt)?;
    let (position, flow_id) = (row.event_id, row.flow_id);
    Ok(Some(Event { payload: Payload::new(position, kind, data), position, flow_id }))
}

fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::Corrupt(format!("an event cannot be written: {error}"))
}

/// The payloads of these events, if they still exist, by id.
pub(crate) async fn find_payloads(
    core: &Core,
    app: AppId,
    events: &[(EventId, EventType)],
) -> AdminResult<HashMap<EventId, Payload>> {
    let derived: Vec<ResponseId> =
        events.iter().filter_map(|(id, kind)| response_of(*id, *kind)).collect();
    let responses = find_responses(core, app, &derived).await?;
    let others: Vec<EventId> =
        events.iter().filter(|(_, kind)| !kind.is_derived()).map(|(id, _)| *id).collect();
    let mut found = HashMap::new();
    if !others.is_empty() {
        for row in core.store.find_events(app, &others).await? {
            let event = of_event(&EventFilter::default(), &row)?;
            found.extend(event.map(|event| (row.event_id, event.payload)));
        }
    }
    for (id, kind) in events {
        let Some(row) = response_of(*id, *kind).and_then(|it| responses.get(&it)) else { continue };
        let payload = match kind {
            EventType::InvitationCompleted => completed(core, row).await?,
            _ => Some(created(row)?),
        };
        found.extend(payload.map(|payload| (*id, payload)));
    }
    Ok(found)
}
