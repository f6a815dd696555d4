//! The whole site: its table, its links and its pictures.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use axum::http::header;
use pulldown_cmark::Event;

use super::*;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn files(folder: &Path, extension: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            let path = path.strip_prefix(docs()).unwrap();
            found.insert(path.to_str().unwrap().to_owned());
        }
    }
    found
}

#[test]
fn every_file_of_the_folder_is_a_page() {
    let pages: BTreeSet<_> = pages::all()
        .map(|page| page.path.to_owned())
        .filter(|path| !path.starts_with("../"))
        .collect();
    assert_eq!(pages, files(&docs(), "md"));
}

#[test]
fn slugs_are_unique_and_leave_the_fixed_addresses_free() {
    let slugs: Vec<_> = pages::all().map(|page| page.slug).collect();
    let unique: BTreeSet<_> = slugs.iter().collect();
    assert_eq!(unique.len(), slugs.len());
    for fixed in ["reference", "search", "style.css", "script.js", "images"] {
        assert!(!slugs.contains(&fixed), "{fixed}");
    }
}

/// The targets of an attribute in the text of a page.
fn targets<'a>(text: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

#[test]
fn every_link_leads_to_a_heading_and_every_picture_exists() {
    for page in SITE.iter() {
        let text = &page.text.0;
        for target in targets(text, "<a href=\"").filter(|it| !it.contains("://")) {
            let (address, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = SITE.iter().find(|it| {
                it.source.address() == address
                    || (address.is_empty() && it.source.slug == page.source.slug)
            });
            if address == "/docs/reference" {
                continue;
            }
            let linked = linked.unwrap_or_else(|| panic!("{}: {target}", page.source.path));
            let has_anchor = linked.sections.iter().any(|it| it.anchor == anchor);
            assert!(anchor.is_empty() || has_anchor, "{}: {target}", page.source.path);
        }
        for target in targets(text, "<img src=\"") {
            let is_known = pages::PICTURES.iter().any(|it| format!("/docs/{}", it.path) == target);
            assert!(is_known, "{}: {target}", page.source.path);
        }
    }
}

#[test]
fn the_overview_links_to_every_page() {
    let overview = SITE.iter().find(|page| page.source.slug.is_empty()).unwrap();
    for page in pages::all().filter(|page| !page.slug.is_empty()) {
        let link = format!("href=\"{}\"", page.address());
        assert!(overview.text.0.contains(&link), "{link}");
    }
}

#[test]
fn every_page_has_one_title_and_no_html_but_keys() {
    for page in SITE.iter() {
        let titles = page.text.0.matches("<h1>").count();
        assert_eq!(titles, 1, "{}", page.source.path);
        let has_html = pulldown_cmark::Parser::new(page.source.markdown).any(|event| match event {
            Event::Html(text) => !text.starts_with("<!--"),
            Event::InlineHtml(tag) => !markdown::is_key(&tag),
            _ => false,
        });
        assert!(!has_html, "{}", page.source.path);
        // The policy of the pages forbids inline styles; a column with an alignment gets one.
        let is_styled = ["<td style", "<th style"].iter().any(|cell| page.text.0.contains(cell));
        assert!(!is_styled, "{}", page.source.path);
    }
}

#[test]
fn pages_files_and_pictures_are_served_and_others_are_not_found() {
    let kind =
        |reply: &Response| reply.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
    assert_eq!(page("flows").status(), 200);
    assert_eq!(kind(&page("flows.md")), "text/markdown; charset=utf-8");
    assert_eq!(kind(&picture("version-life.svg")), "image/svg+xml");
    for missing in ["nothing", "nothing.md", "../README", "flows.md.md"] {
        assert_eq!(page(missing).status(), 404, "{missing}");
    }
    assert_eq!(picture("nothing.png").status(), 404);
}

#[test]
fn a_query_is_shown_as_text() {
    let hits = search::find(&SITE, "<script>");
    let shown = frame::page(&Shown::hits("<script>\"", &hits)).into_string();
    assert!(!shown.contains("<script"), "{shown}");
    assert_eq!(found(Some("q=%FF&q=x")).status(), 200);
    assert_eq!(found(None).status(), 200);
}
