//! Colours and their contrast, as WCAG defines it, and the colours of a page that follow from an
//! author's.
//!
//! An author may choose any colour. Texts stay readable: text on the accent is black or white,
//! links and outlines move towards the colour of texts until they are readable, and a background
//! moves towards the default of each scheme until texts on it are.

use std::fmt;

/// The least contrast of texts (WCAG 2.2, level AA).
pub const TEXT_CONTRAST_MIN: f64 = 4.5;
/// A colour is moved in steps of this share.
const STEPS: u8 = 20;

/// A colour in sRGB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color([u8; 3]);

pub const WHITE: Color = Color([0xff; 3]);
pub const BLACK: Color = Color([0; 3]);

impl Color {
    /// Reads `#rgb` or `#rrggbb`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        let digit = |letter: char| letter.to_digit(16).and_then(|it| u8::try_from(it).ok());
        let values: Vec<u8> = digits.chars().map(digit).collect::<Option<_>>()?;
        match values[..] {
            [r, g, b] => Some(Self([r * 17, g * 17, b * 17])),
            [r, r2, g, g2, b, b2] => Some(Self([r * 16 + r2, g * 16 + g2, b * 16 + b2])),
            _ => None,
        }
    }

    /// The relative luminance, from 0 to 1.
    fn luminance(self) -> f64 {
        let channel = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        let [r, g, b] = self.0.map(channel);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// The contrast of two colours, from 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// Black or white, whichever has more contrast with it: at least 4.58.
    pub fn text_on(self) -> Self {
        if self.contrast(WHITE) >= self.contrast(BLACK) { WHITE } else { BLACK }
    }

    /// The colour `step` of [`STEPS`] on the way to another.
    fn towards(self, other: Self, step: u8) -> Self {
        let mut mixed = self.0;
        for (value, end) in mixed.iter_mut().zip(other.0) {
            let (from, to, step) = (u32::from(*value), u32::from(end), u32::from(step));
            let steps = u32::from(STEPS);
            let sum = (from * (steps - step) + to * step + steps / 2) / steps;
            *value = u8::try_from(sum).unwrap_or(end);
        }
        Self(mixed)
    }

    /// The first colour on the way to another that fits; the other if none does.
    fn first_towards(self, other: Self, fits: impl Fn(Self) -> bool) -> Self {
        (0..=STEPS).map(|step| self.towards(other, step)).find(|it| fits(*it)).unwrap_or(other)
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [r, g, b] = self.0;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

/// The colours of the hosted page in one colour scheme, as in its style sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    pub ground: Color,
    pub surface: Color,
    pub ink: Color,
    pub muted: Color,
    pub red: Color,
    pub accent: Color,
}

pub const LIGHT: Scheme = Scheme {
    ground: Color([0xfb, 0xfb, 0xfa]),
    surface: WHITE,
    ink: Color([0x1b, 0x1f, 0x23]),
    muted: Color([0x5a, 0x62, 0x6b]),
    red: Color([0xb3, 0x26, 0x1e]),
    accent: Color([0x0f, 0x6b, 0x73]),
};
pub const DARK: Scheme = Scheme {
    ground: Color([0x13, 0x16, 0x19]),
    surface: Color([0x1c, 0x20, 0x24]),
    ink: Color([0xec, 0xee, 0xf0]),
    muted: Color([0xa3, 0xab, 0xb3]),
    red: Color([0xff, 0x8a, 0x80]),
    accent: Color([0x57, 0xb8, 0xc1]),
};

/// The colours of a page that differ from its style sheet. Pairs are for light and dark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Palette {
    /// The accent, and the colour of text on it.
    pub accent: Option<(Color, Color)>,
    pub background: Option<[Color; 2]>,
    /// The colour of links and outlines.
    pub link: Option<[Color; 2]>,
}

