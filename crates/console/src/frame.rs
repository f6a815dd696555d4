//! The frame of every page: the side bar, the heading, the tabs of a flow, and a message after an
//! action.
//!
//! A page declares its title and its place in the navigation; the frame renders the rest. The
//! template escapes all texts, and there are no inline scripts or styles: the content security
//! policy would block both.

use std::borrow::Cow;

use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::rows::{FlowState, Scope};

use super::chart;
use super::document;
use super::parts::icon;
use super::reply::{self, Kind};
use super::session::Visitor;
use super::sidebar::{FlowStage, Sidebar};

/// The position of a page in the navigation.
#[derive(Debug, Clone, Copy)]
pub(super) enum NavItem<'f> {
    Flows,
    New,
    Flow(&'f FlowState, Tab),
    /// A page of the app's settings.
    Settings,
    /// A page about the whole instance.
    Instance,
}

/// The tabs of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Edit,
    Share,
    Responses,
    Results,
    History,
}

impl Tab {
    const ALL: [Self; 5] = [Self::Edit, Self::Share, Self::Responses, Self::Results, Self::History];

    fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Edit => ("edit", "Edit"),
            Self::Share => ("share", "Share"),
            Self::Responses => ("responses", "Responses"),
            Self::Results => ("results", "Results"),
            Self::History => ("history", "History"),
        }
    }
}

/// How much of a wide screen a page uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Width {
    Narrow,
    #[default]
    Usual,
    Wide,
}

/// A page being built.
pub(super) struct Frame<'f> {
    visitor: &'f Visitor,
    sidebar: &'f Sidebar,
    place: NavItem<'f>,
    title: &'f str,
    done: Option<Cow<'static, str>>,
    actions: Markup,
    scripts: Vec<&'static str>,
    width: Width,
}

impl<'f> Frame<'f> {
    pub(super) fn new(
        visitor: &'f Visitor,
        sidebar: &'f Sidebar,
        place: NavItem<'f>,
        title: &'f str,
    ) -> Self {
        Self {
            visitor,
            sidebar,
            place,
            title,
            done: None,
            actions: html! {},
            scripts: vec!["base.js"],
            width: Width::Usual,
        }
    }

    /// The message about the last action, by the name in the redirect.
    pub(super) fn done(mut self, word: Option<&str>) -> Self {
        self.done = word.and_then(sentence_of);
        self
    }

    /// The actions next to the heading.
    pub(super) fn actions(mut self, actions: Markup) -> Self {
        self.actions = actions;
        self
    }

    /// A script for this page, besides the common one.
    pub(super) fn script(mut self, name: &'static str) -> Self {
        self.scripts.push(name);
        self
    }

    pub(super) fn width(mut self, width: Width) -> Self {
        self.width = width;
        self
    }

    pub(super) fn page(self, kind: Kind, content: Markup) -> Response {
        let body = html! {
            a.skip href="#content" { "Skip to content" }
            div.frame {
                (self.side())
                main.content id="content" tabindex="-1" {
                    div.page.wide[self.width == Width::Wide].narrow[self.width == Width::Narrow] {
                        (self.top())
                        @if let Some(done) = &self.done { p.flash role="status" { (done) } }
                        (content)
                    }
                }
            }
            p.unseen id="announcer" role="status" aria-live="polite" {}
        };
        let whole = document::render(self.title, self.visitor.theme, &self.scripts, "", body);
        reply::page(kind, whole, self.visitor.gzip)
    }

    fn top(&self) -> Markup {
        let app = self.sidebar.in_app();
        html! {
            header.top {
                div.heading {
                    @if let (Some(app), false) = (app, matches!(self.place, NavItem::Flows)) {
                        p.crumbs { a href={ "/console/apps/" (app.app_id) } { (app.name) } }
                    }
                    @if let NavItem::Flow(state, _) = self.place {
                        h1 { (state.flow.name) }
                        (state_of(self.sidebar.stage(state)))
                    } @else {
                        h1 { (self.title) }
                    }
                }
                div.actions { (self.actions) }
            }
            @if let NavItem::Flow(state, current) = self.place {
                nav.tabs aria-label="Flow" {
                    @for tab in Tab::ALL {
                        @let (part, word) = tab.name();
                        a href={ "/console/flows/" (state.flow.flow_id) "/" (part) }
                            aria-current=[(tab == current).then_some("page")] { (word) }
                    }
                }
            }
        }
    }

    fn side(&self) -> Markup {
        html! {
            header.side {
                details.menu {
                    summary { span.brand { (icon::mark()) "Sluice" } span { "Menu" } }
                    div.inner {
                        a.brand.first href="/console" { (icon::mark()) "Sluice" }
                        (self.apps())
                        @if let Some(app) = self.sidebar.in_app() {
                            (self.flows(&format!("/console/apps/{}", app.app_id)))
                        }
                        (self.foot())
                    }
                }
            }
        }
    }

