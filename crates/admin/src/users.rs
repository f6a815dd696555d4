//! Users of the console, and their roles.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::people::{UserDetail, UserPatch};
use sluice_engine::rows::{Page, Role, Scope};
use sluice_engine::{AdminError, Engine};
use sluice_flow::definition::Fault;
use sluice_flow::id::{AppId, UserId};
use sluice_flow::time::Timestamp;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{List, PageQuery};
use super::reply::{self, BodyErrors, CommonErrors, Problem, QueryErrors, Reply};
use super::request::{Body, PathParam, Query};
use super::schema;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .routes(routes!(create, list))
        .routes(routes!(get, update))
        .routes(routes!(set_role))
        .routes(routes!(reset))
        .routes(routes!(reset_second_factor))
}

/// A new user, with one role and where it applies: `appId` for one app, or `"instance": true` for
/// all apps and the instance. Exactly one of them is required.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"email": "ann@example.com", "name": "Ann", "role": "editor", "appId": "app_01KA2VgdPrWYDVgYy3wLpA"}))]
struct NewUser {
    /// The address they sign in with; case does not matter.
    email: String,
    /// 1 to 200 characters.
    name: String,
    #[schema(schema_with = schema::role)]
    role: Role,
    /// The app that the role is for.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    app_id: Option<AppId>,
    /// `true`: the role is for all apps and the instance.
    #[serde(default)]
    instance: bool,
    /// `true`: the server sends them the link by e-mail, and the reply does not have it.
    #[serde(default)]
    send_email: bool,
}

/// Changes to a user; absent fields stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(as = UserPatch, example = json!({"disabled": true}))]
struct UserPatchBody {
    name: Option<String>,
    /// A disabled user is signed out everywhere and cannot sign in.
    disabled: Option<bool>,
}

/// A role in an app, or in all.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"appId": null, "role": "viewer"}))]
struct UserGrant {
    /// Null for all apps and the instance.
    #[schema(value_type = Option<String>, required = true)]
    app_id: Option<AppId>,
    #[schema(schema_with = schema::role)]
    role: Role,
}

/// A role to set, and where it applies: `appId` for one app, or `"instance": true` for all apps
/// and the instance. Exactly one of them is required.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(as = UserRole, example = json!({"appId": "app_01KA2VgdPrWYDVgYy3wLpA", "role": "viewer"}))]
struct RoleChange {
    /// The app that the role is for.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    app_id: Option<AppId>,
    /// `true`: the role is for all apps and the instance.
    #[serde(default)]
    instance: bool,
    /// Null removes the role.
    #[schema(schema_with = schema::role, required = true)]
    role: Option<Role>,
}

/// Where a role applies: in an app, or, without one, in all apps and the instance. The request must
/// be explicit.
fn scope(app_id: Option<AppId>, instance: bool) -> Result<Option<AppId>, AdminError> {
    let message = match (app_id, instance) {
        (Some(app), false) => return Ok(Some(app)),
        (None, true) => return Ok(None),
        (None, false) => {
            "is required: write \"appId\": \"app_…\" for one app, or \"instance\": true for all apps and the instance"
        }
        (Some(_), true) => {
            "must not be sent together with \"instance\": true; write \"appId\" for one app, or \"instance\": true \
             for all apps and the instance"
        }
    };
    Err(AdminError::Invalid(vec![Fault::new("/appId", message)]))
}

/// A user, without credentials.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "userId": "us_01KA2VgdPrWYDVgYy3wLpE", "email": "ann@example.com", "name": "Ann",
    "grants": [{"appId": null, "role": "owner"}], "hasPassword": true, "hasOpenId": false, "hasSecondFactor": false,
    "createdAt": "2026-11-15T02:00:00.000Z", "disabledAt": null
}))]
struct User {
    #[schema(value_type = String)]
    user_id: UserId,
    email: String,
    name: String,
    grants: Vec<UserGrant>,
    has_password: bool,
    /// Whether they have signed in by the OpenID provider.
    has_open_id: bool,
    /// Whether signing in with the password also requires a code.
    has_second_factor: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime, required = true)]
    disabled_at: Option<Timestamp>,
}

impl From<UserDetail> for User {
    fn from(user: UserDetail) -> Self {
        let grants = user.grants.iter();
        Self {
            user_id: user.user_id,
            email: user.email,
            name: user.name,
            grants: grants.map(|it| UserGrant { app_id: it.app_id, role: it.role }).collect(),
            has_password: user.has_password,
            has_open_id: user.has_subject,
            has_second_factor: user.has_second_factor,
            created_at: user.created_at,
            disabled_at: user.disabled_at,
        }
    }
}

/// A user who has just been created, with the link to set a password.
#[derive(Serialize, ToSchema)]
struct UserWithLink {
    #[serde(flatten)]
    user: User,
    /// For the user alone: it sets their password, once, within 24 hours. Shown now and never
    /// again. Null if it was sent by e-mail.
    #[schema(required = true)]
    link: Option<String>,
}

/// A link to set a password.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"link": "https://feedback.example.com/console/welcome#…"}))]
struct Link {
    /// For the user alone: it sets their password, once, within 24 hours. Shown now and never
    /// again. Null if it was sent by e-mail.
    #[schema(required = true)]
    link: Option<String>,
}

/// How the link reaches the user.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct LinkOptions {
    /// `true`: the server sends it by e-mail, and the reply does not have it.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    send_email: bool,
}

