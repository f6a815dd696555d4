//! Users of the console: who may sign in by e-mail, and what they may do where.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use sluice_engine::Engine;
use sluice_engine::people::{UserDetail, UserPatch};
use sluice_engine::rows::{Page, Role};
use sluice_flow::id::{AppId, UserId};
use sluice_flow::time::Timestamp;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{List, PageQuery};
use super::reply::{self, BadBody, BadQuery, Guarded, Problem, Reply};
use super::request::{AtId, Body, Query};
use super::schema;

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .routes(routes!(create, list))
        .routes(routes!(get, update))
        .routes(routes!(set_role))
        .routes(routes!(reset))
}

/// A user to be made, with one role.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(example = json!({"email": "ann@example.com", "name": "Ann", "role": "editor", "appId": null}))]
struct NewUser {
    /// By which they sign in; the case of letters does not matter.
    email: String,
    /// 1 to 200 characters.
    name: String,
    #[schema(schema_with = schema::role)]
    role: Role,
    /// The one app that the role is for; null for all apps and the instance.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    app_id: Option<AppId>,
}

/// What to change; what is absent stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(as = UserPatch, example = json!({"disabled": true}))]
struct Patch {
    name: Option<String>,
    /// Whoever is disabled is signed out everywhere, and cannot sign in.
    disabled: Option<bool>,
}

/// A role in an app, or in all.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
#[schema(as = UserGrant, example = json!({"appId": null, "role": "viewer"}))]
struct Grant {
    /// Null for all apps and the instance.
    #[serde(default)]
    #[schema(value_type = Option<String>, required = true)]
    app_id: Option<AppId>,
    /// Null takes the role away.
    #[schema(schema_with = schema::role, required = true)]
    role: Option<Role>,
}

/// A user, without anything that proves who they are.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "userId": "us_01KA2VgdPrWYDVgYy3wLpE", "email": "ann@example.com", "name": "Ann",
    "grants": [{"appId": null, "role": "owner"}], "hasPassword": true, "hasOpenId": false,
    "createdAt": "2026-11-15T02:00:00.000Z", "disabledAt": null
}))]
struct User {
    #[schema(value_type = String)]
    user_id: UserId,
    email: String,
    name: String,
    grants: Vec<Grant>,
    has_password: bool,
    /// Whether they have signed in by the OpenID provider.
    has_open_id: bool,
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
            grants: grants.map(|it| Grant { app_id: it.app_id, role: Some(it.role) }).collect(),
            has_password: user.has_password,
            has_open_id: user.has_subject,
            created_at: user.created_at,
            disabled_at: user.disabled_at,
        }
    }
}

/// A user who has just been made, with the link to set a password.
#[derive(Serialize, ToSchema)]
struct UserWithLink {
    #[serde(flatten)]
    user: User,
    /// For the user alone: it sets their password, once, within 24 hours. Shown now and never again.
    link: String,
}

/// A link to set a password.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"link": "https://feedback.example.com/console/welcome#…"}))]
struct Link {
    /// For the user alone: it sets their password, once, within 24 hours. Shown now and never again.
    link: String,
}

/// Make a user
///
/// The reply has a link with which they set their password; send it to them and to nobody else.
#[utoipa::path(
    post, path = "/users", operation_id = "createUser", tag = "Users",
    security(("adminToken" = ["admin"])),
    request_body = NewUser,
    responses(
        (status = 201, description = "The user, and the link", body = UserWithLink),
        (status = 404, description = "`app_not_found`: there is no app `appId`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`email_taken`", body = Problem, content_type = "application/problem+json"),
        Guarded, BadBody,
    ),
)]
async fn create(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Body(new): Body<NewUser>,
) -> Reply {
    let NewUser { email, name, role, app_id } = new;
    let new = sluice_engine::people::NewUser { email, name, role, app_id };
    let (user, secret) = engine.create_user(&actor, new).await?;
    reply::created(UserWithLink { user: user.into(), link: engine.welcome_url(&secret) })
}

/// List users
///
/// In the order they were made, disabled ones included.
#[utoipa::path(
    get, path = "/users", operation_id = "listUsers", tag = "Users",
    security(("adminToken" = ["admin"])),
    params(PageQuery<UserId>),
    responses((status = 200, description = "A page of users", body = List<User>), Guarded, BadQuery),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    Query(query): Query<PageQuery<UserId>>,
) -> Reply {
    let page = Page { after: query.after, limit: query.limit.and_one() };
    let users = engine.list_users(&actor, page).await?.into_iter().map(User::from).collect();
    reply::ok(List::of(users, query.limit, |user: &User| user.user_id.to_string()))
}

/// A user
#[utoipa::path(
    get, path = "/users/{userId}", operation_id = "getUser", tag = "Users",
    security(("adminToken" = ["admin"])),
    params(("userId" = String, Path)),
    responses(
        (status = 200, description = "The user", body = User),
        (status = 404, description = "`user_not_found`", body = Problem, content_type = "application/problem+json"),
        Guarded,
    ),
)]
async fn get(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    AtId(user): AtId<UserId>,
) -> Reply {
    reply::ok(User::from(engine.get_user(&actor, user).await?))
}

/// Rename, disable or enable a user
///
/// The last owner of the instance cannot be disabled.
#[utoipa::path(
    patch, path = "/users/{userId}", operation_id = "updateUser", tag = "Users",
    security(("adminToken" = ["admin"])),
    params(("userId" = String, Path)),
    request_body = Patch,
    responses(
        (status = 200, description = "The user as it is now", body = User),
        (status = 404, description = "`user_not_found`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`last_owner`", body = Problem, content_type = "application/problem+json"),
        Guarded, BadBody,
    ),
)]
async fn update(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    AtId(user): AtId<UserId>,
    Body(patch): Body<Patch>,
) -> Reply {
    let patch = UserPatch { name: patch.name, disabled: patch.disabled };
    reply::ok(User::from(engine.update_user(&actor, user, &patch).await?))
}

/// Give a user a role, or take one away
///
/// In one app, or in all. A token that is bound to an app may do so for that app. The last owner of the instance
/// stays.
#[utoipa::path(
    put, path = "/users/{userId}/role", operation_id = "setUserRole", tag = "Users",
    security(("adminToken" = ["admin"])),
    params(("userId" = String, Path)),
    request_body = Grant,
    responses(
        (status = 204, description = "Done"),
        (status = 404, description = "`user_not_found`, `app_not_found`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`last_owner`", body = Problem, content_type = "application/problem+json"),
        Guarded, BadBody,
    ),
)]
async fn set_role(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    AtId(user): AtId<UserId>,
    Body(grant): Body<Grant>,
) -> Reply {
    engine.set_role(&actor, user, grant.app_id, grant.role).await?;
    reply::done()
}

/// Make another link to set a password
///
/// The one before is over. The password that the user has stays until the link is used; then all their sessions end.
#[utoipa::path(
    post, path = "/users/{userId}/reset", operation_id = "resetUser", tag = "Users",
    security(("adminToken" = ["admin"])),
    params(("userId" = String, Path)),
    responses(
        (status = 200, description = "The link", body = Link),
        (status = 404, description = "`user_not_found`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`user_disabled`", body = Problem, content_type = "application/problem+json"),
        Guarded,
    ),
)]
async fn reset(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    AtId(user): AtId<UserId>,
) -> Reply {
    let secret = engine.reset_user(&actor, user).await?;
    reply::ok(Link { link: engine.welcome_url(&secret) })
}
