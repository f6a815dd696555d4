//! Respondents: find, read, export and erase them.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::rows::{AnswersOnErasure, Page, Scope};
use sluice_engine::{
    AdminError, AdminResult, ConsentJson, Engine, IdentityJson, RespondentExport, RespondentFile,
    RespondentJson,
};
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, FlowId, FlowVersionId, RespondentId, ResponseId};
use sluice_flow::respondent::{IdentityType, ProfileIdentity};
use sluice_flow::time::Timestamp;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::invitations::Invitation;
use super::page::{Limit, List, PageQuery, cursor, limit_schema};
use super::reply::{self, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{PathParam, Query};
use super::responses::Response;
use super::schema;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .routes(routes!(list, erase_known))
        .routes(routes!(export_known))
        .routes(routes!(get, erase))
        .routes(routes!(responses))
        .routes(routes!(export))
}

/// Which respondents: all of an app, or the one with an identity.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RespondentQuery {
    #[param(value_type = String)]
    app_id: AppId,
    /// `userId` or `traits.email`; together with `value`.
    #[param(schema_with = schema::identity_type, required = false)]
    r#type: Option<IdentityType>,
    /// The userId or the address to look for; the ASCII case of an address does not matter.
    value: Option<String>,
    #[serde(default)]
    #[param(schema_with = limit_schema, required = false)]
    limit: Limit,
    /// `next` of the previous page.
    #[serde(default, deserialize_with = "cursor")]
    #[param(value_type = Option<String>)]
    after: Option<RespondentId>,
}

/// What happens to the answers.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EraseQuery {
    /// `keep`: the answers stay, without anything that connects them with the person. `delete`:
    /// they are deleted, too.
    #[param(schema_with = schema::answers, required = true)]
    answers: Option<String>,
}

/// Identifies a respondent or invited person of an app by an identity.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct PersonQuery {
    #[param(value_type = String)]
    app_id: AppId,
    #[param(schema_with = schema::identity_type)]
    r#type: IdentityType,
    /// The userId or the address; the ASCII case of an address does not matter.
    #[param(example = "ann")]
    value: String,
}

/// Whom to erase, and what happens to the answers.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ErasePersonQuery {
    #[param(value_type = String)]
    app_id: AppId,
    #[param(schema_with = schema::identity_type)]
    r#type: IdentityType,
    /// The userId or the address; the ASCII case of an address does not matter.
    #[param(example = "ann")]
    value: String,
    /// `keep`: the answers stay, without anything that connects them with the person. `delete`:
    /// they are deleted, too.
    #[param(schema_with = schema::answers, required = true)]
    answers: Option<String>,
}

/// The profile of a person who agreed to be linked to their responses; has at least one response.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "respondentId": "rp_01KA2VgdPrWYDVgYy3wLpF", "appId": "app_01KA2VgdPrWYDVgYy3wLpA",
    "identities": [{"type": "userId", "value": "u-1"}],
    "firstSeenAt": "2026-11-15T02:10:00.000Z", "lastSeenAt": "2026-11-15T02:10:00.000Z",
    "erasing": false
}))]
struct Respondent {
    #[schema(value_type = String)]
    respondent_id: RespondentId,
    #[schema(value_type = String)]
    app_id: AppId,
    /// The userId first; addresses in lower case.
    identities: Vec<RespondentIdentity>,
    #[schema(value_type = String, format = DateTime)]
    first_seen_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    last_seen_at: Option<Timestamp>,
    /// Whether an erasure has begun and is not finished. No new responses are linked to such a
    /// respondent.
    erasing: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct RespondentIdentity {
    #[schema(schema_with = schema::identity_type)]
    r#type: IdentityType,
    value: String,
}

/// A respondent with their responses by flow and their consents.
#[derive(Debug, Serialize, ToSchema)]
struct Profile {
    #[serde(flatten)]
    respondent: Respondent,
    flows: Vec<FlowCount>,
    /// The first 1,000, oldest first; the export has them all.
    consents: Vec<Consent>,
}

/// How many responses of a respondent a flow has.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FlowCount {
    #[schema(value_type = String)]
    flow_id: FlowId,
    responses: u64,
}

/// The consent to be linked to a response: when, and for which version.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Consent {
    #[schema(value_type = String, format = DateTime)]
    given_at: Timestamp,
    #[schema(value_type = String)]
    flow_id: FlowId,
    #[schema(value_type = String)]
    flow_version_id: FlowVersionId,
    /// It may have been deleted since.
    #[schema(value_type = String)]
    response_id: ResponseId,
}

/// All data stored about one person.
#[derive(Debug, Serialize, ToSchema)]
struct Export {
    /// Null for an invited person who never agreed to be linked.
    #[schema(required = true)]
    respondent: Option<Respondent>,
    consents: Vec<Consent>,
    /// The responses linked to the respondent, and unlinked ones given through their invitations.
    responses: Vec<Response>,
    invitations: Vec<Invitation>,
}

