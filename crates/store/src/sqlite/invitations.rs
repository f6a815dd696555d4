//! Invitations: created, moved forward, completed by a response, read.

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, AssignmentId, FlowId, RespondentId, ResponseId};
use sluice_flow::invitation::{EMAIL, Invitee, USER_ID, day_of};
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_flow::time::Timestamp;

use super::codec::{self, Cells, INVITATION, ReadCells as _, bytes};
use super::read::{limit, many, one};
use super::transaction::TransactionError;
use crate::{
    InvitationCounts, InvitationQuery, InvitationRow, InvitationStep, NewResponse, Page,
    ResponseRow, StoreError, state_in_sql,
};

/// The condition for a row to accept a response at `?1`.
const OPEN: &str = "completed_at IS NULL AND revoked_at IS NULL \
     AND (expires_at IS NULL OR expires_at > ?1)";

/// The condition for a row to belong to the person with the user id `?3` or the address `?4`, in
/// the app `?2`: two lookups, each in a separate index.
const OF_PERSON: &str = "app_id = ?2 AND assignment_id IN \
     (SELECT assignment_id FROM invitations WHERE app_id = ?2 AND user_id = ?3 UNION ALL \
     SELECT assignment_id FROM invitations WHERE app_id = ?2 AND email = ?4 COLLATE NOCASE)";

/// Removes what identifies the person. A time in milliseconds would lead to the response of that
/// time.
const FORGET: &str = "user_id = NULL, email = NULL, response_id = NULL, \
     completed_at = completed_at - completed_at % 86400000";

/// Inserts an invitation; an existing id is left unchanged.
pub(super) fn add(connection: &Connection, row: &InvitationRow) -> Result<()> {
    put(connection, row, "NOTHING")
}

/// Inserts an invitation, replacing an existing one with the same id.
pub(super) fn replace(connection: &Connection, row: &InvitationRow) -> Result<()> {
    let columns = INVITATION.split(", ").map(str::trim);
    let columns: Vec<_> = columns.map(|name| format!("{name} = excluded.{name}")).collect();
    put(connection, row, &format!("UPDATE SET {}", columns.join(", ")))
}

fn put(connection: &Connection, row: &InvitationRow, otherwise: &str) -> Result<()> {
    let millis = |time: Option<Timestamp>| time.map(Timestamp::as_millis);
    connection
        .prepare_cached(&format!(
            "INSERT INTO invitations ({INVITATION}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
             ON CONFLICT (app_id, assignment_id) DO {otherwise}"
        ))?
        .execute(params![
            bytes!(row.app_id),
            bytes!(row.flow_id),
            bytes!(row.assignment_id),
            row.invitee.user_id,
            row.invitee.email,
            row.created_at.as_millis(),
            millis(row.times.expires_at),
            millis(row.times.opened_at),
            millis(row.times.completed_at),
            millis(row.times.revoked_at),
            row.response_id.map(|id| bytes!(id)),
        ])
        .map(|_| ())
}

/// Moves invitations forward; returns the app whose state this changes, if any.
pub(super) fn step(
    connection: &Connection,
    step: &InvitationStep,
) -> std::result::Result<Option<AppId>, TransactionError> {
    match step {
        InvitationStep::Open { app, assignment, at } => {
            let sql = "UPDATE invitations SET opened_at = ?3 \
                 WHERE app_id = ?1 AND assignment_id = ?2 \
                 AND opened_at IS NULL AND completed_at IS NULL";
            let params = params![bytes!(app), bytes!(assignment), at.as_millis()];
            connection.prepare_cached(sql)?.execute(params)?;
            // Opening is not part of the app's state.
            return Ok(None);
        }
        InvitationStep::Revoke { app, assignment, at } => {
            let sql = "UPDATE invitations SET revoked_at = ?3 \
                 WHERE app_id = ?1 AND assignment_id = ?2 \
                 AND revoked_at IS NULL AND completed_at IS NULL";
            let params = params![bytes!(app), bytes!(assignment), at.as_millis()];
            if connection.prepare_cached(sql)?.execute(params)? == 0 {
                return Err(TransactionError::Answer(StoreError::Conflict));
            }
        }
    }
    Ok(Some(step.app()))
}

/// Removes the invitee from the invitation completed by this response; returns the number of rows.
pub(super) fn forget_completed(connection: &Connection, row: &ResponseRow) -> Result<usize> {
    let id = row.flow_assignment_id.as_deref().map(str::parse::<AssignmentId>);
    let Some(Ok(assignment)) = id else { return Ok(0) };
    let sql = format!(
        "UPDATE invitations SET {FORGET} \
         WHERE app_id = ?1 AND assignment_id = ?2 AND response_id = ?3"
    );
    let params = params![bytes!(row.app_id), bytes!(assignment), bytes!(row.response_id)];
    connection.prepare_cached(&sql)?.execute(params)
}

