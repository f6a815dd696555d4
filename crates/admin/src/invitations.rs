//! Invitations: a flow assigned to people, one at a time or from a file.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use serde::{Deserialize, Serialize};
use sluice_engine::mail::MailStatus;
use sluice_engine::rows::{InvitationCounts, MailEnd, Scope};
use sluice_engine::{
    AdminError, Engine, IdentityJson, InvitationCursor, InvitationJson, NewInvitation,
    invitation_files,
};
use sluice_flow::id::{AssignmentId, FlowId, ResponseId};
use sluice_flow::invitation::InvitationState;
use sluice_flow::time::Timestamp;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{Limit, List, cursor, limit_schema};
use super::reply::{self, BodyErrors, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{JsonOrCsv, PathParam, Query};
use super::schema;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(create, list)).routes(routes!(get, revoke))
}

/// A person to invite.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(as = NewInvitation, example = json!({
    "identities": [{"type": "traits.email", "value": "ada@example.com"}],
    "expiresAt": "2027-01-01T00:00:00.000Z"
}))]
struct InvitationBody {
    /// A `userId`, a `traits.email`, or one of each.
    identities: Vec<InvitedIdentity>,
    /// When the link ends; without it, or null, never.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime, required = false)]
    expires_at: Option<Timestamp>,
}

/// An identity of a person.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with type and value")]
struct InvitedIdentity {
    #[serde(rename = "type")]
    kind: String,
    value: String,
}

/// Options for inviting people.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ImportOptions {
    #[serde(default)]
    #[param(schema_with = schema::duplicates, required = false)]
    duplicates: Duplicates,
    #[serde(default)]
    #[param(schema_with = schema::check_only, required = false)]
    check_only: YesNo,
    /// `true`: the server sends each invitation by e-mail. Everybody needs an address.
    #[serde(default)]
    #[param(schema_with = schema::send_email, required = false)]
    send_email: YesNo,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Duplicates {
    #[default]
    Refuse,
    Skip,
    Allow,
}

/// A query parameter that is `true` or `false`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum YesNo {
    True,
    #[default]
    False,
}

impl From<Duplicates> for sluice_engine::Duplicates {
    fn from(duplicates: Duplicates) -> Self {
        match duplicates {
            Duplicates::Refuse => Self::Refuse,
            Duplicates::Skip => Self::Skip,
            Duplicates::Allow => Self::Allow,
        }
    }
}

/// An invitation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "flowAssignmentId": "fa_01KA2VgdPrWYDVgYy3wLpG", "flowId": "fl_01KA2VgdPrWYDVgYy3wLpB",
    "identities": [{"type": "traits.email", "value": "ada@example.com"}], "state": "sent",
    "link": "https://feedback.example.com/f/fl_01KA2VgdPrWYDVgYy3wLpB?flowAssignmentId=fa_01KA2VgdPrWYDVgYy3wLpG",
    "createdAt": "2026-11-15T02:00:00.000Z", "expiresAt": "2027-01-01T00:00:00.000Z",
    "openedAt": null, "completedAt": null, "revokedAt": null, "responseId": null, "email": null
}))]
pub(super) struct Invitation {
    /// Null while the invitation is open, for a token without the scope `write`: it is the secret
    /// of the link.
    #[schema(value_type = Option<String>, required = true)]
    flow_assignment_id: Option<AssignmentId>,
    #[schema(value_type = String)]
    flow_id: FlowId,
    /// Empty if the person was erased.
    identities: Vec<InvitedIdentity>,
    #[schema(schema_with = schema::invitation_state)]
    state: InvitationState,
    /// The personal link; anyone who has it can answer as the person. Null if `flowAssignmentId` is
    /// null.
    #[schema(required = true)]
    link: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    expires_at: Option<Timestamp>,
    /// The day on which its page was opened.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    opened_at: Option<Timestamp>,
    /// When its response was stored; only the day if the respondent did not agree to be linked.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    completed_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    revoked_at: Option<Timestamp>,
    /// Its response, if the respondent agreed to be linked.
    #[schema(value_type = Option<String>, required = true)]
    response_id: Option<ResponseId>,
    /// The state of its e-mail; null if the server does not send it.
    #[schema(required = true)]
    email: Option<EmailStatus>,
}

