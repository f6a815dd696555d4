//! Invitations: made, moved forward, completed by a response, read.

use rusqlite::{Connection, OptionalExtension, Result, params};
use sluice_flow::id::{AppId, AssignmentId, FlowId, ResponseId};
use sluice_flow::invitation::{EMAIL, InvitationTimes, Invitee, USER_ID, day_of};
use sluice_flow::time::Timestamp;

use super::codec::{Cells, bytes};
use super::read::{limit, many, one};
use crate::{
    InvitationCounts, InvitationQuery, InvitationRow, InvitationStep, NewResponse, ResponseRow,
    state_in_sql,
};

pub(super) const INVITATION: &str = "app_id, flow_id, assignment_id, user_id, email, created_at, \
     expires_at, opened_at, completed_at, revoked_at, response_id";

pub(super) fn invitation(cells: &mut Cells) -> Result<InvitationRow> {
    Ok(InvitationRow {
        app_id: cells.id(AppId::from_uuid)?,
        flow_id: cells.id(FlowId::from_uuid)?,
        assignment_id: cells.id(AssignmentId::from_uuid)?,
        invitee: Invitee { user_id: cells.take()?, email: cells.take()? },
        created_at: cells.time()?,
        times: InvitationTimes {
            expires_at: cells.optional_time()?,
            opened_at: cells.optional_time()?,
            completed_at: cells.optional_time()?,
            revoked_at: cells.optional_time()?,
        },
        response_id: cells.optional_id(ResponseId::from_uuid)?,
    })
}

/// What makes a row one that takes a response at `?1`.
const OPEN: &str = "completed_at IS NULL AND revoked_at IS NULL \
     AND (expires_at IS NULL OR expires_at > ?1)";

/// What makes a row one of the person with this user id, `?3`, or this address, `?4`, in the app `?2`:
/// two looks, each into an index of its own.
const OF_PERSON: &str = "app_id = ?2 AND assignment_id IN \
     (SELECT assignment_id FROM invitations WHERE app_id = ?2 AND user_id = ?3 UNION ALL \
     SELECT assignment_id FROM invitations WHERE app_id = ?2 AND email = ?4 COLLATE NOCASE)";

/// What says who somebody is; a time to the millisecond would lead to the response of that time.
const FORGET: &str = "user_id = NULL, email = NULL, response_id = NULL, \
     completed_at = completed_at - completed_at % 86400000";

/// Puts an invitation in where there is none with its id.
pub(super) fn add(connection: &Connection, row: &InvitationRow) -> Result<()> {
    put(connection, row, "NOTHING")
}

/// Puts an invitation in, or in the place of the one with its id.
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

/// Moves invitations forward; gives the app whose state this changes, if it changes any.
pub(super) fn step(connection: &Connection, step: &InvitationStep) -> Result<Option<AppId>> {
    match step {
        InvitationStep::Open { app, assignment, at } => {
            let sql = "UPDATE invitations SET opened_at = ?3 \
                 WHERE app_id = ?1 AND assignment_id = ?2 \
                 AND opened_at IS NULL AND completed_at IS NULL";
            let params = params![bytes!(app), bytes!(assignment), at.as_millis()];
            connection.prepare_cached(sql)?.execute(params)?;
            // Seen by nobody who decides about the app.
            return Ok(None);
        }
        InvitationStep::Revoke { app, assignment, at } => {
            let sql = "UPDATE invitations SET revoked_at = ?3 \
                 WHERE app_id = ?1 AND assignment_id = ?2 \
                 AND revoked_at IS NULL AND completed_at IS NULL";
            let params = params![bytes!(app), bytes!(assignment), at.as_millis()];
            connection.prepare_cached(sql)?.execute(params)?;
        }
        InvitationStep::Forget { app, invitee, at } => {
            let params = (at.as_millis(), bytes!(app), &invitee.user_id, invitee.email_key());
            let unnamed = format!(
                "UPDATE responses SET flow_assignment_id = NULL WHERE response_id IN \
                 (SELECT response_id FROM invitations WHERE {OF_PERSON} AND ?1 IS NOT NULL)"
            );
            connection.prepare_cached(&unnamed)?.execute(params.clone())?;
            let forget = format!(
                "UPDATE invitations SET {FORGET}, \
                 revoked_at = CASE WHEN {OPEN} THEN ?1 ELSE revoked_at END WHERE {OF_PERSON}"
            );
            connection.prepare_cached(&forget)?.execute(params)?;
        }
        InvitationStep::ForgetEnded { app, before } => {
            let forget = format!(
                "UPDATE invitations SET {FORGET} WHERE app_id = ?1 \
                 AND (user_id IS NOT NULL OR email IS NOT NULL) \
                 AND coalesce(completed_at, revoked_at, expires_at) < ?2"
            );
            let params = params![bytes!(app), before.as_millis()];
            connection.prepare_cached(&forget)?.execute(params)?;
        }
    }
    Ok(Some(step.app()))
}

/// Forgets whom the invitation was for that this response completed.
pub(super) fn forget_completed(connection: &Connection, row: &ResponseRow) -> Result<()> {
    let id = row.flow_assignment_id.as_deref().map(str::parse::<AssignmentId>);
    let Some(Ok(assignment)) = id else { return Ok(()) };
    let sql = format!(
        "UPDATE invitations SET {FORGET} \
         WHERE app_id = ?1 AND assignment_id = ?2 AND response_id = ?3"
    );
    let params = params![bytes!(row.app_id), bytes!(assignment), bytes!(row.response_id)];
    connection.prepare_cached(&sql)?.execute(params).map(|_| ())
}

/// What is true of a consent whose respondent has an invitation that was not over before `?4`.
pub(super) fn is_of_an_invitee() -> String {
    let by = |kind: &str, same: &str| {
        format!(
            "EXISTS (SELECT 1 FROM identities CROSS JOIN invitations \
             ON invitations.app_id = identities.app_id AND {same} \
             WHERE identities.app_id = consents.app_id \
             AND identities.respondent_id = consents.respondent_id AND identities.type = '{kind}' \
             AND ifnull(coalesce(completed_at, revoked_at, expires_at) >= ?4, 1))"
        )
    };
    let by_user = by(USER_ID, "invitations.user_id = identities.value");
    let by_email = by(EMAIL, "invitations.email = identities.value COLLATE NOCASE");
    format!("({by_user} OR {by_email})")
}

/// Completes the invitation that a response came with; says whether it was open.
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
    one(connection, &sql, [bytes!(id)], invitation)
}

pub(super) fn list(connection: &Connection, query: InvitationQuery) -> Result<Vec<InvitationRow>> {
    let (created_at, id) = match query.after {
        Some(place) => (place.created_at.as_millis(), place.assignment_id.uuid().into_bytes()),
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
    many(connection, &sql, params, invitation)
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
        many(connection, &sql, params, |cells| Ok((cells.word()?, cells.revision()?)))?
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
    fn invitations_are_found_and_listed_along_an_index() {
        let connection = Connection::open_in_memory().unwrap();
        for migration in [
            include_str!("migrations/V1__first_slice.sql"),
            include_str!("migrations/V3__invitations.sql"),
        ] {
            connection.execute_batch(migration).unwrap();
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