/// Removes the reference to a deleted response from the invitation that it completed.
pub(super) fn unname(
    connection: &Connection,
    app: AppId,
    assignment: Option<&str>,
    response: ResponseId,
) -> Result<()> {
    let Some(Ok(id)) = assignment.map(str::parse::<AssignmentId>) else { return Ok(()) };
    let sql = "UPDATE invitations SET response_id = NULL \
         WHERE app_id = ?1 AND assignment_id = ?2 AND response_id = ?3";
    let params = params![bytes!(app), bytes!(id), bytes!(response)];
    connection.prepare_cached(sql)?.execute(params).map(|_| ())
}

/// Removes the invitee from an invitation, and revokes it if it is open.
pub(super) fn forget(connection: &Connection, row: &InvitationRow, at: Timestamp) -> Result<()> {
    let sql = format!(
        "UPDATE invitations SET {FORGET}, revoked_at = CASE WHEN {OPEN} THEN ?1 ELSE revoked_at END \
         WHERE app_id = ?2 AND assignment_id = ?3"
    );
    let params = params![at.as_millis(), bytes!(row.app_id), bytes!(row.assignment_id)];
    connection.prepare_cached(&sql)?.execute(params).map(|_| ())
}

/// Removes the invitee from invitations that ended before a time, starting after a cursor; returns
/// their number and the last position.
pub(super) fn forget_ended(
    connection: &Connection,
    app: AppId,
    before: Timestamp,
    page: Page<(Timestamp, AssignmentId)>,
) -> Result<(usize, Option<(Timestamp, AssignmentId)>)> {
    let after = page.after.map(|(at, id)| (at.as_millis(), bytes!(id)));
    let (ended, id) = after.unwrap_or((i64::MIN, [0; 16]));
    let params = params![bytes!(app), before.as_millis(), ended, id, limit(page.limit)];
    let read = |cells: &mut Cells| Ok((cells.time()?, cells.id(AssignmentId::from_uuid)?));
    let found =
        many(connection, &format!("SELECT {ENDED}, assignment_id {ENDED_BEFORE}"), params, read)?;
    let sql = format!("UPDATE invitations SET {FORGET} WHERE app_id = ?1 AND assignment_id = ?2");
    let mut forget = connection.prepare_cached(&sql)?;
    for (_, assignment) in &found {
        forget.execute(params![bytes!(app), bytes!(assignment)])?;
    }
    Ok((found.len(), found.last().copied()))
}

/// Whether any invitation that names a person ended before a time.
pub(super) fn has_ended(connection: &Connection, app: AppId, before: Timestamp) -> Result<bool> {
    let params = params![bytes!(app), before.as_millis(), i64::MIN, [0_u8; 16], 1];
    connection.prepare_cached(&format!("SELECT 1 {ENDED_BEFORE}"))?.exists(params)
}

/// When an invitation ended, or will end.
const ENDED: &str = "coalesce(completed_at, revoked_at, expires_at)";
/// Invitations of the app `?1` that ended before `?2` and name a person, after the cursor `?3` and
/// `?4`: a range of an index over only such rows.
const ENDED_BEFORE: &str = "FROM invitations WHERE app_id = ?1 \
     AND coalesce(completed_at, revoked_at, expires_at) < ?2 \
     AND (user_id IS NOT NULL OR email IS NOT NULL) \
     AND (coalesce(completed_at, revoked_at, expires_at), assignment_id) > (?3, ?4) \
     ORDER BY coalesce(completed_at, revoked_at, expires_at), assignment_id LIMIT ?5";

/// Whether a person has an invitation that had not ended before a time.
pub(super) fn is_invited(
    connection: &Connection,
    app: AppId,
    respondent: RespondentId,
    before: Timestamp,
) -> Result<bool> {
    let by = |kind: &str, same: &str| {
        format!(
            "SELECT 1 FROM identities CROSS JOIN invitations \
             ON invitations.app_id = identities.app_id AND {same} \
             WHERE identities.app_id = ?1 AND identities.respondent_id = ?2 \
             AND identities.type = '{kind}' AND ifnull({ENDED} >= ?3, 1)"
        )
    };
    let by_user = by(USER_ID, "invitations.user_id = identities.value");
    let by_email = by(EMAIL, "invitations.email = identities.value COLLATE NOCASE");
    let params = params![bytes!(app), bytes!(respondent), before.as_millis()];
    Ok(connection.prepare_cached(&by_user)?.exists(params)?
        || connection.prepare_cached(&by_email)?.exists(params)?)
}

/// The invitations with this identity, in id order.
pub(super) fn of_person(
    connection: &Connection,
    app: AppId,
    known: &[ProfileIdentity],
    page: Page<AssignmentId>,
) -> Result<Vec<InvitationRow>> {
    let sql = format!(
        "SELECT {INVITATION} FROM invitations WHERE {OF_PERSON} AND assignment_id > ?1 \
         ORDER BY assignment_id LIMIT ?5"
    );
    let after = page.after.map(|id| bytes!(id)).unwrap_or_default();
    let mut all = Vec::new();
    for known in known {
        let (user, email) = match known.kind {
            IdentityType::UserId => (Some(&known.value), None),
            IdentityType::Email => (None, Some(&known.value)),
        };
        let params = params![after, bytes!(app), user, email, limit(page.limit)];
        all.extend(many(connection, &sql, params, codec::invitation)?);
    }
    all.sort_by_key(|row| row.assignment_id);
    all.dedup_by_key(|row| row.assignment_id);
    all.truncate(page.limit);
    Ok(all)
}

