//! The design of hosted pages: colours, font, logos, corners, button texts and theme.
//!
//! An app has a design, and each of its flows can replace parts of it. A part that is absent is
//! inherited: from the app, and there from the defaults of the page. Every value is one of a list,
//! a colour, a short text or a picture; an author never writes CSS. Deliberately absent: reading
//! the bytes of pictures, which is up to the caller.

mod color;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::id::AssetId;

pub use color::{BLACK, Color, DARK, LIGHT, Palette, Scheme, TEXT_CONTRAST_MIN, WHITE};

/// The maximum length of the text of a button, in characters.
pub const BUTTON_CHARS_MAX: usize = 40;
/// The value that removes an inherited background or logo.
pub const NONE: &str = "none";

/// A part of a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DesignField {
    AccentColor,
    Background,
    Font,
    Corners,
    Theme,
    Logo,
    DarkLogo,
    NextText,
    BackText,
    SendText,
}

/// What the value of a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DesignValue {
    Color,
    /// A colour, the id of an uploaded image, or [`NONE`].
    Background,
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// A picture, or [`NONE`]. Its bytes are not checked here.
    Picture,
    /// A short text; an empty one is the page's text in the reader's language.
    Text,
}

impl DesignField {
    pub const ALL: [Self; 10] = [
        Self::AccentColor,
        Self::Background,
        Self::Font,
        Self::Corners,
        Self::Theme,
        Self::Logo,
        Self::DarkLogo,
        Self::NextText,
        Self::BackText,
        Self::SendText,
    ];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccentColor => "accentColor",
            Self::Background => "background",
            Self::Font => "font",
            Self::Corners => "corners",
            Self::Theme => "theme",
            Self::Logo => "logo",
            Self::DarkLogo => "darkLogo",
            Self::NextText => "nextText",
            Self::BackText => "backText",
            Self::SendText => "sendText",
        }
    }

    pub fn value(self) -> DesignValue {
        match self {
            Self::AccentColor => DesignValue::Color,
            Self::Background => DesignValue::Background,
            Self::Font => DesignValue::OneOf(&Font::NAMES),
            Self::Corners => DesignValue::OneOf(&Corners::NAMES),
            Self::Theme => DesignValue::OneOf(&Theme::NAMES),
            Self::Logo | Self::DarkLogo => DesignValue::Picture,
            Self::NextText | Self::BackText | Self::SendText => DesignValue::Text,
        }
    }

    /// The value in canonical form, or what it must be.
    pub fn read(self, text: &str) -> Result<String, String> {
        const COLOR: &str = "must be a colour such as #0a7d4f";
        let color = || Color::parse(text).map(|color| color.to_string());
        match self.value() {
            DesignValue::Color => color().ok_or_else(|| COLOR.to_owned()),
            DesignValue::Background if text == NONE => Ok(NONE.to_owned()),
            DesignValue::Background => {
                let image = || text.parse::<AssetId>().ok().map(|id| id.to_string());
                let why = || format!("{COLOR}, the id of an image, or {NONE}");
                color().or_else(image).ok_or_else(why)
            }
            DesignValue::OneOf(names) if names.contains(&text) => Ok(text.to_owned()),
            DesignValue::OneOf(names) => Err(format!("must be one of {}", names.join(", "))),
            DesignValue::Picture => Ok(text.to_owned()),
            DesignValue::Text => button_text(text),
        }
    }
}