/// The state of the e-mail of an invitation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = InvitationEmailStatus, example = json!({
    "sent": 1, "sentAt": "2026-11-15T02:00:05.000Z", "nextAt": "2026-11-22T02:00:05.000Z", "ended": null, "reply": null
}))]
struct EmailStatus {
    /// How many were accepted by the mail server, reminders included.
    sent: u32,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    sent_at: Option<Timestamp>,
    /// When the next attempt or reminder is due.
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    next_at: Option<Timestamp>,
    /// Why nothing more is sent: `bounced`, `failed`, `unsubscribed`, `stopped`, or `closed`: the
    /// flow is closed, and the next e-mail is sent when it opens again.
    #[schema(schema_with = schema::mail_end, required = true)]
    ended: Option<MailEnd>,
    /// The code of the mail server's last refusal.
    #[schema(required = true)]
    reply: Option<String>,
}

impl From<MailStatus> for EmailStatus {
    fn from(status: MailStatus) -> Self {
        let MailStatus { sent, sent_at, next_at, ended, reply } = status;
        Self { sent, sent_at, next_at, ended, reply }
    }
}

impl From<IdentityJson> for InvitedIdentity {
    fn from(identity: IdentityJson) -> Self {
        Self { kind: identity.kind.as_str().to_owned(), value: identity.value }
    }
}

impl From<InvitationJson> for Invitation {
    fn from(json: InvitationJson) -> Self {
        // Names every field, so that this and the file of the console cannot differ.
        let InvitationJson {
            flow_assignment_id,
            flow_id,
            identities,
            state,
            link,
            created_at,
            expires_at,
            opened_at,
            completed_at,
            revoked_at,
            response_id,
            email,
        } = json;
        Self {
            flow_assignment_id,
            flow_id,
            identities: identities.into_iter().map(InvitedIdentity::from).collect(),
            state,
            link,
            created_at,
            expires_at,
            opened_at,
            completed_at,
            revoked_at,
            response_id,
            email: email.map(EmailStatus::from),
        }
    }
}

/// The result of importing a file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"created": 120, "skipped": 3}))]
struct Imported {
    /// How many were invited.
    created: usize,
    /// How many were left out, with `duplicates=skip`.
    skipped: usize,
}

/// Invite people
///
/// One as JSON; or many as `text/csv`, whose first line names the columns `userId`, `email` and
/// `expiresAt`, any of them and in any order: at most 50,000 people and 16 MiB. Either all are
/// invited or, if any line has a fault, none; every fault is listed, with `/` and the number of its
/// line. With `Accept: text/csv` the reply to a file lists every person with id and link.
#[utoipa::path(
    post, path = "/flows/{flowId}/invitations", operation_id = "createInvitations", tag = "Invitations",
    security(("adminToken" = ["write"])),
    params(ImportOptions),
    request_body(content((InvitationBody = "application/json"), (String = "text/csv"))),
    responses(
        (status = 200, description = "With `checkOnly`: how many would be invited; or one person as JSON was left out, with `duplicates=skip`", body = Imported),
        (status = 201, description = "The invitation; of a file, how many there are, or all of them as CSV", content(
            (Invitation = "application/json"), (String = "text/csv"),
        )),
        (status = 409, description = "`flow_archived`; with `sendEmail` also `no_mail_server` and `flow_not_published`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Query(how): Query<ImportOptions>,
    headers: HeaderMap,
    body: JsonOrCsv<InvitationBody>,
) -> Reply {
    let (new, is_file) = match body {
        JsonOrCsv::Json(InvitationBody { identities, expires_at }) => {
            let identities = identities.into_iter().map(|it| (it.kind, it.value)).collect();
            (vec![NewInvitation::from_identities(identities, expires_at)?], false)
        }
        JsonOrCsv::Csv(file) => (invitation_files::read(&file).map_err(AdminError::Invalid)?, true),
    };
    let check_only = how.check_only == YesNo::True;
    let flow = engine.flow(&actor, Scope::Write, flow).await?;
    let mut made = match how.send_email {
        YesNo::True => flow.invite_by_mail(&new, how.duplicates.into(), check_only).await?,
        YesNo::False => flow.invite(&new, how.duplicates.into(), check_only).await?,
    };
    if how.send_email == YesNo::True && !is_file && !check_only {
        made = flow.with_mail_status(made).await?;
    }
    let imported = Imported { created: made.len(), skipped: new.len() - made.len() };
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let wants_csv = is_file && accepts.is_some_and(|accepts| accepts.contains("text/csv"));
    match made.first() {
        _ if check_only => reply::ok(imported),
        _ if wants_csv => reply::created_csv(invitation_files::write(&made)),
        Some(one) if !is_file => reply::created(shown(one.clone())),
        None if !is_file => reply::ok(imported),
        _ => reply::created(imported),
    }
}

/// Which invitations.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct InvitationQuery {
    #[serde(default)]
    #[param(schema_with = limit_schema, required = false)]
    limit: Limit,
    /// `next` of the previous page.
    #[serde(default, deserialize_with = "cursor")]
    #[param(value_type = Option<String>)]
    after: Option<InvitationCursor>,
    /// Only those in this state now.
    #[param(schema_with = schema::invitation_state, required = false)]
    state: Option<InvitationState>,
}

