//! The admin API: apps, keys, flows, versions, responses, respondents, tokens, users and the audit
//! log over HTTP.
//!
//! Each resource is complete in one file: request types, reply types, handlers, routes. A handler
//! parses a request, calls one use case of the engine, and wraps the result; it contains no rules.
//! The engine decides who may do what; [`auth`] authenticates the caller before every route, so
//! that no handler can forget it. Each route is registered together with its documentation, so that
//! none can be missing from the OpenAPI document.
//!
//! Deliberately absent: CORS. An admin token does not belong in a browser on another origin.

mod apps;
mod assets;
mod audit;
mod auth;
mod conditional;
mod crosstab;
mod deliveries;
mod design;
mod drafts;
mod events;
mod exports;
mod flow_state;
mod flows;
mod funnel;
mod idempotency;
mod identity_keys;
mod invitation_email;
mod invitations;
mod keys;
mod members;
pub mod openapi;
mod outbound;
mod page;
mod pointer;
mod reference;
mod reply;
mod reports;
mod request;
mod resources;
mod respondents;
mod responses;
mod schema;
mod short_path;
mod summary;
mod test_responses;
mod tokens;
mod users;
mod versions;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use sluice_engine::Engine;
use sluice_http::client::Proxies;
use utoipa_axum::router::OpenApiRouter;

pub use reply::Problem;

/// Where the routes are nested; also stated in the OpenAPI document.
pub const BASE: &str = "/api/admin/v1";

/// The largest body of the admin API, in bytes: a definition of 1 MiB.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// Every route of the admin API, relative to [`BASE`].
pub fn router(engine: Arc<Engine>, proxies: Proxies) -> Router {
    let (router, document) = documented().split_for_parts();
    let without_parameters = Arc::new(request::ParameterlessOperations::new(&document));
    let resources = Arc::new(conditional::Resources {
        engine: Arc::clone(&engine),
        routes: router.clone().with_state(Arc::clone(&engine)),
    });
    let gate = Arc::new(auth::Gate::new(Arc::clone(&engine), proxies));
    router
        .fallback(reply::no_route)
        .method_not_allowed_fallback(reply::wrong_method)
        .layer(from_fn_with_state(without_parameters, request::refuse_parameters))
        .layer(from_fn_with_state(resources, conditional::conditional))
        .layer(from_fn_with_state(Arc::clone(&engine), idempotency::carried_out_once))
        .layer(from_fn_with_state(gate, auth::authenticate))
        .with_state(engine)
}

/// The routes with their OpenAPI documentation.
pub fn documented() -> OpenApiRouter<Arc<Engine>> {
    OpenApiRouter::default()
        .merge(apps::routes())
        .merge(keys::routes())
        .merge(assets::routes())
        .merge(identity_keys::routes())
        .merge(flows::routes())
        .merge(flow_state::routes())
        .merge(drafts::routes())
        .merge(short_path::routes())
        .merge(versions::routes())
        .merge(responses::routes())
        .merge(test_responses::routes())
        .merge(summary::routes())
        .merge(crosstab::routes())
        .merge(funnel::routes())
        .merge(exports::routes())
        .merge(respondents::routes())
        .merge(invitations::routes())
        .merge(invitation_email::routes())
        .merge(reports::routes())
        .merge(events::routes())
        .merge(webhooks::routes())
        .merge(deliveries::routes())
        .merge(tokens::routes())
        .merge(users::routes())
        .merge(members::routes())
        .merge(audit::routes())
        .merge(outbound::routes())
}
