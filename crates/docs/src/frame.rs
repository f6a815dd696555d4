//! The frame around every page: navigation, search, the text, and the next page.

use maud::{DOCTYPE, Markup, html};

use crate::Reference;
use crate::markdown::Page;
use crate::pages::{self, GROUPS};
use crate::query::QUERY_CHARS_MAX;
use crate::search::Hit;

/// What one page shows.
pub(crate) struct Shown {
    title: String,
    /// The slug of the page, to mark it in the navigation.
    slug: Option<&'static str>,
    query: String,
    /// The headings of the page.
    contents: Option<Markup>,
    text: Markup,
    /// Whether the page has code to copy.
    has_code: bool,
}

impl Shown {
    pub(crate) fn guide(page: &Page) -> Self {
        let headings = page.sections.iter().filter(|section| section.level == 2).count();
        Self {
            title: page.source.title().to_owned(),
            slug: Some(page.source.slug),
            query: String::new(),
            contents: (headings > 2).then(|| page.contents()),
            text: html! { div.guide { (page.text) } (next(page.source.slug)) },
            has_code: true,
        }
    }

    pub(crate) fn reference(reference: &Reference) -> Self {
        Self {
            title: "API reference".to_owned(),
            slug: Some("reference"),
            query: String::new(),
            contents: Some(reference.contents.clone()),
            text: reference.text.clone(),
            has_code: true,
        }
    }

    pub(crate) fn missing() -> Self {
        let text = html! {
            h1 { "No such page" }
            p { "The documentation has no page at this address. Search for it, or start at the " a href="/docs" { "overview" } "." }
        };
        Self {
            title: "No such page".to_owned(),
            slug: None,
            query: String::new(),
            contents: None,
            text,
            has_code: false,
        }
    }

    pub(crate) fn hits(query: &str, hits: &[Hit<'_>]) -> Self {
        let text = html! {
            h1 { "Search" }
            @if query.trim().is_empty() {
                p { "Enter one or more words. A section is found if it has all of them." }
            } @else if hits.is_empty() {
                p { "Nothing has all of these words: " strong { (query) } ". Try fewer or shorter ones; endpoints are in the " a href="/docs/reference" { "API reference" } "." }
            }
            ol.hits { @for hit in hits { (found(hit)) } }
        };
        Self {
            title: "Search".to_owned(),
            slug: None,
            query: query.to_owned(),
            contents: None,
            text,
            has_code: false,
        }
    }
}

fn found(hit: &Hit<'_>) -> Markup {
    let (page, section) = (hit.page.source, hit.section);
    let title = page.title();
    html! {
        li {
            a href={ (page.address()) @if !section.anchor.is_empty() { "#" (section.anchor) } } {
                (title)
                @if !section.anchor.is_empty() { " › " (section.heading) }
            }
            p { @for piece in &hit.excerpt {
                @if piece.is_hit { mark { (piece.text) } } @else { (piece.text) }
            } }
        }
    }
}

fn next(slug: &str) -> Markup {
    let mut after = pages::all().skip_while(|page| page.slug != slug).skip(1);
    html! {
        @if let Some(page) = after.next() {
            p.next { "Next: " a href=(page.address()) { (page.title()) } }
        }
    }
}

pub(crate) fn page(shown: &Shown) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (shown.title) " · Sluice" }
                link rel="stylesheet" href="/docs/style.css";
                @if shown.has_code { script src="/docs/script.js" defer {} }
            }
            body {
                a.skip href="#main" { "Skip to the text" }
                header {
                    (brand())
                    (search_form(shown, "search-narrow"))
                    details { summary { "Contents" } nav { (navigation(shown)) } }
                }
                aside { (brand()) (search_form(shown, "search-wide")) nav { (navigation(shown)) } }
                main #main { (shown.text) }
            }
        }
    }
}

fn brand() -> Markup {
    html! { p.brand { a href="/docs" { "Sluice" } " " span.version { (env!("CARGO_PKG_VERSION")) } } }
}

fn search_form(shown: &Shown, id: &str) -> Markup {
    html! {
        form.search role="search" action="/docs/search" {
            label for=(id) { "Search the documentation" }
            input id=(id) type="search" name="q" value=(shown.query) maxlength=(QUERY_CHARS_MAX) placeholder="Search";
        }
    }
}

/// Rendered twice, and only one is visible: folded at the top of a narrow page, open beside a wide
/// one.
fn navigation(shown: &Shown) -> Markup {
    let reference = html! {
        h2 { "Reference" }
        ul { (entry(shown, "reference", "/docs/reference", "API reference")) }
    };
    // Its contents are long: on its own page they come first.
    let is_first = shown.slug == Some("reference");
    html! {
        @if is_first { (reference) }
        @for group in GROUPS {
            h2 { (group.title) }
            ul { @for page in group.pages { (entry(shown, page.slug, &page.address(), page.title())) } }
        }
        @if !is_first { (reference) }
    }
}

fn entry(shown: &Shown, slug: &'static str, address: &str, title: &str) -> Markup {
    let is_here = shown.slug == Some(slug);
    html! {
        li {
            a href=(address) aria-current=[is_here.then_some("page")] { (title) }
            @if let (true, Some(contents)) = (is_here, &shown.contents) { div.here { (contents) } }
        }
    }
}
