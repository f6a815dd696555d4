//! A matrix: each row is a bar of 100%, divided by column. The first column is the lightest segment
//! and comes first. A segment has its share on it if there is room; the table has every number.

use maud::{Markup, html};

use super::number::{count, grouped, share};
use super::pen::{Percent, Tone, draw_text, parts, rect, short, sized, stacked};
use super::{Chart, Table, text};

const LINE: f64 = 17.0;
const BAR: f64 = 24.0;
const GAP: f64 = 14.0;
/// The gap between the label of a row and its number of answers, in pixels.
const APART: f64 = 16.0;
const LABEL_LINES_MAX: usize = 3;
/// The square before the name of a column, and the gap after a name, in pixels.
const SQUARE: f64 = 12.0;
const SQUARE_GAP: f64 = 6.0;
const NAME_GAP: f64 = 14.0;
const LEGEND_LINE: f64 = 20.0;
/// The shades of the first and the last column. On the darkest, text still has a contrast of
/// 4.5:1, in light and dark.
const SHADES: (f64, f64) = (0.06, 0.5);

/// Several rows with the same columns, for each part.
#[derive(Debug, Clone)]
pub(crate) struct MatrixChart<'c> {
    pub(crate) title: &'c str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<String>,
    /// For each part, by row, then by column.
    pub(crate) parts: Vec<Vec<Vec<u64>>>,
    pub(crate) room: f64,
}

impl MatrixChart<'_> {
    /// One drawing per part, with the same rows.
    pub(crate) fn charts(&self) -> Vec<Chart> {
        let rows = self.parts.iter().flatten();
        let widest = rows.map(|row| text::width(&answers(row), 12.0)).fold(0.0, f64::max);
        let room = self.room - APART - widest;
        self.parts.iter().map(|part| self.chart(part, room)).collect()
    }

    /// `room` is the width of the labels.
    fn chart(&self, part: &[Vec<u64>], room: f64) -> Chart {
        let (legend, head) = self.legend();
        let rows = self.rows.iter().zip(part);
        let (rows, bottom) =
            stacked(rows, head, |(label, counts), top| self.row(label, counts, room, top));
        Chart {
            title: self.title.to_owned(),
            description: self.description(part),
            height: (bottom - GAP + 2.0).max(LINE) as u32,
            indented: false,
            wide: None,
            drawing: html! { (legend) (rows) },
            table: self.table(part),
        }
    }

    /// The names of the columns with their shades, wrapped; also returns where it ends.
    fn legend(&self) -> (Markup, f64) {
        let (mut x, mut top) = (0.0, 0.0);
        let mut drawing = String::new();
        for (at, column) in self.columns.iter().enumerate() {
            let name = text::cut(column, 12.0, self.room - SQUARE - SQUARE_GAP);
            let width = SQUARE + SQUARE_GAP + text::width(&name, 12.0);
            if x > 0.0 && x + width > self.room {
                (x, top) = (0.0, top + LEGEND_LINE);
            }
            let item = html! {
                (self.segment(at, &short(x), top + 2.0, &short(SQUARE), SQUARE, None))
                (draw_text(&short(x + SQUARE + SQUARE_GAP), top + 12.0, "start", Tone::Muted, &name))
            };
            drawing.push_str(&item.0);
            x += width + NAME_GAP;
        }
        (maud::PreEscaped(drawing), top + LEGEND_LINE + GAP)
    }

    fn row(&self, label: &str, counts: &[u64], room: f64, top: f64) -> (Markup, f64) {
        let lines = text::lines(label, 13.0, room, LABEL_LINES_MAX);
        let bar = top + LINE * lines.len() as f64 + 4.0;
        let sum: u64 = counts.iter().sum();
        let segments = parts(counts.iter().copied());
        let markup = html! {
            @for (nth, line) in lines.iter().enumerate() {
                (sized("0", top + 13.0 + LINE * nth as f64, "start", Tone::Ink, 13.0, line))
            }
            (draw_text("100%", top + 13.0, "end", Tone::Muted, &answers(counts)))
            @if sum == 0 { (rect("0", bar, "100%", BAR, 3.0, Tone::Track)) }
            @for (at, (people, (x, width))) in counts.iter().zip(segments).enumerate().filter(|(_, (people, _))| **people > 0) {
                @let figure = share(*people, sum);
                @let tip = format!("{label}, {}: {figure} of {} ({})", self.columns[at], answers(counts), grouped(*people));
                (self.segment(at, &Percent(x).to_string(), bar, &Percent(width).to_string(), BAR, Some(&tip)))
                @if text::width(&figure, 12.0) + 6.0 <= self.room * width / 100.0 {
                    (sized(&Percent(x + width / 2.0).to_string(), bar + BAR / 2.0 + 4.5, "middle", Tone::Ink, 12.0, &figure))
                }
            }
        };
        (markup, bar - top + BAR + GAP)
    }

    /// A rectangle in the shade of a column.
    fn segment(
        &self,
        column: usize,
        x: &str,
        y: f64,
        width: &str,
        height: f64,
        tip: Option<&str>,
    ) -> Markup {
        let last = self.columns.len().saturating_sub(1).max(1) as f64;
        let shade = SHADES.0 + (SHADES.1 - SHADES.0) * column as f64 / last;
        html! {
            rect class="c-shade" x=(x) y=(short(y)) width=(width) height=(short(height))
                fill=(Tone::Accent.light()) fill-opacity=(short(shade)) stroke=(Tone::Accent.light()) stroke-width="1" {
                @if let Some(tip) = tip { title { (text::clean(tip)) } }
            }
        }
    }

    fn description(&self, part: &[Vec<u64>]) -> String {
        let most = |(label, counts): (&String, &Vec<u64>)| {
            let (at, people) = counts.iter().enumerate().rev().max_by_key(|(_, it)| **it)?;
            let sum: u64 = counts.iter().sum();
            (*people > 0).then(|| format!("{label}: {}, {}", self.columns[at], share(*people, sum)))
        };
        let rows: Vec<_> = self.rows.iter().zip(part).filter_map(most).collect();
        if rows.is_empty() {
            return "No answers yet.".to_owned();
        }
        format!("Share of each column per row. Most frequent: {}.", rows.join("; "))
    }

    fn table(&self, part: &[Vec<u64>]) -> Table {
        let mut table = Table::new(&["Row"]);
        table.columns.extend(self.columns.iter().cloned());
        table.columns.push("Answers".to_owned());
        for (label, counts) in self.rows.iter().zip(part) {
            let sum: u64 = counts.iter().sum();
            let mut cells = vec![label.clone()];
            let cell = |people: &u64| format!("{} ({})", grouped(*people), share(*people, sum));
            cells.extend(counts.iter().map(cell));
            cells.push(grouped(sum));
            table.row(cells);
        }
        table
    }
}

fn answers(counts: &[u64]) -> String {
    count(counts.iter().sum(), "answer", "answers")
}
