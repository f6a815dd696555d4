//! The link of the hosted page with its parameters, and the embed snippet.

use std::sync::Arc;

use axum::extract::State;
use maud::{Markup, html};
use sluice_engine::rows::{AppRow, IdentityVerification, Scope};
use sluice_engine::{AdminError, HostedFlow, Missing};
use sluice_flow::id::FlowId;

use super::code;
use crate::Console;
use crate::addresses::encoded;
use crate::parts;
use crate::parts::field::select;
use crate::reply::{self, Reply};
use crate::request::{Fields, PathParam, Query};
use crate::session::Visitor;

/// The number of tags in the form.
const TAGS: usize = 3;

/// The address of a hosted page and its parameters.
pub(super) struct HostedLink {
    base: String,
    flow: FlowId,
    /// The path that the author chose.
    short_path: Option<String>,
    title: String,
    /// The languages of the flow, its default language first.
    locales: Vec<String>,
    locale: Option<String>,
    tags: Vec<(String, String)>,
    kind: EmbedKind,
    theme: Option<&'static str>,
}

/// How a flow appears in another page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmbedKind {
    Inline,
    Popup,
    Slide,
}

impl EmbedKind {
    const ALL: [(Self, &str, &str); 3] = [
        (Self::Inline, "inline", "In the page"),
        (Self::Popup, "popup", "Pop-up, opened by a button"),
        (Self::Slide, "slide", "Slide-in at the edge, opened by a button"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }
}

const THEMES: [(&str, &str); 3] =
    [("", "The reader's preference"), ("light", "Light"), ("dark", "Dark")];

impl HostedLink {
    pub(super) fn new(
        base: &str,
        hosted: &HostedFlow,
        short_path: Option<&str>,
        query: &Fields,
    ) -> Self {
        let definition = hosted.current.snapshot().map(|snapshot| snapshot.definition());
        let locales: Vec<String> =
            definition.map(|it| it.locales().map(str::to_owned).collect()).unwrap_or_default();
        let locale = query.get("locale").filter(|locale| locales.iter().any(|own| own == locale));
        let tag = |at: usize| {
            let name = query.get(&format!("name{at}"))?;
            Some((name.to_owned(), query.raw(&format!("value{at}")).to_owned()))
        };
        Self {
            base: base.to_owned(),
            flow: hosted.flow_id,
            short_path: short_path.map(str::to_owned),
            title: definition.map(|it| it.title().to_owned()).unwrap_or_default(),
            locale: locale.map(str::to_owned),
            locales,
            tags: (1..=TAGS).filter_map(tag).collect(),
            kind: EmbedKind::ALL
                .into_iter()
                .find(|(_, name, _)| query.get("kind") == Some(name))
                .map_or(EmbedKind::Inline, |(kind, ..)| kind),
            theme: THEMES
                .into_iter()
                .map(|(theme, _)| theme)
                .find(|theme| !theme.is_empty() && query.get("theme") == Some(theme)),
        }
    }

    /// The link that is given to people.
    fn shared(&self) -> String {
        match &self.short_path {
            Some(path) => self.address_at(path, &[]),
            None => self.address(&[]),
        }
    }

    /// The link with the flow's id, starting with these parameters.
    fn address(&self, first: &[(&str, &str)]) -> String {
        self.address_at(&self.flow.to_string(), first)
    }

    fn address_at(&self, path: &str, first: &[(&str, &str)]) -> String {
        let mut pairs: Vec<String> =
            first.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs
            .extend(self.locale.iter().map(|locale| format!("context.locale={}", encoded(locale))));
        pairs.extend(
            self.tags
                .iter()
                .map(|(name, value)| format!("tags.{}={}", encoded(name), encoded(value))),
        );
        let start = format!("{}/f/{path}", self.base);
        if pairs.is_empty() { start } else { format!("{start}?{}", pairs.join("&")) }
    }