    fn apps(&self) -> Markup {
        let own = self.sidebar.in_app().map(|app| app.app_id);
        html! {
            @if self.sidebar.apps.len() > 1 || own.is_none() {
                nav aria-label="Apps" {
                    h2 { "Apps" }
                    ul {
                        @for app in &self.sidebar.apps {
                            li {
                                a href={ "/console/apps/" (app.app_id) }
                                    aria-current=[(own == Some(app.app_id)).then_some("true")] {
                                    span.name { (app.name) }
                                }
                            }
                        }
                        @if self.sidebar.has_more_apps {
                            li { a href="/console/settings/apps" { span.name { "All apps" } } }
                        }
                    }
                }
            }
        }
    }

    fn flows(&self, base: &str) -> Markup {
        let current = match self.place {
            NavItem::Flow(state, _) => Some(state.flow.flow_id),
            _ => None,
        };
        let is = |here: bool| here.then_some("page");
        html! {
            nav aria-label="Flows" {
                ul {
                    li { a href=(base) aria-current=[is(matches!(self.place, NavItem::Flows))] { span.name { "All flows" } } }
                    @for flow in &self.sidebar.flows {
                        li {
                            a href={ "/console/flows/" (flow.flow_id) "/results" } aria-current=[is(current == Some(flow.flow_id))] {
                                span class={ "dot " (flow.status.class()) } {}
                                span.name { (flow.name) }
                                span.unseen { (flow.status.label()) }
                                @if flow.days.iter().any(|&count| count > 0) { (chart::spark(&flow.days)) }
                            }
                        }
                    }
                    @if self.may(Scope::Write) {
                        li { a href={ (base) "/new" } aria-current=[is(matches!(self.place, NavItem::New))] { span.name { "+ New flow" } } }
                    }
                    li {
                        a href={ (base) "/settings" } aria-current=[is(matches!(self.place, NavItem::Settings))] { span.name { "Settings" } }
                    }
                }
            }
        }
    }

    /// Whether the visitor may do this in the app of the page.
    fn may(&self, scope: Scope) -> bool {
        self.sidebar.in_app().is_some_and(|app| self.visitor.actor.may(scope, app.app_id))
    }

    fn foot(&self) -> Markup {
        html! {
            div.foot {
                ul {
                    li { a href="/console/settings" aria-current=[matches!(self.place, NavItem::Instance).then_some("page")] { span.name { "Instance" } } }
                    li { a href="/docs" { span.name { "API" } } }
                }
                p.who { "Signed in as " (self.visitor.who) }
                div.row {
                    form method="post" action="/console/sign-out" { button.button.small.quiet type="submit" { "Sign out" } }
                    button.button.small.quiet type="button" data-theme-switch hidden { "Theme" }
                }
            }
        }
    }
}

/// A state as a dot and a word.
pub(super) fn state_of(status: FlowStage) -> Markup {
    html! { span.state { span class={ "dot " (status.class()) } {} (status.label()) } }
}

/// The messages after an action, by the name in the address. No other text is ever shown.
fn sentence_of(word: &str) -> Option<Cow<'static, str>> {
    if let Some(counts) = word.strip_prefix("invited.") {
        return invited(counts);
    }
    let sentence = match word {
        "saved" => "Saved.",
        "published" => "Published. New visitors now get this version.",
        "created" => "Created.",
        "duplicated" => "Duplicated. This is the copy; it is not published yet.",
        "archived" => "Archived. Its responses and results are kept.",
        "withdrawn" => "Retired. The version is closed; its responses are kept.",
        "deleted" => "Deleted.",
        "saved-view" => "Saved.",
        "ended" => "Revoked.",
        "erased" => "Erased permanently.",
        "erasing" => {
            "The erasure has started. It takes a while; the server continues in the background."
        }
        "added" => "Added.",
        "password" => "Your password was changed. All other browsers are signed out.",
        "invited" => "Invited. Each person has a personal link.",
        "path-saved" => "The short path works now.",
        "path-removed" => "The short path was removed.",
        "invited-already" => "No one was invited: all of them already have an open invitation.",
        "revoked" => "Revoked. The link no longer works.",
        "welcome" => "Your password is set, and you are signed in.",
        _ => return None,
    };
    Some(sentence.into())
}

/// How many were invited, and how many were skipped: `3.2`.
fn invited(counts: &str) -> Option<Cow<'static, str>> {
    let (made, left) = counts.split_once('.')?;
    let (made, left) = (made.parse::<u32>().ok()?, left.parse::<u32>().ok()?);
    let people = |count: u32| match count {
        1 => "1 person".to_owned(),
        _ => format!("{count} people"),
    };
    Some(
        format!(
            "{} invited. {} skipped: already invited, or on an earlier line.",
            people(made),
            people(left)
        )
        .into(),
    )
}
