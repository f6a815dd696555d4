//! The marks that every chart is drawn with, each with one look.

use std::fmt;

use maud::{Markup, PreEscaped, html};

use super::text;

pub(super) const FONT: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/// What a mark says by its colour. The class is coloured by the style of the console; the light
/// colour is the one of a file. Each is at least 3:1 (texts 4.5:1) against its ground, light and
/// dark; see the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Texts that are read.
    Ink,
    /// Texts beside them.
    Muted,
    /// What a chart is drawn on.
    Ground,
    /// What is counted.
    Accent,
    /// The whole that a part is seen against; says nothing by itself.
    Track,
    /// Lines at the ticks; say nothing by themselves.
    Grid,
    Good,
    Middle,
    Bad,
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
        }
    }

    /// The colour in light, which is that of a file.
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

/// A coordinate without needless digits.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Rows one under another: `row` draws one from where it starts, and says how high it is. With
/// where they end.
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

/// The parts of a bar: where each starts and how wide it is, in percent.
pub(super) fn parts(counts: impl IntoIterator<Item = u64> + Clone) -> Vec<(f64, f64)> {
    let whole = counts.clone().into_iter().sum::<u64>().max(1) as f64;
    let place = |start: &mut f64, count: u64| {
        let (from, width) = (*start, 100.0 * count as f64 / whole);
        *start += width;
        Some((from, width))
    };
    counts.into_iter().scan(0.0, place).collect()
}

/// A text at a place: `x` as an attribute, `anchor` is start, middle or end.
pub(super) fn words(x: &str, y: f64, anchor: &str, tone: Tone, content: &str) -> Markup {
    sized(x, y, anchor, tone, 12.0, content)
}

/// The same in another size.
pub(super) fn sized(x: &str, y: f64, anchor: &str, tone: Tone, size: f64, content: &str) -> Markup {
    html! {
        text class=(tone.class()) x=(x) y=(short(y)) text-anchor=(anchor) font-size=(short(size))
            fill=(tone.light()) unicode-bidi="plaintext" { (text::clean(content)) }
    }
}

/// A filled rectangle; `x` and `width` as attributes.
pub(super) fn rect(x: &str, y: f64, width: &str, height: f64, round: f64, tone: Tone) -> Markup {
    tipped(x, y, width, height, round, tone, None)
}

/// A filled rectangle that says what it is under the pointer.
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

/// What ticks take before a drawing, in pixels. A share of the width cannot say "all but so many
/// pixels", so the whole drawing is that much narrower, and what is drawn moves to the end by as
/// much.
pub(super) const INDENT: f64 = 40.0;

/// A drawing behind its ticks: `ticks` in the coordinates of the chart, `content` moved.
pub(super) fn indented(height: f64, ticks: Markup, content: Markup) -> Markup {
    html! {
        (ticks)
        svg x=(short(INDENT)) y="0" width="100%" height=(short(height)) overflow="visible" { (content) }
    }
}

/// A level line over the whole width, before an indented drawing as well.
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
    fn what_says_something_stands_out_from_the_ground() {
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
    fn coordinates_have_no_needless_digits() {
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
