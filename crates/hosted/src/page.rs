//! The frame around every page: the head, the data for the script, and the content
//! security policy.
//!
//! Nothing is loaded from other origins: the style is inlined, the script and the logo come from
//! the same origin, and the policy allows nothing else. The template escapes all texts; the page
//! contains no markup from authors or respondents.

use std::collections::BTreeSet;

use axum::response::Response;
use http::HeaderMap;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sluice_engine::HostedFlow;
use sluice_flow::id::{FlowVersionId, ResponseId};
use sluice_flow::locale;
use sluice_flow::origin::{AllowedOrigin, AllowedOrigins, web_origin};
use sluice_flow::time::Timestamp;

use super::assets::{EXTRA_STYLE, SCRIPT, STYLE, STYLE_HASH, policy_hash};
use super::parameters::Parameters;
use super::reply::{self, Kind};
use super::words::Words;

/// The context of a page: reader, flow and language.
#[derive(Clone, Copy)]
pub(super) struct Frame<'f> {
    pub(super) words: &'static Words,
    /// The language of the page, as a BCP 47 tag.
    pub(super) language: &'f str,
    pub(super) parameters: &'f Parameters,
    pub(super) request: &'f HeaderMap,
    pub(super) flow: Option<&'f HostedFlow>,
    /// Set if the page is an author's preview.
    pub(super) preview: Option<&'f PreviewContext>,
    /// The path of the public URL, for addresses in style sheets.
    pub(super) public_path: &'f str,
}

/// A page for an author: a preview in the console, which stores nothing, or a test.
#[derive(Debug, Clone, Default)]
pub(super) struct PreviewContext {
    /// Where the form is sent instead of the public address.
    pub(super) address: String,
    /// The question that is shown first, even if the answers do not lead to it.
    pub(super) question: String,
    /// Whether it is the page of a test link, whose answers are stored as tests.
    pub(super) is_test: bool,
}

/// The data attributes of `<main>`, which the script reads.
#[derive(Debug, Clone, Default)]
pub(super) struct PageData<'f> {
    pub(super) state: &'static str,
    pub(super) version: Option<FlowVersionId>,
    /// A step after the first.
    pub(super) later: bool,
    pub(super) response: Option<ResponseId>,
    pub(super) redirect: Option<&'f str>,
    pub(super) done: Option<&'f str>,
    /// The URLs that the page may redirect to after the form is sent.
    pub(super) leads_to: Vec<&'f str>,
    pub(super) opened: Option<&'f str>,
    /// Where the steps of the visit are reported.
    pub(super) visits: Option<&'f str>,
    /// What other sites show where the link is shared; only of a form that anyone may open now.
    pub(super) card: Option<LinkCard>,
    /// Whether the flow has images, a matrix or a ranking.
    pub(super) has_extra_style: bool,
}

/// The title and the description of a shared link.
#[derive(Debug, Clone)]
pub(super) struct LinkCard {
    pub(super) title: String,
    pub(super) description: Option<String>,
}

/// The length of a shared link's description in characters; sites show no more.
const CARD_CHARS_MAX: usize = 200;

impl LinkCard {
    fn tags(&self) -> Markup {
        let description = self.description.as_deref().map(|text| beginning(text, CARD_CHARS_MAX));
        html! {
            meta property="og:type" content="website";
            meta property="og:title" content=(self.title);
            meta name="twitter:card" content="summary";
            @if let Some(description) = description {
                meta name="description" property="og:description" content=(description);
            }
        }
    }
}

/// The beginning of a text in one line, cut at a space if there is one.
fn beginning(text: &str, chars_max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = line.char_indices().nth(chars_max) else { return line };
    let cut = line[..end].rfind(' ').unwrap_or(end);
    format!("{}…", &line[..cut])
}

