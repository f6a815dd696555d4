//! The audit log: who changed what. Every change writes its entry in the same transaction, except
//! that an editor's saves within a few minutes share one entry (see [`crate::drafts`]).

use std::collections::HashMap;

use sluice_flow::id::{AppId, AuditId, TokenId, UserId};
use sluice_store::{AuditQuery, AuditRow, Scope, UserKey};

use crate::actor::{Actor, Reach};
use crate::admin::{AdminError, AdminResult, Missing};
use crate::core::Core;

/// An entry, and the display name of its actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub row: AuditRow,
    pub who: String,
}

/// Adds the display name of the actor to each entry.
pub(crate) async fn named(core: &Core, rows: Vec<AuditRow>) -> AdminResult<Vec<AuditEntry>> {
    let mut names: HashMap<String, String> = HashMap::new();
    if rows.iter().any(|row| row.actor.starts_with(TokenId::PREFIX)) {
        let tokens = core.store.list_tokens().await?.into_iter();
        names.extend(tokens.map(|token| (token.token_id.to_string(), token.name)));
    }
    for row in &rows {
        let Ok(id) = row.actor.parse::<UserId>() else { continue };
        if names.contains_key(&row.actor) {
            continue;
        }
        if let Some(user) = core.store.find_user(&UserKey::Id(id)).await? {
            names.insert(row.actor.clone(), user.row.name);
        }
    }
    let named = rows.into_iter().map(|row| {
        let who = match row.actor.as_str() {
            "environment" => "Environment token".to_owned(),
            "first-start" => "The first start".to_owned(),
            "retention" => "The service itself".to_owned(),
            actor => names.get(actor).cloned().unwrap_or_else(|| actor.to_owned()),
        };
        AuditEntry { row, who }
    });
    Ok(named.collect())
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
