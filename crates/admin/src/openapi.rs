//! The OpenAPI 3.1 document of the whole service, generated from the code, and the routes that
//! serve it.
//!
//! The admin API's part comes from the routes themselves, so that none can be missing; the public
//! API's calls are described in [`public`] and [`visits`], and what endpoints receive in
//! [`webhooks`]. The document is generated once, when it is first read. [`finish`] adds what the
//! derived parts cannot express, [`samples`] code that makes the calls.

mod definition;
mod errors;
mod finish;
mod headers;
mod limits;
mod public;
mod samples;
mod visits;
mod webhooks;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use utoipa::OpenApi as _;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use crate::reference::ReferencePage;
pub(crate) use webhooks::event_example;

/// The reference page. It shows these URLs of the public API and of the admin API; the document has
/// only its path, which clients resolve against the address that they got it from.
pub fn reference(public_url: &str, admin_url: &str) -> ReferencePage {
    ReferencePage::new(&document_for(public_url, admin_url), public_url)
}

/// Serves `/openapi.json` and `/schemas/definition.json` of a service that is below this path of
/// its host.
pub fn router(public_path: &str) -> Router {
    let public_path = public_path.to_owned();
    let document = move || pretty(&document_below(&public_path));
    let definition = || pretty(sluice_flow::definition::json_schema());
    Router::new()
        .route("/openapi.json", constant(document, "application/json"))
        .route("/schemas/definition.json", constant(definition, "application/schema+json"))
}

/// The same document with this path of the server.
fn document_below(public_path: &str) -> Value {
    let mut document = document();
    if !public_path.is_empty()
        && let Some(url) = document.pointer_mut("/servers/0/url")
    {
        *url = public_path.into();
    }
    document
}

/// The document as a value, for the router and for tests.
pub fn document() -> Value {
    document_for(samples::URL, samples::URL)
}

/// The document with code samples for a server at these addresses.
fn document_for(public_url: &str, admin_url: &str) -> Value {
    let (_, routes) = crate::documented().split_for_parts();
    let mut document = ApiDocument::openapi().nest(crate::BASE, routes);
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(
            "An admin token. Each operation names the scope that it needs; \
             `admin` holds every other scope, `write` holds `read`.",
        ))
        .build();
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("adminToken", SecurityScheme::Http(token));
    let identity = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .description(Some(
            "A token of your own identity provider, if the app verifies identities: required in \
             the mode `enforce`, checked and counted in `observe`, ignored in `off`.",
        ))
        .build();
    components.add_security_scheme("identityToken", SecurityScheme::Http(identity));
    document.webhooks = webhooks::webhooks();
    // The document always serialises as JSON.
    let mut document = finish::finished(serde_json::to_value(document).unwrap_or_default());
    samples::add_to(&mut document, public_url, admin_url);
    document
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Sluice",
        description = "Publish surveys, forms and messages, and collect responses durably.\n\n\
            The public API needs a publishable key in its path; the admin API needs an admin token.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    servers((url = "/")),
    paths(public::resolve_flow, public::fetch_version, public::fetch_schema, public::submit_response,
        public::validate_response, visits::count_visit),
    components(schemas(crate::Problem, public::TextOrList, public::TrpcError)),
    tags(
        (name = "Public API", description = "Resolve a published flow, fetch its snapshot, judge and submit answers, count visits."),
        (name = "Apps", description = "Tenants, each with its own keys and flows."),
        (name = "Keys", description = "Publishable keys of an app; several may be active, so that they can be rotated."),
        (name = "Identity", description = "Keys for identity tokens, and the counts of token checks."),
        (name = "Flows", description = "Surveys, forms and messages."),
        (name = "Drafts", description = "What an author edits. The body is a definition (`/schemas/definition.json`)."),
        (name = "Versions", description = "Publishing, rollback and retirement."),
        (name = "Responses", description = "What was submitted and stored."),
        (name = "Respondents", description = "Profiles that responses are linked to; export and erase them."),
        (name = "Invitations", description = "Flows assigned to people, each with a personal link that counts once."),
        (name = "Images", description = "Images for questions and options. Their ids start with `as_`, for asset."),
        (name = "Reports", description = "Results of a flow that anyone with the link can read."),
        (name = "Webhooks", description = "The event log, and endpoints that receive events."),
        (name = "Tokens", description = "Admin tokens, with scopes and for one app or all."),
        (name = "Users", description = "People who sign in to the console, each with roles in one app or in all."),
        (name = "Audit", description = "Who changed what."),
    ),
)]
struct ApiDocument;

fn pretty(value: &impl Serialize) -> Bytes {
    // Both documents always serialise as JSON.
    serde_json::to_vec_pretty(value).unwrap_or_default().into()
}

/// A route whose reply is rendered by its first request, and never changes while the process runs.
fn constant(
    make: impl FnOnce() -> Bytes + Send + 'static,
    media_type: &'static str,
) -> axum::routing::MethodRouter {
    let body = Arc::new(LazyLock::new(make));
    get(move || std::future::ready(unchanging(Bytes::clone(&body), media_type)))
}

fn unchanging(body: Bytes, media_type: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        // A new release may change the content at the same address.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, body).into_response()
}
