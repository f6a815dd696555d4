//! The audit log: who changed what. Every change writes its entry in the same transaction, except
//! that an editor's saves within a few minutes share one entry (see [`crate::drafts`]).

use std::collections::HashMap;

use serde_json::Value;
use sluice_flow::id::{AppId, AuditId, FlowId};
use sluice_store::{ActorId, AuditQuery, AuditRow, Scope};

use crate::actor::{Actor, Reach};
use crate::admin::{AdminError, AdminResult, Missing};
use crate::core::Core;

/// An entry, the display name of its actor, and the flow that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub row: AuditRow,
    pub who: String,
    /// The flow and its present name; none if the entry is about something else, or the flow is
    /// gone.
    pub flow: Option<(FlowId, String)>,
}

/// Adds the names of the actor and of the flow to each entry; reads all names of a kind at once.
pub(crate) async fn named(core: &Core, rows: Vec<AuditRow>) -> AdminResult<Vec<AuditEntry>> {
    let names = actor_names(core, rows.iter().map(|row| row.actor.as_str())).await?;
    let wanted: Vec<(AppId, FlowId)> = rows.iter().filter_map(flow_of).collect();
    let flows: HashMap<FlowId, String> =
        core.store.find_flow_names(&wanted).await?.into_iter().collect();
    let entry = |(row, who): (AuditRow, String)| {
        let flow = flow_of(&row).map(|(_, flow)| flow);
        let flow = flow.and_then(|flow| Some((flow, flows.get(&flow)?.clone())));
        AuditEntry { row, who, flow }
    };
    Ok(rows.into_iter().zip(names).map(entry).collect())
}

/// The flow that an entry is about: its subject, or that of its subject.
fn flow_of(row: &AuditRow) -> Option<(AppId, FlowId)> {
    let app = row.app_id?;
    let subject: Option<FlowId> = row.subject.parse().ok();
    let in_detail = || {
        let detail: Value = serde_json::from_str(&row.detail).ok()?;
        detail["flowId"].as_str()?.parse().ok()
    };
    Some((app, subject.or_else(in_detail)?))
}

/// The display name of each of these actors; reads all names at once.
pub(crate) async fn actor_names<'a>(
    core: &Core,
    actors: impl Iterator<Item = &'a str> + Clone,
) -> AdminResult<Vec<String>> {
    let ids: Vec<ActorId> = actors.clone().filter_map(actor_id).collect();
    let names: HashMap<ActorId, String> =
        core.store.find_actor_names(&ids).await?.into_iter().collect();
    let named = actors.map(|actor| match actor {
        "environment" => "Environment token".to_owned(),
        "first-start" => "The first start".to_owned(),
        "retention" => "The service itself".to_owned(),
        actor => {
            let name = actor_id(actor).and_then(|id| names.get(&id));
            name.cloned().unwrap_or_else(|| actor.to_owned())
        }
    });
    Ok(named.collect())
}

/// The user or the token that this text names, if it names one.
fn actor_id(actor: &str) -> Option<ActorId> {
    let user = actor.parse().map(ActorId::User);
    user.or_else(|_| actor.parse().map(ActorId::Token)).ok()
}

/// Entries of one app, or of all, newest first. An actor bound to one app sees only the entries of
/// that app; an actor bound to several must name the app.
pub(crate) async fn list(
    core: &Core,
    actor: &Actor,
    app: Option<AppId>,
    after: Option<AuditId>,
    limit: usize,
) -> AdminResult<Vec<AuditRow>> {
    let app_id = match app {
        Some(app) => {
            actor.need_in(Scope::Admin, app, Missing::App)?;
            Some(app)
        }
        None => match actor.reach(Scope::Admin)? {
            Reach::All => None,
            Reach::Apps(apps) if apps.len() == 1 => apps.first().copied(),
            Reach::Apps(_) => return Err(AdminError::BoundToApp),
        },
    };
    let query = AuditQuery { app_id, after, limit };
    Ok(core.store.list_audit(&query).await?)
}
