//! The API reference page at `/docs`, rendered from the OpenAPI document at start.
//!
//! One page without scripts: the browser's search finds everything, and it links to every
//! operation. It loads nothing from other origins; its content security policy forbids it.

mod example;
mod operation;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use operation::Operation;

const STYLE: &str = include_str!("../assets/docs.css");
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Serves `/docs` and its style sheet.
pub(crate) fn router(document: &Value, public_url: &str) -> Router {
    let page = page(document, public_url).into_string();
    Router::new()
        .route("/docs", get(move || std::future::ready(guarded(Html(page.clone())))))
        .route("/docs/style.css", get(async || guarded(style())))
}

fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"))], STYLE)
}

fn guarded(body: impl IntoResponse) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        // A new release may change the content at the same address.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, body).into_response()
}

fn page(document: &Value, public_url: &str) -> Markup {
    let operations = operation::all_of(document);
    let tags = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
    let version = document["info"]["version"].as_str().unwrap_or_default();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Sluice API" }
                link rel="stylesheet" href="/docs/style.css";
            }
            body {
                a.skip href="#main" { "Skip to the text" }
                header { (brand(version)) details { summary { "Contents" } nav { (contents(tags, &operations)) } } }
                aside { (brand(version)) nav { (contents(tags, &operations)) } }
                main #main {
                    (introduction(public_url))
                    @for tag in tags { (section(document, tag, &operations, public_url)) }
                }
            }
        }
    }
}

fn brand(version: &str) -> Markup {
    html! { p.brand { a href="#main" { "Sluice" } " " span.version { (version) } } }
}

/// Rendered twice, and only one is visible: folded at the top of a narrow page, open beside a wide
/// one.
fn contents(tags: &[Value], operations: &[Operation<'_>]) -> Markup {
    html! {
        ul {
            li { a href="#calls" { "The three calls" } }
            li { a href="#rules" { "Rules of the admin API" } }
        }
        @for tag in tags {
            @let name = text(tag, "name");
            h2 { a href={ "#" (anchor(name)) } { (name) } }
            ul {
                @for operation in operations.iter().filter(|operation| operation.tag() == name) {
                    li { a href={ "#" (operation.id()) } { (operation.summary()) } }
                }
            }
        }
    }
}

fn section(
    document: &Value,
    tag: &Value,
    operations: &[Operation<'_>],
    public_url: &str,
) -> Markup {
    let name = text(tag, "name");
    html! {
        section id=(anchor(name)) {
            h2 { (name) }
            p { (prose(text(tag, "description"))) }
            @for operation in operations.iter().filter(|operation| operation.tag() == name) {
                (operation.article(document, public_url))
            }
        }
    }
}

fn introduction(public_url: &str) -> Markup {
    html! {
        h1 { "Sluice API" }
        p.lead {
            "Publish surveys, forms and messages, and collect responses durably. "
            "This server is at " code { (public_url) } ". For programs: " a href="/openapi.json" { "OpenAPI 3.1" } " and the "
            a href="/schemas/definition.json" { "JSON Schema of a definition" } "."
        }
        section #calls {
            h2 { "The three calls" }
            p {
                "A client resolves the latest version of a flow, fetches its snapshot, and submits "
                "answers to it. The key in the path is publishable: it grants these calls, nothing "
                "else. If a submission is refused as no longer accepted, resolve again first."
            }
            pre { code { "BASE=" (public_url) (THREE_CALLS) } }
        }
        section #rules {
            h2 { "Rules of the admin API" }
            ul {
                li { (prose("Send `Authorization: Bearer <admin token>`. Each operation names the scope that it needs; `admin` holds every other scope, `write` holds `read`. Resources of an app that the token does not cover return 404.")) }
                li { (prose("Bodies are JSON of at most 1 MiB. Unknown fields and query parameters are refused, so that a typo is not lost.")) }
                li { (prose("Errors are `application/problem+json` with a `code`; 422 lists every fault in `errors`, each with its JSON Pointer.")) }
                li { (prose("Lists are `{items, next}`. Send `next` as `after` for the next page; it is null at the end of the list.")) }
                li { (prose("Times are RFC 3339 in UTC with milliseconds. A window includes its start and excludes its end.")) }
            }
        }
    }
}

const THREE_CALLS: &str = "/api/v1/pk_7n42DGM5Tflk9n8mt7Fhc7

# 1. the latest published version of the flow
curl $BASE/flows/fl_01KA2VgdPrWYDVgYy3wLpB

# 2. its snapshot, in payload generation 4
curl $BASE/flow_versions/fv_01KA2VgdPrWYDVgYy3wLpC?payload=4

# 3. answers to it
curl $BASE/trpc/response.submit \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: 5f0c2a9e' \\
  -d '{\"flowVersionId\":\"fv_01KA2VgdPrWYDVgYy3wLpC\",
       \"flowVersionPayloadGeneration\":\"4\",
       \"respondentAnalyticsAdmission\":\"collection_only\",
       \"answers\":{\"nps\":\"9\"}}'";

fn anchor(name: &str) -> String {
    name.to_ascii_lowercase().replace(' ', "-")
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// The text of a description: text in backticks is code, an empty line separates paragraphs.
fn prose(description: &str) -> Markup {
    html! {
        @for (index, part) in description.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (paragraphs(part)) }
        }
    }
}

fn paragraphs(part: &str) -> Markup {
    html! {
        @for (index, piece) in part.split("\n\n").enumerate() {
            @if index > 0 { (PreEscaped("<br><br>")) }
            (piece)
        }
    }
}
