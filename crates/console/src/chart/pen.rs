//! The marks that charts are drawn with, each with one appearance.

use std::fmt;

use maud::{Markup, PreEscaped, html};

use super::text;

pub(super) const FONT: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/// The meaning of a mark's colour. In a page the style sheet colours the class; a file uses the
/// light colour. Each has a contrast of at least 3:1 (texts 4.5:1) with its background, light and
/// dark; see the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Main text.
    Ink,
    /// Secondary text.
    Muted,
    /// The background.
    Ground,
    /// Counted values.
    Accent,
    /// The full length behind a bar; it carries no information.
    Track,
    /// Grid lines; they carry no information.
    Grid,
    Good,
    Middle,
    Bad,
    /// Like [`Self::Middle`], but light enough for a text on it.
    SoftMiddle,
    /// A text on [`Self::SoftMiddle`], in both themes.
    OnMiddle,
}

impl Tone {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Ink => "c-text",
            Self::Muted => "c-muted",
            Self::Ground => "c-ground",
            Self::Accent => "c-bar",
            Self::Track => "c-track",
            Self::Grid => "c-grid",
            Self::Good => "c-good",
            Self::Middle => "c-middle",
            Self::Bad => "c-bad",
            Self::SoftMiddle => "c-soft-middle",
            Self::OnMiddle => "c-on-middle",
        }
    }

    /// The colour in the light theme, also used in files.
    pub(super) fn light(self) -> &'static str {
        match self {
            Self::Ink => "#1b1f23",
            Self::Muted => "#5a626b",
            Self::Ground => "#ffffff",
            Self::Accent => "#0f6b73",
            Self::Track => "#e8ebed",
            Self::Grid => "#dfe3e6",
            Self::Good => "#1b7f4f",
            Self::Middle => "#7a838d",
            Self::Bad => "#c2412d",
            Self::SoftMiddle => "#8e969e",
            Self::OnMiddle => "#1b1f23",
        }
    }
}

/// A share of the width, in percent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Percent(pub(super) f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", short(self.0))
    }
}

impl maud::Render for Percent {
    fn render_to(&self, buffer: &mut String) {
        buffer.push_str(&self.to_string());
    }
}

/// A coordinate without trailing zeros.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Draws rows one below another: `row` draws one at a given top, and returns its height. Also
/// returns where the last one ends.
pub(super) fn stacked<T>(
    items: impl IntoIterator<Item = T>,
    start: f64,
    mut row: impl FnMut(T, f64) -> (Markup, f64),
) -> (Markup, f64) {
    let (mut top, mut drawing) = (start, String::new());
    for item in items {
        let (markup, height) = row(item, top);
        drawing.push_str(&markup.0);
        top += height;
    }
    (PreEscaped(drawing), top)
}

/// The segments of a bar: start and width of each, in percent.
pub(super) fn parts(counts: impl IntoIterator<Item = u64> + Clone) -> Vec<(f64, f64)> {
    let whole = counts.clone().into_iter().sum::<u64>().max(1) as f64;
    let place = |start: &mut f64, count: u64| {
        let (from, width) = (*start, 100.0 * count as f64 / whole);
        *start += width;
        Some((from, width))
    };
    counts.into_iter().scan(0.0, place).collect()
}

/// A text at a position: `x` is an attribute, `anchor` is start, middle or end.
pub(super) fn draw_text(x: &str, y: f64, anchor: &str, tone: Tone, content: &str) -> Markup {
    sized(x, y, anchor, tone, 12.0, content)
}

/// The same in another size.
pub(super) fn sized(x: &str, y: f64, anchor: &str, tone: Tone, size: f64, content: &str) -> Markup {
    html! {
        text class=(tone.class()) x=(x) y=(short(y)) text-anchor=(anchor) font-size=(short(size))
            fill=(tone.light()) unicode-bidi="plaintext" { (text::clean(content)) }
    }
}

/// A filled rectangle; `x` and `width` are attributes.
pub(super) fn rect(x: &str, y: f64, width: &str, height: f64, round: f64, tone: Tone) -> Markup {
    tipped(x, y, width, height, round, tone, None)
}

/// A filled rectangle with a tooltip.
pub(super) fn tipped(
    x: &str,
    y: f64,
    width: &str,
    height: f64,
    round: f64,
    tone: Tone,
    tip: Option<&str>,
) -> Markup {
    let round = (round > 0.0).then(|| short(round));
    html! {
        rect class=(tone.class()) x=(x) y=(short(y)) width=(width) height=(short(height)) rx=[round] fill=(tone.light()) {
            @if let Some(tip) = tip { title { (text::clean(tip)) } }
        }
    }
}

/// The width of the ticks before a drawing, in pixels. SVG cannot express "100% minus some pixels",
/// so the whole drawing is narrower by this much, and its content is shifted by the same amount.
pub(super) const INDENT: f64 = 40.0;

/// A drawing after its ticks: `ticks` in the coordinates of the chart, `content` shifted.
pub(super) fn indented(height: f64, ticks: Markup, content: Markup) -> Markup {
    html! {
        (ticks)
        svg x=(short(INDENT)) y="0" width="100%" height=(short(height)) overflow="visible" { (content) }
    }
}

/// A horizontal line over the whole width, including the ticks of an indented drawing.
pub(super) fn level(y: f64, strong: bool, indented: bool) -> Markup {
    let start = if indented { short(-INDENT) } else { "0".to_owned() };
    let (class, colour) =
        if strong { ("c-axis", "#868d95") } else { ("c-grid-line", Tone::Grid.light()) };
    html! { line class=(class) x1=(start) x2="100%" y1=(short(y)) y2=(short(y)) stroke=(colour) stroke-width="1" {} }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance by WCAG 2.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn meaningful_marks_contrast_with_the_background() {
        let ground = Tone::Ground.light();
        for tone in [Tone::Ink, Tone::Muted] {
            assert!(contrast(tone.light(), ground) >= 4.5, "{tone:?}");
        }
        for tone in [Tone::Accent, Tone::Good, Tone::Middle, Tone::Bad] {
            assert!(contrast(tone.light(), ground) >= 3.0, "{tone:?}");
            assert!(contrast(tone.light(), Tone::Track.light()) >= 3.0, "{tone:?} on its track");
        }
    }

    #[test]
    fn texts_contrast_with_the_parts_that_they_are_on() {
        for (on, part) in [
            (Tone::Ground, Tone::Good),
            (Tone::Ground, Tone::Bad),
            (Tone::OnMiddle, Tone::SoftMiddle),
        ] {
            assert!(contrast(on.light(), part.light()) >= 4.5, "{part:?}");
            assert!(contrast(part.light(), Tone::Ground.light()) >= 2.9, "{part:?}");
        }
    }

    #[test]
    fn coordinates_have_no_trailing_zeros() {
        for (value, text) in [
            (0.0, "0"),
            (-0.001, "0"),
            (1.5, "1.5"),
            (33.333, "33.33"),
            (100.0, "100"),
            (10.0, "10"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