impl Palette {
    pub(super) fn new(accent: Option<Color>, background: Option<Color>) -> Self {
        let is_plain = accent.is_none() && background.is_none();
        let link = [LIGHT, DARK].map(|scheme| {
            let ground = background.map_or(scheme.ground, |it| scheme.background(it));
            scheme.link(accent.unwrap_or(scheme.accent), ground)
        });
        Self {
            accent: accent.map(|it| (it, it.text_on())),
            background: background.map(|it| [LIGHT, DARK].map(|scheme| scheme.background(it))),
            link: (!is_plain).then_some(link),
        }
    }
}

impl Scheme {
    /// A background as this scheme shows it: the colour, or the nearest one on the way to the
    /// default that texts are readable on.
    pub fn background(&self, color: Color) -> Color {
        let texts = [self.ink, self.muted, self.red];
        color.first_towards(self.ground, |it| {
            texts.iter().all(|text| text.contrast(it) >= TEXT_CONTRAST_MIN)
        })
    }

    /// The colour of links and outlines for an accent: readable on this background and on cards.
    pub fn link(&self, accent: Color, background: Color) -> Color {
        let readable = |it: Color| {
            [background, self.surface].iter().all(|on| it.contrast(*on) >= TEXT_CONTRAST_MIN)
        };
        accent.first_towards(self.ink, readable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn color(text: &str) -> Color {
        Color::parse(text).unwrap()
    }

    #[test]
    fn a_colour_has_three_or_six_digits() {
        for (sent, read) in [
            ("#0A7D4F", Some("#0a7d4f")),
            ("#fc0", Some("#ffcc00")),
            ("#000", Some("#000000")),
            ("#7777", None),
            ("red", None),
            ("0a7d4f", None),
            ("#0a7d4f;}", None),
            ("#0a7d4é", None),
            ("#+1+1+1", None),
            ("", None),
        ] {
            let found = Color::parse(sent).map(|it| it.to_string());
            assert_eq!(found.as_deref(), read, "{sent}");
        }
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        for (one, two, contrast) in [
            ("#fff", "#000", "21.00"),
            ("#fff", "#fff", "1.00"),
            ("#767676", "#fff", "4.54"),
            ("#777", "#fff", "4.48"),
            ("#0f6b73", "#fff", "6.23"),
            ("#ffcc00", "#fff", "1.51"),
        ] {
            assert_eq!(format!("{:.2}", color(one).contrast(color(two))), contrast, "{one} {two}");
            assert_eq!(format!("{:.2}", color(two).contrast(color(one))), contrast, "{two} {one}");
        }
    }

    #[test]
    fn a_readable_background_and_link_colour_are_not_changed() {
        for (scheme, background) in [(LIGHT, "#fdf6e3"), (LIGHT, "#ffffff"), (DARK, "#0b1d3a")] {
            assert_eq!(scheme.background(color(background)), color(background));
        }
        assert_eq!(LIGHT.link(color("#0f6b73"), LIGHT.ground), color("#0f6b73"));
        assert_ne!(LIGHT.link(color("#ffcc00"), LIGHT.ground), color("#ffcc00"));
        assert_eq!(DARK.link(color("#ffcc00"), DARK.ground), color("#ffcc00"));
    }

    /// Colours over the whole cube.
    fn every_colour() -> impl Iterator<Item = Color> {
        let values = || (0..=255).step_by(17);
        values()
            .flat_map(move |r| values().flat_map(move |g| values().map(move |b| Color([r, g, b]))))
    }

    #[test]
    fn texts_are_readable_with_any_colour() {
        for any in every_colour() {
            assert!(any.contrast(any.text_on()) >= TEXT_CONTRAST_MIN, "{any}");
            for scheme in [LIGHT, DARK] {
                let background = scheme.background(any);
                for text in [scheme.ink, scheme.muted, scheme.red] {
                    assert!(text.contrast(background) >= TEXT_CONTRAST_MIN, "{any} {background}");
                }
                let link = scheme.link(BLACK, background);
                assert!(link.contrast(background) >= TEXT_CONTRAST_MIN, "{any} {background}");
                let link = scheme.link(any, background);
                assert!(link.contrast(background) >= TEXT_CONTRAST_MIN, "{any} {link}");
                assert!(link.contrast(scheme.surface) >= TEXT_CONTRAST_MIN, "{any} {link}");
            }
        }
    }
}