/// Completes the invitation that a response came with; returns whether it was open.
pub(super) fn complete(connection: &Connection, response: &NewResponse) -> Result<bool> {
    let Some(invited) = response.invitation else { return Ok(false) };
    let response = &response.row;
    let at = response.response_id.made_at();
    let (completed_at, response_id) = match invited.linked {
        true => (at, Some(bytes!(response.response_id))),
        false => (day_of(at), None),
    };
    let sql = format!(
        "UPDATE invitations SET completed_at = ?2, response_id = ?3 \
         WHERE app_id = ?4 AND assignment_id = ?5 AND flow_id = ?6 AND {OPEN}"
    );
    let completed = connection.prepare_cached(&sql)?.execute(params![
        at.as_millis(),
        completed_at.as_millis(),
        response_id,
        bytes!(response.app_id),
        bytes!(invited.assignment_id),
        bytes!(response.flow_id),
    ])?;
    Ok(completed == 1)
}

pub(super) fn by_id(connection: &Connection, id: AssignmentId) -> Result<Option<InvitationRow>> {
    let sql = format!("SELECT {INVITATION} FROM invitations WHERE assignment_id = ?1");
    one(connection, &sql, [bytes!(id)], codec::invitation)
}

pub(super) fn list(connection: &Connection, query: InvitationQuery) -> Result<Vec<InvitationRow>> {
    let (created_at, id) = match query.after {
        Some(after) => (after.created_at.as_millis(), after.assignment_id.uuid().into_bytes()),
        None => (i64::MIN, [0; 16]),
    };
    let state = state_in_sql("?5");
    let sql = format!(
        "SELECT {INVITATION} FROM invitations WHERE app_id = ?1 AND flow_id = ?2 \
         AND (created_at, assignment_id) > (?3, ?4) AND (?6 IS NULL OR {state} = ?6) \
         ORDER BY created_at, assignment_id LIMIT ?7"
    );
    let params = params![
        bytes!(query.app_id),
        bytes!(query.flow_id),
        created_at,
        id,
        query.now.as_millis(),
        query.state.map(|state| state.as_str()),
        limit(query.limit),
    ];
    many(connection, &sql, params, codec::invitation)
}

pub(super) fn count(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    now: Timestamp,
) -> Result<InvitationCounts> {
    let sql = format!(
        "SELECT {}, count(*) FROM invitations WHERE app_id = ?1 AND flow_id = ?2 GROUP BY 1",
        state_in_sql("?3")
    );
    let params = params![bytes!(app), bytes!(flow), now.as_millis()];
    let mut counts = InvitationCounts::default();
    for (state, number) in
        many(connection, &sql, params, |cells| Ok((cells.variant()?, cells.revision()?)))?
    {
        *counts.of_state(state) = number;
    }
    Ok(counts)
}

pub(super) fn are_invited(
    connection: &Connection,
    app: AppId,
    flow: FlowId,
    now: Timestamp,
    invitees: &[Invitee],
) -> Result<Vec<bool>> {
    let sql = format!("SELECT 1 FROM invitations WHERE {OF_PERSON} AND flow_id = ?5 AND {OPEN}");
    let mut find = connection.prepare_cached(&sql)?;
    let mut invited = |invitee: &Invitee| {
        let email = invitee.email_key();
        let params = params![now.as_millis(), bytes!(app), invitee.user_id, email, bytes!(flow)];
        Ok(find.query_row(params, |_| Ok(())).optional()?.is_some())
    };
    invitees.iter().map(&mut invited).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invitation_queries_use_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in crate::schema::SQLITE {
            connection.execute_batch(migration.sql).unwrap();
        }
        for (sql, steps) in [
            (
                format!("SELECT 1 FROM invitations WHERE {OF_PERSON} AND ?1 IS NOT NULL"),
                vec![
                    "invitations_by_user (app_id=? AND user_id=?)",
                    "invitations_by_email (app_id=? AND email=?)",
                ],
            ),
            (
                "SELECT 1 FROM invitations WHERE app_id = ?1 AND flow_id = ?2 \
                 AND (created_at, assignment_id) > (?3, ?4) ORDER BY created_at, assignment_id"
                    .to_owned(),
                vec!["invitations_by_flow"],
            ),
            (format!("SELECT 1 {ENDED_BEFORE}"), vec!["invitations_ended"]),
        ] {
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let plan: Vec<String> =
                explain.raw_query().mapped(|row| row.get("detail")).map(Result::unwrap).collect();
            let plan = plan.join("\n");
            assert!(steps.iter().all(|step| plan.contains(step)), "{plan}");
            assert!(!plan.contains("SCAN") && !plan.contains("B-TREE"), "{plan}");
        }
    }
}