impl Frame<'_> {
    /// A whole page.
    pub(super) fn page(
        &self,
        kind: Kind,
        title: &str,
        data: &PageData<'_>,
        content: Markup,
    ) -> Response {
        let design = self.design_style();
        let markup = html! {
            (DOCTYPE)
            html lang=(self.language) dir=(self.direction()) data-theme=[self.theme()] {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="robots" content="noindex";
                    title { (title) }
                    @if let Some(card) = &data.card { (card.tags()) }
                    // Without this, browsers request `/favicon.ico`.
                    link rel="icon" href=(self.icon());
                    style { (PreEscaped(STYLE.as_str())) }
                    @if self.has_extra_style(data) { style { (PreEscaped(EXTRA_STYLE.0.as_str())) } }
                    @if let Some(design) = &design { style { (PreEscaped(design)) } }
                    script type="module" src={ "/f/assets/" (SCRIPT.name) } {}
                }
                body.hosted data-embed=[self.embedded()] { (self.main(data, content)) }
            }
        };
        let policy = self.policy(design.as_deref(), data);
        reply::page(kind, markup, &policy, self.request)
    }

    fn main(&self, data: &PageData<'_>, content: Markup) -> Markup {
        // Only our own pages may frame a preview; the policy enforces it.
        let origins = self.flow.filter(|_| self.preview.is_none());
        let origins = origins.map(|flow| origins_json(&flow.app().allowed_origins));
        html! {
            main #page
                data-state=(data.state)
                data-flow=[self.flow.map(|flow| flow.flow_id)]
                data-version=[data.version]
                data-origins=[origins]
                data-embed=[self.embedded()]
                data-later[data.later]
                data-response=[data.response]
                data-redirect=[data.redirect]
                data-done=[data.done]
                data-opened=[data.opened]
                data-visits=[data.visits]
                data-preview=[self.preview.map(|it| &it.question)] {
                (self.test_banner())
                (self.brand())
                (content)
            }
        }
    }

    fn test_banner(&self) -> Markup {
        let is_test = self.preview.is_some_and(|preview| preview.is_test);
        html! { @if is_test { div.notice { p { (self.words.state.test) } } } }
    }

    /// In the editor, a page keeps its policy while questions are added.
    fn has_extra_style(&self, data: &PageData<'_>) -> bool {
        data.has_extra_style || self.preview.is_some()
    }

    fn embedded(&self) -> Option<&'static str> {
        self.parameters.embed.then_some("1")
    }

    fn direction(&self) -> &'static str {
        if locale::is_right_to_left(self.language) { "rtl" } else { "ltr" }
    }

    /// The content security policy: only what the page consists of. In some browsers `form-action`
    /// also applies to a redirect after the form, so it includes the origins that the flow
    /// redirects to.
    fn policy(&self, design: Option<&str>, data: &PageData<'_>) -> String {
        let mut policy = format!("default-src 'none'; style-src {}", *STYLE_HASH);
        if self.has_extra_style(data) {
            policy.push(' ');
            policy.push_str(&EXTRA_STYLE.1);
        }
        if let Some(design) = design {
            policy.push(' ');
            policy.push_str(&policy_hash(design));
        }
        policy.push_str("; script-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'");
        let origins: BTreeSet<_> = data.leads_to.iter().filter_map(|url| web_origin(url)).collect();
        for origin in origins {
            policy.push(' ');
            policy.push_str(&origin);
        }
        policy.push_str("; frame-ancestors ");
        match self.flow.filter(|_| self.parameters.embed).map(|flow| &flow.app().allowed_origins) {
            _ if self.preview.is_some() => policy.push_str("'self'"),
            Some(origins) if origins.is_open() => policy.push('*'),
            Some(origins) if !origins.entries().is_empty() => {
                policy.push_str(&texts(origins).join(" "))
            }
            _ => policy.push_str("'none'"),
        }
        policy
    }
}

fn origins_json(origins: &AllowedOrigins) -> String {
    serde_json::to_string(&texts(origins)).unwrap_or_default()
}

fn texts(origins: &AllowedOrigins) -> Vec<&str> {
    origins.entries().iter().map(AllowedOrigin::as_str).collect()
}

/// A time that the script rewrites in the reader's time zone.
pub(super) fn time(at: Timestamp) -> Markup {
    let text = at.to_string();
    // 2026-11-15T02:00:00.000Z
    let (day, clock) = (text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default());
    html! { time datetime=(text) { (day) " " (clock) " UTC" } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_cut_at_a_space() {
        for (text, shown) in [
            ("Two minutes.", "Two minutes."),
            (" Two\n minutes. ", "Two minutes."),
            ("Two minutes of your time", "Two minutes…"),
            ("Donaudampfschifffahrt", "Donaudampfsc…"),
            ("", ""),
        ] {
            assert_eq!(beginning(text, 12), shown, "{text}");
        }
    }
}
