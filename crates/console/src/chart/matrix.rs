//! A matrix: the share of each column per row, as a number on a background that is darker the
//! larger it is.

use maud::{Markup, html};

use super::number::{grouped, share};
use super::pen::{Percent, Tone, short, sized, stacked};
use super::{Chart, Table, text};

/// The width of a column, and of the row labels, in pixels.
const COLUMN: f64 = 76.0;
const LABELS: f64 = 130.0;
const LINE: f64 = 17.0;
/// The darkest background still gives the text a contrast of 4.5:1, in light and dark.
const SHADE_MAX: f64 = 0.5;

/// One row and how often each column was chosen in it.
#[derive(Debug, Clone)]
pub(crate) struct MatrixRow {
    pub(crate) label: String,
    pub(crate) counts: Vec<u64>,
}

/// Several rows with the same columns.
#[derive(Debug, Clone)]
pub(crate) struct MatrixChart<'c> {
    pub(crate) title: &'c str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<MatrixRow>,
}

impl MatrixChart<'_> {
    pub(crate) fn chart(&self) -> Chart {
        let columns = self.columns.len().max(1) as f64;
        let width = LABELS + columns * COLUMN;
        let start = 100.0 * LABELS / width;
        let room = (100.0 - start) / columns;
        let heads: Vec<_> =
            self.columns.iter().map(|name| text::lines(name, 12.0, COLUMN - 6.0, 3)).collect();
        let head = 16.0 * heads.iter().map(Vec::len).max().unwrap_or(1) as f64 + 6.0;
        let (rows, bottom) = stacked(&self.rows, head, |row, top| self.row(row, top, start, room));
        let drawing = html! {
            @for (at, lines) in heads.iter().enumerate() {
                @let middle = Percent(start + room * (at as f64 + 0.5)).to_string();
                @for (nth, line) in lines.iter().enumerate() {
                    @let y = head - 8.0 - 16.0 * (lines.len() - 1 - nth) as f64;
                    (sized(&middle, y, "middle", Tone::Muted, 12.0, line))
                }
            }
            (rows)
        };
        Chart {
            title: self.title.to_owned(),
            description: self.description(),
            height: (bottom + 2.0) as u32,
            width_min: width as u32,
            indented: false,
            drawing,
            table: self.table(),
        }
    }

    /// One row: `start` is where its columns begin, and `room` the width of each, in percent.
    fn row(&self, row: &MatrixRow, top: f64, start: f64, room: f64) -> (Markup, f64) {
        let label = text::lines(&row.label, 13.0, LABELS - 8.0, 3);
        let height = (LINE * label.len() as f64 + 14.0).max(38.0);
        let middle = top + height / 2.0 + 4.5;
        let sum: u64 = row.counts.iter().sum();
        let markup = html! {
            @for (nth, line) in label.iter().enumerate() {
                (sized("0", middle + LINE * (nth as f64 - (label.len() - 1) as f64 / 2.0), "start", Tone::Ink, 13.0, line))
            }
            @for (at, (people, column)) in row.counts.iter().zip(&self.columns).enumerate() {
                @let shade = 0.05 + (SHADE_MAX - 0.05) * *people as f64 / sum.max(1) as f64;
                @let x = start + room * at as f64;
                rect class="c-bar" x=(Percent(x + 0.2)) y=(short(top + 1.0)) width=(Percent(room - 0.4)) height=(short(height - 2.0))
                    rx="4" fill=(Tone::Accent.light()) fill-opacity=(short(shade)) {
                    title { (text::clean(&row.label)) ", " (text::clean(column)) ": " (grouped(*people)) " of " (grouped(sum)) }
                }
                (sized(&Percent(x + room / 2.0).to_string(), middle, "middle", Tone::Ink, 13.0, &share(*people, sum)))
            }
        };
        (markup, height)
    }

    fn description(&self) -> String {
        let most = |row: &MatrixRow| {
            let (at, people) = row.counts.iter().enumerate().max_by_key(|(_, people)| **people)?;
            let sum: u64 = row.counts.iter().sum();
            (*people > 0)
                .then(|| format!("{}: {}, {}", row.label, self.columns[at], share(*people, sum)))
        };
        let rows: Vec<_> = self.rows.iter().filter_map(most).collect();
        if rows.is_empty() {
            return "No answers yet.".to_owned();
        }
        format!("Share of each column per row. Most frequent: {}.", rows.join("; "))
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["Row"]);
        table.columns.extend(self.columns.iter().cloned());
        table.columns.push("Answers".to_owned());
        for row in &self.rows {
            let sum: u64 = row.counts.iter().sum();
            let mut cells = vec![row.label.clone()];
            cells.extend(
                row.counts
                    .iter()
                    .map(|people| format!("{} ({})", grouped(*people), share(*people, sum))),
            );
            cells.push(grouped(sum));
            table.row(cells);
        }
        table
    }
}
