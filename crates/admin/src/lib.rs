//! The admin API: apps, keys, flows, versions, responses, respondents, tokens, users and the audit
//! log over HTTP.
//!
//! A resource is whole in one file: what comes in, what goes out, handlers, routes. A handler takes
//! a request, calls one use case of the engine, and wraps what comes back; it holds no rule. Who
//! may do what is the engine's to decide; that there is a caller at all is [`auth`]'s, in front of
//! every route, so that no handler can forget it. Each route is registered together with its
//! documentation, so that none can be missing from the OpenAPI document.
//!
//! Deliberately absent: CORS. An admin token does not belong into a browser of another origin.

mod apps;
mod audit;
mod auth;
mod docs;
mod drafts;
mod exports;
mod flows;
mod identity_keys;
mod invitations;
mod keys;
mod members;
pub mod openapi;
mod page;
mod pointer;
mod reply;
mod request;
mod respondents;
mod responses;
mod schema;
mod summary;
mod tokens;
mod users;
mod versions;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use sluice_engine::Engine;
use sluice_http::client::Proxies;
use utoipa_axum::router::OpenApiRouter;

pub use reply::Problem;

/// Where the routes are to be nested; the OpenAPI document says it, too.
pub const BASE: &str = "/api/admin/v1";

/// Every route of the admin API, relative to [`BASE`].
pub fn router(engine: Arc<Engine>, proxies: Proxies) -> Router {
    let (router, _) = documented().split_for_parts();
    let gate = Arc::new(auth::Gate::new(Arc::clone(&engine), proxies));
    router
        .fallback(reply::no_route)
        .method_not_allowed_fallback(reply::wrong_method)
        .layer(from_fn_with_state(gate, auth::authenticate))
        .with_state(engine)
}

/// The routes with what the OpenAPI document says of each.
pub fn documented() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .merge(apps::routes())
        .merge(keys::routes())
        .merge(identity_keys::routes())
        .merge(flows::routes())
        .merge(drafts::routes())
        .merge(versions::routes())
        .merge(responses::routes())
        .merge(summary::routes())
        .merge(exports::routes())
        .merge(respondents::routes())
        .merge(invitations::routes())
        .merge(tokens::routes())
        .merge(users::routes())
        .merge(members::routes())
        .merge(audit::routes())
}
