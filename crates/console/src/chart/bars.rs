//! Horizontal bars: one per option, its label above it, its share and count at the end of the line.
//! A bar that fills its track is 100% of the answers.

use maud::{Markup, html};

use super::number::{count, grouped, share};
use super::pen::{Percent, Tone, rect, sized, stacked, tipped};
use super::{Chart, Table, text};

const LINE: f64 = 18.0;
const BAR: f64 = 10.0;
const GAP: f64 = 16.0;
/// The gap between a label and the share and count at the end of its line, in pixels.
const APART: f64 = 16.0;
const LABEL_LINES_MAX: usize = 3;

/// One option.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    pub(crate) label: String,
    /// A note beside the label, such as "no longer offered".
    pub(crate) note: Option<&'static str>,
}

/// How often each option was chosen in one part.
#[derive(Debug, Clone)]
pub(crate) struct BarPart {
    /// The total for the shares; with several options per answer, they add up to more than 100%.
    pub(crate) of: u64,
    pub(crate) counts: Vec<u64>,
}

/// How often each option was chosen, for each part.
#[derive(Debug, Clone)]
pub(crate) struct BarChart<'c> {
    pub(crate) title: &'c str,
    /// The unit of the totals: singular and plural.
    pub(crate) unit: (&'c str, &'c str),
    pub(crate) bars: Vec<Bar>,
    pub(crate) parts: Vec<BarPart>,
    pub(crate) room: f64,
}

impl BarChart<'_> {
    /// One drawing per part, with the same rows.
    pub(crate) fn charts(&self) -> Vec<Chart> {
        let figures = |part: &BarPart| {
            let widths = part.counts.iter().map(|it| text::width(&figures(part, *it), 13.0));
            widths.fold(0.0, f64::max)
        };
        let room = self.room - APART - self.parts.iter().map(figures).fold(0.0, f64::max);
        self.parts.iter().map(|part| self.chart(part, room)).collect()
    }

    /// `room` is the width of the labels.
    fn chart(&self, part: &BarPart, room: f64) -> Chart {
        let rows = self.bars.iter().zip(&part.counts);
        let (drawing, bottom) =
            stacked(rows, 0.0, |(bar, people), top| row(part, bar, *people, room, top));
        Chart {
            title: self.title.to_owned(),
            description: self.description(part),
            height: (bottom - GAP + 2.0).max(LINE) as u32,
            indented: false,
            wide: None,
            drawing,
            table: self.table(part),
        }
    }

    fn description(&self, part: &BarPart) -> String {
        let rows = self.bars.iter().zip(&part.counts).filter(|(_, people)| **people > 0);
        let most = rows.max_by_key(|(_, people)| **people);
        let of = count(part.of, self.unit.0, self.unit.1);
        let options = count(self.bars.len() as u64, "option", "options");
        match most {
            None => format!("{options}; no answers yet."),
            Some((bar, people)) => {
                let figures = figures(part, *people);
                format!("{options}, {of}. Most frequent: {}, {figures}.", bar.label)
            }
        }
    }

    fn table(&self, part: &BarPart) -> Table {
        let mut table = Table::new(&["Option", "Count", "Share"]);
        for (bar, people) in self.bars.iter().zip(&part.counts) {
            table.row([labelled(bar), grouped(*people), share(*people, part.of)]);
        }
        table
    }
}

fn row(part: &BarPart, bar: &Bar, people: u64, room: f64, top: f64) -> (Markup, f64) {
    let label = text::lines(&labelled(bar), 13.0, room, LABEL_LINES_MAX);
    let above = LINE * label.len() as f64 + 2.0;
    let figures = figures(part, people);
    let tip = format!("{}: {figures}", bar.label);
    let share = (100.0 * people as f64 / part.of.max(1) as f64).min(100.0);
    let markup = html! {
        @for (at, line) in label.iter().enumerate() {
            (sized("0", top + 14.0 + LINE * at as f64, "start", Tone::Ink, 13.0, line))
        }
        (sized("100%", top + 14.0, "end", Tone::Muted, 13.0, &figures))
        (rect("0", top + above, "100%", BAR, BAR / 2.0, Tone::Track))
        @if people > 0 {
            (tipped("0", top + above, &Percent(share).to_string(), BAR, BAR / 2.0, Tone::Accent, Some(&tip)))
        }
    };
    (markup, above + BAR + GAP)
}

fn figures(part: &BarPart, people: u64) -> String {
    format!("{} · {}", share(people, part.of), grouped(people))
}

fn labelled(bar: &Bar) -> String {
    match bar.note {
        Some(note) => format!("{} ({note})", bar.label),
        None => bar.label.clone(),
    }
}