/// The result of an erasure.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"respondentId": "rp_01KA2VgdPrWYDVgYy3wLpF", "responses": 3, "invitations": 1}))]
struct Erased {
    /// Null for a person who was only invited.
    #[schema(value_type = Option<String>, required = true)]
    respondent_id: Option<RespondentId>,
    /// Responses that were unlinked or deleted.
    responses: u64,
    /// Invitations that no longer name the person.
    invitations: u64,
    /// With 202: how many responses are left. The server continues in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<u64>,
}

impl From<IdentityJson> for RespondentIdentity {
    fn from(identity: IdentityJson) -> Self {
        Self { r#type: identity.kind, value: identity.value }
    }
}

impl From<RespondentJson> for Respondent {
    fn from(json: RespondentJson) -> Self {
        // Names every field, so that this and the file of the console cannot differ.
        let RespondentJson {
            respondent_id,
            app_id,
            identities,
            first_seen_at,
            last_seen_at,
            erasing,
        } = json;
        let identities = identities.into_iter().map(RespondentIdentity::from).collect();
        Self { respondent_id, app_id, identities, first_seen_at, last_seen_at, erasing }
    }
}

impl From<ConsentJson> for Consent {
    fn from(json: ConsentJson) -> Self {
        let ConsentJson { given_at, flow_id, flow_version_id, response_id } = json;
        Self { given_at, flow_id, flow_version_id, response_id }
    }
}

/// List respondents, or find one
///
/// Ordered by the day they were first seen. With `type` and `value`, only the one with this
/// identity, if any.
#[utoipa::path(
    get, path = "/respondents", operation_id = "listRespondents", tag = "Respondents",
    security(("adminToken" = ["read"])),
    params(RespondentQuery),
    responses(
        (status = 200, description = "A page of respondents", body = List<Respondent>),
        (status = 404, description = "`app_not_found`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Query(query): Query<RespondentQuery>,
) -> Reply {
    let rows = match (query.r#type, &query.value) {
        (Some(of), Some(value)) => engine
            .app(&actor, Scope::Read, query.app_id)
            .await?
            .find_respondent(of, value)
            .await?
            .into_iter()
            .collect(),
        (None, None) => {
            let page = Page { after: query.after, limit: query.limit.and_one() };
            engine.app(&actor, Scope::Read, query.app_id).await?.list_respondents(page).await?
        }
        (of, _) => {
            let absent = if of.is_some() { "/value" } else { "/type" };
            return Err(fault(absent, "is required: type and value go together").into());
        }
    };
    let respondents = rows.into_iter().map(RespondentJson::from).map(Respondent::from).collect();
    reply::ok(List::new(respondents, query.limit, |it: &Respondent| it.respondent_id.to_string()))
}

/// Read a respondent
#[utoipa::path(
    get, path = "/respondents/{respondentId}", operation_id = "getRespondent", tag = "Respondents",
    security(("adminToken" = ["read"])),
    responses(
        (status = 200, description = "The profile", body = Profile),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(respondent): PathParam<RespondentId>,
) -> Reply {
    let (row, given) = engine.respondent(&actor, Scope::Read, respondent).await?.profile().await?;
    let flow = |(flow_id, responses): &(FlowId, u64)| FlowCount {
        flow_id: *flow_id,
        responses: *responses,
    };
    let flows = row.flows.iter().map(flow).collect();
    let respondent = RespondentJson::from(row).into();
    let consents = given.into_iter().map(ConsentJson::from).map(Consent::from).collect();
    reply::ok(Profile { respondent, flows, consents })
}

/// List the responses of a respondent
///
/// Over all flows of the app, oldest first.
#[utoipa::path(
    get, path = "/respondents/{respondentId}/responses", operation_id = "listRespondentResponses",
    tag = "Respondents",
    security(("adminToken" = ["read"])),
    params(PageQuery<ResponseId>),
    responses(
        (status = 200, description = "A page of responses", body = List<Response>),
        CommonErrors, QueryErrors,
    ),
)]
async fn responses(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(respondent): PathParam<RespondentId>,
    Query(query): Query<PageQuery<ResponseId>>,
) -> Reply {
    let page = Page { after: query.after, limit: query.limit.and_one() };
    let rows =
        engine.respondent(&actor, Scope::Read, respondent).await?.list_responses(page).await?;
    let responses = rows.iter().map(Response::new).collect::<AdminResult<Vec<_>>>()?;
    reply::ok(List::new(responses, query.limit, Response::cursor))
}

