//! Invitations: created, moved forward, completed by responses, read.
//!
//! Code that completes invitations locks their rows first, app by app and in id order, before it
//! takes any idempotency key. So two batches never wait for each other.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use sluice_flow::id::{AppId, AssignmentId, FlowId, ResponseId};
use sluice_flow::invitation::{EMAIL, InvitationTimes, Invitee, USER_ID, day_of};
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_flow::time::Timestamp;
use uuid::Uuid;

use super::codec::{self, Cells, INVITATION, ReadCells as _};
use super::directory;
use super::failure::TransactionError;
use super::pool::{Params, Pool};
use super::read::limit;
use super::transaction::Transaction;
use crate::{
    InvitationCounts, InvitationQuery, InvitationRow, InvitationStep, NewResponse, Page,
    ResponseRow, StoreError, StoreResult, state_in_sql,
};

/// The condition for a row to accept a response at `$1`.
const OPEN: &str = "completed_at IS NULL AND revoked_at IS NULL \
     AND (expires_at IS NULL OR expires_at > $1)";

/// The address in the form used for comparison.
const EMAIL_KEY: &str = "lower(email COLLATE \"C\")";

/// The rows of one app as a table named `given`; `$1` is the app. `apps` is joined for its one row,
/// so that a distributed database knows the app of the rows.
const GIVEN: &str = "SELECT apps.app_id, given.* FROM apps, unnest($2::uuid[], $3::uuid[], $4::text[], \
     $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::uuid[]) \
     AS given WHERE apps.app_id = $1 ON CONFLICT (app_id, assignment_id) DO";

static ADD: LazyLock<String> =
    LazyLock::new(|| format!("INSERT INTO invitations ({INVITATION}) {GIVEN} NOTHING"));
static REPLACE: LazyLock<String> = LazyLock::new(|| {
    let columns = INVITATION.split(", ").map(str::trim).filter(|name| *name != "app_id");
    let columns: Vec<_> = columns.map(|name| format!("{name} = excluded.{name}")).collect();
    let columns = columns.join(", ");
    format!("INSERT INTO invitations ({INVITATION}) {GIVEN} UPDATE SET {columns}")
});

/// Inserts the invitations of one app; existing ids are left unchanged.
pub(super) async fn add(
    transaction: &Transaction,
    rows: &[InvitationRow],
) -> Result<(), TransactionError> {
    put(transaction, &ADD, &rows.iter().collect::<Vec<_>>()).await
}

/// Inserts the invitations of one app, replacing existing ones with the same ids.
pub(super) async fn replace(
    transaction: &Transaction,
    rows: &[&InvitationRow],
) -> Result<(), TransactionError> {
    put(transaction, &REPLACE, rows).await
}

