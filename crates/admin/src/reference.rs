//! The text of the API reference, rendered from the OpenAPI document at start.
//!
//! One page: the browser's search finds everything, and its contents link to every operation.

mod example;
mod operation;

use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use operation::Operation;

/// The API reference, for the documentation site to frame.
#[derive(Debug)]
pub struct ReferencePage {
    pub contents: Markup,
    pub text: Markup,
}

impl ReferencePage {
    pub(crate) fn new(document: &Value, public_url: &str, admin_url: &str) -> Self {
        let operations = operation::all_of(document);
        let tags = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
        let text = html! {
            (introduction(public_url))
            @for tag in tags { (section(document, tag, &operations, [public_url, admin_url])) }
        };
        Self { contents: contents(tags, &operations), text }
    }
}

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
    [public_url, admin_url]: [&str; 2],
) -> Markup {
    let name = text(tag, "name");
    html! {
        section id=(anchor(name)) {
            h2 { (name) }
            p { (prose(text(tag, "description"))) }
            @for operation in operations.iter().filter(|operation| operation.tag() == name) {
                (operation.article(document, if operation.is_admin() { admin_url } else { public_url }))
            }
        }
    }
}

fn introduction(public_url: &str) -> Markup {
    html! {
        h1 { "API reference" }
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
