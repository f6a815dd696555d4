//! Vertical columns: points of a scale, ranges of a number, months, days.

use maud::{Markup, html};

use super::axis::Axis;
use super::number::{brief, count, grouped, share};
use super::pen::{INDENT, Percent, Tone, draw_text, indented, level, sized, tipped};
use super::ticks::Scale;
use super::{Chart, Table, text};

const PLOT: f64 = 120.0;
const AXIS: f64 = 24.0;
/// The height above the columns, for the number of the highest one.
const ABOVE: f64 = 20.0;
/// The same with an axis, for its title and its highest tick.
const ABOVE_AXIS: f64 = 36.0;
/// With more columns than this, they have an axis instead of a number each.
const FEW_COLUMNS: usize = 11;

/// What each column stands for.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// In the table and the tooltip.
    pub(crate) name: String,
    pub(crate) tone: Tone,
    /// A column that is not complete is dashed.
    pub(crate) is_complete: bool,
}

impl Column {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), tone: Tone::Accent, is_complete: true }
    }
}

/// What the height of a column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Its share of the counts of its part, so that parts of different sizes can be compared.
    Share,
    /// How many there are.
    Count,
}

/// Counts of items that have an order, for each part.
#[derive(Debug, Clone)]
pub(crate) struct ColumnChart<'c> {
    pub(crate) title: &'c str,
    /// What the columns are, and their labels.
    pub(crate) axis: Axis,
    /// The unit of the counts: singular and plural.
    pub(crate) unit: (&'c str, &'c str),
    pub(crate) measure: Measure,
    pub(crate) columns: Vec<Column>,
    /// The count of each column, for each part.
    pub(crate) parts: Vec<Vec<u64>>,
    pub(crate) room: f64,
}

/// What all parts share.
struct Frame {
    scale: Scale,
    /// Whether each column has its number; otherwise there is an axis.
    is_numbered: bool,
    top: f64,
}