async fn put(
    transaction: &Transaction,
    sql: &str,
    rows: &[&InvitationRow],
) -> Result<(), TransactionError> {
    let Some(first) = rows.first() else { return Ok(()) };
    macro_rules! column {
        ($row:ident => $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let millis = |time: Option<Timestamp>| time.map(Timestamp::as_millis);
    let (app, flows) = (first.app_id.uuid(), column!(row => row.flow_id.uuid()));
    let ids = column!(row => row.assignment_id.uuid());
    let users = column!(row => row.invitee.user_id.as_deref());
    let emails = column!(row => row.invitee.email.as_deref());
    let created = column!(row => row.created_at.as_millis());
    let expires = column!(row => millis(row.times.expires_at));
    let opened = column!(row => millis(row.times.opened_at));
    let completed = column!(row => millis(row.times.completed_at));
    let revoked = column!(row => millis(row.times.revoked_at));
    let responses = column!(row => row.response_id.map(|id| id.uuid()));
    let params: Params = &[
        &app, &flows, &ids, &users, &emails, &created, &expires, &opened, &completed, &revoked,
        &responses,
    ];
    match transaction.execute(sql, params).await? == rows.len() as u64 {
        true => Ok(()),
        // Fewer if an id exists already, and none if there is no app to join.
        false => directory::must_exist(transaction, Some(first.app_id), "an invitation").await,
    }
}

/// Removes what identifies the person. A time in milliseconds would lead to the response of that
/// time.
const FORGET: &str = "user_id = NULL, email = NULL, response_id = NULL, \
     completed_at = completed_at - completed_at % 86400000";

/// Moves invitations forward; returns the app whose state this changes, if any.
pub(super) async fn step(
    transaction: &Transaction,
    step: &InvitationStep,
) -> Result<Option<AppId>, TransactionError> {
    match step {
        InvitationStep::Open { app, assignment, at } => {
            let sql = "UPDATE invitations SET opened_at = $3 \
                 WHERE app_id = $1 AND assignment_id = $2 \
                 AND opened_at IS NULL AND completed_at IS NULL";
            let params: Params = &[&app.uuid(), &assignment.uuid(), &at.as_millis()];
            transaction.execute(sql, params).await?;
            // Opening is not part of the app's state.
            return Ok(None);
        }
        InvitationStep::Revoke { app, assignment, at } => {
            let sql = "UPDATE invitations SET revoked_at = $3 \
                 WHERE app_id = $1 AND assignment_id = $2 \
                 AND revoked_at IS NULL AND completed_at IS NULL";
            let params: Params = &[&app.uuid(), &assignment.uuid(), &at.as_millis()];
            if transaction.execute(sql, params).await? == 0 {
                return Err(StoreError::Conflict.into());
            }
        }
    }
    Ok(Some(step.app()))
}

/// Removes the invitee from invitations, and revokes the open ones.
pub(super) async fn forget(
    transaction: &Transaction,
    app: AppId,
    rows: &[InvitationRow],
    at: Timestamp,
) -> Result<u64, TransactionError> {
    let sql = format!(
        "UPDATE invitations SET {FORGET}, revoked_at = CASE WHEN {OPEN} THEN $1 ELSE revoked_at END \
         WHERE app_id = $2 AND assignment_id = ANY($3)"
    );
    let ids: Vec<Uuid> = rows.iter().map(|row| row.assignment_id.uuid()).collect();
    match ids.is_empty() {
        true => Ok(0),
        false => transaction.execute(&sql, &[&at.as_millis(), &app.uuid(), &ids]).await,
    }
}

/// The invitations that these responses came with, and the responses.
fn borne(rows: &[ResponseRow]) -> (Vec<Uuid>, Vec<Uuid>) {
    let bears = |row: &ResponseRow| {
        let assignment: AssignmentId = row.flow_assignment_id.as_deref()?.parse().ok()?;
        Some((assignment.uuid(), row.response_id.uuid()))
    };
    rows.iter().filter_map(bears).unzip()
}

/// Removes the invitee from the invitations completed by these responses; returns their number.
pub(super) async fn forget_completed(
    transaction: &Transaction,
    app: AppId,
    rows: &[ResponseRow],
) -> Result<u64, TransactionError> {
    let (assignments, responses) = borne(rows);
    if assignments.is_empty() {
        return Ok(0);
    }
    let sql = format!(
        "UPDATE invitations SET {FORGET} \
         WHERE app_id = $1 AND assignment_id = ANY($2) AND response_id = ANY($3)"
    );
    transaction.execute(&sql, &[&app.uuid(), &assignments, &responses]).await
}

/// Removes the reference to a deleted response from the invitation that it completed.
pub(super) async fn unname(
    transaction: &Transaction,
    app: AppId,
    assignment: Option<&str>,
    response: ResponseId,
) -> Result<(), TransactionError> {
    let Some(Ok(id)) = assignment.map(str::parse::<AssignmentId>) else { return Ok(()) };
    let sql = "UPDATE invitations SET response_id = NULL \
         WHERE app_id = $1 AND assignment_id = $2 AND response_id = $3";
    transaction.execute(sql, &[&app.uuid(), &id.uuid(), &response.uuid()]).await.map(|_| ())
}

/// When an invitation ended, or will end.
pub(super) const ENDED: &str = "coalesce(completed_at, revoked_at, expires_at)";

/// Removes the invitee from invitations that ended before a time, starting after a cursor; returns
/// their number and the last position. Never waits: locked rows are skipped.
pub(super) async fn forget_ended(
    transaction: &Transaction,
    app: AppId,
    before: Timestamp,
    page: Page<(Timestamp, AssignmentId)>,
) -> Result<(usize, Option<(Timestamp, AssignmentId)>), TransactionError> {
    let find = format!(
        "SELECT {ENDED}, assignment_id FROM invitations WHERE app_id = $1 AND {ENDED} < $2 \
         AND (user_id IS NOT NULL OR email IS NOT NULL) AND ({ENDED}, assignment_id) > ($3, $4) \
         ORDER BY {ENDED}, assignment_id LIMIT $5 FOR UPDATE SKIP LOCKED"
    );
    let after = page.after.map(|(at, id)| (at.as_millis(), id.uuid()));
    let (ended, id) = after.unwrap_or((i64::MIN, Uuid::nil()));
    let params: Params = &[&app.uuid(), &before.as_millis(), &ended, &id, &limit(page.limit)];
    let mut found = Vec::new();
    for row in transaction.query(&find, params).await? {
        let mut cells = Cells::new(&row);
        found.push((cells.time()?, cells.id(AssignmentId::from_uuid)?));
    }
    let Some(last) = found.last().copied() else { return Ok((0, None)) };
    let ids: Vec<Uuid> = found.iter().map(|(_, id)| id.uuid()).collect();
    let forget =
        format!("UPDATE invitations SET {FORGET} WHERE app_id = $1 AND assignment_id = ANY($2)");
    transaction.execute(&forget, &[&app.uuid(), &ids]).await?;
    Ok((found.len(), Some(last)))
}

/// The respondents among these with an invitation that had not ended before a time. Each is looked
/// up by identity: the queries are written so that the server cannot join whole tables instead.
pub(super) async fn invited(
    transaction: &Transaction,
    app: AppId,
    respondents: &[Uuid],
    before: Timestamp,
) -> Result<HashSet<Uuid>, TransactionError> {
    let with = |same: &str| {
        format!(
            "(SELECT bool_or(coalesce({ENDED} >= $3, true)) FROM invitations \
             WHERE app_id = $1 AND {same})"
        )
    };
    let sql = format!(
        "SELECT DISTINCT given.id FROM unnest($2::uuid[]) AS given (id) CROSS JOIN LATERAL \
         (SELECT type, value FROM identities WHERE app_id = $1 AND respondent_id = given.id OFFSET 0) \
         AS known WHERE CASE known.type WHEN '{USER_ID}' THEN {} WHEN '{EMAIL}' THEN {} END",
        with("user_id = known.value COLLATE \"default\""),
        with(&format!("email IS NOT NULL AND {EMAIL_KEY} = known.value"))
    );
    let rows = transaction.query(&sql, &[&app.uuid(), &respondents, &before.as_millis()]).await?;
    let invited: StoreResult<HashSet<Uuid>> =
        rows.iter().map(|row| Cells::new(row).take()).collect();
    Ok(invited?)
}

/// The invitations with one of these identities, in id order; `$2` are user ids, and `$3` addresses
/// in lower case.
static OF_PERSON: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {INVITATION} FROM invitations WHERE app_id = $1 AND assignment_id IN \
         (SELECT assignment_id FROM invitations WHERE app_id = $1 AND user_id = ANY($2) UNION \
         SELECT assignment_id FROM invitations WHERE app_id = $1 AND email IS NOT NULL \
         AND {EMAIL_KEY} = ANY($3)) AND assignment_id > $4 ORDER BY assignment_id LIMIT $5"
    )
});