/// A page of invitations.
#[derive(Debug, Serialize, ToSchema)]
struct Invitations {
    items: Vec<Invitation>,
    /// The `after` of the next page; null at the end of the list.
    #[schema(required = true)]
    next: Option<String>,
    /// How many of the flow's invitations are in each state; on the first page only.
    #[schema(required = true)]
    counts: Option<Counts>,
}

/// The number of invitations in each state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InvitationCounts)]
struct Counts {
    sent: u64,
    opened: u64,
    completed: u64,
    expired: u64,
    revoked: u64,
}

impl From<InvitationCounts> for Counts {
    fn from(counts: InvitationCounts) -> Self {
        let InvitationCounts { sent, opened, expired, revoked, completed } = counts;
        Self { sent, opened, completed, expired, revoked }
    }
}

/// List the invitations to a flow
///
/// Oldest first. The state of an invitation is computed when it is read. The links of open
/// invitations are shown only to tokens with the scope `write`, which could create new ones.
#[utoipa::path(
    get, path = "/flows/{flowId}/invitations", operation_id = "listInvitations", tag = "Invitations",
    security(("adminToken" = ["read"])),
    params(InvitationQuery),
    responses(
        (status = 200, description = "A page of invitations", body = Invitations),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query<InvitationQuery>,
) -> Reply {
    let InvitationQuery { limit, after, state } = query;
    let flow = engine.flow(&actor, Scope::Read, flow).await?;
    let found = flow.list_invitations(state, after, limit.and_one()).await?;
    let found = flow.with_mail_status(found).await?;
    let counts = match after {
        None => Some(flow.count_invitations().await?.into()),
        Some(_) => None,
    };
    let page = List::new(found, limit, |last| InvitationCursor::at(last).to_string());
    let items = page.items.into_iter().map(shown).collect();
    reply::ok(Invitations { items, next: page.next, counts })
}

fn shown(invitation: sluice_engine::Invitation) -> Invitation {
    InvitationJson::from(invitation).into()
}

/// Read an invitation
#[utoipa::path(
    get, path = "/invitations/{flowAssignmentId}", operation_id = "getInvitation", tag = "Invitations",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The invitation", body = Invitation),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(invitation): PathParam<AssignmentId>,
) -> Reply {
    let invitation = engine.invitation(&actor, Scope::Read, invitation).await?;
    reply::ok(shown(invitation.shown_with_mail().await?))
}

/// Revoke an invitation
///
/// Its link accepts no response from now on. Revoking it again changes nothing.
#[utoipa::path(
    delete, path = "/invitations/{flowAssignmentId}", operation_id = "revokeInvitation", tag = "Invitations",
    security(("adminToken" = ["write"])),
    responses(
        (status = 204, description = "Revoked"),
        (status = 409, description = "`invitation_used`: it has its response", body = Problem, content_type = "application/problem+json"),
        CommonErrors,
    ),
)]
async fn revoke(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(invitation): PathParam<AssignmentId>,
) -> Reply {
    engine.invitation(&actor, Scope::Write, invitation).await?.revoke().await?;
    reply::done()
}
