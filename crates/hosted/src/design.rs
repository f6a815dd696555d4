//! The design of a flow as its page shows it: a second style, the logo, the theme, and the texts of
//! the buttons.
//!
//! The style consists of the values below and of colours that were parsed; no text of an author is
//! in it. The policy allows it by its hash.

use maud::{Markup, html};
use sluice_engine::branding::Branding;
use sluice_engine::design::Logo;
use sluice_flow::design::{Corners, DesignField, Font, Palette, Theme};
use sluice_flow::id::AssetId;

use super::page::Frame;
use super::words::ButtonTexts;

impl<'f> Frame<'f> {
    fn branding(&self) -> Option<&'f Branding> {
        self.flow.map(|flow| flow.branding())
    }

    /// What the design adds to the style of the page; `None` if nothing.
    pub(super) fn design_style(&self) -> Option<String> {
        self.branding().map(|it| style(it, self.public_path)).filter(|style| !style.is_empty())
    }

    /// The colour scheme of the page; `None` is that of the device. The address, for example of an
    /// embedded page, takes precedence over the design; in a preview it is only the author's own
    /// theme.
    pub(super) fn theme(&self) -> Option<&'static str> {
        let own = match self.branding().map(|it| it.design.theme()) {
            Some(Theme::Light) => Some("light"),
            Some(Theme::Dark) => Some("dark"),
            Some(Theme::Auto) | None => None,
        };
        let given = self.parameters.theme;
        let is_author = self.preview.is_some_and(|preview| !preview.is_test);
        if is_author { own.or(given) } else { given.or(own) }
    }

    /// A form sends answers; a message is only confirmed.
    pub(super) fn button_texts(&self, asks: bool) -> ButtonTexts<'f> {
        let form = &self.words.form;
        let send = if asks { form.send } else { form.ok };
        let text =
            |field, default| self.branding().and_then(|it| it.design.own(field)).unwrap_or(default);
        ButtonTexts {
            next: text(DesignField::NextText, form.next),
            back: text(DesignField::BackText, form.back),
            send: text(DesignField::SendText, send),
        }
    }

    pub(super) fn brand(&self) -> Markup {
        let branding = self.branding();
        let light = branding.and_then(|it| it.logo.as_ref().or(it.dark_logo.as_ref()));
        let dark = branding.and_then(|it| it.dark_logo.as_ref());
        let (shown, other) = match self.theme() {
            Some("dark") => (dark.or(light), None),
            Some(_) => (light, None),
            None => (light, dark),
        };
        html! {
            @if let Some(address) = self.address_of(shown) {
                header.brand {
                    @if let Some(other) = self.address_of(other) {
                        picture {
                            source media="(prefers-color-scheme:dark)" srcset=(other);
                            img.logo src=(address) alt="";
                        }
                    } @else {
                        img.logo src=(address) alt="";
                    }
                }
            }
        }
    }

    /// The address of the icon of the page: the logo, or nothing.
    pub(super) fn icon(&self) -> String {
        let logo = self.branding().and_then(|it| it.logos().next());
        self.address_of(logo).unwrap_or_else(|| "data:,".to_owned())
    }

    /// The hash of a logo is in its name, so that it can be cached permanently. A previewed flow
    /// may have no published page, so there the logo is in the page.
    fn address_of(&self, logo: Option<&Logo>) -> Option<String> {
        let logo = logo?;
        if self.preview.is_some() {
            return Some(logo.data_url());
        }
        Some(format!("/f/{}/logo-{}", self.flow?.flow_id, logo.name))
    }
}

fn style(branding: &Branding, public_path: &str) -> String {
    let Palette { accent, background, link } = branding.palette;
    let mut root = String::new();
    if let Some((color, on)) = accent {
        root.push_str(&format!("--accent:{color};--on-accent:{on};"));
    }
    match branding.design.corners() {
        Corners::Square => root.push_str("--round:0rem;"),
        Corners::Soft => {}
        Corners::Round => root.push_str("--round:1.375rem;"),
    }
    let mut schemes = String::new();
    for (name, pair) in [("ground", background), ("strong", link)] {
        if let Some([light, dark]) = pair {
            root.push_str(&format!("--{name}:{light};"));
            schemes.push_str(&format!("--{name}:light-dark({light},{dark});"));
        }
    }
    let mut style = String::new();
    if !root.is_empty() {
        style.push_str(&format!(":root{{{root}}}"));
    }
    if !schemes.is_empty() {
        // As in the style sheet: other browsers keep the light colours.
        let supports = "@supports (color:light-dark(#000,#fff))";
        style.push_str(&format!("{supports}{{:root{{{schemes}}}}}"));
    }
    if let Some(image) = branding.design.background_image() {
        style.push_str(&background_image(image, public_path));
    }
    if let Some(stack) = stack(branding.design.font()) {
        style.push_str(&format!("body{{font-family:{stack}}}"));
    }
    style
}

/// An image behind a panel with the page. An embedded page is transparent.
fn background_image(image: AssetId, public_path: &str) -> String {
    let page = "body:not([data-embed])";
    format!(
        "{page}{{background:var(--ground) url({public_path}/a/{image}) center/cover fixed}}\
         {page} main{{inline-size:auto;margin:.75rem;border-radius:var(--round);background:var(--ground)}}\
         @media (min-width:48rem){{{page} main{{inline-size:100%;margin:2.5rem auto;padding-inline:2.5rem}}}}"
    )
}

/// Fonts that come with an operating system; `None` is that of the style sheet.
fn stack(font: Font) -> Option<&'static str> {
    Some(match font {
        Font::System => return None,
        Font::Humanist => {
            "Seravek,'Gill Sans Nova',Ubuntu,Calibri,'DejaVu Sans',source-sans-pro,sans-serif"
        }
        Font::Geometric => "Avenir,Montserrat,Corbel,'URW Gothic',source-sans-pro,sans-serif",
        Font::Rounded => {
            "ui-rounded,'Hiragino Maru Gothic ProN',Quicksand,Comfortaa,Manjari,'Arial Rounded MT Bold',Calibri,sans-serif"
        }
        Font::Serif => "'Iowan Old Style','Palatino Linotype','URW Palladio L',P052,serif",
        Font::Mono => {
            "ui-monospace,'Cascadia Code','Source Code Pro',Menlo,Consolas,'DejaVu Sans Mono',monospace"
        }
    })
}

#[cfg(test)]
mod tests {
    use sluice_flow::design::{DARK, LIGHT};

    use super::super::assets::STYLE;

    /// The rules for readable colours start from those of the style sheet.
    #[test]
    fn the_colours_of_both_schemes_are_those_of_the_style_sheet() {
        for (name, light, dark) in [
            ("ground", LIGHT.ground, DARK.ground),
            ("surface", LIGHT.surface, DARK.surface),
            ("ink", LIGHT.ink, DARK.ink),
            ("muted", LIGHT.muted, DARK.muted),
            ("red", LIGHT.red, DARK.red),
            ("accent", LIGHT.accent, DARK.accent),
        ] {
            let short = |color: String| if color == "#ffffff" { "#fff".to_owned() } else { color };
            let (light, dark) = (short(light.to_string()), short(dark.to_string()));
            let declared = STYLE.split(&format!("--{name}:")).nth(2).unwrap_or_default();
            let declared: String = declared.chars().filter(|it| *it != ' ').collect();
            assert!(declared.starts_with(&format!("light-dark({light},{dark})")), "{name}");
        }
    }
}
