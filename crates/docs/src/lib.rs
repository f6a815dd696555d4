//! The documentation at `/docs`: the guides of the folder `docs` as pages, the API reference in
//! the same frame, and a search. Everything works without scripts, and nothing is loaded from other
//! origins.

mod frame;
mod markdown;
mod pages;
mod query;
mod reply;
mod search;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::response::Response;
use axum::routing::get;
use maud::Markup;

use frame::Shown;
use markdown::Page;
use reply::{html, typed};

const STYLE: &str = include_str!("../assets/docs.css");
/// Copies code, and remembers the language of samples.
const SCRIPT: &str = include_str!("../assets/docs.js");

/// Rendered when the first page is read.
static SITE: LazyLock<Vec<Page>> = LazyLock::new(|| pages::all().map(Page::new).collect());

/// The API reference: its table of contents, and its text.
#[derive(Debug)]
pub struct Reference {
    pub contents: Markup,
    pub text: Markup,
}

/// Serves everything below `/docs`. The reference is rendered when it is first read.
pub fn router(reference: impl FnOnce() -> Reference + Send + 'static) -> Router {
    let reference = || frame::page(&Shown::reference(&reference())).into_string();
    let reference = Arc::new(LazyLock::new(reference));
    Router::new()
        .route("/docs", get(async || page("")))
        .route("/docs/reference", get(move || std::future::ready(html(String::clone(&reference)))))
        .route("/docs/search", get(async |RawQuery(query)| found(query.as_deref())))
        .route("/docs/style.css", get(async || typed("text/css; charset=utf-8", STYLE)))
        .route("/docs/script.js", get(async || typed("text/javascript; charset=utf-8", SCRIPT)))
        .route("/docs/{slug}", get(async |Path(slug): Path<String>| page(&slug)))
        .route("/docs/images/{name}", get(async |Path(name): Path<String>| picture(&name)))
}

/// A page by its slug; with `.md`, the file that it is made of.
fn page(slug: &str) -> Response {
    let wanted = slug.strip_suffix(".md").unwrap_or(slug);
    match SITE.iter().find(|page| page.source.slug == wanted) {
        Some(page) if wanted.len() < slug.len() => {
            typed("text/markdown; charset=utf-8", page.source.markdown)
        }
        Some(page) => html(frame::page(&Shown::guide(page)).into_string()),
        None => reply::missing(frame::page(&Shown::missing()).into_string()),
    }
}

fn found(query: Option<&str>) -> Response {
    let query = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .find_map(|(name, value)| (name == "q").then_some(value))
        .unwrap_or_default();
    let hits = search::find(&SITE, &query);
    html(frame::page(&Shown::hits(&query, &hits)).into_string())
}

fn picture(name: &str) -> Response {
    let path = format!("images/{name}");
    match pages::PICTURES.iter().find(|picture| picture.path == path) {
        Some(picture) if name.ends_with(".svg") => typed("image/svg+xml", picture.bytes),
        Some(picture) => typed("image/png", picture.bytes),
        None => page(name),
    }
}

#[cfg(test)]
mod tests;
