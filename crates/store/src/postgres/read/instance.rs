//! Data of the whole instance: tokens, the audit log, the change feed.

use sluice_flow::id::{AppId, AuditId, FlowId, TokenId, UserId};
use uuid::Uuid;

use super::super::codec::{self, AUDIT, Cells, ReadCells as _, TOKEN};
#[cfg(doc)]
use super::super::directory;
use super::super::pool::Pool;
use super::limit;
use crate::{
    ActorId, AuditQuery, AuditRow, Changes, FeedPosition, StoreError, StoreResult, TokenHash,
    TokenRow,
};

pub(in super::super) async fn token(
    pool: &Pool,
    hash: &TokenHash,
) -> StoreResult<Option<TokenRow>> {
    let sql = format!("SELECT {TOKEN} FROM tokens WHERE hash = $1");
    pool.one(&sql, &[&hash.as_slice()], codec::token).await
}

pub(in super::super) async fn tokens(pool: &Pool) -> StoreResult<Vec<TokenRow>> {
    let sql = format!("SELECT {TOKEN} FROM tokens ORDER BY token_id");
    pool.many(&sql, &[], codec::token).await
}

pub(in super::super) async fn audit(pool: &Pool, query: AuditQuery) -> StoreResult<Vec<AuditRow>> {
    let before = query.after.map_or(Uuid::max(), |id| id.uuid());
    let rows = limit(query.limit);
    match query.app_id {
        Some(app) => {
            let sql = format!(
                "SELECT {AUDIT} FROM audit WHERE app_id = $1 AND audit_id < $2 \
                 ORDER BY audit_id DESC LIMIT $3"
            );
            pool.many(&sql, &[&app.uuid(), &before, &rows], codec::audit).await
        }
        None => {
            let sql = format!(
                "SELECT {AUDIT} FROM audit WHERE audit_id < $1 ORDER BY audit_id DESC LIMIT $2"
            );
            pool.many(&sql, &[&before, &rows], codec::audit).await
        }
    }
}

pub(in super::super) async fn audit_before(
    pool: &Pool,
    app: AppId,
    ids: &[AuditId],
    rows: usize,
) -> StoreResult<Vec<AuditRow>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    // For each id, one range of the primary key.
    let sql = format!(
        "SELECT DISTINCT {AUDIT} FROM unnest($2::uuid[]) AS wanted (id) CROSS JOIN LATERAL \
         (SELECT {AUDIT} FROM audit WHERE app_id = $1 AND audit_id < wanted.id \
          ORDER BY audit_id DESC LIMIT $3) AS entries ORDER BY audit_id DESC"
    );
    pool.many(&sql, &[&app.uuid(), &ids, &limit(rows)], codec::audit).await
}

pub(in super::super) async fn actor_names(
    pool: &Pool,
    actors: &[ActorId],
) -> StoreResult<Vec<(ActorId, String)>> {
    let (mut users, mut tokens) = (Vec::new(), Vec::new());
    for actor in actors {
        match actor {
            ActorId::User(id) => users.push(id.uuid()),
            ActorId::Token(id) => tokens.push(id.uuid()),
        }
    }
    let sql = "SELECT true, user_id, name FROM users WHERE user_id = ANY($1) \
         UNION ALL SELECT false, token_id, name FROM tokens WHERE token_id = ANY($2)";
    pool.many(sql, &[&users, &tokens], actor_name).await
}

fn actor_name(cells: &mut Cells) -> StoreResult<(ActorId, String)> {
    let is_user: bool = cells.take()?;
    let actor = match is_user {
        true => ActorId::User(cells.id(UserId::from_uuid)?),
        false => ActorId::Token(cells.id(TokenId::from_uuid)?),
    };
    Ok((actor, cells.take()?))
}

pub(in super::super) async fn flow_names(
    pool: &Pool,
    flows: &[(AppId, FlowId)],
) -> StoreResult<Vec<(FlowId, String)>> {
    let (apps, ids): (Vec<Uuid>, Vec<Uuid>) =
        flows.iter().map(|(app, flow)| (app.uuid(), flow.uuid())).unzip();
    // The ids of the apps lead to their shards.
    let sql =
        "SELECT app_id, flow_id, name FROM flows WHERE app_id = ANY($1) AND flow_id = ANY($2)";
    let found = pool.many(sql, &[&apps, &ids], flow_name).await?;
    let wanted = found.into_iter().filter(|(app, flow, _)| flows.contains(&(*app, *flow)));
    Ok(wanted.map(|(_, flow, name)| (flow, name)).collect())
}

fn flow_name(cells: &mut Cells) -> StoreResult<(AppId, FlowId, String)> {
    Ok((cells.id(AppId::from_uuid)?, cells.id(FlowId::from_uuid)?, cells.take()?))
}

/// The position and the apps in one statement, so that both are of one instant. Only what the
/// directory has: the worker of an app may show its change a moment later, see [`directory`].
pub(in super::super) async fn changes(pool: &Pool, after: FeedPosition) -> StoreResult<Changes> {
    let sql = "SELECT feed.position, apps.app_id, \
         (SELECT detail FROM marks WHERE name = 'damaged') FROM feed \
         LEFT JOIN app_directory AS apps ON apps.public_revision > $1 AND feed.position <> $1 \
         ORDER BY apps.public_revision";
    let rows = pool.many(sql, &[&after.0.cast_signed()], change).await?;
    let Some((position, _, damage)) = rows.first() else {
        return Err(StoreError::Corrupt("the change feed has no position".to_owned()));
    };
    // Read here because every node does this all the time.
    if let Some(what) = damage {
        pool.damage().found_by_another(what);
    }
    let position = FeedPosition(*position);
    Ok(Changes { position, apps: rows.into_iter().filter_map(|(_, app, _)| app).collect() })
}

/// The position of the feed, a changed app, and the damage that was found.
type ChangeRow = (u64, Option<AppId>, Option<String>);

fn change(cells: &mut Cells) -> StoreResult<ChangeRow> {
    let (position, app) = (cells.revision()?, cells.take::<Option<Uuid>>()?);
    Ok((position, app.map(AppId::from_uuid), cells.take()?))
}