    pub(super) fn card(&self, path_form: &Markup) -> Markup {
        let address = self.shared();
        let file = format!("/console/flows/{}/share/code.svg?{}", self.flow, self.own_query());
        html! {
            section.card aria-labelledby="link-title" {
                header { h2 id="link-title" { "Link" } }
                div.share-link {
                    div.stack {
                        div.field {
                            label for="link" { "Anyone with this link can answer" }
                            div.copy-line {
                                input.input.mono id="link" value=(address) readonly;
                                button.button type="button" data-copy="link" { "Copy" }
                                a.button href=(address) target="_blank" rel="noopener" { "Open" }
                            }
                        }
                        (path_form)
                        (self.builder())
                    }
                    @if let Some(drawing) = code::drawing(&address, "QR code of the link") {
                        div.share-code {
                            (drawing)
                            a.button.small.quiet href=(file) download="code.svg" { "Download QR code (SVG)" }
                        }
                    } @else {
                        p.hint { "This link is too long for a QR code." }
                    }
                }
            }
        }
    }

    /// A form for the parameters of the link, which works without a script.
    fn builder(&self) -> Markup {
        let is_used = self.locale.is_some() || !self.tags.is_empty();
        html! {
            details.more open[is_used] {
                summary { "Add a language or tags to the link" }
                form.form method="get" action={ "/console/flows/" (self.flow) "/share#link-title" } {
                    p.hint { "Tags let you filter responses later, for example by where the link was placed: "
                        code { "campaign" } " and " code { "autumn" } ". They are stored with each response." }
                    @if self.locales.len() > 1 {
                        div.field {
                            label for="locale" { "Language" }
                            select.input id="locale" name="locale" {
                                option value="" { "Reader's language if available" }
                                @for locale in &self.locales {
                                    option value=(locale) selected[self.locale.as_ref() == Some(locale)] { (locale) }
                                }
                            }
                        }
                    }
                    @for at in 1..=TAGS { (self.tag_line(at)) }
                    div.buttons {
                        button.button type="submit" { "Create link" }
                        @if is_used { a.button.quiet href={ "/console/flows/" (self.flow) "/share" } { "Reset" } }
                    }
                }
            }
        }
    }

    fn tag_line(&self, at: usize) -> Markup {
        let (name, value) = self.tags.get(at - 1).map_or(("", ""), |(name, value)| (name, value));
        html! {
            div.inline {
                div.field { label for={ "name" (at) } { "Tag " (at) } input.input id={ "name" (at) } name={ "name" (at) } value=(name) maxlength="64"; }
                div.field { label for={ "value" (at) } { "Value" } input.input id={ "value" (at) } name={ "value" (at) } value=(value) maxlength="500"; }
            }
        }
    }

    /// The parameters of the form, for the QR code file.
    fn own_query(&self) -> String {
        let locale = self.locale.iter().map(|locale| format!("locale={}", encoded(locale)));
        let tags = self.tags.iter().enumerate().map(|(at, (name, value))| {
            format!("name{0}={1}&value{0}={2}", at + 1, encoded(name), encoded(value))
        });
        locale.chain(tags).collect::<Vec<_>>().join("&")
    }

    pub(super) fn embed_card(&self, app: &AppRow) -> Markup {
        html! {
            section.card aria-labelledby="embed-title" {
                header { h2 id="embed-title" { "Embed" } a href="#embed-who" { "Allowed origins" } }
                p.muted { "The frame grows with its content, is transparent, and notifies your page when a response is stored." }
                (self.embed_form())
                (parts::code("embed", "Embed snippet", &self.snippet(app)))
                p.hint id="embed-who" {
                    @if app.allowed_origins.is_empty() {
                        "Any page can embed this flow. "
                    } @else {
                        "Only pages on " (app.allowed_origins.join(", ")) " can embed this flow. "
                    }
                    a href={ "/console/apps/" (app.app_id) "/settings#allowedOrigins" } { "Change allowed origins" }
                }
            }
        }
    }