fn keys(known: &[ProfileIdentity]) -> (Vec<&str>, Vec<&str>) {
    let of = |kind: IdentityType| {
        let these = known.iter().filter(move |it| it.kind == kind);
        these.map(|it| it.value.as_str()).collect()
    };
    (of(IdentityType::UserId), of(IdentityType::Email))
}

pub(super) async fn of_person(
    pool: &Pool,
    app: AppId,
    known: &[ProfileIdentity],
    page: Page<AssignmentId>,
) -> StoreResult<Vec<InvitationRow>> {
    let (users, emails) = keys(known);
    let after = page.after.map_or(Uuid::nil(), AssignmentId::uuid);
    let params: Params = &[&app.uuid(), &users, &emails, &after, &limit(page.limit)];
    pool.many(&OF_PERSON, params, codec::invitation).await
}

/// The first invitations of a person, as seen in a transaction.
pub(super) async fn first_of_person(
    transaction: &Transaction,
    app: AppId,
    known: &[ProfileIdentity],
    rows: usize,
) -> Result<Vec<InvitationRow>, TransactionError> {
    let (users, emails) = keys(known);
    let params: Params = &[&app.uuid(), &users, &emails, &Uuid::nil(), &limit(rows)];
    let found = transaction.query(&OF_PERSON, params).await?;
    let rows: StoreResult<Vec<_>> =
        found.iter().map(|row| codec::invitation(&mut Cells::new(row))).collect();
    Ok(rows?)
}

