//! Horizontal bars: one per option, its label above it, its share and count at the end of the line.

use maud::{Markup, html};

use super::number::{grouped, share};
use super::pen::{Percent, Tone, rect, sized, stacked, tipped};
use super::{Chart, ROOM, Table, text};

const LINE: f64 = 18.0;
const BAR: f64 = 10.0;
const GAP: f64 = 16.0;
/// The gap between a label and the share and count at the end of its line, in pixels.
const APART: f64 = 16.0;

/// One option.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    pub(crate) label: String,
    /// A note beside the label, such as "no longer offered".
    pub(crate) note: Option<&'static str>,
    pub(crate) count: u64,
}

/// How often each option was chosen.
#[derive(Debug, Clone)]
pub(crate) struct BarChart<'c> {
    pub(crate) title: &'c str,
    /// The unit of `of`, such as "answer".
    pub(crate) unit: (&'c str, &'c str),
    /// The total for the shares; with several options per answer, they add up to more than 100%.
    pub(crate) of: u64,
    pub(crate) bars: Vec<Bar>,
}

impl BarChart<'_> {
    pub(crate) fn chart(&self) -> Chart {
        let figures = self.bars.iter().map(|bar| text::width(&self.figures(bar), 13.0));
        let room = ROOM - APART - figures.fold(0.0, f64::max);
        let (drawing, bottom) = stacked(&self.bars, 0.0, |bar, top| self.row(bar, room, top));
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: (bottom - GAP + 2.0).max(LINE) as u32,
            width_min: 0,
            indented: false,
            drawing,
            table: self.table(),
        }
    }

    fn row(&self, bar: &Bar, room: f64, top: f64) -> (Markup, f64) {
        let label = text::lines(&labelled(bar), 13.0, room, 2);
        let above = LINE * label.len() as f64 + 2.0;
        let tip = format!("{}: {}", bar.label, self.figures(bar));
        let width = Percent(self.percent(bar)).to_string();
        let markup = html! {
            @for (at, line) in label.iter().enumerate() {
                (sized("0", top + 14.0 + LINE * at as f64, "start", Tone::Ink, 13.0, line))
            }
            (sized("100%", top + 14.0, "end", Tone::Muted, 13.0, &self.figures(bar)))
            (rect("0", top + above, "100%", BAR, BAR / 2.0, Tone::Track))
            @if bar.count > 0 {
                (tipped("0", top + above, &width, BAR, BAR / 2.0, Tone::Accent, Some(&tip)))
            }
        };
        (markup, above + BAR + GAP)
    }

    fn percent(&self, bar: &Bar) -> f64 {
        (100.0 * bar.count as f64 / self.of.max(1) as f64).min(100.0)
    }

    fn figures(&self, bar: &Bar) -> String {
        format!("{} · {}", share(bar.count, self.of), grouped(bar.count))
    }

    fn description(&self) -> String {
        let most = self.bars.iter().filter(|bar| bar.count > 0).max_by_key(|bar| bar.count);
        let of = super::number::count(self.of, self.unit.0, self.unit.1);
        let options = super::number::count(self.bars.len() as u64, "option", "options");
        match most {
            None => format!("{options}; no answers yet."),
            Some(most) => {
                format!("{options}, {of}. Most frequent: {}, {}.", most.label, self.figures(most))
            }
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["Option", "Count", "Share"]);
        for bar in &self.bars {
            table.row([labelled(bar), grouped(bar.count), share(bar.count, self.of)]);
        }
        table
    }
}

fn labelled(bar: &Bar) -> String {
    match bar.note {
        Some(note) => format!("{} ({note})", bar.label),
        None => bar.label.clone(),
    }
}