    /// The choices of the snippet, which work without a script.
    fn embed_form(&self) -> Markup {
        let kinds = EmbedKind::ALL.map(|(_, name, label)| (name, label));
        html! {
            form.inline method="get" action={ "/console/flows/" (self.flow) "/share#embed-title" } {
                @if let Some(locale) = &self.locale { input type="hidden" name="locale" value=(locale); }
                @for (at, (name, value)) in (1..).zip(&self.tags) {
                    input type="hidden" name={ "name" (at) } value=(name);
                    input type="hidden" name={ "value" (at) } value=(value);
                }
                (select("kind", "Appearance", &kinds, self.kind.name()))
                (select("theme", "Theme", &THEMES, self.theme.unwrap_or_default()))
                button.button type="submit" { "Show snippet" }
            }
        }
    }

    /// One tag for a pop-up or slide-in, with the script that opens it.
    fn script_tag(&self) -> String {
        let address = self.address(&[]);
        let query = address.split_once('?').map(|(_, query)| query);
        let theme = self.theme.map(|theme| format!(" data-theme=\"{theme}\"")).unwrap_or_default();
        let query =
            query.map(|it| format!(" data-query=\"{}\"", attribute(it))).unwrap_or_default();
        let (base, flow, kind) = (&self.base, self.flow, self.kind.name());
        format!(
            "<script src=\"{base}/f/assets/embed.js\" data-flow=\"{flow}\" data-kind=\"{kind}\"\n        \
             data-label=\"{}\"{theme}{query} async></script>\n",
            attribute(&self.title)
        )
    }

    fn snippet(&self, app: &AppRow) -> String {
        if self.kind != EmbedKind::Inline {
            return self.script_tag();
        }
        let theme = self.theme.map(|theme| ("theme", theme));
        let first: Vec<_> = [("embed", "1")].into_iter().chain(theme).collect();
        let address = attribute(&self.address(&first));
        let title = attribute(&self.title);
        let Self { base, .. } = self;
        let is_enforced = app.identity_verification == IdentityVerification::Enforce;
        let wanted = if is_enforced {
            "\n    if (data.type === \"sluice:token-wanted\") {\n      \
             const token = await (await fetch(\"/sluice-token\")).text(); // your own server signs it\n      \
             source.postMessage({ type: \"sluice:token\", token }, origin);\n    }"
        } else {
            ""
        };
        let keyword = if is_enforced { "async " } else { "" };
        format!(
            "<iframe id=\"feedback\" src=\"{address}\" title=\"{title}\"\n        \
             width=\"100%\" height=\"480\" style=\"border: 0\"></iframe>\n<script>\n  \
             addEventListener(\"message\", {keyword}({{ source, origin, data }}) => {{\n    \
             const frame = document.getElementById(\"feedback\");\n    \
             if (source !== frame.contentWindow || origin !== \"{base}\") return;\n    \
             if (data.type === \"sluice:resize\") frame.height = data.height;\n    \
             if (data.type === \"sluice:submitted\") console.log(`Stored as ${{data.responseId}}`);{wanted}\n  \
             }});\n</script>\n"
        )
    }
}

/// Escapes text for a quoted attribute of the snippet.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

/// The QR code as a file, for printing.
pub(super) async fn code_file(
    State(console): State<Arc<Console>>,
    visitor: Visitor,
    PathParam(flow): PathParam<FlowId>,
    Query(query): Query,
) -> Reply {
    let short_path = console.engine.flow(&visitor.actor, Scope::Read, flow).await?;
    let short_path = short_path.short_path().await?;
    let missing = || AdminError::NotFound(Missing::Flow);
    let hosted = console.engine.links().flow(&flow.to_string()).await?.map_err(|_| missing())?;
    let link = HostedLink::new(
        console.engine.addresses().public_url,
        &hosted,
        short_path.as_deref(),
        &query,
    );
    let drawing = code::drawing(&link.shared(), &link.title).ok_or_else(missing)?;
    Ok(reply::drawing(
        "code.svg",
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", drawing.0),
    ))
}
