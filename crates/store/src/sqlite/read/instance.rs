//! Data of the whole instance: tokens, the audit log, the change feed.

use rusqlite::{Connection, Result, params};
use sluice_flow::id::{AppId, AuditId, FlowId};

use super::super::codec::{self, AUDIT, ReadCells as _, TOKEN, bytes};
use super::{limit, many, one};
use crate::{ActorId, AuditQuery, AuditRow, Changes, FeedPosition, TokenHash, TokenRow};

/// Sorts after every id.
const BEYOND: [u8; 16] = [0xFF; 16];

pub(in super::super) fn token(
    connection: &Connection,
    hash: &TokenHash,
) -> Result<Option<TokenRow>> {
    let sql = format!("SELECT {TOKEN} FROM tokens WHERE hash = ?1");
    one(connection, &sql, [hash], codec::token)
}

pub(in super::super) fn tokens(connection: &Connection) -> Result<Vec<TokenRow>> {
    let sql = format!("SELECT {TOKEN} FROM tokens ORDER BY token_id");
    many(connection, &sql, [], codec::token)
}

pub(in super::super) fn audit(connection: &Connection, query: AuditQuery) -> Result<Vec<AuditRow>> {
    let before = query.after.map_or(BEYOND, |id| bytes!(id));
    let rows = limit(query.limit);
    match query.app_id {
        Some(app) => {
            let sql = format!(
                "SELECT {AUDIT} FROM audit WHERE app_id = ?1 AND audit_id < ?2 \
                 ORDER BY audit_id DESC LIMIT ?3"
            );
            many(connection, &sql, params![bytes!(app), before, rows], codec::audit)
        }
        None => {
            let sql = format!(
                "SELECT {AUDIT} FROM audit WHERE audit_id < ?1 ORDER BY audit_id DESC LIMIT ?2"
            );
            many(connection, &sql, params![before, rows], codec::audit)
        }
    }
}

pub(in super::super) fn audit_before(
    connection: &Connection,
    app: AppId,
    ids: &[AuditId],
    limit: usize,
) -> Result<Vec<AuditRow>> {
    let instant = connection.unchecked_transaction()?;
    let mut entries = Vec::new();
    for id in ids {
        let query = AuditQuery { app_id: Some(app), after: Some(*id), limit };
        entries.extend(audit(&instant, query)?);
    }
    entries.sort_unstable_by_key(|row| std::cmp::Reverse(row.audit_id));
    entries.dedup_by_key(|row| row.audit_id);
    Ok(entries)
}

pub(in super::super) fn actor_names(
    connection: &Connection,
    mut actors: Vec<ActorId>,
) -> Result<Vec<(ActorId, String)>> {
    actors.sort_unstable();
    actors.dedup();
    let instant = connection.unchecked_transaction()?;
    let mut names = Vec::new();
    for actor in actors {
        let (sql, id) = match actor {
            ActorId::User(id) => ("SELECT name FROM users WHERE user_id = ?1", bytes!(id)),
            ActorId::Token(id) => ("SELECT name FROM tokens WHERE token_id = ?1", bytes!(id)),
        };
        names.extend(one(&instant, sql, [id], |cells| cells.take())?.map(|name| (actor, name)));
    }
    Ok(names)
}

pub(in super::super) fn flow_names(
    connection: &Connection,
    mut flows: Vec<(AppId, FlowId)>,
) -> Result<Vec<(FlowId, String)>> {
    flows.sort_unstable();
    flows.dedup();
    let instant = connection.unchecked_transaction()?;
    let mut names = Vec::new();
    for (app, flow) in flows {
        let sql = "SELECT name FROM flows WHERE flow_id = ?1 AND app_id = ?2";
        let name = one(&instant, sql, [bytes!(flow), bytes!(app)], |cells| cells.take())?;
        names.extend(name.map(|name| (flow, name)));
    }
    Ok(names)
}

pub(in super::super) fn changes(connection: &Connection, after: FeedPosition) -> Result<Changes> {
    let instant = connection.unchecked_transaction()?;
    let position = one(&instant, "SELECT position FROM feed", [], |cells| cells.revision())?
        .unwrap_or_default();
    let position = FeedPosition(position);
    if position == after {
        return Ok(Changes { position, apps: Vec::new() });
    }
    let apps = many(
        &instant,
        "SELECT app_id FROM apps WHERE public_revision > ?1 ORDER BY public_revision",
        [after.0.cast_signed()],
        |cells| cells.id(AppId::from_uuid),
    )?;
    Ok(Changes { position, apps })
}
