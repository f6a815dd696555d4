//! Columns of several parts on top of each other: what became of things, over time.

use maud::{Markup, html};

use super::axis::Axis;
use super::number::{brief, count, grouped};
use super::pen::{INDENT, Percent, Tone, draw_text, indented, level, tipped};
use super::ticks::Scale;
use super::{Chart, Table};

const PLOT: f64 = 120.0;
const AXIS: f64 = 24.0;
/// The height above the columns, for the title of the scale and its highest tick.
const ABOVE: f64 = 36.0;
/// The share of its room that a column fills.
const FILLED: f64 = 0.8;
/// Any count above zero is visible.
const HEIGHT_MIN: f64 = 1.5;

/// One kind of outcome, from the bottom of the columns to the top.
#[derive(Debug, Clone)]
pub(crate) struct StackedPart<'c> {
    pub(crate) name: &'c str,
    pub(crate) tone: Tone,
    /// One count per column.
    pub(crate) counts: Vec<u64>,
}

/// Counts over time, by outcome.
#[derive(Debug, Clone)]
pub(crate) struct StackedColumns<'c> {
    pub(crate) title: &'c str,
    /// What the columns are, and their labels.
    pub(crate) axis: Axis,
    /// The title of the scale.
    pub(crate) scale: &'c str,
    /// The unit of the counts: singular and plural.
    pub(crate) unit: (&'c str, &'c str),
    /// The full name of each column, for the table and the tooltips.
    pub(crate) names: Vec<String>,
    pub(crate) parts: Vec<StackedPart<'c>>,
    pub(crate) room: f64,
}

impl StackedColumns<'_> {
    pub(crate) fn chart(&self) -> Chart {
        let most = (0..self.names.len()).map(|at| self.sum(at)).max().unwrap_or_default();
        let scale = Scale::for_counts(most);
        let bottom = ABOVE + PLOT;
        let y = |tick: f64| bottom - PLOT * scale.at(tick);
        let content = html! {
            @for tick in &scale.ticks { (level(y(*tick), false, true)) }
            @for at in 0..self.names.len() { (self.column(at, &scale)) }
            (level(bottom, true, true))
            (self.axis.drawn(bottom + 17.0, self.room - INDENT, INDENT))
        };
        let ticks = html! {
            (draw_text("0", 12.0, "start", Tone::Muted, self.scale))
            g class="c-y" {
                @for tick in scale.ticks.iter().filter(|tick| **tick > 0.0) {
                    (draw_text("0", y(*tick) - 4.0, "start", Tone::Muted, &brief(*tick)))
                }
            }
        };
        let height = bottom + AXIS;
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: height as u32,
            indented: true,
            wide: None,
            drawing: indented(height, ticks, content),
            table: self.table(),
        }
    }

    fn count(part: &StackedPart<'_>, at: usize) -> u64 {
        part.counts.get(at).copied().unwrap_or_default()
    }

    fn sum(&self, at: usize) -> u64 {
        self.parts.iter().map(|part| Self::count(part, at)).sum()
    }

    fn column(&self, at: usize, scale: &Scale) -> Markup {
        let room = 100.0 / self.names.len().max(1) as f64;
        let x = Percent(room * (at as f64 + (1.0 - FILLED) / 2.0)).to_string();
        let width = Percent(room * FILLED).to_string();
        let mut top = ABOVE + PLOT;
        let shown = self.parts.iter().filter(|part| Self::count(part, at) > 0);
        let bars = shown.map(|part| {
            let count = Self::count(part, at);
            let height = (PLOT * scale.at(count as f64)).max(HEIGHT_MIN);
            top -= height;
            let tip = format!("{}: {} {}", self.names[at], grouped(count), part.name);
            tipped(&x, top, &width, height, 1.0, part.tone, Some(&tip))
        });
        let bars: Vec<Markup> = bars.collect();
        html! { @for bar in bars { (bar) } }
    }

    fn description(&self) -> String {
        let of = |part: &StackedPart<'_>| {
            let sum: u64 = part.counts.iter().sum();
            format!("{} {}", grouped(sum), part.name)
        };
        let all: u64 = (0..self.names.len()).map(|at| self.sum(at)).sum();
        let parts: Vec<String> = self.parts.iter().map(of).collect();
        format!("{}: {}.", count(all, self.unit.0, self.unit.1), parts.join(", "))
    }

    fn table(&self) -> Table {
        let names = self.parts.iter().map(|part| capitalised(part.name));
        let columns: Vec<String> = std::iter::once(self.axis.name.clone()).chain(names).collect();
        let mut table = Table { columns, rows: Vec::new() };
        for (at, name) in self.names.iter().enumerate() {
            let counts = self.parts.iter().map(|part| grouped(Self::count(part, at)));
            table.row(std::iter::once(name.clone()).chain(counts));
        }
        table
    }
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