/// Create a user
///
/// The role applies in one app (`appId`), or in all apps and the instance (`"instance": true`); one
/// of them must be given. The reply has a link with which they set their password; send it to them
/// and to nobody else, or let the server do so with `"sendEmail": true`.
#[utoipa::path(
    post, path = "/users", operation_id = "createUser", tag = "Users",
    security(("adminToken" = ["admin"])),
    request_body = NewUser,
    responses(
        (status = 201, description = "The user, and the link", body = UserWithLink),
        (status = 404, description = "`app_not_found`: there is no app `appId`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`email_taken`; with `sendEmail` also `no_mail_server`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Body(new): Body<NewUser>,
) -> Reply {
    let NewUser { email, name, role, app_id, instance, send_email } = new;
    let app_id = scope(app_id, instance)?;
    let new = sluice_engine::people::NewUser { email, name, role, app_id };
    let instance = engine.instance(&actor)?;
    if send_email {
        let user = instance.create_user_by_mail(new, None).await?;
        return reply::created(UserWithLink { user: user.into(), link: None });
    }
    let (user, secret) = instance.create_user(new).await?;
    let link = Some(engine.accounts().welcome_url(&secret));
    reply::created(UserWithLink { user: user.into(), link })
}

/// List users
///
/// Oldest first, disabled ones included.
#[utoipa::path(
    get, path = "/users", operation_id = "listUsers", tag = "Users",
    security(("adminToken" = ["admin"])),
    params(PageQuery<UserId>),
    responses((status = 200, description = "A page of users", body = List<User>), CommonErrors, QueryErrors),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Query(query): Query<PageQuery<UserId>>,
) -> Reply {
    let page = Page { after: query.after, limit: query.limit.and_one() };
    let users =
        engine.instance(&actor)?.list_users(page).await?.into_iter().map(User::from).collect();
    reply::ok(List::new(users, query.limit, |user: &User| user.user_id.to_string()))
}

/// Read a user
#[utoipa::path(
    get, path = "/users/{userId}", operation_id = "getUser", tag = "Users",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 200, description = "The user", body = User),
        CommonErrors,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(user): PathParam<UserId>,
) -> Reply {
    reply::ok(User::from(engine.instance(&actor)?.get_user(user).await?))
}

/// Rename, disable or enable a user
///
/// The last owner of the instance cannot be disabled.
#[utoipa::path(
    patch, path = "/users/{userId}", operation_id = "updateUser", tag = "Users",
    security(("adminToken" = ["admin"])),
    request_body = UserPatchBody,
    responses(
        (status = 200, description = "The user as it is now", body = User),
        (status = 409, description = "`last_owner`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn update(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(user): PathParam<UserId>,
    Body(patch): Body<UserPatchBody>,
) -> Reply {
    let patch = UserPatch { name: patch.name, disabled: patch.disabled };
    reply::ok(User::from(engine.instance(&actor)?.update_user(user, &patch).await?))
}

/// Give a user a role, or remove it
///
/// In one app (`appId`), or in all apps and the instance (`"instance": true`); one of them must be
/// given. A token that is bound to an app may do so for that app. The last owner of the instance
/// cannot be removed.
#[utoipa::path(
    put, path = "/users/{userId}/role", operation_id = "setUserRole", tag = "Users",
    security(("adminToken" = ["admin"])),
    request_body = RoleChange,
    responses(
        (status = 204, description = "Done"),
        (status = 404, description = "`user_not_found`, `app_not_found`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`last_owner`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, BodyErrors,
    ),
)]
async fn set_role(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(user): PathParam<UserId>,
    Body(change): Body<RoleChange>,
) -> Reply {
    match scope(change.app_id, change.instance)? {
        Some(app) => {
            engine.app(&actor, Scope::Admin, app).await?.set_role(user, change.role).await?
        }
        None => engine.instance(&actor)?.set_role(user, change.role).await?,
    };
    reply::done()
}

/// Create a new password link
///
/// The previous link stops working. The current password stays valid until the new link is used;
/// then all sessions of the user end.
#[utoipa::path(
    post, path = "/users/{userId}/reset", operation_id = "resetUser", tag = "Users",
    security(("adminToken" = ["admin"])),
    params(LinkOptions),
    responses(
        (status = 200, description = "The link", body = Link),
        (status = 409, description = "`user_disabled`; with `sendEmail` also `no_mail_server`", body = Problem, content_type = "application/problem+json"),
        CommonErrors, QueryErrors,
    ),
)]
async fn reset(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(user): PathParam<UserId>,
    Query(LinkOptions { send_email }): Query<LinkOptions>,
) -> Reply {
    let instance = engine.instance(&actor)?;
    if send_email {
        instance.reset_user_by_mail(user, None).await?;
        return reply::ok(Link { link: None });
    }
    let secret = instance.reset_user(user).await?;
    reply::ok(Link { link: Some(engine.accounts().welcome_url(&secret)) })
}

/// Reset the second factor of a user
///
/// For a user who has lost their authenticator app and their recovery codes. They then sign in with
/// their password alone, until they turn the second factor on again.
#[utoipa::path(
    delete, path = "/users/{userId}/second-factor", operation_id = "resetSecondFactor", tag = "Users",
    security(("adminToken" = ["admin"])),
    responses(
        (status = 204, description = "The user has no second factor"),
        CommonErrors,
    ),
)]
async fn reset_second_factor(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(user): PathParam<UserId>,
) -> Reply {
    engine.instance(&actor)?.reset_second_factor(user).await?;
    reply::done()
}
