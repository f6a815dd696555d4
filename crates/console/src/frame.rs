//! The frame of every page: the side bar, the heading, the tabs of a flow, and a message after an
//! action.
//!
//! A page declares its title and its place in the navigation; the frame renders the rest. The
//! template escapes all texts, and there are no inline scripts or styles: the content security
//! policy would block both.

use axum::response::Response;
use maud::{Markup, html};
use sluice_engine::rows::{FlowState, Scope};

use super::chart;
use super::document;
use super::flow_header::FlowHeader;
use super::held;
use super::parts::icon;
use super::reply::{self, Kind};
use super::session::Visitor;
use super::sidebar::Sidebar;
use super::toasts::Toast;

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
    Design,
    Share,
    Responses,
    Results,
    History,
}

impl Tab {
    pub(super) const ALL: [Self; 6] =
        [Self::Edit, Self::Design, Self::Share, Self::Responses, Self::Results, Self::History];

    pub(super) fn name(self) -> (&'static str, &'static str) {
        match self {
            Self::Edit => ("edit", "Edit"),
            Self::Design => ("design", "Design"),
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
    done: Option<Toast>,
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
        let flow = match self.place {
            NavItem::Flow(state, _) => Some(state.flow.flow_id),
            _ => None,
        };
        self.done = word.and_then(|word| Toast::named(word, flow, self.visitor.did.as_deref()));
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
                        @if let Some(hold) = self.sidebar.hold { (held::banner(hold)) }
                        (self.top())
                        (content)
                    }
                }
            }
            div.toasts id="toasts" { @if let Some(done) = &self.done { (done.render()) } }
            p.unseen id="announcer" role="status" aria-live="polite" {}
        };
        let whole = document::render(self.title, self.visitor.theme, &self.scripts, "", body);
        reply::page(kind, whole, self.visitor.gzip)
    }

    fn top(&self) -> Markup {
        let app = self.sidebar.in_app();
        let NavItem::Flow(state, current) = self.place else {
            return html! {
                header.top {
                    div.heading {
                        @if let (Some(app), false) = (app, matches!(self.place, NavItem::Flows)) {
                            p.crumbs { a href={ "/console/apps/" (app.app_id) } { (app.name) } }
                        }
                        h1 { (self.title) }
                    }
                    div.actions { (self.actions) }
                }
            };
        };
        let (writes, tab) = (self.may(Scope::Write), current.name().0);
        let stage = self.sidebar.stage(state);
        html! {
            (FlowHeader { app, state, stage, writes, tab }.render())
            div.tabs-row {
                nav.tabs aria-label="Flow" {
                    @for tab in Tab::ALL {
                        @let (part, word) = tab.name();
                        a href={ "/console/flows/" (state.flow.flow_id) "/" (part) }
                            aria-current=[(tab == current).then_some("page")] { (word) }
                    }
                }
                div.actions { (self.actions) }
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
                        button.button.small.go-to type="button" data-go hidden { span { "Go to…" } kbd data-go-keys { "Ctrl K" } }
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
                            a href={ "/console/flows/" (flow.flow_id) } aria-current=[is(current == Some(flow.flow_id))] {
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
                    li { a href="/docs" { span.name { "Documentation" } } }
                }
                p.who {
                    @if self.visitor.user_id.is_some() { "Signed in as " (self.visitor.who) }
                    @else { "Signed in with the admin token “" (self.visitor.who) "”" }
                }
                div.row {
                    form method="post" action="/console/sign-out" { button.button.small.quiet type="submit" { "Sign out" } }
                    button.button.small.quiet type="button" data-theme-switch hidden { "Theme" }
                    button.button.small.quiet type="button" data-shortcuts hidden { "Shortcuts" }
                }
            }
        }
    }
}