impl ColumnChart<'_> {
    /// One drawing per part, all on one scale.
    pub(crate) fn charts(&self) -> Vec<Chart> {
        let frame = self.frame();
        self.parts.iter().map(|part| self.chart(part, &frame)).collect()
    }

    fn frame(&self) -> Frame {
        let columns = || self.parts.iter().flat_map(|part| part.iter().map(move |it| (part, *it)));
        let most = columns().map(|(part, it)| self.height(part, it)).fold(0.0, f64::max);
        let widest = columns().map(|(part, it)| text::width(&self.value(part, it), 12.0));
        let room = self.room / self.columns.len().max(1) as f64;
        let is_numbered = self.columns.len() <= FEW_COLUMNS && widest.fold(0.0, f64::max) <= room;
        let scale = match (is_numbered, self.measure) {
            (true, _) => Scale { from: 0.0, to: most.max(1.0), ticks: vec![] },
            (false, Measure::Share) => Scale::for_shares(most),
            (false, Measure::Count) => Scale::for_counts(most as u64),
        };
        Frame { scale, is_numbered, top: if is_numbered { ABOVE } else { ABOVE_AXIS } }
    }

    fn chart(&self, part: &[u64], frame: &Frame) -> Chart {
        let bottom = frame.top + PLOT;
        let y = |tick: f64| bottom - PLOT * frame.scale.at(tick);
        let before = if frame.is_numbered { 0.0 } else { INDENT };
        let content = html! {
            @for tick in &frame.scale.ticks { (level(y(*tick), false, true)) }
            @for at in 0..self.columns.len() { (self.column(at, part, frame)) }
            (level(bottom, true, !frame.is_numbered))
            (self.axis.drawn(bottom + 17.0, self.room - before, before))
        };
        let ticks = html! {
            (draw_text("0", 12.0, "start", Tone::Muted, &self.measured()))
            g class="c-y" {
                @for tick in frame.scale.ticks.iter().filter(|tick| **tick > 0.0) {
                    (draw_text("0", y(*tick) - 4.0, "start", Tone::Muted, &self.tick(*tick)))
                }
            }
        };
        let height = bottom + AXIS;
        Chart {
            title: self.title.to_owned(),
            description: self.description(part),
            height: height as u32,
            indented: !frame.is_numbered,
            wide: None,
            drawing: if frame.is_numbered { content } else { indented(height, ticks, content) },
            table: self.table(part),
        }
    }

    fn column(&self, at: usize, part: &[u64], frame: &Frame) -> Markup {
        let filled = if frame.is_numbered { 0.72 } else { 0.84 };
        let room = 100.0 / self.columns.len().max(1) as f64;
        let x = room * (at as f64 + (1.0 - filled) / 2.0);
        let (count, column) = (part[at], &self.columns[at]);
        let height = PLOT * frame.scale.at(self.height(part, count));
        // Any count above zero is visible.
        let height = if count > 0 { height.max(1.5) } else { 0.0 };
        let top = frame.top + PLOT - height;
        let tip = format!("{}: {}", column.name, self.figures(part, count));
        let round = if frame.is_numbered { 3.0 } else { 1.0 };
        html! {
            @if count > 0 {
                @let bar = tipped(&Percent(x).to_string(), top, &Percent(room * filled).to_string(), height, round, column.tone, Some(&tip));
                @if column.is_complete { (bar) }
                @else { g class="c-part" fill-opacity="0.3" stroke=(column.tone.light()) stroke-dasharray="3 2" { (bar) } }
            }
            @if frame.is_numbered {
                (sized(&Percent(room * (at as f64 + 0.5)).to_string(), top - 5.0, "middle",
                    if count > 0 { Tone::Ink } else { Tone::Muted }, 12.0, &self.value(part, count)))
            }
        }
    }

    /// The height of a column in the unit of the scale: percent, or the count itself.
    fn height(&self, part: &[u64], count: u64) -> f64 {
        match self.measure {
            Measure::Share => 100.0 * count as f64 / part.iter().sum::<u64>().max(1) as f64,
            Measure::Count => count as f64,
        }
    }

    /// The number above a column.
    fn value(&self, part: &[u64], count: u64) -> String {
        match self.measure {
            Measure::Share => share(count, part.iter().sum()),
            Measure::Count => grouped(count),
        }
    }

    fn tick(&self, tick: f64) -> String {
        match self.measure {
            Measure::Share => format!("{}%", brief(tick)),
            Measure::Count => brief(tick),
        }
    }

    /// The title of the scale.
    fn measured(&self) -> String {
        match self.measure {
            Measure::Share => format!("Share of {}", self.unit.1),
            Measure::Count => {
                let (first, rest) = self.unit.1.split_at(1);
                let unit = format!("{}{rest}", first.to_ascii_uppercase());
                format!("{unit} per {}", self.axis.name.to_lowercase())
            }
        }
    }

    fn figures(&self, part: &[u64], people: u64) -> String {
        let sum = part.iter().sum();
        let of = count(sum, self.unit.0, self.unit.1);
        format!("{} of {of} ({})", share(people, sum), grouped(people))
    }

    fn description(&self, part: &[u64]) -> String {
        let sum = count(part.iter().sum(), self.unit.0, self.unit.1);
        let (Some(first), Some(last)) = (self.columns.first(), self.columns.last()) else {
            return "No answers yet.".to_owned();
        };
        let most = self.columns.iter().zip(part).rev().max_by_key(|(_, people)| **people);
        let Some((most, people)) = most.filter(|(_, people)| **people > 0) else {
            return "No answers yet.".to_owned();
        };
        format!(
            "{sum}, from {} to {}. Most: {}, {}.",
            first.name,
            last.name,
            most.name,
            self.figures(part, *people)
        )
    }

    fn table(&self, part: &[u64]) -> Table {
        let mut table = Table::new(&[&self.axis.name, "Count", "Share"]);
        for (column, people) in self.columns.iter().zip(part) {
            let share = share(*people, part.iter().sum());
            table.row([column.name.clone(), grouped(*people), share]);
        }
        table
    }
}
