//! The people of an app: who has access to it, and with which role. Roles are changed through the
//! users.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use sluice_engine::Engine;
use sluice_engine::rows::{Page, Role, Scope};
use sluice_flow::id::{AppId, UserId};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::auth::Caller;
use super::page::{List, PageQuery};
use super::reply::{self, CommonErrors, QueryErrors, Reply};
use super::request::{PathParam, Query};

pub(super) fn routes() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default().routes(routes!(list))
}

/// A person with access to an app.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({
    "userId": "us_01KA2VgdPrWYDVgYy3wLpE", "email": "ann@example.com", "name": "Ann",
    "role": "editor", "roleInAll": null, "disabled": false
}))]
struct Member {
    #[schema(value_type = String)]
    user_id: UserId,
    email: String,
    name: String,
    /// The role in this app alone: `viewer`, `editor` or `owner`; null if there is none.
    #[schema(value_type = Option<String>, required = true)]
    role: Option<Role>,
    /// The role in all apps; null if there is none.
    #[schema(value_type = Option<String>, required = true)]
    role_in_all: Option<Role>,
    /// A disabled user cannot sign in.
    disabled: bool,
}

impl From<sluice_engine::people::Member> for Member {
    fn from(member: sluice_engine::people::Member) -> Self {
        Self {
            user_id: member.user_id,
            email: member.email,
            name: member.name,
            role: member.role,
            role_in_all: member.everywhere,
            disabled: member.is_disabled,
        }
    }
}

/// List the people of an app
///
/// Everyone with a role in it or in all apps, oldest first, disabled ones included.
#[utoipa::path(
    get, path = "/apps/{appId}/members", operation_id = "listMembers", tag = "Users",
    security(("adminToken" = ["admin"])),
    params(PageQuery<UserId>),
    responses(
        (status = 200, description = "A page of people", body = List<Member>),
        CommonErrors, QueryErrors,
    ),
)]
async fn list(
    State(engine): State<Arc<Engine>>,
    Caller(actor): Caller,
    PathParam(app): PathParam<AppId>,
    Query(query): Query<PageQuery<UserId>>,
) -> Reply {
    let page = Page { after: query.after, limit: query.limit.and_one() };
    let members =
        engine.app(&actor, Scope::Admin, app).await?.list_members(page).await?.into_iter();
    let members = members.map(Member::from).collect();
    reply::ok(List::new(members, query.limit, |member: &Member| member.user_id.to_string()))
}
