//! Vertical columns: points of a scale, ranges of a number, months, days.

use maud::{Markup, html};

use super::number::{brief, count, grouped, share};
use super::pen::{Percent, Tone, indented, level, sized, tipped, words};
use super::ticks::{Scale, thinned};
use super::{Chart, ROOM, Table, text};

const TOP: f64 = 20.0;
const PLOT: f64 = 120.0;
const AXIS: f64 = 24.0;
/// Up to this many columns, each has its own number and label.
const FEW_COLUMNS: usize = 11;
/// The number of axis labels that fit on a phone.
const LABELS_MAX: usize = 5;
/// The maximum width of a label, in pixels.
const LABEL_MAX: f64 = 64.0;

/// One column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Below the column, if there is room.
    pub(crate) label: String,
    /// In the table and the tooltip.
    pub(crate) name: String,
    pub(crate) count: u64,
    pub(crate) tone: Tone,
}

impl Column {
    pub(crate) fn new(label: impl Into<String>, count: u64) -> Self {
        let label = label.into();
        Self { name: label.clone(), label, count, tone: Tone::Accent }
    }
}

/// Counts of items that have an order.
#[derive(Debug, Clone)]
pub(crate) struct ColumnChart<'c> {
    pub(crate) title: &'c str,
    /// What the columns are, such as "Rating" or "Day".
    pub(crate) axis: &'c str,
    /// The unit of the counts: singular and plural.
    pub(crate) unit: (&'c str, &'c str),
    /// If there are few columns, whether they show their counts; otherwise they show their shares.
    pub(crate) counted: bool,
    /// The labels of the ends of a scale, such as "Poor" and "Excellent".
    pub(crate) ends: Option<(&'c str, &'c str)>,
    pub(crate) columns: Vec<Column>,
}

impl ColumnChart<'_> {
    pub(crate) fn chart(&self) -> Chart {
        let few = self.columns.len() <= FEW_COLUMNS;
        let most = self.most();
        let scale = if few {
            Scale { from: 0.0, to: most.max(1) as f64, ticks: vec![] }
        } else {
            Scale::for_counts(most)
        };
        let bottom = TOP + PLOT;
        let below = AXIS + if self.ends.is_some() { 20.0 } else { 0.0 };
        let content = html! {
            @for tick in &scale.ticks { (level(bottom - PLOT * scale.at(*tick), false, true)) }
            @for (at, column) in self.columns.iter().enumerate() { (self.column(at, column, &scale, few)) }
            (level(bottom, true, !few))
            (self.labels(bottom, few))
            @if let Some((low, high)) = self.ends {
                (words("0", bottom + AXIS + 16.0, "start", Tone::Muted, &text::cut(low, 12.0, 150.0)))
                (words("100%", bottom + AXIS + 16.0, "end", Tone::Muted, &text::cut(high, 12.0, 150.0)))
            }
        };
        let ticks = html! {
            @for tick in scale.ticks.iter().filter(|tick| **tick > 0.0) {
                (words("0", bottom - PLOT * scale.at(*tick) - 4.0, "start", Tone::Muted, &brief(*tick)))
            }
        };
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: (bottom + below) as u32,
            width_min: 0,
            indented: !few,
            drawing: if few { content } else { indented(bottom + below, ticks, content) },
            table: self.table(),
        }
    }

    fn column(&self, at: usize, column: &Column, scale: &Scale, few: bool) -> Markup {
        let filled = if few { 0.72 } else { 0.84 };
        let value =
            if self.counted { grouped(column.count) } else { share(column.count, self.sum()) };
        let room = self.room();
        let x = room * (at as f64 + (1.0 - filled) / 2.0);
        let height = PLOT * scale.at(column.count as f64);
        // Any count above zero is visible.
        let height = if column.count > 0 { height.max(1.5) } else { 0.0 };
        let top = TOP + PLOT - height;
        let tip = format!("{}: {}", column.name, self.figures(column));
        let round = if few { 3.0 } else { 1.0 };
        html! {
            @if column.count > 0 {
                (tipped(&Percent(x).to_string(), top, &Percent(room * filled).to_string(), height, round, column.tone, Some(&tip)))
            }
            @if few {
                (sized(&Percent(room * (at as f64 + 0.5)).to_string(), top - 5.0, "middle",
                    if column.count > 0 { Tone::Ink } else { Tone::Muted }, 12.0, &value))
            }
        }
    }

    /// The labels below the columns: as many as fit on a phone.
    fn labels(&self, bottom: f64, few: bool) -> Markup {
        let room = self.room();
        let widest =
            self.columns.iter().map(|column| text::width(&column.label, 12.0)).fold(0.0, f64::max);
        let fitting = (ROOM / (widest.min(LABEL_MAX) + 8.0)) as usize;
        let step = thinned(self.columns.len(), if few { fitting } else { fitting.min(LABELS_MAX) });
        let last = self.columns.len().saturating_sub(1);
        html! {
            @for (at, column) in self.columns.iter().enumerate().step_by(step) {
                // The last label must stay within the drawing.
                @let is_end = !few && at > 0 && last - at < step / 2 + 1;
                @let x = if is_end { 100.0 } else { room * (at as f64 + 0.5) };
                (words(&Percent(x).to_string(), bottom + 17.0, if is_end { "end" } else { "middle" }, Tone::Muted,
                    &text::cut(&column.label, 12.0, LABEL_MAX)))
            }
        }
    }

    /// The width of each column, in percent.
    fn room(&self) -> f64 {
        100.0 / self.columns.len().max(1) as f64
    }

    fn figures(&self, column: &Column) -> String {
        format!(
            "{}, {}",
            count(column.count, self.unit.0, self.unit.1),
            share(column.count, self.sum())
        )
    }

    fn most(&self) -> u64 {
        self.columns.iter().map(|column| column.count).max().unwrap_or(0)
    }

    fn sum(&self) -> u64 {
        self.columns.iter().map(|column| column.count).sum()
    }

    fn description(&self) -> String {
        let sum = count(self.sum(), self.unit.0, self.unit.1);
        let (Some(first), Some(last)) = (self.columns.first(), self.columns.last()) else {
            return "No answers yet.".to_owned();
        };
        let most = self.columns.iter().max_by_key(|column| column.count).unwrap_or(first);
        format!(
            "{sum} in {}, from {} to {}. Most: {}, {}.",
            count(self.columns.len() as u64, "column", "columns"),
            first.name,
            last.name,
            most.name,
            self.figures(most)
        )
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[self.axis, "Count", "Share"]);
        for column in &self.columns {
            table.row([
                column.name.clone(),
                grouped(column.count),
                share(column.count, self.sum()),
            ]);
        }
        table
    }
}