/// The flow and the times of locked invitations, by id.
pub(super) type Locked = HashMap<AssignmentId, (FlowId, InvitationTimes)>;

/// Locks the invitations of an app in id order; missing ones are left out.
pub(super) async fn lock(
    transaction: &Transaction,
    app: AppId,
    ids: &[Uuid],
) -> Result<Locked, TransactionError> {
    let sql = format!(
        "SELECT {INVITATION} FROM invitations WHERE app_id = $1 AND assignment_id = ANY($2) \
         ORDER BY assignment_id FOR UPDATE"
    );
    let mut locked = Locked::new();
    for row in transaction.query(&sql, &[&app.uuid(), &ids]).await? {
        let row = codec::invitation(&mut Cells::new(&row))?;
        locked.insert(row.assignment_id, (row.flow_id, row.times));
    }
    Ok(locked)
}

const COMPLETE: &str = "UPDATE invitations SET completed_at = given.completed_at, \
     response_id = given.response_id FROM unnest($2::uuid[], $3::bigint[], $4::uuid[]) \
     AS given (assignment_id, completed_at, response_id) \
     WHERE invitations.app_id = $1 AND invitations.assignment_id = given.assignment_id";

/// Completes the invitations of these responses, which are locked and open; usually there are none.
pub(super) async fn complete<'a>(
    transaction: &Transaction,
    app: AppId,
    responses: impl Iterator<Item = &'a NewResponse>,
) -> Result<(), TransactionError> {
    let (mut assignments, mut times, mut named) = (Vec::new(), Vec::new(), Vec::new());
    for response in responses {
        let Some(invited) = response.invitation else { continue };
        let (id, at) = (response.row.response_id, response.row.response_id.made_at());
        assignments.push(invited.assignment_id.uuid());
        times.push(if invited.linked { at } else { day_of(at) }.as_millis());
        named.push(invited.linked.then(|| id.uuid()));
    }
    if assignments.is_empty() {
        return Ok(());
    }
    let params: Params = &[&app.uuid(), &assignments, &times, &named];
    match transaction.execute(COMPLETE, params).await? == assignments.len() as u64 {
        true => Ok(()),
        false => Err(StoreError::Failed("a locked invitation is missing".into()).into()),
    }
}