/// Export a respondent
///
/// All data stored about them, as one JSON document. The audit log records the export.
#[utoipa::path(
    get, path = "/respondents/{respondentId}/export", operation_id = "exportRespondent",
    tag = "Respondents",
    security(("adminToken" = ["export"])),
    responses(
        (status = 200, description = "Profile, consents, responses and invitations", body = Export),
        CommonErrors,
    ),
)]
async fn export(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(respondent): PathParam<RespondentId>,
) -> Reply {
    exported(engine.respondent(&actor, Scope::Export, respondent).await?.export().await?)
}

/// Export a person by identity
///
/// Like the export of a respondent; for an invited person without a profile, the invitations and
/// the responses given through them.
#[utoipa::path(
    get, path = "/respondents/export", operation_id = "exportPerson", tag = "Respondents",
    security(("adminToken" = ["export"])),
    params(PersonQuery),
    responses(
        (status = 200, description = "Profile, consents, responses and invitations", body = Export),
        (status = 404, description = "`app_not_found`, or `respondent_not_found`: no respondent or invitation has this identity", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn export_known(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Query(query): Query<PersonQuery>,
) -> Reply {
    let known = ProfileIdentity::new(query.r#type, &query.value);
    exported(engine.app(&actor, Scope::Export, query.app_id).await?.export_known(&known).await?)
}

fn exported(export: RespondentExport) -> Reply {
    let RespondentFile { respondent, consents, responses, invitations } = export.into_file()?;
    reply::ok(Export {
        respondent: respondent.map(Respondent::from),
        consents: consents.into_iter().map(Consent::from).collect(),
        responses: responses.into_iter().map(Response::from).collect(),
        invitations: invitations.into_iter().map(Invitation::from).collect(),
    })
}

/// Erase a respondent
///
/// Permanently: the profile, its identities, links and consents; and the answers, if requested. A
/// late retry of one of its submissions gets the same reply as before and stores nothing. The audit
/// log keeps the respondent's id, not their identities.
#[utoipa::path(
    delete, path = "/respondents/{respondentId}", operation_id = "eraseRespondent", tag = "Respondents",
    security(("adminToken" = ["erase"])),
    params(EraseQuery),
    responses(
        (status = 200, description = "What was erased", body = Erased),
        (status = 202, description = "What was erased so far: the erasure takes long and continues in the background. Repeat the call to see its progress", body = Erased),
        CommonErrors, QueryErrors,
    ),
)]
async fn erase(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(respondent): PathParam<RespondentId>,
    Query(query): Query<EraseQuery>,
) -> Reply {
    let answers = answers(query.answers.as_deref())?;
    erased(engine.respondent(&actor, Scope::Erase, respondent).await?.erase(answers).await?)
}

/// Erase a person by identity
///
/// Like the erasure of a respondent; for an invited person without a profile, the invitations no
/// longer name them, open ones are revoked, and the responses given through them are kept or
/// deleted as requested.
#[utoipa::path(
    delete, path = "/respondents", operation_id = "erasePerson", tag = "Respondents",
    security(("adminToken" = ["erase"])),
    params(ErasePersonQuery),
    responses(
        (status = 200, description = "What was erased", body = Erased),
        (status = 202, description = "What was erased so far: the erasure takes long and continues in the background. Repeat the call to see its progress", body = Erased),
        (status = 404, description = "`app_not_found`, or `respondent_not_found`: no respondent or invitation has this identity", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn erase_known(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Query(query): Query<ErasePersonQuery>,
) -> Reply {
    let answers = answers(query.answers.as_deref())?;
    let known = ProfileIdentity::new(query.r#type, &query.value);
    erased(engine.app(&actor, Scope::Erase, query.app_id).await?.erase_known(known, answers).await?)
}

fn erased(erased: sluice_engine::Erased) -> Reply {
    let sluice_engine::Erased { respondent_id, responses, invitations, remaining } = erased;
    let body = Erased { respondent_id, responses, invitations, remaining };
    if remaining.is_some() { reply::accepted(body) } else { reply::ok(body) }
}

/// There is no default: an irreversible choice must be explicit.
fn answers(name: Option<&str>) -> AdminResult<AnswersOnErasure> {
    name.and_then(AnswersOnErasure::named).ok_or_else(|| {
        let what = "is required: answers=keep keeps the answers anonymously, \
             answers=delete deletes them";
        fault("/answers", what)
    })
}

fn fault(pointer: &str, message: &str) -> AdminError {
    AdminError::Invalid(vec![Fault::new(pointer, message)])
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[test]
    fn an_erasure_in_the_background_is_202_and_a_finished_one_is_200() {
        for (remaining, status) in [(None, StatusCode::OK), (Some(5), StatusCode::ACCEPTED)] {
            let done = sluice_engine::Erased { remaining, ..sluice_engine::Erased::default() };
            let reply = erased(done).unwrap_or_else(|_| panic!("{remaining:?} is refused"));
            assert_eq!(reply.status(), status);
        }
    }
}