fn button_text(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.chars().count() > BUTTON_CHARS_MAX {
        Err(format!("must have at most {BUTTON_CHARS_MAX} characters"))
    } else if text.chars().any(char::is_control) {
        Err("must be one line".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// Declares a list of names with its enum.
macro_rules! named {
    ($(#[$about:meta])* $kind:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind { $($variant),+ }

        impl $kind {
            pub const NAMES: [&str; [$($name),+].len()] = [$($name),+];

            fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

named! {
    /// A list of fonts that are already installed; nothing is loaded.
    Font {
        System = "system",
        Humanist = "humanist",
        Geometric = "geometric",
        Rounded = "rounded",
        Serif = "serif",
        Mono = "mono",
    }
}
named! {
    /// How round buttons, fields and cards are.
    Corners { Square = "square", Soft = "soft", Round = "round" }
}
named! {
    /// The colour scheme of a page; by default that of the reader's device.
    Theme { Auto = "auto", Light = "light", Dark = "dark" }
}

/// The parts of a design that are set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Design(BTreeMap<DesignField, String>);

impl Design {
    /// Reads a stored design. What is not known, for example from a newer release, is ignored.
    pub fn from_json(stored: &Value) -> Self {
        let read = |field: DesignField| {
            let value = stored.get(field.name())?.as_str()?;
            field.read(value).ok().map(|value| (field, value))
        };
        Self(DesignField::ALL.into_iter().filter_map(read).collect())
    }

    pub fn from_stored(stored: Option<&str>) -> Self {
        let stored = stored.and_then(|text| serde_json::from_str(text).ok());
        stored.map(|value| Self::from_json(&value)).unwrap_or_default()
    }

    /// As stored; `None` if no part is set.
    pub fn to_stored(&self) -> Option<String> {
        (!self.is_empty()).then(|| Value::from(self.to_json()).to_string())
    }

    pub fn to_json(&self) -> Map<String, Value> {
        let pairs = self.0.iter().map(|(field, value)| (field.name(), value));
        pairs.map(|(name, value)| (name.to_owned(), value.as_str().into())).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, field: DesignField) -> Option<&str> {
        self.0.get(&field).map(String::as_str)
    }

    /// Sets a part that was [read](DesignField::read), or removes it.
    pub fn set(&mut self, field: DesignField, value: Option<String>) {
        match value {
            Some(value) => self.0.insert(field, value),
            None => self.0.remove(&field),
        };
    }

    /// This design of a flow over that of its app. Logos belong together: a flow with a logo has
    /// only its own logo in dark mode, too.
    pub fn over(&self, app: &Self) -> Self {
        let mut both = app.0.clone();
        if self.0.contains_key(&DesignField::Logo) {
            both.remove(&DesignField::DarkLogo);
        }
        both.extend(self.0.iter().map(|(field, value)| (*field, value.clone())));
        both.retain(|field, value| !field.is_default(value));
        Self(both)
    }

    pub fn accent(&self) -> Option<Color> {
        self.get(DesignField::AccentColor).and_then(Color::parse)
    }

    /// The colour of the background.
    pub fn background(&self) -> Option<Color> {
        self.get(DesignField::Background).and_then(Color::parse)
    }

    /// The image in the background. Texts are on a panel in the colour of the page above it.
    pub fn background_image(&self) -> Option<AssetId> {
        self.get(DesignField::Background)?.parse().ok()
    }

    pub fn palette(&self) -> Palette {
        Palette::new(self.accent(), self.background())
    }

    pub fn font(&self) -> Font {
        self.get(DesignField::Font).and_then(Font::from_name).unwrap_or(Font::System)
    }

    pub fn corners(&self) -> Corners {
        self.get(DesignField::Corners).and_then(Corners::from_name).unwrap_or(Corners::Soft)
    }

    pub fn theme(&self) -> Theme {
        self.get(DesignField::Theme).and_then(Theme::from_name).unwrap_or(Theme::Auto)
    }

    /// A picture or the text of a button; absent if the page has its default.
    pub fn own(&self, field: DesignField) -> Option<&str> {
        self.get(field).filter(|value| !field.is_default(value))
    }
}

impl DesignField {
    /// Whether a value means the page's default.
    fn is_default(self, value: &str) -> bool {
        match self.value() {
            DesignValue::Background | DesignValue::Picture => value == NONE,
            DesignValue::Text => value.is_empty(),
            DesignValue::Color | DesignValue::OneOf(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn design(stored: Value) -> Design {
        Design::from_json(&stored)
    }

    #[test]
    fn a_value_is_one_that_the_page_knows() {
        for (field, sent, read) in [
            (DesignField::AccentColor, "#FC0", Ok("#ffcc00")),
            (DesignField::AccentColor, "none", Err("must be a colour such as #0a7d4f")),
            (DesignField::AccentColor, "#000}", Err("must be a colour such as #0a7d4f")),
            (DesignField::Background, "none", Ok("none")),
            (DesignField::Background, "#fdf6e3", Ok("#fdf6e3")),
            (DesignField::Background, "as_01KA2VgdPrWYDVgYy3wLpB", Ok("as_01KA2VgdPrWYDVgYy3wLpB")),
            (
                DesignField::Background,
                "url(x)",
                Err("must be a colour such as #0a7d4f, the id of an image, or none"),
            ),
            (DesignField::Font, "serif", Ok("serif")),
            (
                DesignField::Font,
                "Comic Sans",
                Err("must be one of system, humanist, geometric, rounded, serif, mono"),
            ),
            (DesignField::Corners, "round", Ok("round")),
            (DesignField::Corners, "", Err("must be one of square, soft, round")),
            (DesignField::Theme, "dark", Ok("dark")),
            (DesignField::Theme, "Dark", Err("must be one of auto, light, dark")),
            (DesignField::NextText, " Continue ", Ok("Continue")),
            (DesignField::BackText, "", Ok("")),
            (DesignField::SendText, "a\nb", Err("must be one line")),
        ] {
            let found = field.read(sent);
            assert_eq!(found.as_deref().map_err(String::as_str), read, "{field:?} {sent}");
        }
        let (most, more) = ("ä".repeat(BUTTON_CHARS_MAX), "ä".repeat(BUTTON_CHARS_MAX + 1));
        assert_eq!(DesignField::SendText.read(&most), Ok(most));
        assert!(DesignField::SendText.read(&more).is_err());
    }

    #[test]
    fn a_stored_design_is_read_again_and_unknown_parts_are_ignored() {
        let stored = json!({
            "accentColor": "#ffcc00", "font": "serif", "sendText": "Go", "logo": "none",
            "later": "x", "corners": "triangle", "theme": 7,
        });
        let read = design(stored);
        let again = Design::from_stored(read.to_stored().as_deref());
        assert_eq!(read, again);
        let known = json!({
            "accentColor": "#ffcc00", "font": "serif", "sendText": "Go", "logo": "none",
        });
        assert_eq!(Value::from(again.to_json()), known);
        for nothing in [None, Some("{}"), Some("broken"), Some("[]")] {
            assert_eq!(Design::from_stored(nothing).to_stored(), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_flow_replaces_parts_of_the_design_of_its_app() {
        for (flow, app, both) in [
            (json!({}), json!({"font": "serif"}), json!({"font": "serif"})),
            (
                json!({"accentColor": "#ff0000"}),
                json!({"accentColor": "#00ff00", "corners": "round"}),
                json!({"accentColor": "#ff0000", "corners": "round"}),
            ),
            (json!({"background": "none"}), json!({"background": "#112233"}), json!({})),
            (json!({"nextText": ""}), json!({"nextText": "On"}), json!({})),
            (json!({"logo": "a"}), json!({"logo": "b", "darkLogo": "c"}), json!({"logo": "a"})),
            (json!({"logo": "none"}), json!({"logo": "b", "darkLogo": "c"}), json!({})),
            (
                json!({"darkLogo": "d"}),
                json!({"logo": "b", "darkLogo": "c"}),
                json!({"logo": "b", "darkLogo": "d"}),
            ),
            (
                json!({"logo": "a", "darkLogo": "d"}),
                json!({"darkLogo": "c"}),
                json!({"logo": "a", "darkLogo": "d"}),
            ),
        ] {
            let found = design(flow.clone()).over(&design(app.clone()));
            assert_eq!(Value::from(found.to_json()), both, "{flow} over {app}");
        }
    }

    #[test]
    fn what_is_not_set_is_the_default_of_the_page() {
        let plain = Design::default();
        assert_eq!(
            (plain.font(), plain.corners(), plain.theme(), plain.accent()),
            (Font::System, Corners::Soft, Theme::Auto, None)
        );
        let own = design(json!({"font": "mono", "corners": "square", "theme": "light"}));
        assert_eq!(
            (own.font(), own.corners(), own.theme()),
            (Font::Mono, Corners::Square, Theme::Light)
        );
        assert_eq!(own.own(DesignField::Logo), None);
        assert_eq!(plain.palette(), Palette::default());
        let links = design(json!({"background": "#ffffff"})).palette().link;
        assert!(links.is_some(), "the default accent must be readable on it");
        let image = design(json!({"background": "as_01KA2VgdPrWYDVgYy3wLpB"}));
        assert!(image.background_image().is_some() && image.palette() == Palette::default());
    }
}