pub(super) async fn by_id(
    pool: &Pool,
    id: AssignmentId,
    likely: Option<AppId>,
) -> StoreResult<Option<InvitationRow>> {
    if let Some(app) = likely.filter(|_| pool.is_spread()) {
        let sql = format!(
            "SELECT {INVITATION} FROM invitations WHERE app_id = $1 AND assignment_id = $2"
        );
        let found = pool.one(&sql, &[&app.uuid(), &id.uuid()], codec::invitation).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    let sql = format!("SELECT {INVITATION} FROM invitations WHERE assignment_id = $1");
    pool.one(&sql, &[&id.uuid()], codec::invitation).await
}

pub(super) async fn list(pool: &Pool, query: InvitationQuery) -> StoreResult<Vec<InvitationRow>> {
    let (created_at, id) = match query.after {
        Some(after) => (after.created_at.as_millis(), after.assignment_id.uuid()),
        None => (i64::MIN, Uuid::nil()),
    };
    let ids = (query.app_id.uuid(), query.flow_id.uuid());
    let (now, rows) = (query.now.as_millis(), limit(query.limit));
    let scan = "app_id = $1 AND flow_id = $2 AND (created_at, assignment_id) > ($3, $4)";
    let order = "ORDER BY created_at, assignment_id LIMIT $5";
    match query.state {
        None => {
            let sql = format!("SELECT {INVITATION} FROM invitations WHERE {scan} {order}");
            pool.many(&sql, &[&ids.0, &ids.1, &created_at, &id, &rows], codec::invitation).await
        }
        Some(state) => {
            let filter = state_in_sql("$6");
            let sql = format!(
                "SELECT {INVITATION} FROM invitations WHERE {scan} AND {filter} = $7 {order}"
            );
            let params: Params = &[&ids.0, &ids.1, &created_at, &id, &rows, &now, &state.as_str()];
            pool.many(&sql, params, codec::invitation).await
        }
    }
}

pub(super) async fn count(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    now: Timestamp,
) -> StoreResult<InvitationCounts> {
    let sql = format!(
        "SELECT {}, count(*) FROM invitations WHERE app_id = $1 AND flow_id = $2 GROUP BY 1",
        state_in_sql("$3")
    );
    let params: Params = &[&app.uuid(), &flow.uuid(), &now.as_millis()];
    let found = pool.many(&sql, params, |cells| Ok((cells.variant()?, cells.revision()?))).await?;
    let mut counts = InvitationCounts::default();
    for (state, number) in found {
        *counts.of_state(state) = number;
    }
    Ok(counts)
}

/// Two separate queries, so that each uses its own index.
pub(super) async fn are_invited(
    pool: &Pool,
    app: AppId,
    flow: FlowId,
    now: Timestamp,
    invitees: &[Invitee],
) -> StoreResult<Vec<bool>> {
    let of = |person: &str| {
        format!(
            "EXISTS (SELECT FROM invitations WHERE app_id = $2 AND flow_id = $3 \
             AND {person} AND {OPEN})"
        )
    };
    let sql = format!(
        "SELECT given.number FROM unnest($4::text[], $5::text[]) WITH ORDINALITY \
         AS given (user_key, email_key, number) WHERE {} OR {}",
        of("user_id = given.user_key"),
        of(&format!("email IS NOT NULL AND {EMAIL_KEY} = given.email_key"))
    );
    let users: Vec<_> = invitees.iter().map(|it| it.user_id.as_deref()).collect();
    let emails: Vec<_> = invitees.iter().map(Invitee::email_key).collect();
    let params: Params = &[&now.as_millis(), &app.uuid(), &flow.uuid(), &users, &emails];
    let found = pool.many(&sql, params, |cells| cells.take::<i64>()).await?;
    let mut invited = vec![false; invitees.len()];
    for number in found {
        let invitee = usize::try_from(number - 1).ok().and_then(|index| invited.get_mut(index));
        if let Some(invitee) = invitee {
            *invitee = true;
        }
    }
    Ok(invited)
}
